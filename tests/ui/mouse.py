"""The mouse over a widget, wherever the cursor of this process is and whatever window lies over it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication, QWidget


def move_to(widget: QWidget, at: QPoint, *, held: Qt.MouseButton = Qt.MouseButton.NoButton) -> None:
    """Tell a widget that the mouse moved to a point of it. Moving the cursor itself tells it nothing where the cursor
    is there already, or another window is on top."""
    place = QPointF(at)
    none, keys = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier
    move = QMouseEvent(QEvent.Type.MouseMove, place, widget.mapToGlobal(place), none, held, keys)
    QApplication.sendEvent(widget, move)
