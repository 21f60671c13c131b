"""A block of lines inside something that scrolls: code of a message, output of a command, a small diff."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRect, QSize, Qt, QTimer
from PySide6.QtGui import (
    QColor,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QScrollBar, QSizePolicy, QWidget

from worldline.ui.syntax.lines import Mark, line_painter
from worldline.ui.theme import RADIUS, theme

PAD = 8


@dataclass(frozen=True, slots=True)
class CodeLine:
    text: str
    ground: str = ""
    """Name of a colour token behind the whole line; "" = none."""
    gutter: str = ""
    sign: str = ""
    marks: tuple[Mark, ...] = ()


class CodeView(QWidget):
    """As high as its lines, as wide as it is told to be; long lines scroll sideways inside it. Only lines in the
    exposed rectangle are touched, so 100,000 lines cost what one screen costs."""

    def __init__(self, parent: QWidget | None = None, *, language: str = "", framed: bool = True) -> None:
        super().__init__(parent)
        self.language = language
        self._framed = framed
        self._lines: list[CodeLine] = []
        self._selection: tuple[tuple[int, int], tuple[int, int]] | None = None
        self._bar = QScrollBar(Qt.Orientation.Horizontal, self)
        self._bar.valueChanged.connect(self.update)
        self._bar.hide()
        self._widest = 0.0
        self._gutter = 0
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setCursor(Qt.CursorShape.IBeamCursor)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Code"))

    def set_text(self, text: str) -> None:
        lines = text.split("\n")
        same = 0
        # Streamed code only grows: lines already there keep their place and their layouts.
        limit = min(len(lines), len(self._lines))
        while same < limit and self._lines[same].text == lines[same]:
            same += 1
        self.set_lines(self._lines[:same] + [CodeLine(line) for line in lines[same:]])

    def set_lines(self, lines: Sequence[CodeLine]) -> None:
        painter = line_painter()
        if self._selection is not None and list(lines[: len(self._lines)]) != self._lines:
            # What was selected is not there any more; text that only grows keeps its selection.
            self._selection = None
        self._lines = list(lines)
        # The widest line decides about the scroll bar; a glance at the longest texts is enough.
        longest = sorted(self._lines, key=lambda line: len(line.text), reverse=True)[:4]
        self._widest = max((painter.width(line.text) for line in longest), default=0.0)
        digits = max((len(line.gutter) for line in self._lines[:1] + self._lines[-1:]), default=0)
        signs = 2 if any(line.sign for line in self._lines[:400]) else 0
        self._gutter = round((digits + signs + (1 if digits else 0)) * painter.char)
        self.setAccessibleDescription("\n".join(line.text[:200] for line in self._lines[:200]))
        self.updateGeometry()
        self._fit()
        self.update()

    def lines(self) -> list[CodeLine]:
        return self._lines

    def text(self) -> str:
        return "\n".join(line.text for line in self._lines)

    def sizeHint(self) -> QSize:
        bar = self._bar.sizeHint().height() if not self._bar.isHidden() else 0
        pad = 2 * PAD if self._framed else 4
        return QSize(200, max(1, len(self._lines)) * line_painter().height + pad + bar)

    minimumSizeHint = sizeHint

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fit()

    def _fit(self) -> None:
        room = self.width() - self._gutter - 2 * PAD
        surplus = round(self._widest - room)
        shown = surplus > 0 and self.width() > 40
        if shown != self._bar.isVisibleTo(self):
            self._bar.setVisible(shown)
            self.updateGeometry()
        self._bar.setRange(0, max(0, surplus))
        self._bar.setPageStep(max(1, room))
        height = self._bar.sizeHint().height()
        self._bar.setGeometry(2, self.height() - height, self.width() - 4, height)

    def _top(self) -> int:
        return PAD if self._framed else 2

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = theme().tokens
        lines = line_painter()
        painter = QPainter(self)
        if self._framed:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.bg if self.parent() is not None else tokens.panel))
            painter.drawRoundedRect(self.rect(), RADIUS, RADIUS)
        first = max(0, (event.rect().top() - self._top()) // lines.height)
        last = min(len(self._lines), (event.rect().bottom() - self._top()) // lines.height + 1)
        x = PAD + self._gutter - self._bar.value()
        for at in range(first, last):
            line = self._lines[at]
            y = self._top() + at * lines.height
            if line.ground:
                painter.fillRect(QRect(0, y, self.width(), lines.height), tokens.color(line.ground))
            if (wide := lines.width(line.text)) > self._widest:
                # Wide characters: a line of fewer letters than the longest can be wider.
                self._widest = wide
                QTimer.singleShot(0, self, self._fit)
            painter.setPen(QColor(tokens.text))
            painter.save()
            painter.setClipRect(
                QRect(PAD + self._gutter - 2, y, self.width() - self._gutter - PAD, lines.height)
            )
            lines.draw(painter, x, y, line.text, self.language, line.marks, self._selected(at))
            painter.restore()
            if self._gutter:
                painter.setPen(QColor(tokens.muted))
                painter.setFont(lines.font)
                area = QRect(PAD - 2, y, self._gutter, lines.height)
                painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, f"{line.gutter} {line.sign}".strip(" ")
                                 if not line.gutter else f"{line.gutter} {line.sign}")  # fmt: skip

    # -- selection

    def _selected(self, at: int) -> tuple[int, int] | None:
        if self._selection is None:
            return None
        (a, a_col), (b, b_col) = sorted(self._selection)
        if not a <= at <= b:
            return None
        start = a_col if at == a else 0
        end = b_col if at == b else len(self._lines[at].text)
        return (start, end) if end > start else None

    def _place(self, pos: QPointF) -> tuple[int, int]:
        if not self._lines:
            return (0, 0)
        lines = line_painter()
        at = min(len(self._lines) - 1, max(0, int((pos.y() - self._top()) // lines.height)))
        x = pos.x() - PAD - self._gutter + self._bar.value()
        return (at, lines.column(self._lines[at].text, x, self.language))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            place = self._place(event.position())
            self._selection = (place, place)
            self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._selection is not None and event.buttons() & Qt.MouseButton.LeftButton:
            self._selection = (self._selection[0], self._place(event.position()))
            self.update()

    def selected_text(self) -> str:
        if self._selection is None:
            return ""
        (a, a_col), (b, b_col) = sorted(self._selection)
        if a == b:
            return self._lines[a].text[a_col:b_col] if self._lines else ""
        middle = [line.text for line in self._lines[a + 1 : b]]
        return "\n".join([self._lines[a].text[a_col:], *middle, self._lines[b].text[:b_col]])

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.selected_text() or self.text())
        elif event.matches(QKeySequence.StandardKey.SelectAll) and self._lines:
            self._selection = ((0, 0), (len(self._lines) - 1, len(self._lines[-1].text)))
            self.update()
        else:
            super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        sideways = event.angleDelta().x() or (
            event.angleDelta().y() if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 0
        )
        if sideways and self._bar.maximum():
            self._bar.setValue(self._bar.value() - sideways // 2)
            event.accept()
        else:
            event.ignore()

    def changeEvent(self, event: QEvent) -> None:
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self.update()
        super().changeEvent(event)
