"""Work beside the commands: nobody waits for it, its failure is shown, and it ends with the session."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from worldline.engine.status import StatusBoard

logger = logging.getLogger(__name__)


class Background:
    """All of it on the session's loop."""

    def __init__(self, status: StatusBoard) -> None:
        self._status = status
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """`name` stands in the log and, when it fails, in the status."""

        async def guarded() -> None:
            try:
                await work
            except Exception as error:  # the edge of a background task: shown, not lost
                logger.error("%s failed", name, exc_info=error)
                self._status.set(state="failed", sentence=f"{name}: {error}")

        task = asyncio.get_running_loop().create_task(guarded(), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # One that is cancelled before its first step would leave the work behind, which Python complains about.
        task.add_done_callback(lambda _: work.close())

    async def end(self) -> None:
        """Cancel what is still going on and wait until it is over."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
