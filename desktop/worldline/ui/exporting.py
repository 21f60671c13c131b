"""Export of a session or of a branch: where to, in which form, and what became of it."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog

from worldline.viewmodel import engine_words

if TYPE_CHECKING:
    from worldline.client.process import EngineProcess
    from worldline.ui.main_window import MainWindow

NAME_BYTES = 120
SUFFIXES = {"markdown": ".md", "html": ".html", "jsonl": ".jsonl", "bundle": ".zip"}


class Exporting(QObject):
    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self.dialog: QFileDialog | None = None
        window.state.export_asked.connect(self.ask)

    def forms(self) -> dict[str, str]:
        """Form → how it is called in the dialog."""
        return {
            "markdown": self.tr("This branch to read (*.md)"),
            "html": self.tr("The whole tree as a page (*.html)"),
            "jsonl": self.tr("The whole session, nothing lost (*.jsonl)"),
            "bundle": self.tr(
                "The whole session with its files, also ignored ones like .env, to open elsewhere (*.zip)"
            ),
        }

    def ask(self, uid: str) -> QFileDialog:
        """Ask for a place and a form, then export the branch that ends at `uid`."""
        window = self._window
        forms = self.forms()
        home = Path(str(window.state.info.get("root") or Path.home()))
        name = file_name(str(window.state.info.get("title") or ""))
        dialog = QFileDialog(window, self.tr("Export"), str(home if home.is_dir() else Path.home()))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters(list(forms.values()))
        dialog.setDefaultSuffix(SUFFIXES["markdown"])
        dialog.selectFile(f"{name}{SUFFIXES['markdown']}")
        dialog.filterSelected.connect(lambda words: self._chosen(dialog, name, self._form_of(words)))
        dialog.fileSelected.connect(
            lambda path: self.write(uid, self._form_of(dialog.selectedNameFilter(), path), Path(path))
        )
        dialog.destroyed.connect(self._closed)
        self.dialog = dialog
        dialog.open()
        return dialog

    @staticmethod
    def _chosen(dialog: QFileDialog, name: str, form: str) -> None:
        """The proposed name takes the ending of the form; a dialog of the desktop does not do that by itself, and the
        ending decides."""
        dialog.setDefaultSuffix(SUFFIXES[form])
        chosen = dialog.selectedFiles()
        if not chosen or Path(chosen[0]).name in [f"{name}{suffix}" for suffix in SUFFIXES.values()]:
            dialog.selectFile(f"{name}{SUFFIXES[form]}")

    def _closed(self) -> None:
        self.dialog = None

    def _form_of(self, words: str, path: str = "") -> str:
        """A name that ends like a form means that form; else the chosen filter does."""
        for form, suffix in SUFFIXES.items():
            if path.endswith(suffix):
                return form
        return next((form for form, said in self.forms().items() if said == words), "markdown")

    def write(self, uid: str, form: str, place: Path) -> None:
        """Have the engine write the file; say where it is. An existing file was agreed to in the dialog."""
        # Short: a long name with more behind it would be longer than any file may be called.
        passing = place.with_name(f".export-{os.getpid()}-{secrets.token_hex(4)}.new")
        client = self._window.state.client

        def written(result: dict[str, Any]) -> None:
            # Only now is an older file replaced: a failed export loses nothing.
            made = Path(str(result["path"]))
            there = _shown_now(client)
            try:
                made.replace(place)
            except OSError as error:
                with contextlib.suppress(OSError):
                    made.unlink()
                if there is not None:
                    there._not_written(place, error)
                return
            if there is not None:
                there._written(place)

        def refused(error: dict[str, Any]) -> None:
            if (there := _shown_now(client)) is not None:
                there._window.state.failed.emit(engine_words.error(error))

        # Not asked by the session: one whose window is made anew hears nothing any more, and the file would stay under its
        # passing name.
        client.request("export", {"format": form, "out": str(passing), "node": uid}, written, refused)

    def _not_written(self, place: Path, error: OSError) -> None:
        why = error.strerror or str(error)
        text = self.tr("{path} could not be written: {why}. Export to another place.")
        self._window.notices.say("export", text.format(path=place, why=why), icon="warn", color="bad")

    def _written(self, place: Path) -> None:
        self._window.notices.say(
            "export",
            self.tr("Exported to {path}.").format(path=place),
            icon="export",
            color="ok",
            buttons=[
                (self.tr("Open"), lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(place)))),
                (self.tr("Show in folder"),
                 lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(place.parent)))),
            ],
        )  # fmt: skip


def _shown_now(client: EngineProcess) -> Exporting | None:
    """Of the window that shows the session by now; None when there is none, or none that is complete."""
    state = client.parent()
    window = state.parent() if state is not None else None
    return window.findChild(Exporting) if window is not None else None


def file_name(title: str) -> str:
    """A name for a file that any system takes, made of a title: no separators, no hidden characters, not too long."""
    plain = "".join("-" if char in '/\\:*?"<>|' or not char.isprintable() else char for char in title).strip(
        " ."
    )
    return plain.encode()[:NAME_BYTES].decode(errors="ignore").strip(" .") or "session"
