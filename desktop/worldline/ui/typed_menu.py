"""A menu in which one finds an entry by typing a part of it, and that begins at the one that is chosen."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAction, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QMenu, QWidget

from worldline.ui.plain import of_label

PAUSE_MS = 1_500
"""After so long another word begins."""


class TypedMenu(QMenu):
    """Qt alone knows the first letter of an entry, and all models of a service begin with the same."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._typed = ""
        self._pause = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._pause.timeout.connect(self._forget)
        self.aboutToHide.connect(self._forget)

    def _forget(self) -> None:
        self._typed = ""

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        chosen = next((one for one in self.actions() if one.isChecked()), None)
        if chosen is not None:
            self.setActiveAction(chosen)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        text = event.text()
        plain = not event.modifiers() & ~(
            Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier
        )
        if event.key() == Qt.Key.Key_Backspace and self._typed:
            self._find(self._typed[:-1])
        elif plain and text.isprintable() and text and (text != " " or self._typed):
            self._find(self._typed + text)
        else:
            super().keyPressEvent(event)

    def _find(self, typed: str) -> None:
        self._typed = typed
        self._pause.start()
        found = self.matching(typed)
        if found is not None:
            self.setActiveAction(found)

    def matching(self, typed: str) -> QAction | None:
        """The entry that begins with this, else the first that has all of its words in it."""
        words = typed.casefold().split()
        entries = [(of_label(one.text()).casefold(), one) for one in self.actions() if one.isEnabled()]
        begins = (one for text, one in entries if words and text.startswith(typed.casefold()))
        has_all = (one for text, one in entries if words and all(word in text for word in words))
        return next(begins, None) or next(has_all, None)
