"""A long text to read, search and copy: the whole output of a command."""

from __future__ import annotations

from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QWidget

from worldline.ui.chat.row_base import ColorLabel, copy_text
from worldline.ui.dialogs.base import Dialog
from worldline.ui.theme import theme


class TextViewer(Dialog):
    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(title, parent, width=860)
        self.resize(860, 620)
        self.text = QPlainTextEdit(self)
        self.text.setReadOnly(True)
        self.text.setFont(theme().font_code())
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setAccessibleName(title)
        self._note = ColorLabel("", "muted", self)
        find = QLineEdit(self)
        find.setPlaceholderText(self.tr("Find, Enter for the next"))
        find.setAccessibleName(self.tr("Find in the text"))
        self._find = find
        find.returnPressed.connect(self._next)
        self.body.addWidget(find)
        self.body.addWidget(self.text, 1)
        self.body.addWidget(self._note)
        self.add_button(self.tr("Copy all"), lambda: copy_text(self.text.toPlainText()), left=True)
        self.add_button(self.tr("Close"), self.reject)

    def _next(self) -> None:
        if not self.text.find(self._find.text()):
            # Not found from here on: go on from the top.
            self.text.moveCursor(QTextCursor.MoveOperation.Start)
            self.text.find(self._find.text())

    def append(self, text: str, total: int = 0) -> None:
        self.text.setPlainText(self.text.toPlainText() + text)
        shown = len(self.text.toPlainText().encode())
        self._note.setText(
            self.tr("The first {shown} of {total} bytes are shown.").format(shown=shown, total=total)
            if total > shown
            else ""
        )
