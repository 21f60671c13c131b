"""The engine's standard streams as a channel of lines. Standard output carries the protocol and nothing else."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

from worldline.protocol.wire import MAX_LINE


class LineTooLong(Exception):
    """The other side sent a line over the limit of the protocol; the connection cannot go on."""


class StdioChannel:
    """Reads and writes in two threads of its own, so that a slow reader or a quiet writer never holds the loop.

    From `take_over` on, whatever else of this process (or a child of it) prints lands on standard error.
    """

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self._source = source
        self._sink = sink
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="stdout")
        self._lines: asyncio.Queue[bytes | LineTooLong | None] = asyncio.Queue()

    @classmethod
    def take_over(cls) -> StdioChannel:
        sys.stdout.flush()
        sink = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)
        source = os.fdopen(os.dup(0), "rb")
        # A child that inherits standard input would read the window's commands.
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        return cls(source, sink)

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        # A daemon: a read that never returns must not keep the process alive.
        threading.Thread(target=self._read, args=(loop,), name="stdin", daemon=True).start()

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        def hand_over(item: bytes | LineTooLong | None) -> bool:
            try:
                loop.call_soon_threadsafe(self._lines.put_nowait, item)
            except RuntimeError:  # the loop is closed: the engine is ending
                return False
            return True

        while True:
            try:
                line = self._source.readline(MAX_LINE + 1)
            except (OSError, ValueError):
                line = b""
            if not line:
                hand_over(None)
                return
            if len(line) > MAX_LINE:
                hand_over(LineTooLong(f"a line of more than {MAX_LINE} bytes"))
                return
            if not hand_over(line):
                return

    async def read(self) -> bytes | None:
        """The next line; None at the end of input. Raises LineTooLong."""
        item = await self._lines.get()
        if isinstance(item, LineTooLong):
            raise item
        return item

    async def write(self, data: bytes) -> None:
        """Return when all of it is out. Raises OSError when nobody reads any more."""
        await asyncio.get_running_loop().run_in_executor(self._writer, self._write_all, data)

    def _write_all(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._sink.write(view) :]
