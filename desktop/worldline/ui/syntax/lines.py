"""Lines of code laid out and painted: shared by code blocks, command output and diffs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import accumulate

from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QTextCharFormat, QTextLayout, QTextOption

from worldline.ui.syntax.highlighter import ROLE_TOKENS, spans
from worldline.ui.theme import theme
from worldline.viewmodel.visible import visible

Mark = tuple[int, int, str]
"""Start, end, token of the ground behind these characters: its colour is that of the theme when they are drawn."""
MAX_SHOWN = 20_000
"""Characters of one line that are laid out; the rest is cut, or a minified file would stop the window."""


class LinePainter:
    """Keeps laid-out lines in a bounded cache. Lives in the GUI thread; forget it with `clear` when fonts or
    colours change."""

    def __init__(self, capacity: int = 2000) -> None:
        self._capacity = capacity
        self._layouts: OrderedDict[tuple[str, str, tuple[Mark, ...]], QTextLayout] = OrderedDict()
        self.clear()

    def clear(self) -> None:
        self._layouts.clear()
        self.font = theme().font_code()
        metrics = QFontMetricsF(self.font)
        self.char = metrics.horizontalAdvance("0")
        self.height = round(metrics.height() * 1.3)
        self._top = (self.height - metrics.height()) / 2
        self._option = QTextOption()
        self._option.setTabStopDistance(self.char * 4)
        self._option.setWrapMode(QTextOption.WrapMode.NoWrap)
        self._text = QColor(theme().tokens.text)
        self._colors = {role: QColor(getattr(theme().tokens, token)) for role, token in ROLE_TOKENS.items()}

    def layout(self, text: str, language: str = "", marks: tuple[Mark, ...] = ()) -> QTextLayout:
        key = (text, language, marks)
        known = self._layouts.get(key)
        if known is not None:
            self._layouts.move_to_end(key)
            return known
        shown = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]} … +{len(text) - MAX_SHOWN:,}"
        # As many characters as before: every offset into the text holds for what is drawn.
        layout = QTextLayout(visible(shown), self.font)
        layout.setTextOption(self._option)
        at = _units(text)
        ranges = []
        for start, length, role in spans(text, language) if language else ():
            ranges.append(_range(at(start), at(start + length) - at(start), self._colors[role], None))
        for start, end, ground in marks:
            # Colours of the language cannot be read on so strong a ground.
            ranges.append(_range(at(start), at(end) - at(start), self._text, theme().tokens.color(ground)))
        layout.setFormats(ranges)
        layout.beginLayout()
        line = layout.createLine()
        line.setLineWidth(1e7)
        line.setPosition(QPointF(0, 0))
        layout.endLayout()
        self._layouts[key] = layout
        if len(self._layouts) > self._capacity:
            self._layouts.popitem(last=False)
        return layout

    def draw(
        self,
        painter: QPainter,
        x: float,
        y: float,
        text: str,
        language: str = "",
        marks: tuple[Mark, ...] = (),
        selected: tuple[int, int] | None = None,
    ) -> None:
        """Draw one line with the pen's colour as its plain colour."""
        layout = self.layout(text, language, marks)
        if selected is None:
            layout.draw(painter, QPointF(x, y + self._top))
            return
        ground = QColor(theme().tokens.accent)
        ground.setAlpha(70)
        at = _units(text)
        start = at(selected[0])
        layout.draw(
            painter, QPointF(x, y + self._top), [_range(start, at(selected[1]) - start, None, ground)]
        )

    def width(self, text: str) -> float:
        """Width of a line, exact for plain ASCII without laying it out."""
        if text.isascii():
            shown = text[:MAX_SHOWN]
            return len(shown.expandtabs(4)) * self.char
        return self.layout(text).lineAt(0).naturalTextWidth()

    def column(self, text: str, x: float, language: str = "") -> int:
        unit = int(self.layout(text, language).lineAt(0).xToCursor(x))
        if not _has_pairs(text):
            return min(unit, len(text))
        return len(text.encode("utf-16-le", "surrogatepass")[: 2 * unit].decode("utf-16-le", "ignore"))


def _has_pairs(text: str) -> bool:
    """Whether a character takes two places in Qt's texts (emoji do): then its offsets are not Python's."""
    return not text.isascii() and max(text) > "\uffff"


def _units(text: str) -> Callable[[int], int]:
    """From an offset in a Python text to the offset in Qt's."""
    if not _has_pairs(text):
        return int
    sums = list(accumulate((2 if char > "\uffff" else 1 for char in text), initial=0))
    return lambda offset: sums[max(0, min(offset, len(text)))]


def _range(start: int, length: int, color: QColor | None, ground: QColor | None) -> QTextLayout.FormatRange:
    piece = QTextLayout.FormatRange()
    piece.start = start
    piece.length = length
    char = QTextCharFormat()
    if color is not None:
        char.setForeground(color)
    if ground is not None:
        char.setBackground(ground)
    piece.format = char
    return piece


_shared: LinePainter | None = None


def line_painter() -> LinePainter:
    """The painter all views share, so a line seen twice is laid out once."""
    global _shared
    if _shared is None:
        _shared = LinePainter()
        theme().changed.connect(_shared.clear)
    return _shared
