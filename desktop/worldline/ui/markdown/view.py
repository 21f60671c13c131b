"""A message in markdown: prose, code blocks with a copy button, tables, stacked. Only what is in sight has widgets."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

import shiboken6
from PySide6.QtCore import QEvent, QSize, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from worldline.ui.markdown.code_block import SHOWN_LINES, CodeBlock
from worldline.ui.markdown.prose import Prose
from worldline.viewmodel.chat_markdown import MarkdownStream, Piece

GAP = 2
SLICE = 6_000
"""Characters of a whole message parsed at once: the rest follows in the next frames, so that the window never waits."""
SLICE_MS = 15
MARGIN = 400
"""Pixels above and below what is in sight for which widgets are kept ready."""
KEPT = 40
"""Widgets out of sight that are kept for scrolling back."""
SPARE = 16
"""Widgets of each kind without a piece that are kept for the next: making one costs more than filling it."""
LINE = 19
CHAR = 7


@dataclass(slots=True)
class _Slot:
    piece: Piece
    height: int
    measured: bool = False
    widget: QWidget | None = None
    whole: bool = False
    """Long code that the person has unfolded."""


class MarkdownView(QWidget):
    """Shows a text; called again with a longer one it touches only the pieces that are new or still open. Pieces out of
    sight have a guessed or remembered height and no widget, so that a message of 100 KB costs what one screen costs.
    Without `set_sight` everything is in sight."""

    link_activated = Signal(str)
    grown = Signal()
    """The height is another one now, for a reason that lies inside."""

    def __init__(self, parent: QWidget | None = None, *, muted: bool = False) -> None:
        super().__init__(parent)
        self._muted = muted
        self._stream = MarkdownStream()
        self._text = ""
        self._parsed = 0
        self._slots: list[_Slot] = []
        self._live: dict[int, QWidget] = {}
        """Widgets by the number of their piece."""
        self._spare: dict[str, list[QWidget]] = {}
        self._tops: list[int] = [0]
        self._sight: tuple[int, int] | None = None
        self._width = 0
        self._more = QTimer(self, singleShot=True, interval=SLICE_MS)
        self._more.timeout.connect(self._parse_more)
        # Not `Fixed`: the layout keeps the hint from before it had a width, and would never let it be higher than that.
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def text(self) -> str:
        return self._text

    # -- text

    def reset(self, sight: int) -> None:
        """Become empty, for another message: `sight` pixels of it will be in sight at first. Its widgets stay to be
        filled again."""
        self._more.stop()
        for at in list(self._live):
            self._drop(at)
        self._slots.clear()
        self._tops = [0]
        self._stream = MarkdownStream()
        self._text, self._parsed = "", 0
        self._sight = (0, sight)

    def let_go(self) -> None:
        """Delete the widgets that nobody sees."""
        for at in [at for at, widget in self._live.items() if widget.isHidden()]:
            self._drop(at)
        for spare in self._spare.values():
            for widget in spare:
                shiboken6.delete(widget)
        self._spare.clear()

    def set_text(self, text: str) -> None:
        if text == self._text:
            return
        if not text.startswith(self._text):
            self._parsed = 0
        # What streams in is parsed up to its end at once: only its open tail is parsed again.
        if self._parsed in (0, len(self._text)):
            self._parsed = min(len(text), self._parsed + SLICE)
        self._text = text
        self._take()

    def _parse_more(self) -> None:
        self._parsed = min(len(self._text), self._parsed + SLICE)
        self._take()
        self.grown.emit()

    def _take(self) -> None:
        same = self._stream.set_text(self._text[: self._parsed])
        pieces = self._stream.pieces
        for at in range(same, len(pieces)):
            piece = pieces[at]
            if at >= len(self._slots):
                self._slots.append(_Slot(piece, 0))
            slot = self._slots[at]
            if slot.piece == piece and slot.height:
                continue
            if slot.widget is not None and slot.piece.kind == piece.kind:
                slot.piece = piece
                self._fill(slot)
            else:
                self._drop(at)
                slot.piece = piece
            slot.measured = False
            slot.height = self._guess(piece)
        for at in range(len(pieces), len(self._slots)):
            self._drop(at)
        del self._slots[len(pieces) :]
        if self._parsed < len(self._text):
            self._more.start()
        self._sum(same)
        if self._width:
            self._realise()
        self.updateGeometry()

    # -- geometry

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        if width != self._width and width > 0:
            self._take_width(width)
        rest = len(self._text) - self._parsed
        return max(0, self._tops[-1] - GAP) + rest * LINE * CHAR // max(200, self._width or 200)

    def sizeHint(self) -> QSize:
        # Without a width of its own nothing is laid out: it would all be done again for the real one.
        width = self._width or 400
        return QSize(width, self.heightForWidth(width) if self._width else 1)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, 0)

    def _take_width(self, width: int) -> None:
        self._width = width
        for slot in self._slots:
            slot.measured = False
            slot.height = self._guess(slot.piece)
        self._sum(0)
        self._realise()

    def set_sight(self, top: int, bottom: int) -> int | None:
        """The part in sight, in pixels of this widget. None when no height has changed; else by how much what lies
        above the sight has grown, so that what is read can stay where it is."""
        self._sight = (top, bottom)
        before = self._tops[-1]
        shift = self._realise()
        return shift if self._tops[-1] != before or shift else None

    def _in_sight(self) -> range:
        if self._sight is None:
            return range(len(self._slots))
        low, high = self._sight[0] - MARGIN, self._sight[1] + MARGIN
        first = max(0, bisect_left(self._tops, low) - 1)
        return range(first, min(len(self._slots), bisect_right(self._tops, high)))

    def _realise(self) -> int:
        """Make, measure and place widgets for what is in sight; by how much what is above it has grown."""
        shift = 0
        for _ in range(6):
            top = self._sight[0] if self._sight is not None else 0
            moved, changed = 0, -1
            for at in self._in_sight():
                slot = self._slots[at]
                if slot.widget is None:
                    self._make(at)
                if slot.measured:
                    continue
                height = self._measure(slot)
                if height != slot.height:
                    if self._tops[at + 1] <= top:
                        moved += height - slot.height
                    slot.height = height
                    changed = at if changed < 0 else changed
            if changed < 0:
                break
            self._sum(changed)
            if self._sight is not None and moved:
                self._sight = (self._sight[0] + moved, self._sight[1] + moved)
                shift += moved
        self._place(self._in_sight())
        return shift

    def _place(self, sight: range) -> None:
        away = [at for at in self._live if at not in sight]
        surplus = max(0, len(away) - KEPT)
        for at in away[:surplus]:
            self._drop(at)
        for at in away[surplus:]:
            self._live[at].hide()
        for at in sight:
            widget = self._live.get(at)
            if widget is not None:
                widget.setGeometry(0, self._tops[at], self._width, self._slots[at].height)
                widget.show()

    def _sum(self, first: int) -> None:
        del self._tops[first + 1 :]
        at = self._tops[-1]
        for slot in self._slots[first:]:
            at += slot.height + GAP
            self._tops.append(at)

    def _guess(self, piece: Piece) -> int:
        per_line = max(10, (self._width or 560) // CHAR)
        if piece.kind == "code":
            return min(piece.text.count("\n") + 1, SHOWN_LINES) * 17 + 46
        if piece.kind == "table":
            return (piece.source.count("\n") or 1) * 27
        lines = sum(1 + len(line) // per_line for line in piece.source.rstrip("\n").split("\n"))
        return lines * LINE + 8

    def _measure(self, slot: _Slot) -> int:
        slot.measured = True
        if isinstance(slot.widget, CodeBlock):
            return slot.widget.height_at(self._width)
        return slot.widget.heightForWidth(self._width) if slot.widget is not None else slot.height

    # -- widgets

    def _make(self, at: int) -> None:
        slot = self._slots[at]
        spare = self._spare.get(slot.piece.kind)
        slot.widget = spare.pop() if spare else self._new(slot.piece.kind)
        self._live[at] = slot.widget
        self._fill(slot)

    def _new(self, kind: str) -> QWidget:
        if kind == "code":
            block = CodeBlock(self)
            block.unfolded.connect(lambda: self._unfold(block))
            return block
        prose = Prose(self, wide=kind == "table", muted=self._muted)
        prose.link_activated.connect(self.link_activated)
        return prose

    def _fill(self, slot: _Slot) -> None:
        if isinstance(slot.widget, CodeBlock):
            slot.widget.set_piece(slot.piece, whole=slot.whole)
        elif isinstance(slot.widget, Prose):
            slot.widget.set_html(slot.piece.text, slot.piece.width)

    def _unfold(self, block: CodeBlock) -> None:
        for slot in self._slots:
            if slot.widget is block:
                slot.whole = True
                slot.measured = False
        self._realise()
        self.updateGeometry()
        self.grown.emit()

    def _drop(self, at: int) -> None:
        widget = self._live.pop(at, None)
        if widget is None:
            return
        slot = self._slots[at]
        slot.widget = None
        widget.hide()
        spare = self._spare.setdefault(slot.piece.kind, [])
        if len(spare) < SPARE:
            spare.append(widget)
        else:
            widget.deleteLater()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.width() != self._width and self.width() > 0:
            self._take_width(self.width())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and self._width:
            self._take_width(self._width)
