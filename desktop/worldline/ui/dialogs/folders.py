"""Folders of sessions: the worktrees in the app's data folder, what would be lost with each, and removing one."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QListWidget,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from worldline.protocol.folders import FolderRemoved, SessionFolder
from worldline.ui.chat import words
from worldline.ui.chat.row_base import ColorLabel
from worldline.ui.dialogs.base import Dialog
from worldline.ui.plain import as_tip
from worldline.ui.recents import short_path
from worldline.ui.tables import quiet
from worldline.ui.theme import theme

ROLE = Qt.ItemDataRole.UserRole
NAMED = 12
"""Lines that the question before a removal names; the list in the dialog names all that are known."""
COLUMNS = 4


class LossWords(QObject):
    """What would be lost with a folder, in words. Not a part of the dialogs: a plural is looked up under the name of the
    very class of the object that asks."""

    def lines(self, folder: SessionFolder, limit: int) -> Sequence[str]:
        """At most so many lines, then how many more."""
        lines = folder.lose[:limit]
        more = len(folder.lose) - len(lines) + folder.lose_more
        return [*lines, self.tr("… and %n more", "", more)] if more else lines

    def said(self, folder: SessionFolder) -> str:
        """What removing it means, in one paragraph."""
        count = len(folder.lose) + folder.lose_more
        lost = self.tr("%n thing(s) would be nowhere any more.", "", count)
        first = lost if count else self.tr("Nothing would be lost.")
        return " ".join(part for part in (first, folder.note) if part)


def add_loss(dialog: Dialog, folder: SessionFolder, layout: QVBoxLayout | None = None) -> None:
    """The paragraph and the first lines, as texts of a question."""
    loss = LossWords(dialog)
    dialog.add_text(loss.said(folder), "warn" if folder.lose else "text", layout)
    for line in loss.lines(folder, NAMED):
        dialog.add_text("•  " + line, "warn", layout)


class FoldersDialog(Dialog):
    """Filled by `show_…`; `remove_wanted` carries the folder and the id of what was confirmed."""

    remove_wanted = Signal(str, str)
    look_wanted = Signal(str)
    """Look at this folder anew."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Folders of sessions"), parent, width=860)
        self.resize(860, 600)
        self._folders: dict[str, SessionFolder] = {}
        self._removing = ""
        self._loss_words = LossWords(self)
        self.question: Dialog | None = None
        self.add_text(
            self.tr("A session on a git repository works in a folder of its own, in Worldline's data folder. Folders of "
                    "deleted sessions, and the saved files of their steps, stay until you remove them."),
            "muted",
        )  # fmt: skip
        self.total = self.add_text(self.tr("Looking…"), "muted")
        self.table = self._table()
        self.body.addWidget(self.table, 3)
        line = QHBoxLayout()
        line.setSpacing(12)
        self.what = ColorLabel("", "text", self)
        self.what.setFont(theme().font_ui())
        self.what.setWordWrap(True)
        line.addWidget(self.what, 1)
        self.remove_button = QPushButton(self.tr("Remove…"), self)
        self.remove_button.setProperty("role", "danger")
        self.remove_button.setAutoDefault(False)
        self.remove_button.clicked.connect(lambda _=False: self.ask())
        line.addWidget(self.remove_button, 0, Qt.AlignmentFlag.AlignTop)
        self.body.addLayout(line)
        self.lost = QListWidget(self)
        self.lost.setAccessibleName(self.tr("What would be lost"))
        self.lost.setMinimumHeight(84)
        self.body.addWidget(self.lost, 2)
        self.lost.hide()
        self.reveal_button = self.add_button(self.tr("Show the folder"), self._reveal, left=True)
        self.add_button(self.tr("Close"), self.reject, default=True)
        self._refresh()

    def _table(self) -> QTableWidget:
        table = QTableWidget(0, COLUMNS, self)
        table.setHorizontalHeaderLabels(
            [self.tr("Session"), self.tr("Repository, branch"), self.tr("Size"), self.tr("Would be lost")]
        )
        header = table.horizontalHeader()
        for column in (0, 1):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        for column, width in ((2, 96), (3, 132)):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)
            table.setColumnWidth(column, width)
        quiet(table, row_height=30)
        if (size := table.horizontalHeaderItem(2)) is not None:
            size.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        table.setSelectionBehavior(QTableWidget.SelectionBehavior.SelectRows)
        table.setSelectionMode(QTableWidget.SelectionMode.SingleSelection)
        table.setAccessibleName(self.tr("Folders of sessions"))
        table.currentCellChanged.connect(lambda *_: self._refresh())
        table.setMinimumHeight(140)
        return table

    # -- what is known

    def show_folder(self, folder: SessionFolder) -> None:
        """A new row, or what is known of one by now."""
        known = folder.path in self._folders
        self._folders[folder.path] = folder
        row = self._row(folder.path) if known else self.table.rowCount()
        if not known:
            self.table.insertRow(row)
        texts = (self._whose(folder), self._from(folder), self._size(folder), self._loss(folder))
        for column, text in enumerate(texts):
            item = QTableWidgetItem(text)
            item.setData(ROLE, folder.path)
            item.setToolTip(as_tip(folder.path if not column else text))
            if column == 2:
                item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            self.table.setItem(row, column, item)
        if self.table.currentRow() < 0:
            self.table.selectRow(0)
        self._refresh()

    def show_end(self) -> None:
        """All there are have been shown."""
        if not self._folders:
            self.total.set(self.tr("There is none now."), "muted")
            return
        size = words.size(sum(folder.bytes for folder in self._folders.values()))
        text = self.tr("%n folder(s) take {size}.", "", len(self._folders))
        self.total.set(text.format(size=size), "text")

    def show_problem(self, text: str) -> None:
        """A list or a removal was refused; the folder is looked at again."""
        path, self._removing = self._removing, ""
        if not self._folders:
            self.total.set(text, "bad")
        self._refresh()
        self.what.set(text, "bad")
        if path:
            self.look_wanted.emit(path)

    def show_removed(self, removed: FolderRemoved) -> None:
        self._removing = ""
        folder = self._folders.pop(removed.path, None)
        if folder is not None:
            self.table.removeRow(self._row(removed.path))
        self.show_end()
        self._refresh()
        text = self.tr("The folder is removed. About {size} are free again.")
        self.what.set(text.format(size=words.size(removed.bytes)), "ok")

    # -- in words

    def _whose(self, folder: SessionFolder) -> str:
        if folder.session == "trash":
            return self.tr("{title}  (in the trash)").format(title=folder.title)
        if folder.session == "ready":
            return self.tr("Kept ready for the next session")
        return folder.title if folder.session == "there" else self.tr("No session file any more")

    def _from(self, folder: SessionFolder) -> str:
        parts = [short_path(folder.repository) if folder.repository else "", folder.branch]
        if folder.kind == "store":
            parts.insert(0, self.tr("Files of its steps"))
        return " · ".join(part for part in parts if part) or folder.name

    def _size(self, folder: SessionFolder) -> str:
        if not folder.looked:
            return "…"
        size = words.size(folder.bytes)
        return size if folder.bytes_complete else self.tr("over {size}").format(size=size)

    def _loss(self, folder: SessionFolder) -> str:
        if folder.in_use:
            return self.tr("in use")
        if not folder.looked:
            return "…"
        if folder.problem:
            return self.tr("not known")
        count = len(folder.lose) + folder.lose_more
        return self.tr("%n thing(s)", "", count) if count else self.tr("nothing")

    # -- the chosen one

    def _row(self, path: str) -> int:
        rows = range(self.table.rowCount())
        return next((row for row in rows if self._path_at(row) == path), -1)

    def _path_at(self, row: int) -> str:
        item = self.table.item(row, 0)
        return str(item.data(ROLE)) if item is not None else ""

    def chosen(self) -> SessionFolder | None:
        return self._folders.get(self._path_at(self.table.currentRow()))

    def _refresh(self) -> None:
        folder = self.chosen()
        self.lost.clear()
        self.reveal_button.setEnabled(folder is not None and folder.there)
        free = folder is not None and folder.looked and not folder.in_use and not folder.problem
        self.remove_button.setEnabled(free and not self._removing)
        self.remove_button.setToolTip(as_tip(folder.in_use) if folder is not None else "")
        if folder is None:
            self.what.set("", "muted")
        elif self._removing == folder.path:
            self.what.set(self.tr("Removing…"), "muted")
        elif folder.in_use or folder.problem:
            self.what.set(folder.in_use or folder.problem, "muted")
        elif not folder.looked:
            self.what.set(self.tr("Looking what would be lost…"), "muted")
        else:
            self.what.set(self._loss_words.said(folder), "warn" if folder.lose else "text")
            for line in self._loss_words.lines(folder, len(folder.lose)):
                self.lost.addItem(line)
        self.lost.setVisible(self.lost.count() > 0)

    def _reveal(self) -> None:
        folder = self.chosen()
        if folder is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(folder.path))

    # -- removing

    def ask(self) -> None:
        """Names what is lost; Cancel is the default."""
        folder = self.chosen()
        if folder is None or not self.remove_button.isEnabled():
            return
        title = (
            self.tr("Remove the files of the steps of “{}”?")
            if folder.kind == "store"
            else self.tr("Remove the folder of “{}”?")
        )
        dialog = Dialog(title.format(folder.title or folder.name), self, width=560)
        dialog.add_text(folder.path, "muted")
        add_loss(dialog, folder)
        dialog.add_text(self.tr("This cannot be undone."), "muted")
        dialog.add_cancel()
        dialog.add_button(self.tr("Remove"), dialog.accept, role="danger")
        dialog.accepted.connect(lambda: self._remove(folder))
        self.question = dialog
        dialog.open()

    def _remove(self, folder: SessionFolder) -> None:
        self._removing = folder.path
        self._refresh()
        self.remove_wanted.emit(folder.path, folder.lose_id)
