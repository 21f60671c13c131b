"""Two pictures, before and after, or one over the other."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QImage, QPainter, QPaintEvent, QPixmap, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSlider, QVBoxLayout, QWidget

from worldline.ui.chat.row_base import ColorLabel
from worldline.ui.pictures import Decoder, size_of
from worldline.ui.theme import theme


class _Canvas(QWidget):
    """Pictures are scaled once for a size of the widget: while the slider moves they are only put down."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._pictures = (QPixmap(), QPixmap())
        self._scaled: tuple[QPixmap, QPixmap] | None = None
        self.blend = 50
        self.setMinimumHeight(120)

    def set_pictures(self, old: QPixmap, new: QPixmap) -> None:
        self._pictures = (old, new)
        self._scaled = None
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._scaled = None

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self._scaled is None:
            self._scaled = (self._fit(self._pictures[0]), self._fit(self._pictures[1]))
        old, new = self._scaled
        if old.isNull() or new.isNull():
            self._draw(painter, new if old.isNull() else old)
            return
        split = self.width() * self.blend / 100
        painter.setClipRect(QRectF(0, 0, split, self.height()))
        self._draw(painter, old)
        painter.setClipRect(QRectF(split, 0, self.width() - split, self.height()))
        self._draw(painter, new)
        painter.setClipping(False)
        painter.setPen(QColor(theme().tokens.accent))
        painter.drawLine(round(split), 0, round(split), self.height())

    def _fit(self, pixmap: QPixmap) -> QPixmap:
        if pixmap.isNull():
            return pixmap
        size = pixmap.size().scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
        smooth = Qt.TransformationMode.SmoothTransformation
        if size.width() > pixmap.width():
            # Single pixels stay single pixels when a small picture is enlarged.
            size, smooth = size.boundedTo(pixmap.size() * 4), Qt.TransformationMode.FastTransformation
        ratio = self.devicePixelRatioF()
        found = pixmap.scaled(size * ratio, Qt.AspectRatioMode.KeepAspectRatio, smooth)
        found.setDevicePixelRatio(ratio)
        return found

    def _draw(self, painter: QPainter, pixmap: QPixmap) -> None:
        place = QRectF(QPointF(), pixmap.deviceIndependentSize())
        place.moveCenter(QRectF(self.rect()).center())
        # A chequered ground shows what is transparent.
        painter.fillRect(place, _chequered())
        painter.drawPixmap(place.topLeft(), pixmap)


def _chequered() -> QBrush:
    tokens = theme().tokens
    tile = QPixmap(16, 16)
    tile.fill(QColor(tokens.panel))
    painter = QPainter(tile)
    for left, top in ((0, 0), (8, 8)):
        painter.fillRect(left, top, 8, 8, QColor(tokens.line))
    painter.end()
    return QBrush(tile)


class ImageDiff(QWidget):
    """The slider moves the edge between before (left) and after (right)."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._decoder = Decoder(self)
        self._decoder.done.connect(self._on_decoded)
        self._facts = ColorLabel("", "muted", self)
        self._canvas = _Canvas(self)
        self._slider = QSlider(Qt.Orientation.Horizontal, self)
        self._slider.setRange(0, 100)
        self._slider.setValue(50)
        self._slider.setAccessibleName(self.tr("Edge between before and after"))
        self._slider.valueChanged.connect(self._move)
        line = QHBoxLayout()
        self._ends = (
            ColorLabel(self.tr("before"), "muted", self),
            ColorLabel(self.tr("after"), "muted", self),
        )
        line.addWidget(self._ends[0])
        line.addWidget(self._slider, 1)
        line.addWidget(self._ends[1])
        layout = QVBoxLayout(self)
        layout.addWidget(self._facts)
        layout.addWidget(self._canvas, 1)
        layout.addLayout(line)

    def set_images(self, old: str, new: str, sizes: Sequence[str] = ("", "")) -> None:
        """Base64 of both, "" = there is none; `sizes`: how large the files are, in words."""
        facts = []
        for data, size in zip((old, new), sizes, strict=True):
            pixels = size_of(data)
            known = f"{pixels.width()} × {pixels.height()}" if pixels.isValid() else ""
            facts.append(" · ".join(filter(None, (known, size))) or "–")
        self._facts.setText(" → ".join(facts))
        self._canvas.setAccessibleName(self.tr("Picture, {}").format(" → ".join(facts)))
        for widget in (self._slider, *self._ends):
            widget.setVisible(bool(old and new))
        self._canvas.set_pictures(QPixmap(), QPixmap())
        self._decoder.start([old, new])

    def _on_decoded(self, images: list[QImage]) -> None:
        before, after = (QPixmap.fromImage(image) for image in images)
        both = not before.isNull() and not after.isNull()
        for widget in (self._slider, *self._ends):
            widget.setVisible(both)
        self._canvas.set_pictures(before, after)

    def _move(self, value: int) -> None:
        self._canvas.blend = value
        self._canvas.update()
