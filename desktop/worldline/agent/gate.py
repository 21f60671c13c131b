"""Where a run waits while the person pauses it, and a clock that stands still meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable


class Gate:
    """Open unless the person holds the run before its next step. Used on the loop only."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._open = asyncio.Event()
        self._open.set()
        self._held = 0.0
        self._since: float | None = None
        self._waiting = 0

    def set(self) -> None:
        self._open.set()

    def clear(self) -> None:
        self._open.clear()

    def is_set(self) -> bool:
        return self._open.is_set()

    async def wait(self) -> None:
        """Return when it is open. The time until then is nobody's work, see `now`."""
        if self._open.is_set():
            return
        if not self._waiting:
            self._since = self._clock()
        self._waiting += 1
        try:
            await self._open.wait()
        finally:
            self._waiting -= 1
            if not self._waiting and self._since is not None:
                self._held += self._clock() - self._since
                self._since = None

    @property
    def holding(self) -> bool:
        """Something waits here at this moment."""
        return self._since is not None

    def held(self) -> float:
        """Seconds that were waited here in all. A step that was going on when the person paused worked on: it counts."""
        return self._held + (self._clock() - self._since if self._since is not None else 0.0)

    def now(self) -> float:
        """A clock for time limits: it stands still while a run is held."""
        return self._clock() - self.held()
