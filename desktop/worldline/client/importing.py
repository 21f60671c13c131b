"""Import of other agents' sessions in a process of its own: large files take seconds, and a bad one hurts nobody."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, Signal

from worldline.client.process import engine_environment

KILL_MS = 5_000


class ImportJob(QObject):
    """`worldline import --json`. Exactly one of `done`, `failed`, `cancelled` follows `start`."""

    done = Signal(list)
    """The report of each file, as `worldline import --json` writes them."""
    failed = Signal(str)
    cancelled = Signal()

    def __init__(self, files: Sequence[str], folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.files = list(files)
        self._cancelled = False
        self._process = QProcess(self)
        environment = QProcessEnvironment()
        for name, value in engine_environment().items():
            environment.insert(name, value)
        self._process.setProcessEnvironment(environment)
        self._process.setProgram(sys.executable)
        self._process.setArguments(["-m", "worldline", "import", *self.files, "--out", str(folder), "--json"])
        self._process.finished.connect(self._finished)
        self._process.errorOccurred.connect(self._error)

    def start(self) -> None:
        self._process.start()

    def cancel(self) -> None:
        """Ask it to end: it removes what it has made by half. What is whole stays."""
        self._cancelled = True
        self._process.terminate()

    def stop_and_wait(self) -> None:
        if self._process.state() != QProcess.ProcessState.NotRunning:
            self.cancel()
            if not self._process.waitForFinished(KILL_MS):
                self._process.kill()
                self._process.waitForFinished(KILL_MS)

    def _error(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:
            self.failed.emit(self._process.errorString())

    def _finished(self) -> None:
        if self._cancelled:
            self.cancelled.emit()
            return
        out = bytes(self._process.readAllStandardOutput().data()).decode("utf-8", "replace")
        said = bytes(self._process.readAllStandardError().data()).decode("utf-8", "replace").strip()
        try:
            files: list[dict[str, Any]] = json.loads(out)["files"]
        except (ValueError, KeyError, TypeError):
            self.failed.emit(said[-400:] or out[-400:] or self.tr("The import ended without an answer."))
            return
        self.done.emit(files)
