"""Two pictures, before and after, or one over the other."""

from __future__ import annotations

import base64

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QHBoxLayout, QSlider, QVBoxLayout, QWidget

from worldline.ui.chat.row_base import ColorLabel
from worldline.ui.theme import theme


def _decode(data: str) -> QPixmap:
    pixmap = QPixmap()
    if data:
        pixmap.loadFromData(base64.b64decode(data))
    return pixmap


class _Canvas(QWidget):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.old = QPixmap()
        self.new = QPixmap()
        self.blend = 50
        self.setMinimumHeight(120)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        if self.old.isNull() or self.new.isNull():
            self._draw(painter, self.new if self.old.isNull() else self.old, QRectF(self.rect()))
            return
        half = self.width() / 2
        split = half * 2 * self.blend / 100
        painter.setClipRect(QRectF(0, 0, split, self.height()))
        self._draw(painter, self.old, QRectF(self.rect()))
        painter.setClipRect(QRectF(split, 0, self.width() - split, self.height()))
        self._draw(painter, self.new, QRectF(self.rect()))
        painter.setClipping(False)
        painter.setPen(QColor(theme().tokens.accent))
        painter.drawLine(round(split), 0, round(split), self.height())

    def _draw(self, painter: QPainter, pixmap: QPixmap, area: QRectF) -> None:
        size = pixmap.size().scaled(area.size().toSize(), Qt.AspectRatioMode.KeepAspectRatio)
        if size.width() > pixmap.width() * 4:
            size = pixmap.size() * 4
        place = QRectF(0, 0, size.width(), size.height())
        place.moveCenter(area.center())
        # A chequered ground shows what is transparent.
        for row in range(0, size.height(), 8):
            for column in range(0, size.width(), 8):
                if (row + column) // 8 % 2 == 0:
                    square = QRectF(place.left() + column, place.top() + row, 8, 8)
                    painter.fillRect(square.intersected(place), QColor(theme().tokens.hover))
        painter.drawPixmap(place, pixmap, QRectF(pixmap.rect()))


class ImageDiff(QWidget):
    """The slider moves the edge between before (left) and after (right)."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._facts = ColorLabel("", "muted", self)
        self._canvas = _Canvas(self)
        self._slider = QSlider(Qt.Orientation.Horizontal, self)
        self._slider.setRange(0, 100)
        self._slider.setValue(50)
        self._slider.setAccessibleName(self.tr("Edge between before and after"))
        self._slider.valueChanged.connect(self._move)
        line = QHBoxLayout()
        line.addWidget(ColorLabel(self.tr("before"), "muted", self))
        line.addWidget(self._slider, 1)
        line.addWidget(ColorLabel(self.tr("after"), "muted", self))
        layout = QVBoxLayout(self)
        layout.addWidget(self._facts)
        layout.addWidget(self._canvas, 1)
        layout.addLayout(line)

    def set_images(self, old: str, new: str) -> None:
        self._canvas.old, self._canvas.new = _decode(old), _decode(new)
        sizes = [
            f"{pixmap.width()} × {pixmap.height()}" if not pixmap.isNull() else "–"
            for pixmap in (self._canvas.old, self._canvas.new)
        ]
        self._facts.setText(" → ".join(sizes))
        self._canvas.setAccessibleName(self.tr("Picture, {}").format(" → ".join(sizes)))
        self._slider.setVisible(not self._canvas.old.isNull() and not self._canvas.new.isNull())
        self._canvas.update()

    def _move(self, value: int) -> None:
        self._canvas.blend = value
        self._canvas.update()
