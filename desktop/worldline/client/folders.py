"""The folders of sessions, listed and removed by a process of its own: git and large folders never stop the window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject, Signal

from worldline.client.jobs import JsonJob


class FolderJob(JsonJob):
    """One call of `worldline worktrees`. A removal that was begun and stopped is finished at the next time."""

    seen = Signal(dict)
    """A folder, as `protocol.folders.SessionFolder`; twice each, the second time with its size and what it would lose."""

    def __init__(self, arguments: Sequence[str], parent: QObject | None = None) -> None:
        super().__init__(["worktrees", "--json", *arguments], parent)

    @classmethod
    def of_list(cls, only: str = "", parent: QObject | None = None) -> FolderJob:
        """All folders and all that is kept of deleted sessions, or one. `done` follows with {}."""
        job = cls(["--lines", *(["--only", only] if only else ["--stores"])], parent)
        job._process.readyReadStandardOutput.connect(job._read)
        return job

    @classmethod
    def of_removal(cls, path: str, lose_id: str, parent: QObject | None = None) -> FolderJob:
        """Remove one, if what would be lost is still what `lose_id` stands for. `done` carries the `FolderRemoved`."""
        return cls(["remove", path, *(["--yes-lose", lose_id] if lose_id else [])], parent)

    def _read(self) -> None:
        """Whole lines; the rest of one comes later."""
        while self._process.canReadLine():
            self._take(bytes(self._process.readLine().data()))

    def _keep(self, value: dict[str, Any]) -> None:
        if "looked" in value:
            self.seen.emit(value)
        else:
            super()._keep(value)
