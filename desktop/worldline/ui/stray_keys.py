"""Letters that no part of the window wants go into the message: they were lost, and what followed with them."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QWidget

_COMMAND = (
    Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
)


def go_on_in(pane: QWidget, event: QKeyEvent) -> bool:
    """Give a letter to the field of a pane, and the keyboard with it; False when it is no letter."""
    text = event.text()
    field = pane.focusProxy()
    if field is None or not pane.isVisible() or event.modifiers() & _COMMAND:
        return False
    if not text.isprintable() or not text.strip():
        return False  # a space presses what it is on
    field.setFocus()
    QApplication.sendEvent(field, event)
    return True
