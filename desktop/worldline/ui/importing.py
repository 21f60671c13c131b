"""A foreign session file was named or dropped: import it, say what became of it, open it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from worldline.client.importing import ImportJob
from worldline.core import paths
from worldline.ui.labels import WrapLabel
from worldline.ui.theme import SPACE_L, SPACE_M, caption, theme
from worldline.viewmodel.engine_words import say


class ImportDialog(QDialog):
    """Progress with Cancel, then a report. `opened` carries the first session that came of it."""

    opened = Signal(str)

    def __init__(
        self, files: Sequence[str], parent: QWidget | None = None, folder: Path | None = None
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Import"))
        self.setAccessibleName(self.tr("Import"))
        self.resize(520, 10)
        self.reports: list[dict[str, Any]] = []
        self._started = time.monotonic()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SPACE_L, SPACE_L, SPACE_L, SPACE_L)
        layout.setSpacing(SPACE_M)
        self.head = WrapLabel("", self)
        self.head.setFont(theme().font_ui(2, bold=True))
        self.head.setWordWrap(True)
        self.text = WrapLabel("", self)
        self.text.setWordWrap(True)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.bar = QProgressBar(self)
        self.bar.setRange(0, 0)
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(self.tr("Importing"))
        self.note = QLabel(
            self.tr(
                "The file itself is only read. What is made is a session of its own, without files to go back to."
            ),
            self,
        )
        self.note.setWordWrap(True)
        caption(self.note)
        buttons = QDialogButtonBox(self)
        self.cancel_button: QPushButton = buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        self.cancel_button.clicked.connect(self.reject)
        self.open_button = QPushButton(self.tr("Open the session"), self)
        self.open_button.setProperty("role", "primary")
        self.open_button.clicked.connect(self._open)
        self.open_button.hide()
        buttons.addButton(self.open_button, QDialogButtonBox.ButtonRole.AcceptRole)
        for widget in (self.head, self.text, self.bar, self.note, buttons):
            layout.addWidget(widget)
        names = ", ".join(Path(one).name for one in files[:3]) + ("…" if len(files) > 3 else "")
        self.head.setText(self.tr("Importing {names}").format(names=names))
        self._clock = QTimer(self)
        self._clock.setInterval(500)
        self._clock.timeout.connect(self._tick)
        self._clock.start()
        self.job = ImportJob(files, folder or paths.sessions_dir(), self)
        self.job.done.connect(self._done)
        self.job.failed.connect(self._failed)
        self.job.start()
        self._tick()

    def _tick(self) -> None:
        self.text.setText(self.tr("{s} s so far.").format(s=int(time.monotonic() - self._started)))

    def _end(self, head: str, text: str) -> None:
        self._clock.stop()
        self.bar.hide()
        self.head.setText(head)
        self.text.setText(text)
        self.cancel_button.setText(self.tr("Close"))
        layout = self.layout()
        if layout is not None:
            # As wide as it was: lines that are half as long are hard to read.
            self.resize(self.width(), layout.totalHeightForWidth(self.width()))

    def _failed(self, why: str) -> None:
        self._end(self.tr("Nothing was imported"), say(why))

    def _done(self, reports: list[dict[str, Any]]) -> None:
        self.reports = reports
        good = [one for one in reports if one.get("out") and not one.get("error")]
        lines = [self._line(one) for one in reports[:8]]
        if not good:
            self._failed("\n".join(lines))
            return
        self._end(self.tr("Imported"), "\n".join(lines))
        self.open_button.show()
        self.open_button.setDefault(True)
        self.open_button.setFocus()
        losses = any(one.get("gaps") or one.get("error") or one.get("warnings") for one in reports)
        # Nothing to read: open at once.
        if not losses:
            self._open()

    def _line(self, report: dict[str, Any]) -> str:
        name = Path(str(report.get("source", ""))).name
        if report.get("error"):
            return f"{name}: {say(str(report['error']))}"
        words = [
            f"{name}: "
            + ", ".join(
                (
                    self.tr("%n node(s)", "", int(report.get("nodes", 0))),
                    self.tr("%n branch(es)", "", int(report.get("branches", 0))),
                )
            )
        ]
        gaps = list(report.get("gaps") or [])
        if gaps:
            words.append(
                self.tr("%n place(s) were damaged; the first: line {line}, {why}", "", len(gaps)).format(
                    line=gaps[0].get("line", "?"), why=say(str(gaps[0].get("reason", "")))
                )
            )
        words.extend(say(str(one)) for one in (report.get("warnings") or [])[:4])
        return "\n    ".join(words)

    def _open(self) -> None:
        place = next((str(one["out"]) for one in self.reports if one.get("out") and not one.get("error")), "")
        if place:
            self.opened.emit(place)
            self.accept()

    def done(self, result: int) -> None:
        """Also for Escape and the window's button: a running import is ended, nothing half is left."""
        self._clock.stop()
        self.job.stop(gently=True)
        super().done(result)
