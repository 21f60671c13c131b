"""Import in the sessions browser: its buttons, its progress, and the report of what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QProgressBar

from worldline.client.importing import ImportJob
from worldline.ui.dialogs.base import Dialog
from worldline.ui.dialogs.text_viewer import TextViewer
from worldline.viewmodel import engine_words


class SessionImport(QObject):
    """One import at a time. `said` carries a sentence and its colour; `came` the path of each new session."""

    said = Signal(str, str)
    came = Signal(object)

    def __init__(self, dialog: Dialog, folder: Path) -> None:
        """Puts its buttons left in the dialog; `bar` is placed by the dialog itself."""
        super().__init__(dialog)
        self._dialog = dialog
        self._folder = folder
        self._job: ImportJob | None = None
        self.report = ""
        self.bar = QProgressBar(dialog)
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(self.tr("Progress of the import"))
        self.bar.hide()
        self.import_button = dialog.add_button(self.tr("Import…"), self._choose, left=True)
        self.cancel_button = dialog.add_button(self.tr("Cancel the import"), self.cancel, left=True)
        self.cancel_button.hide()
        self.report_button = dialog.add_button(self.tr("Show the report"), self._show_report, left=True)
        self.report_button.hide()

    def _choose(self) -> None:
        dialog = QFileDialog(self._dialog, self.tr("Import sessions"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.filesSelected.connect(self.start)
        dialog.open()

    def start(self, files: list[str]) -> None:
        if self._job is not None:
            self.said.emit(self.tr("An import is still going on."), "warn")
            return
        self._job = ImportJob(files, self._folder, self)
        self._job.progress.connect(self._show_progress)
        self._job.done.connect(self._done)
        self._job.failed.connect(self._failed)
        self._job.cancelled.connect(self._cancelled)
        self.bar.setRange(0, 0)
        self.bar.show()
        self.cancel_button.show()
        self.import_button.hide()
        self.report_button.hide()
        self.said.emit(self.tr("Importing %n file(s)…", "", len(files)), "accent")
        self._job.start()

    def cancel(self) -> None:
        if self._job is not None:
            self._job.cancel()
            self.said.emit(self.tr("Stopping the import…"), "muted")

    def stop_and_wait(self) -> None:
        """For the end of the dialog."""
        if self._job is not None:
            self._job.stop(gently=True)
            self._job = None

    def _show_progress(self, file: str, done: int, total: int) -> None:
        self.bar.setRange(0, total)
        self.bar.setValue(done)
        share = self.tr("{done} of {total} nodes").format(done=done, total=total) if total else ""
        text = " · ".join(filter(None, (self.tr("Importing {}").format(file), share)))
        self.said.emit(text, "accent")

    def _over(self) -> None:
        if self._job is not None:
            self._job.deleteLater()
            self._job = None
        self.bar.hide()
        self.cancel_button.hide()
        self.import_button.show()

    def _failed(self, why: str) -> None:
        self._over()
        self.said.emit(self.tr("The import failed: {}").format(engine_words.say(why)), "bad")

    def _cancelled(self) -> None:
        self._over()
        self.said.emit(self.tr("The import was cancelled. What was half imported is gone again."), "warn")

    def _done(self, files: list[dict[str, Any]]) -> None:
        self._over()
        good = [one for one in files if one.get("out") and not one.get("error")]
        for one in good:
            self.came.emit(Path(str(one["out"])))
        nodes = sum(int(one.get("nodes", 0)) for one in good)
        gaps = sum(len(one.get("gaps") or []) for one in files)
        bad = len(files) - len(good)
        text = [
            self.tr("%n file(s) imported.", "", len(good)),
            self.tr("%n node(s) came of it.", "", nodes),
        ]
        if bad:
            text.append(self.tr("%n file(s) could not be imported.", "", bad))
        if gaps:
            text.append(self.tr("%n place(s) could not be read.", "", gaps))
        self.report = report_text(files)
        self.report_button.show()
        self.said.emit(" ".join(text), "warn" if bad else "ok")

    def _show_report(self) -> None:
        viewer = TextViewer(self.tr("Report of the import"), self._dialog)
        viewer.append(self.report)
        viewer.open()


def report_text(files: list[dict[str, Any]]) -> str:
    """The report of an import for people: every file, and every place that could not be read."""
    lines: list[str] = []
    for one in files:
        lines.append(str(one.get("source", "")))
        wrong = one.get("error") or one.get("skipped")
        if wrong:
            lines += [f"  ✗ {engine_words.say(str(wrong))}", ""]
            continue
        lines.append(
            f"  ✓ {one.get('format', '')} · {one.get('nodes', 0)} · {one.get('branches', 0)} → {one.get('out', '')}"
        )
        lines += [
            f"  {gap.get('line', '')}: {engine_words.say(str(gap.get('reason', '')))}"
            for gap in one.get("gaps") or []
        ]
        lines += [f"  {engine_words.say(str(text))}" for text in one.get("warnings") or []]
        lines.append("")
    return "\n".join(lines)
