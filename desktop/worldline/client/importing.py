"""Import of other agents' sessions in a process of its own: large files take seconds, and a bad one hurts nobody."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QProcess, Signal

from worldline.client.jobs import SAID, Job

_FILE = re.compile(r"(\d+) of (\d+): (.*)")
_NODES = re.compile(r"\s*(\d+) of (\d+) nodes")


class ImportJob(Job):
    """`worldline import --json --progress`. Exactly one of `done`, `failed`, `cancelled` follows `start`, unless `stop` is
    called."""

    progress = Signal(str, int, int)
    """File, nodes done, nodes in all (0 = not known yet)."""
    done = Signal(list)
    """The report of each file, as `worldline import --json` writes them."""
    failed = Signal(str)
    """What was said when there is no report."""
    cancelled = Signal()

    def __init__(self, files: Sequence[str], folder: Path, parent: QObject | None = None) -> None:
        super().__init__(["import", *files, "--out", str(folder), "--json", "--progress"], parent)
        self._file = ""
        self._said: list[str] = []
        self._cancelled = False
        self._process.setReadChannel(QProcess.ProcessChannel.StandardError)
        self._process.readyReadStandardError.connect(self._read)

    def cancel(self) -> None:
        """Ask it to end: it removes what it has made by half. What is whole stays."""
        self._cancelled = True
        self._process.terminate()

    def _read(self) -> None:
        """Whole lines; the rest of one comes later."""
        while self._process.canReadLine():
            self._take(self._process.readLine())

    def _take(self, raw: Any) -> None:
        line = bytes(raw.data()).decode("utf-8", "replace").rstrip("\r\n")
        if found := _FILE.match(line):
            self._file = found[3]
            self.progress.emit(self._file, 0, 0)
        elif found := _NODES.match(line):
            self.progress.emit(self._file, int(found[1]), int(found[2]))
        elif line:
            self._said.append(line)

    def _not_started(self, why: str) -> None:
        self.failed.emit(why)

    def _finished(self) -> None:
        self._read()
        self._take(self._process.readAllStandardError())
        if self._cancelled:
            self.cancelled.emit()
            return
        out = bytes(self._process.readAllStandardOutput().data()).decode("utf-8", "replace")
        try:
            files: list[dict[str, Any]] = json.loads(out)["files"]
        except (ValueError, KeyError, TypeError):
            said = "\n".join(self._said)
            self.failed.emit(said[-SAID:] or out[-SAID:] or self.tr("The import ended without an answer."))
            return
        self.done.emit(files)
