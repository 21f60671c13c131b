"""The one thread on which the workspace is read and written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from worldline.workspace import guard
from worldline.workspace.model import NOT_CAPTURED, CaptureResult

if TYPE_CHECKING:
    from worldline.workspace.engine import Workspace

T = TypeVar("T")


class WorkThread:
    """Opens the workspace when it is first needed and runs every call on it in order, off the loop.

    A call that was begun is always finished: cancelling the waiter does not leave a capture or a restore half done.
    """

    def __init__(self, work_path: Path, store_path: Path) -> None:
        self.work_path = work_path
        self.store_path = store_path
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="workspace")
        self._workspace: Workspace | None = None
        self._busy: set[asyncio.Future[Any]] = set()
        self._left_out: frozenset[str] = frozenset()

    def has_journal(self) -> bool:
        """Whether a restore may have been interrupted, or not be on the disk for good. Does not open the workspace."""
        return any((self.store_path / name).exists() for name in ("restore", "settling"))

    def _open(self) -> Workspace:
        if self._workspace is None:
            guard.platform()
            # Loaded here, on the thread: libgit2 takes a while, and a session can be shown without it.
            from worldline.workspace.engine import Workspace

            self._workspace = Workspace(self.work_path, self.store_path)
        return self._workspace

    async def call(self, function: Callable[[Workspace], T]) -> T:
        """Run `function` with the workspace on its thread."""
        future = asyncio.get_running_loop().run_in_executor(self._pool, lambda: function(self._open()))
        self._busy.add(future)
        future.add_done_callback(self._busy.discard)
        return await asyncio.shield(future)

    async def capture(self, parent: str | None, label: str = "") -> CaptureResult:
        result = await self.call(lambda w: w.capture(parent, label))
        if result.state != NOT_CAPTURED:
            result.seen, self._left_out = self._left_out, frozenset(one.path for one in result.omitted)
        return result

    async def close(self) -> None:
        """Wait for what is going on, then close the workspace."""
        if self._busy:
            await asyncio.gather(*self._busy, return_exceptions=True)

        def shut() -> None:
            if self._workspace is not None:
                self._workspace.close()
                self._workspace = None

        await asyncio.get_running_loop().run_in_executor(self._pool, shut)
        self._pool.shutdown(wait=False)
