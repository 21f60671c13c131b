"""Export of a session or of a branch: where to, in which form, and what became of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog

if TYPE_CHECKING:
    from worldline.ui.main_window import MainWindow

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
        name = str(window.state.info.get("title") or "session").replace("/", "-").replace("\0", "")
        dialog = QFileDialog(window, self.tr("Export"), str(home if home.is_dir() else Path.home()))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters(list(forms.values()))
        dialog.setDefaultSuffix(SUFFIXES["markdown"])
        dialog.selectFile(f"{name[:80]}{SUFFIXES['markdown']}")
        dialog.filterSelected.connect(lambda words: dialog.setDefaultSuffix(SUFFIXES[self._form_of(words)]))
        dialog.fileSelected.connect(
            lambda path: self.write(uid, self._form_of(dialog.selectedNameFilter(), path), Path(path))
        )
        dialog.destroyed.connect(self._closed)
        self.dialog = dialog
        dialog.open()
        return dialog

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
        passing = place.with_name(f".{place.name}.{os.getpid()}.new")
        passing.unlink(missing_ok=True)

        def written(result: dict[str, Any]) -> None:
            # Only now is an older file replaced: a failed export loses nothing.
            Path(str(result["path"])).replace(place)
            self._written(place)

        self._window.state.request("export", {"format": form, "out": str(passing), "node": uid}, written)

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
