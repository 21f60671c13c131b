"""The folders of sessions, listed and removed by a process of its own: git and large folders never stop the window."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, Signal

from worldline.client.process import engine_environment

STOP_MS = 5_000
SAID = 600
"""Characters of what a broken command said last."""


class FolderJob(QObject):
    """One call of `worldline worktrees`. Exactly one of `done` and `failed` follows `start`, unless `stop` is called."""

    seen = Signal(dict)
    """A folder, as `protocol.folders.SessionFolder`; twice each, the second time with its size and what it would lose."""
    done = Signal(dict)
    """The answer to a removal (`FolderRemoved`); {} after a list."""
    failed = Signal(dict)
    """The refusal: {"message", "hint", "kind"}."""

    def __init__(self, arguments: Sequence[str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._answer: dict[str, Any] = {}
        self._error: dict[str, Any] = {}
        self._process = QProcess(self)
        environment = QProcessEnvironment()
        for name, value in engine_environment().items():
            environment.insert(name, value)
        self._process.setProcessEnvironment(environment)
        self._process.setProgram(sys.executable)
        self._process.setArguments(["-m", "worldline", "worktrees", "--json", *arguments])
        self._process.setReadChannel(QProcess.ProcessChannel.StandardOutput)
        self._process.finished.connect(self._finished)
        self._process.errorOccurred.connect(self._broken)

    @classmethod
    def of_list(cls, only: str = "", parent: QObject | None = None) -> FolderJob:
        """All folders and all that is kept of deleted sessions, or one."""
        job = cls(["--lines", *(["--only", only] if only else ["--stores"])], parent)
        job._process.readyReadStandardOutput.connect(job._read)
        return job

    @classmethod
    def of_removal(cls, path: str, lose_id: str, parent: QObject | None = None) -> FolderJob:
        """Remove one, if what would be lost is still what `lose_id` stands for."""
        return cls(["remove", path, *(["--yes-lose", lose_id] if lose_id else [])], parent)

    def start(self) -> None:
        self._process.start()

    def stop(self) -> None:
        """No signal follows. A removal that was begun is finished at the next time."""
        self.blockSignals(True)
        if self._process.state() != QProcess.ProcessState.NotRunning:
            self._process.kill()
            self._process.waitForFinished(STOP_MS)

    def _read(self) -> None:
        """Whole lines; the rest of one comes later."""
        while self._process.canReadLine():
            self._take(bytes(self._process.readLine().data()))

    def _take(self, raw: bytes) -> None:
        try:
            value = json.loads(raw)
        except ValueError:
            return
        if not isinstance(value, dict):
            return
        if isinstance(value.get("error"), dict):
            self._error = value["error"]
        elif "looked" in value:
            self.seen.emit(value)
        else:
            self._answer = value

    def _broken(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:
            self.failed.emit({"message": self._process.errorString(), "hint": "", "kind": "failed"})

    def _finished(self) -> None:
        # The rest of a list, the one document of an answer, or the line of a refusal.
        for line in (rest := bytes(self._process.readAllStandardOutput().data())).splitlines():
            self._take(line)
        self._take(rest)
        if self._process.exitStatus() == QProcess.ExitStatus.NormalExit and not self._process.exitCode():
            self.done.emit(self._answer)
            return
        said = bytes(self._process.readAllStandardError().data()).decode("utf-8", "replace").strip()
        ended = self.tr("It ended without an answer.")
        self.failed.emit(self._error or {"message": said[-SAID:] or ended, "hint": "", "kind": "failed"})
