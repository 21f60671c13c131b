"""`worldline diff`: unified diff of two states of a session."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace

from worldline.cli.reading import reading
from worldline.engine.files import Files
from worldline.protocol.commands import Patch


def diff_command(options: Namespace) -> int:
    with reading(options.file) as shared:
        shared.workspace()
        a, b = options.a, options.b
        if b == "base":
            # "What happened since the start": the first state is the old side.
            a, b = "base", options.a

        async def patch() -> str:
            try:
                return (await Files(shared).patch(Patch(a=a, b=b))).text
            finally:
                if shared.work is not None:
                    await shared.work.close()

        text = asyncio.run(patch())
    if sys.stdout.isatty():
        sys.stdout.write(text.encode("utf-8", "replace").decode())
    else:
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.flush()
    return 0
