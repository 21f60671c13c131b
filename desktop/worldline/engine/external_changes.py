"""The world between runs: what somebody else changed on disk becomes a node before the next message."""

from __future__ import annotations

import asyncio

from worldline.agent.capture import change_from_outside
from worldline.engine.anew import gone
from worldline.engine.notes import external_change_note
from worldline.engine.shared import Shared
from worldline.engine.worlds import same_but_for_branch
from worldline.workspace.model import NOT_CAPTURED


async def note_external_change(shared: Shared) -> str:
    """Store what changed on disk since the last node, and return what the model is told of it. Raises SessionError where
    the folder is gone: tools would make another one in its place, and all that was in it would count as deleted."""
    if shared.work is None:
        return ""
    doc = shared.doc
    before = shared.state(doc.cursor)
    seen = await shared.meanwhile.look()
    result = await shared.work.capture(shared.good_state(doc.cursor) or None, "before a prompt")
    if result.branch:
        shared.branch = f"refs/heads/{result.branch}"
    if result.state == NOT_CAPTURED:
        if not await asyncio.to_thread(shared.root.is_dir):
            raise gone(doc.path, shared.root)
        shared.journal().diagnose(
            "capture", f"The files could not be captured: {result.error}", node=doc.cursor
        )
        return ""
    if not result.changed and before != NOT_CAPTURED:
        shared.meanwhile.settle(seen)
        return ""
    good = shared.good_state(doc.cursor)
    state = result.state
    if (
        good
        and before != NOT_CAPTURED
        and await shared.work.call(lambda w: same_but_for_branch(w, good, state))
    ):
        shared.meanwhile.settle(seen)
        return ""
    journal = shared.journal()
    with doc.transaction():
        header = journal.append(change_from_outside(result, doc, doc.cursor, seen.commands), announce=False)
        shared.meanwhile.settle(seen)
    journal.announce(header)
    shared.status.files_changed(doc.cursor)
    return external_change_note(result, seen.commands)
