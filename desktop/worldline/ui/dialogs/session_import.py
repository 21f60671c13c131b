"""Importing session files in a process of its own: large files take seconds, and a bad one must not hurt the window."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, Signal

from worldline.client.process import engine_environment

_FILE = re.compile(r"(\d+) of (\d+): (.*)")
_NODES = re.compile(r"\s+(\d+) of (\d+) nodes")
KILL_MS = 5_000


class Import(QObject):
    """One import. `done` carries the report of each file; `failed` what was said when there is none."""

    progress = Signal(str, int, int)
    """File, nodes done, nodes in all (0 = not known yet)."""
    done = Signal(list)
    failed = Signal(str)
    cancelled = Signal()

    def __init__(self, files: list[str], folder: Path, parent: QObject) -> None:
        super().__init__(parent)
        self._file = ""
        self._said: list[str] = []
        self._stopping = False
        self._process = QProcess(self)
        environment = QProcessEnvironment()
        for name, value in engine_environment().items():
            environment.insert(name, value)
        self._process.setProcessEnvironment(environment)
        self._process.readyReadStandardError.connect(self._read)
        self._process.finished.connect(self._finished)
        self._process.errorOccurred.connect(self._broken)
        self._process.start(
            sys.executable,
            ["-m", "worldline", "import", *files, "--out", str(folder), "--json", "--progress"],
        )

    def cancel(self) -> None:
        """What is half imported is removed by the importer; whole sessions stay."""
        self._stopping = True
        self._process.terminate()

    def stop_and_wait(self) -> None:
        """For the end of the dialog."""
        if self._process.state() != QProcess.ProcessState.NotRunning:
            self._process.finished.disconnect(self._finished)
            self._process.terminate()
            if not self._process.waitForFinished(KILL_MS):
                self._process.kill()
                self._process.waitForFinished(KILL_MS)

    def _read(self) -> None:
        for line in (
            bytes(self._process.readAllStandardError().data()).decode("utf-8", "replace").splitlines()
        ):
            if found := _FILE.match(line):
                self._file = found[3]
                self.progress.emit(self._file, 0, 0)
            elif found := _NODES.match(line):
                self.progress.emit(self._file, int(found[1]), int(found[2]))
            else:
                self._said.append(line)

    def _broken(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart:
            self.failed.emit(self._process.errorString())

    def _finished(self) -> None:
        self._read()
        if self._stopping:
            self.cancelled.emit()
            return
        out = bytes(self._process.readAllStandardOutput().data()).decode("utf-8", "replace")
        try:
            files: list[dict[str, Any]] = json.loads(out)["files"]
        except (ValueError, KeyError, TypeError):
            self.failed.emit("\n".join(self._said)[-600:] or out[-300:])
            return
        self.done.emit(files)


def report_text(files: list[dict[str, Any]]) -> str:
    """The report of an import for people: every file, and every place that could not be read."""
    lines: list[str] = []
    for one in files:
        lines.append(str(one.get("source", "")))
        wrong = one.get("error") or one.get("skipped")
        if wrong:
            lines += [f"  ✗ {wrong}", ""]
            continue
        lines.append(
            f"  ✓ {one.get('format', '')} · {one.get('nodes', 0)} · {one.get('branches', 0)} → {one.get('out', '')}"
        )
        lines += [f"  {gap.get('line', '')}: {gap.get('reason', '')}" for gap in one.get("gaps") or []]
        lines += [f"  {text}" for text in one.get("warnings") or []]
        lines.append("")
    return "\n".join(lines)
