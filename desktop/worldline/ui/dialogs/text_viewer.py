"""A long text to read, search and copy: the whole output of a command."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QPushButton, QWidget

from worldline.ui.chat.row_base import ColorLabel, copy_text
from worldline.ui.dialogs.base import Dialog
from worldline.ui.sliced_text import SlicedText
from worldline.viewmodel import status


class TextViewer(Dialog):
    """`append` gives it text. Where that is not all there is, a button asks for more."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(title, parent, width=860)
        self.resize(860, 620)
        self.text = SlicedText(self)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setAccessibleName(title)
        self.more: Callable[[int], None] | None = None
        """Asked with the number of bytes that are there."""
        self._bytes = 0
        self._searching = False
        """A search waits until all of the text is there."""
        self._note = ColorLabel("", "muted", self)
        self._more = QPushButton(self.tr("Show more"), self)
        self._more.setProperty("role", "link")
        self._more.clicked.connect(self._ask)
        self._more.hide()
        find = QLineEdit(self)
        find.setPlaceholderText(self.tr("Find, Enter for the next"))
        find.setAccessibleName(self.tr("Find in the text"))
        self._find = find
        find.returnPressed.connect(self._next)
        self.body.addWidget(find)
        self.body.addWidget(self.text, 1)
        self.body.addWidget(self._note)
        self.body.addWidget(self._more)
        self.add_button(self.tr("Copy all"), lambda: copy_text(self.text.whole), left=True)
        self.add_button(self.tr("Close"), self.reject)

    def _next(self) -> None:
        """The next place; while the text is still being put in, once all of it is there."""
        if not self.text.all_shown:
            if not self._searching:
                self._searching = True
                self.text.completed.connect(self._next_at_last, Qt.ConnectionType.SingleShotConnection)
            return
        if not self.text.find(self._find.text()):
            # Not found from here on: go on from the top.
            self.text.moveCursor(QTextCursor.MoveOperation.Start)
            self.text.find(self._find.text())

    def _next_at_last(self) -> None:
        self._searching = False
        self._next()

    def append(self, text: str, total: int = 0, size: int = 0) -> None:
        """`size`: how many bytes of the `total` this is."""
        self.text.add(text)
        self._bytes += size or len(text.encode(errors="replace"))
        left = total > self._bytes
        self._more.setVisible(left and self.more is not None)
        self._more.setEnabled(True)
        self._note.set(
            self.tr("The first {shown} of {total} are shown.").format(
                shown=status.size(self._bytes), total=status.size(total)
            )
            if left
            else "",
            "muted",
        )

    def show_problem(self, text: str) -> None:
        """The rest could not be had; it can be asked for again."""
        self._note.set(text, "bad")
        self._more.setVisible(self.more is not None)
        self._more.setEnabled(True)

    def _ask(self) -> None:
        if self.more is not None:
            self._more.setEnabled(False)
            self.more(self._bytes)
