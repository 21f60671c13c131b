"""A command of the command line in a process of its own, with its answer as JSON: what takes long, or reads what may be
broken, never stops the window."""

from __future__ import annotations

import json
import sys
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, Signal

from worldline.client.process import engine_environment

STOP_MS = 5_000
SAID = 600
"""Characters of what a broken command said last."""


class Job(QObject):
    """One call of the command line."""

    def __init__(self, arguments: Sequence[str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._process = QProcess(self)
        environment = QProcessEnvironment()
        for name, value in engine_environment().items():
            environment.insert(name, value)
        self._process.setProcessEnvironment(environment)
        self._process.setProgram(sys.executable)
        self._process.setArguments(["-m", "worldline", *arguments])
        self._process.finished.connect(self._finished)
        self._process.errorOccurred.connect(self._on_error)

    def start(self) -> None:
        self._process.start()

    def stop(self, *, gently: bool = False) -> None:
        """No signal follows. `gently`: it gets a moment to take back what it has done by half."""
        self.blockSignals(True)
        if self._process.state() == QProcess.ProcessState.NotRunning:
            return
        if gently:
            self._process.terminate()
            if self._process.waitForFinished(STOP_MS):
                return
        self._process.kill()
        self._process.waitForFinished(STOP_MS)

    def _on_error(self, error: QProcess.ProcessError) -> None:
        # Whatever else goes wrong ends it, and is told by its end.
        if error == QProcess.ProcessError.FailedToStart:
            self._not_started(self._process.errorString())

    @abstractmethod
    def _finished(self) -> None:
        """It has ended by itself."""

    @abstractmethod
    def _not_started(self, why: str) -> None:
        """There is no process, and `_finished` is not called."""


class JsonJob(Job):
    """One call of `worldline … --json`. Exactly one of `done` and `failed` follows `start`, unless `stop` is called."""

    done = Signal(dict)
    """The answer; {} where there is none."""
    failed = Signal(dict)
    """The refusal: {"message", "hint", "kind"}."""

    good_codes: tuple[int, ...] = (0,)
    """Exit codes with which the answer counts."""

    def __init__(self, arguments: Sequence[str], parent: QObject | None = None) -> None:
        super().__init__(arguments, parent)
        self._answer: dict[str, Any] = {}
        self._error: dict[str, Any] = {}

    def _take(self, raw: bytes) -> None:
        try:
            value = json.loads(raw)
        except ValueError:
            return
        if not isinstance(value, dict):
            return
        if isinstance(value.get("error"), dict):
            self._error = value["error"]
        else:
            self._keep(value)

    def _keep(self, value: dict[str, Any]) -> None:
        """One document of what it says."""
        self._answer = value

    def _not_started(self, why: str) -> None:
        self.failed.emit({"message": why, "hint": "", "kind": "failed"})

    def _finished(self) -> None:
        # The rest of a list, the one document of an answer, or the line of a refusal.
        for line in (rest := bytes(self._process.readAllStandardOutput().data())).splitlines():
            self._take(line)
        self._take(rest)
        code = self._process.exitCode()
        normal = self._process.exitStatus() == QProcess.ExitStatus.NormalExit
        if normal and code in self.good_codes and not self._error:
            self.done.emit(self._answer)
            return
        said = bytes(self._process.readAllStandardError().data()).decode("utf-8", "replace").strip()
        ended = self.tr("It ended without an answer.")
        self.failed.emit(self._error or {"message": said[-SAID:] or ended, "hint": "", "kind": "failed"})
