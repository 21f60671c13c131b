"""Shapes of nodes and outcomes: the shape carries the meaning, colour supports it. Rendered once, then blitted."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPixmap

from worldline.ui.theme import theme

Draw = Callable[[QPainter, QColor], None]


def glyph(name: str, color: str, size: int, ratio: float) -> QPixmap:
    """The shape in a token's colour, `size` logical pixels."""
    t = theme().tokens
    return _render(name, t.color(color).name(), t.panel, size, ratio)


@lru_cache(maxsize=512)
def _render(name: str, color: str, ground: str, size: int, ratio: float) -> QPixmap:
    pixmap = QPixmap(max(1, round(size * ratio)), max(1, round(size * ratio)))
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.scale(size / 16, size / 16)
    ink = QColor(color)
    painter.setPen(QPen(ink, 1.5, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin))
    # Shapes cover the line they stand on.
    painter.setBrush(QColor(ground))
    if name.startswith("tool-"):
        _tool(painter, ink, name[5:])
    else:
        _SHAPES[name](painter, ink)
    painter.end()
    return pixmap


def _prompt(p: QPainter, ink: QColor) -> None:
    p.setBrush(ink)
    p.setPen(Qt.PenStyle.NoPen)
    p.drawEllipse(QPointF(8, 8), 5, 5)


def _ring(p: QPainter, _ink: QColor) -> None:
    p.drawEllipse(QPointF(8, 8), 3.5, 3.5)


def _root(p: QPainter, ink: QColor) -> None:
    p.drawEllipse(QPointF(8, 8), 5, 5)
    p.setBrush(ink)
    p.drawEllipse(QPointF(8, 8), 1.2, 1.2)


def _fold(p: QPainter, ink: QColor) -> None:
    p.setPen(Qt.PenStyle.NoPen)
    p.drawRect(QRectF(5, 1, 6, 14))
    p.setBrush(ink)
    for y in (3.5, 8.0, 12.5):
        p.drawEllipse(QPointF(8, y), 1.4, 1.4)


def _compaction(p: QPainter, _ink: QColor) -> None:
    p.setPen(Qt.PenStyle.NoPen)
    p.drawRect(QRectF(2, 2, 12, 12))
    p.setPen(QPen(_ink, 1.5))
    p.drawLine(QPointF(8, 2), QPointF(8, 9))
    p.drawPolyline([QPointF(5, 6.5), QPointF(8, 9.5), QPointF(11, 6.5)])
    p.drawLine(QPointF(3.5, 13), QPointF(12.5, 13))


def _summary(p: QPainter, _ink: QColor) -> None:
    p.drawPolygon([QPointF(8, 3), QPointF(13, 8), QPointF(8, 13), QPointF(3, 8)])


def _change(p: QPainter, _ink: QColor) -> None:
    p.drawPolygon([QPointF(8, 3.5), QPointF(13, 12.5), QPointF(3, 12.5)])


def _event(p: QPainter, ink: QColor) -> None:
    p.setBrush(ink)
    p.setPen(Qt.PenStyle.NoPen)
    p.drawEllipse(QPointF(8, 8), 2, 2)


def _tool(p: QPainter, ink: QColor, sign: str) -> None:
    p.drawRoundedRect(QRectF(2, 2, 12, 12), 3, 3)
    p.setPen(QPen(ink, 1.3, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin))
    p.setBrush(Qt.BrushStyle.NoBrush)
    if sign == "read":
        for y in (5.5, 8.0, 10.5):
            p.drawLine(QPointF(5, y), QPointF(11 if y != 10.5 else 9, y))
    elif sign == "edit":
        p.drawLine(QPointF(5.2, 10.8), QPointF(10.8, 5.2))
    elif sign == "run":
        p.drawPolyline([QPointF(6, 5.2), QPointF(9.2, 8), QPointF(6, 10.8)])
    elif sign == "search":
        p.drawEllipse(QPointF(7.4, 7.4), 2.2, 2.2)
        p.drawLine(QPointF(9.2, 9.2), QPointF(11, 11))
    elif sign == "ask":
        path = QPainterPath(QPointF(6.2, 6.6))
        path.cubicTo(QPointF(6.2, 4.4), QPointF(9.8, 4.4), QPointF(9.8, 6.6))
        path.cubicTo(QPointF(9.8, 7.8), QPointF(8, 7.8), QPointF(8, 9.2))
        p.drawPath(path)
        p.drawPoint(QPointF(8, 11.2))
    elif sign == "task":
        p.drawPolyline([QPointF(5.2, 8.2), QPointF(7.2, 10.2), QPointF(10.8, 5.8)])
    else:
        p.setBrush(ink)
        p.drawEllipse(QPointF(8, 8), 1.2, 1.2)


def _ok(p: QPainter, _ink: QColor) -> None:
    p.setBrush(Qt.BrushStyle.NoBrush)
    p.drawPolyline([QPointF(3.5, 8.5), QPointF(6.5, 11.5), QPointF(12.5, 4.8)])


def _failed(p: QPainter, _ink: QColor) -> None:
    p.drawLine(QPointF(4.2, 4.2), QPointF(11.8, 11.8))
    p.drawLine(QPointF(11.8, 4.2), QPointF(4.2, 11.8))


def _denied(p: QPainter, _ink: QColor) -> None:
    p.drawEllipse(QPointF(8, 8), 5, 5)
    p.drawLine(QPointF(4.6, 11.4), QPointF(11.4, 4.6))


def _stopped(p: QPainter, ink: QColor) -> None:
    p.setBrush(ink)
    p.drawRect(QRectF(4.5, 4.5, 7, 7))


def _aborted(p: QPainter, _ink: QColor) -> None:
    p.setBrush(Qt.BrushStyle.NoBrush)
    p.drawRect(QRectF(4, 4, 8, 8))


def _interrupted(p: QPainter, _ink: QColor) -> None:
    p.setBrush(Qt.BrushStyle.NoBrush)
    p.drawPolyline(
        [QPointF(3, 9), QPointF(7, 9), QPointF(6.5, 4), QPointF(9.5, 12), QPointF(9, 7), QPointF(13, 7)]
    )


def _running(p: QPainter, ink: QColor) -> None:
    p.drawEllipse(QPointF(8, 8), 5, 5)
    p.setBrush(ink)
    p.setPen(Qt.PenStyle.NoPen)
    p.drawPie(QRectF(3, 3, 10, 10), 90 * 16, -90 * 16)


def _waiting(p: QPainter, ink: QColor) -> None:
    p.setBrush(ink)
    p.setPen(Qt.PenStyle.NoPen)
    p.drawRect(QRectF(4.5, 3.5, 2.6, 9))
    p.drawRect(QRectF(9, 3.5, 2.6, 9))


def _cursor(p: QPainter, ink: QColor) -> None:
    p.setPen(QPen(ink, 2))
    p.drawEllipse(QPointF(8, 8), 5.5, 5.5)
    p.setBrush(ink)
    p.setPen(Qt.PenStyle.NoPen)
    p.drawEllipse(QPointF(8, 8), 2.6, 2.6)


def _flag(p: QPainter, ink: QColor) -> None:
    p.setBrush(ink)
    p.drawPolygon([QPointF(4, 3), QPointF(12, 3), QPointF(10, 6), QPointF(12, 9), QPointF(4, 9)])
    p.drawLine(QPointF(4, 3), QPointF(4, 13.5))


_SHAPES: dict[str, Draw] = {
    "prompt": _prompt,
    "ring": _ring,
    "root": _root,
    "fold": _fold,
    "compaction": _compaction,
    "summary": _summary,
    "change": _change,
    "event": _event,
    "ok": _ok,
    "failed": _failed,
    "denied": _denied,
    "stopped": _stopped,
    "aborted": _aborted,
    "interrupted": _interrupted,
    "running": _running,
    "waiting": _waiting,
    "cursor": _cursor,
    "flag": _flag,
}
