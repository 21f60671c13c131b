"""Rows of a list with a title and quieter lines under it; the text of the item is all of them, one a line."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from worldline.ui.theme import RADIUS, SPACE_M, SPACE_S, theme

WARN = Qt.ItemDataRole.UserRole + 7
"""Of an item: its last line is a warning."""


class TwoLines(QStyledItemDelegate):
    """Draws the first line as the title. Screen readers get the whole text, as it stands in the item."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        lines = str(index.data(Qt.ItemDataRole.DisplayRole) or "").count("\n")
        title, small = QFontMetrics(theme().font_ui()), QFontMetrics(theme().font_ui(-1))
        return QSize(120, title.height() + lines * (small.height() + 2) + 2 * SPACE_S)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        t = theme().tokens
        area: QRect = option.rect
        state = option.state
        painter.save()
        ground = ""
        if state & QStyle.StateFlag.State_Selected:
            ground = "selected"
        elif state & QStyle.StateFlag.State_MouseOver:
            ground = "hover"
        if ground:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(t.color(ground))
            painter.drawRoundedRect(area.adjusted(0, 1, 0, -1), RADIUS - 1, RADIUS - 1)
        if state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(t.color("accent"))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(area.adjusted(0, 1, -1, -2), RADIUS - 1, RADIUS - 1)
        lines = str(index.data(Qt.ItemDataRole.DisplayRole) or "").split("\n")
        y = area.top() + SPACE_S
        width = area.width() - 2 * SPACE_M
        for at, line in enumerate(lines):
            font = theme().font_ui(0 if at == 0 else -1, bold=at == 0)
            metrics = QFontMetrics(font)
            warned = at == len(lines) - 1 and at > 0 and bool(index.data(WARN))
            painter.setFont(font)
            painter.setPen(t.color("warn" if warned else "text" if at == 0 else "muted"))
            place = QRect(area.left() + SPACE_M, y, width, metrics.height())
            shown = metrics.elidedText(line, Qt.TextElideMode.ElideRight, width)
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)
            y += metrics.height() + 2
        painter.restore()
