"""Dialogs in pictures: without a display there is no window manager, so frame, title and shadow are drawn here."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPixmap
from PySide6.QtWidgets import QWidget

from worldline.ui.theme import RADIUS, theme

TITLE = 34
SHADOW = 22
DIM = 70
"""Of 255: how much the window behind a dialog recedes."""


def draw_dialog(painter: QPainter, window: QWidget, dialog: QWidget, picture: QPixmap) -> None:
    """Draw a dialog over its window as a desktop would show it: in the middle, framed, the window behind it dimmed."""
    tokens = theme().tokens
    ground = QColor(0, 0, 0, DIM)
    painter.fillRect(window.rect(), ground)
    size = dialog.size()
    place = QPoint((window.width() - size.width()) // 2, (window.height() - size.height() - TITLE) // 2)
    frame = QRect(place.x(), max(4, place.y()), size.width(), size.height() + TITLE)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    for step in range(SHADOW, 0, -2):
        painter.setBrush(QColor(0, 0, 0, 5))
        grown = QRectF(frame).adjusted(-step, -step + 6, step, step + 6)
        painter.drawRoundedRect(grown, RADIUS + step, RADIUS + step)
    shape = QPainterPath()
    shape.addRoundedRect(QRectF(frame), RADIUS + 2, RADIUS + 2)
    painter.setClipPath(shape)
    painter.fillRect(frame, QColor(tokens.bg))
    title = QRect(frame.left(), frame.top(), frame.width(), TITLE)
    painter.fillRect(title, QColor(tokens.panel))
    painter.setPen(QColor(tokens.muted))
    painter.setFont(theme().font_ui(-1))
    painter.drawText(title, Qt.AlignmentFlag.AlignCenter, dialog.windowTitle())
    painter.drawText(
        title.adjusted(0, 0, -14, 0), Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, "✕"
    )
    painter.setPen(QColor(tokens.line))
    painter.drawLine(title.bottomLeft(), title.bottomRight())
    painter.drawPixmap(frame.left(), frame.top() + TITLE, picture)
    painter.setClipping(False)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QColor(tokens.muted if tokens.dark else tokens.line))
    painter.drawRoundedRect(QRectF(frame).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS + 2, RADIUS + 2)
    painter.restore()
