"""The line above a diff in which one looks for words in it."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QWidget

from worldline.ui.chat.row_base import ColorLabel, tool_button
from worldline.ui.diff.view import DiffView
from worldline.viewmodel.diff_search import MOST, Hit, find

TYPING_MS = 120
"""Pause in the typing after which the whole diff is searched."""


class FindBar(QFrame):
    """Hidden until it is asked for. Each match is marked in the view as if somebody had selected it."""

    def __init__(self, view: DiffView, parent: QWidget) -> None:
        super().__init__(parent)
        self._view = view
        self._hits: list[Hit] = []
        self._at = -1
        self.edit = QLineEdit(self)
        self.edit.setPlaceholderText(self.tr("Search this file"))
        self.edit.setAccessibleName(self.tr("Search this file"))
        self.edit.setClearButtonEnabled(True)
        self._typing = QTimer(self, singleShot=True, interval=TYPING_MS)
        self._typing.timeout.connect(self.search)
        self.edit.textChanged.connect(lambda _text: self._typing.start())
        self.count = ColorLabel("", "muted", self)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 2, 8, 4)
        row.setSpacing(4)
        row.addWidget(self.edit, 1)
        row.addWidget(self.count)
        for icon, text, call in (
            ("up", self.tr("Previous match"), lambda: self.step(-1)),
            ("down", self.tr("Next match"), lambda: self.step(1)),
            ("close", self.tr("Close the search (Esc)"), self.close_search),
        ):
            button = tool_button(self, text, icon)
            button.clicked.connect(call)
            row.addWidget(button)
        self.hide()

    def open_search(self) -> None:
        self.show()
        self.edit.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.edit.selectAll()

    def close_search(self) -> None:
        # First: the keyboard of a field that is hidden goes anywhere.
        self._view.setFocus()
        self.hide()
        self.edit.clear()
        self._take([])

    def another_diff(self) -> None:
        """What is searched is another file now, or another part of it."""
        if not self.isHidden():
            self.search()

    def search(self) -> None:
        """Look for what is written, and show the first match from where one is."""
        self._typing.stop()
        self._take(find(self._view.model.rows, self.edit.text()))
        if self._hits:
            top = self._view.first_line()
            self._show(next((at for at, hit in enumerate(self._hits) if hit.row >= top), 0))

    def step(self, by: int) -> None:
        if self._typing.isActive():
            self.search()
        elif self._hits:
            self._show((self._at + by) % len(self._hits))

    def _take(self, hits: list[Hit]) -> None:
        self._hits, self._at = hits, -1
        self.count.setText(self.tr("no match") if self.edit.text().strip() and not hits else "")
        if not hits:
            self._view.mark(None)

    def _show(self, at: int) -> None:
        self._at = at
        more = "+" if len(self._hits) == MOST else ""
        self.count.setText(f"{at + 1}/{len(self._hits)}{more}")
        self._view.mark(self._hits[at])

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_search()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.step(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        else:
            super().keyPressEvent(event)
