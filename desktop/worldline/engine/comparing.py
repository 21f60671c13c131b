"""Comparing states without stopping the engine: small changes on the workspace's thread, others in a process of their
own (see `workspace.differ`), and the line counts that a capture had no time for."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from worldline.core.errors import WorkspaceError, WorldlineError
from worldline.core.kinds import OF_THE_PERSON, NodeFlag
from worldline.engine.shared import Shared
from worldline.protocol.events import LinesCounted
from worldline.workspace.authorship import Step
from worldline.workspace.model import NOT_CAPTURED

logger = logging.getLogger(__name__)

_LENGTH = struct.Struct(">I")
_IDLE_S = 60.0
"""After so long without a question the process ends."""


class DiffProcess:
    """One question at a time. Cancelling the caller kills the process; the next question starts another one."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._idle: asyncio.TimerHandle | None = None

    async def call(
        self, method: str, params: dict[str, Any], part: Callable[[list[Any]], None] = lambda _: None
    ) -> Any:
        """The answer; its parts are handed on as they come. Raises `WorkspaceError`."""
        async with self._turn:
            if self._idle is not None:
                self._idle.cancel()
            try:
                return await self._ask(method, params, part)
            except (asyncio.CancelledError, OSError, EOFError) as error:
                await self._end()
                if isinstance(error, asyncio.CancelledError):
                    raise
                raise WorkspaceError(
                    f"The files could not be compared: the process for it ended ({error}).", "Try again."
                ) from error
            finally:
                self._idle = asyncio.get_running_loop().call_later(_IDLE_S, self._retire)

    async def _ask(self, method: str, params: dict[str, Any], part: Callable[[list[Any]], None]) -> Any:
        process = self._process
        if process is None or process.returncode is not None:
            process = self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "worldline.workspace.differ", str(self._store),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=child_environment(),
            )  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        data = json.dumps([method, params]).encode("ascii")
        process.stdin.write(_LENGTH.pack(len(data)) + data)
        await process.stdin.drain()
        while True:
            size = _LENGTH.unpack(await process.stdout.readexactly(_LENGTH.size))[0]
            answer = json.loads(await process.stdout.readexactly(size))
            if "done" in answer:
                return answer["done"]
            if "error" in answer:
                message, hint, kind = answer["error"]
                raise WorkspaceError(message, hint, kind=kind)
            part(answer["part"])
            await asyncio.sleep(0)

    def _retire(self) -> None:
        if not self._turn.locked() and self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()  # it ends by itself
            self._process = None

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def close(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        await self._end()


def child_environment() -> dict[str, str]:
    """Ours, with the package importable even when it runs from a source tree."""
    home = str(Path(__file__).resolve().parent.parent.parent)
    known = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys([home, *known])), "PYTHONUTF8": "1"}


def packed(steps: list[Step]) -> list[list[Any]]:
    return [list(step) for step in steps]


class LineCounts:
    """Counts, in the background and newest first, the lines of nodes whose capture had no time for it."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._task: asyncio.Task[None] | None = None
        self._process: DiffProcess | None = None
        self._known: dict[str, tuple[int, int]] | None = None
        self._queue: list[str] = []

    def known(self) -> dict[str, tuple[int, int]]:
        """Node → lines added and removed, of those that were counted later."""
        if self._known is None:
            doc = self._shared.doc
            self._known = {
                str(r.node): (int(r.data["added"]), int(r.data["removed"])) for r in doc.records("lines")
            }
        return self._known

    def wake(self, node: str = "") -> None:
        """Files changed in `node`; "" = look through the whole session once."""
        shared = self._shared
        if shared.info.read_only or shared.work is None:
            return
        self._queue.append(node)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._work(), name="line counts")

    async def _work(self) -> None:
        while self._queue:
            node = self._queue.pop()
            found = self._uncounted([self._shared.doc.seq(node)]) if node else await self._look()
            for uid in found:
                try:
                    await self._count(uid)
                except (OSError, WorldlineError) as error:
                    # A badge without numbers is no reason to disturb anybody; the next start tries again.
                    logger.info("the lines of %s could not be counted: %s", uid, error)

    async def _look(self) -> list[str]:
        """Nodes that were not counted, newest first."""
        tree = self._shared.doc.tree
        seqs = [
            seq for seq in range(len(tree), 0, -1)
            if tree.flags(seq) & NodeFlag.FILES_CHANGED or tree.kind(seq) in OF_THE_PERSON
        ]  # fmt: skip
        found: list[str] = []
        for at in range(0, len(seqs), 200):
            found += self._uncounted(seqs[at : at + 200])
            await asyncio.sleep(0)
        return found

    def _uncounted(self, seqs: list[int]) -> list[str]:
        known = self.known()
        headers = sorted(self._shared.doc.headers_of(seqs), key=lambda h: -h.seq)
        return [
            h.uid for h in headers
            if h.files and not h.added and not h.removed and h.state not in ("", NOT_CAPTURED) and h.uid not in known
        ]  # fmt: skip

    async def _count(self, uid: str) -> None:
        doc = self._shared.doc
        header = doc.header(uid)
        before = self._shared.good_state(doc.uid(header.parent)) if header.parent else ""
        if not before:
            return
        if self._process is None:
            self._process = DiffProcess(self._shared.workspace().store_path)
        added, removed = await self._process.call("lines", {"a": before, "b": header.state, "files": False})
        doc.add_record("lines", {"added": added, "removed": removed}, node=uid)
        self.known()[uid] = (added, removed)
        self._shared.emit("lines_counted", LinesCounted(nodes={uid: (added, removed)}))

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._process is not None:
            await self._process.close()
