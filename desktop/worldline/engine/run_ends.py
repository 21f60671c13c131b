"""Ends of runs on record, also of those that had no loop to write theirs, and of those for which there was no room."""

from __future__ import annotations

import logging

from worldline.agent.stops import RunEnd
from worldline.core.errors import SessionError, WorldlineError
from worldline.core.stop import StopReason
from worldline.core.usage import Usage
from worldline.engine.shared import Shared
from worldline.session.model import RunRecord

logger = logging.getLogger(__name__)


class RunEnds:
    """At most one end waits for room; no run begins before it is written (see `save_late`)."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._unsaved: tuple[str, RunEnd] | None = None
        """The end of a run that could not be written; written as soon as there is room."""

    def failed_to_start(self, run: RunRecord, error: Exception) -> RunEnd:
        """The loop could not be built: the prompt is kept, the run ends in order."""
        if isinstance(error, WorldlineError):
            end = RunEnd(StopReason.PROVIDER_ERROR, str(error), offers=["settings", "retry"])
            if isinstance(error, SessionError):
                end.reason = StopReason.STORE_ERROR
        else:
            logger.error("run %s could not be started", run.uid, exc_info=error)
            end = RunEnd(
                StopReason.INTERNAL_ERROR,
                f"A defect in Worldline kept the run from starting ({type(error).__name__}: {error}).",
                offers=["retry"],
            )
        return self.unstarted(run, end)

    def unstarted(self, run: RunRecord, end: RunEnd) -> RunEnd:
        """Write the end of a run for which there was no loop, which writes its own."""
        try:
            self._shared.doc.end_run(run.uid, end.reason, detail=end.detail, api_said="", usage=Usage())
        except SessionError:
            end.saved = False
        return end

    def take(self, run: RunRecord, end: RunEnd) -> None:
        """Show whether it is saved, and keep it where it is not."""
        if end.saved:
            self._shared.status.saved()
        else:
            self._unsaved = (run.uid, end)
            self._shared.status.unsaved(end.detail)

    def save_late(self) -> None:
        """Write the end of a run that could not be saved. Raises SessionError while there still is no room."""
        if self._unsaved is None:
            return
        uid, end = self._unsaved
        self._shared.doc.end_run(uid, end.reason, detail=end.detail, api_said=end.api_said, usage=end.usage)
        self._unsaved = None
        self._shared.status.saved()

    def save_at_last(self) -> None:
        """At the end: once more. Where there still is no room, the next start shows the run as interrupted."""
        try:
            self.save_late()
        except SessionError as error:
            logger.error("the end of a run is lost: %s", error)
