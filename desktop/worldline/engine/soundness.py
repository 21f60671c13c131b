"""A look through the session's file beside the work: a file that is damaged in the middle opens like a sound one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from worldline.agent.stops import RunEnd
from worldline.core.stop import StopReason
from worldline.engine.shared import Shared
from worldline.protocol.events import WritingEnded
from worldline.session.health import FileCheck, damage_of, tree_faults

logger = logging.getLogger(__name__)


class Soundness:
    """Belongs to the loop; the look itself is on a thread and reads with a connection of its own."""

    def __init__(self, shared: Shared, stop_run: Callable[[RunEnd], None]) -> None:
        self._shared = shared
        self._stop_run = stop_run

    async def look(self) -> None:
        """Look once. Where the file is damaged the session is closed for writing, and the person is told what to do:
        every row that is added to a file with broken pages may end where nobody finds it again."""
        shared = self._shared
        if shared.doc.damage:
            return  # known since it was opened
        check = FileCheck(shared.doc.path)
        try:
            faults = tree_faults(shared.doc.tree.columns) or await asyncio.to_thread(check.run)
        except asyncio.CancelledError:
            check.stop()
            raise
        if faults:
            self._damaged(faults)

    def _damaged(self, faults: list[str]) -> None:
        shared = self._shared
        shared.doc.damage = damage_of(shared.doc.path, faults)
        why = " ".join(shared.doc.damage)
        logger.error("%s", why)
        shared.info.read_only, shared.info.read_only_why, shared.info.damaged = True, why, True
        self._stop_run(RunEnd(StopReason.STORE_ERROR, why))
        shared.emit("writing_ended", WritingEnded(why=why))
