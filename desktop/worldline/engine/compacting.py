"""Compacting on the person's command, outside of a run. It can be stopped like a run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from worldline.core.errors import BadInput, WorldlineError
from worldline.engine.shared import Shared
from worldline.protocol.commands import CompactNow, Nothing


class Compacting:
    def __init__(
        self, shared: Shared, busy: Callable[[], bool], compact: Callable[[str, str], Awaitable[None]]
    ) -> None:
        """`compact`: (instructions, how)."""
        self._shared = shared
        self._busy = busy
        self._compact = compact
        self._task: asyncio.Future[None] | None = None

    async def command(self, command: CompactNow) -> Nothing:
        """Return when it is done. Raises WorldlineError (kind `cancelled`) when it was stopped."""
        self._shared.writable()
        async with self._shared.turnstile:
            if self._busy():
                raise BadInput("A run is going on.", "Stop it first, then compact.")
            self._task = asyncio.ensure_future(self._compact(command.instructions, command.how))
            try:
                await self._task
            except asyncio.CancelledError:
                current = asyncio.current_task()
                if current is not None and current.cancelling():
                    raise
                raise WorldlineError(
                    "The compaction was stopped.", "The conversation is as it was.", kind="cancelled"
                ) from None
            finally:
                self._task = None
        return Nothing()

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
