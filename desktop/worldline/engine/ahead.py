"""Building the view at the cursor before anybody asks for it: in steps so short that nothing waits for them.

The first view after opening a long session reads and checks every node. Grown from the beginning, each step costs only
what it adds (`context.incremental`), and gives exactly what building it at once would give.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from worldline.agent.conversation import conversation_seqs
from worldline.context.model import ViewOptions
from worldline.engine.shared import Shared
from worldline.workspace import nogc

STEP = 200
"""Nodes: some milliseconds."""
MOST_BYTES = 24_000_000
"""Of stored messages. A session that is larger is read when it is needed: it may only be looked at."""
_BREATH_S = 0.005


async def build_ahead(shared: Shared, options: ViewOptions, wanted: Callable[[], bool]) -> int:
    """Build as long as it is `wanted`; how many steps were made. To be called on the loop."""
    doc, memory = shared.doc, shared.memory
    cursor = doc.cursor
    seqs = conversation_seqs(doc, cursor)
    if sum(header.size for header in doc.headers_of(seqs)) > MOST_BYTES:
        return 0
    steps = 0
    for end in range(STEP, len(seqs) + STEP, STEP):
        if not wanted() or doc.cursor != cursor:
            break
        grown = memory.views.extended
        with (
            nogc.paused()
        ):  # it would look through all that was made so far, again and again, and take most of a step
            memory.views.build(memory.path(seqs[:end]), options)
        steps += 1
        if end > STEP and memory.views.extended == grown:
            break  # something late on the path changes what stands before it: it would be begun anew each time
        await asyncio.sleep(_BREATH_S)
    return steps
