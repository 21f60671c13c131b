"""A diff, painted: unified or side by side. Opening 100,000 lines costs what opening one screen costs."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QRect, Qt, QTimer, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QToolTip, QWidget

from worldline.core.background import UNSURE
from worldline.protocol.model import DiffRow, FileChange, FileDiff
from worldline.ui.diff.line_menu import show_menu
from worldline.ui.diff.selection import Selection
from worldline.ui.syntax.lines import Mark, line_painter
from worldline.ui.theme import theme
from worldline.viewmodel.diff import DiffModel, language_of
from worldline.viewmodel.diff_search import Hit

PAD = 8
BAR = 4
"""Width of the stripe that says whose change it is."""


class DiffView(QAbstractScrollArea):
    """Scrolls by moving pixels and painting only the strip that came into sight. While it scrolls fast, lines are
    plain; colours and word marks come as soon as it rests."""

    hunk_action = Signal(str, int)
    """take | revert, hunk."""
    author_clicked = Signal(str)
    search_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = DiffModel(FileDiff(change=FileChange(path="", status="M")))
        self.side_by_side = False
        self.can_take = True
        """False: the newer side is the disk, and lies there already."""
        self.whole_hunks = True
        """False: with changes of whitespace left out, hunks cannot be taken or reverted."""
        self._language = ""
        self._offset = 0
        self._selection = Selection()
        self._plain = False
        self._widest = 0.0
        self._wider = QTimer(self, singleShot=True, interval=0)
        self._wider.timeout.connect(self._bars)
        self.offers = True
        """False: nothing can be taken or reverted from here at all."""
        self.painted_rows = 0
        """Rows painted since the last reset; tests look at it."""
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self._rest = QTimer(self, singleShot=True, interval=60)
        self._rest.timeout.connect(self._colour)
        self._pairing = QTimer(self, singleShot=True, interval=0)
        self._pairing.timeout.connect(self._pair_more)
        self.author_name: Callable[[str], str] = lambda uid: uid
        """Words for the author of a line; the pane that knows the session sets it."""
        self.setAccessibleName(self.tr("Diff"))
        theme().changed.connect(self.viewport().update)

    # -- what is shown

    def set_diff(self, diff: FileDiff) -> None:
        self.model = DiffModel(diff)
        self._language = language_of(diff.change.path)
        self._selection.clear()
        rows = diff.rows
        longest = sorted(rows[:1000], key=lambda row: len(row.text), reverse=True)[:3]
        self._widest = max((line_painter().width(row.text) for row in longest), default=0.0)
        self._bars()
        self.verticalScrollBar().setValue(0)
        self.horizontalScrollBar().setValue(0)
        self._offset = 0
        self.setAccessibleDescription(
            self.tr("{path}: {added} lines added, {removed} removed").format(
                path=diff.change.path, added=diff.change.added, removed=diff.change.removed
            )
        )
        self.viewport().update()

    def set_side_by_side(self, on: bool) -> None:
        if on != self.side_by_side:
            top = self.verticalScrollBar().value() // max(1, line_painter().height)
            row = self._line_at(top)
            self.side_by_side = on
            self._bars()
            self.verticalScrollBar().setValue(
                self.model.screen_row(row, on) * line_painter().height if row > 0 else 0
            )
            self.viewport().update()

    def _pair_more(self) -> None:
        """Pair some thousand lines more: a few milliseconds."""
        self.model.pair(self.model.paired_rows + 4000)
        self._bars()
        self.viewport().update()

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent) and self.model.rows:
            screen, _, side = self._place(event.pos())
            at = self._line(screen, side)
            row = self.model.rows[at] if at >= 0 else None
            words = self.author_words(row.author, row.kind) if row is not None and row.author else ""
            QToolTip.showText(event.globalPos(), words, self)
            return True
        return super().viewportEvent(event)

    def author_words(self, author: str, kind: str) -> str:
        if author == "user":
            return self.tr("Removed by you") if kind == "-" else self.tr("Written by you")
        if author == UNSURE:
            if kind == "-":
                return self.tr("Removed by you, or by a command that ran in the background")
            return self.tr("Written by you, or by a command that ran in the background")
        words = self.tr("Removed by: {}") if kind == "-" else self.tr("Written by: {}")
        return words.format(self.author_name(author))

    def _line_at(self, screen: int) -> int:
        """Line of the diff that a row on screen shows."""
        if not self.side_by_side:
            return screen
        left = self.model.side(screen, 1)
        return left if left >= 0 else max(0, self.model.side(screen, 2))

    def _bars(self) -> None:
        height = line_painter().height
        if self.side_by_side and not self.model.all_paired:
            self._pairing.start()
        total = self.model.count(self.side_by_side) * height + 2 * PAD
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, total - self.viewport().height()))
        bar.setPageStep(self.viewport().height())
        bar.setSingleStep(height)
        room = self._text_width()
        across = self.horizontalScrollBar()
        across.setRange(0, max(0, round(self._widest + PAD - room)))
        across.setPageStep(max(1, room))

    def _gutter(self) -> int:
        digits = len(str(self.model.widest_number))
        numbers = 1 if self.side_by_side else 2
        return BAR + round((digits * numbers + 1 + numbers) * line_painter().char) + 6

    def _text_width(self) -> int:
        width = self.viewport().width() // 2 if self.side_by_side else self.viewport().width()
        return width - self._gutter()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._bars()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        offset = self.verticalScrollBar().value()
        moved = self._offset - offset
        self._offset = offset
        if dx or abs(moved) >= self.viewport().height():
            # A jump shows plain lines at once; colour follows when it rests.
            self._plain = abs(moved) >= self.viewport().height()
            if self._plain:
                self._rest.start()
            self.viewport().update()
            return
        if moved:
            self.viewport().scroll(0, moved)

    def _colour(self) -> None:
        self._plain = False
        self.viewport().update()

    # -- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = theme().tokens
        lines = line_painter()
        painter = QPainter(self.viewport())
        area = event.rect()
        painter.fillRect(area, QColor(tokens.panel))
        painter.setFont(lines.font)
        first = max(0, (area.top() + self._offset - PAD) // lines.height)
        last = min(
            self.model.count(self.side_by_side), (area.bottom() + self._offset - PAD) // lines.height + 1
        )
        half = self.viewport().width() // 2
        for screen in range(first, last):
            y = screen * lines.height + PAD - self._offset
            self.painted_rows += 1
            if not self.side_by_side:
                self._paint_line(painter, screen, QRect(0, y, self.viewport().width(), lines.height), 0)
                continue
            left, right = self.model.side(screen, 1), self.model.side(screen, 2)
            if left == right and left >= 0 and self.model.rows[left].kind == "@":
                self._paint_line(painter, left, QRect(0, y, self.viewport().width(), lines.height), 1)
                continue
            self._paint_line(painter, left, QRect(0, y, half, lines.height), 1)
            self._paint_line(painter, right, QRect(half, y, half + 1, lines.height), 2)
        if self.side_by_side:
            painter.setPen(QColor(tokens.line))
            painter.drawLine(half, area.top(), half, area.bottom())

    def _paint_line(self, painter: QPainter, at: int, area: QRect, side: int) -> None:
        tokens = theme().tokens
        if at < 0:
            painter.fillRect(area, QColor(tokens.bg))
            return
        row = self.model.rows[at]
        lines = line_painter()
        if row.kind == "@":
            painter.fillRect(area, QColor(tokens.hover))
            painter.setPen(QColor(tokens.muted))
            painter.drawText(area.adjusted(PAD, 0, -PAD, 0), Qt.AlignmentFlag.AlignVCenter, _hunk_words(row))
            return
        grounds = {"+": tokens.add, "-": tokens.remove}
        ground = grounds.get(row.kind)
        if ground:
            painter.fillRect(area, QColor(ground))
        if row.author and ground:
            # Not by colour alone: the agent's stripe is whole, the person's is broken.
            mine = row.author in ("user", UNSURE)
            height = area.height() - (area.height() // 3 if mine else 0)
            stripe = QColor(tokens.warn if mine else tokens.accent)
            painter.fillRect(QRect(area.left(), area.top(), BAR - 1, height), stripe)
        gutter = self._gutter()
        painter.setPen(QColor(tokens.muted))
        painter.drawText(
            QRect(area.left() + BAR, area.top(), gutter - BAR, area.height()),
            Qt.AlignmentFlag.AlignVCenter,
            self._numbers(row, side),
        )
        text_area = QRect(area.left() + gutter, area.top(), area.width() - gutter, area.height())
        painter.setClipRect(text_area)
        painter.setPen(QColor(tokens.muted if row.kind == "\\" else tokens.text))
        marks: tuple[Mark, ...] = ()
        if ground and not self._plain:
            word = "add_word" if row.kind == "+" else "remove_word"
            marks = tuple((start, end, word) for start, end in self.model.words(at))
        text = self.tr("No newline at end of file") if row.kind == "\\" else row.text
        if (wide := lines.width(row.text)) > self._widest:
            # Only a glance was taken at the first lines: this one must be reached as well.
            self._widest = wide
            self._wider.start()
        x = text_area.left() - self.horizontalScrollBar().value()
        lines.draw(
            painter,
            x,
            text_area.top(),
            text,
            "" if self._plain else self._language,
            marks,
            self._selection.span(self._line, at, side, len(row.text)),
        )
        if side and self.model.ends_without_newline(at):
            # Side by side this has no row of its own.
            painter.setPen(QColor(tokens.muted))
            rest = text_area.adjusted(round(x - text_area.left() + lines.width(row.text)) + 12, 0, 0, 0)
            painter.drawText(rest, Qt.AlignmentFlag.AlignVCenter, self.tr("No newline at end of file"))
        painter.setClipping(False)

    def _numbers(self, row: DiffRow, side: int) -> str:
        digits = len(str(self.model.widest_number))
        old = str(row.old) if row.old else ""
        new = str(row.new) if row.new else ""
        sign = row.kind if row.kind in "+-" else " "
        if side == 1:
            return f"{old:>{digits}} {sign}"
        if side == 2:
            return f"{new:>{digits}} {sign}"
        return f"{old:>{digits}} {new:>{digits}} {sign}"

    # -- selection and keys

    def _place(self, pos: QPoint) -> tuple[int, int, int]:
        """Row on screen, column, side under a point."""
        lines = line_painter()
        count = self.model.count(self.side_by_side)
        screen = max(0, min(count - 1, (pos.y() + self._offset - PAD) // lines.height))
        half = self.viewport().width() // 2
        side = 0 if not self.side_by_side else 2 if pos.x() >= half else 1
        at = self._line(screen, side)
        if at < 0:
            return (screen, 0, side)
        left = self._gutter() + (half if side == 2 else 0) - self.horizontalScrollBar().value()
        return (screen, lines.column(self.model.rows[at].text, pos.x() - left, self._language), side)

    def _line(self, screen: int, side: int) -> int:
        if not 0 <= screen < self.model.count(self.side_by_side):
            return -1
        if side == 0:
            return screen
        return self.model.side(screen, side)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.model.rows:
            self._selection.begin(self._place(event.position().toPoint()))
            self.viewport().update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton and self._selection:
            self._selection.extend(self._place(event.position().toPoint()))
            self.viewport().update()

    def selected_text(self) -> str:
        return self._selection.text(self.model.rows, self._line)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.selected_text())
        elif event.matches(QKeySequence.StandardKey.Find) or key == Qt.Key.Key_Slash:
            self.search_asked.emit()
        elif key in (Qt.Key.Key_N, Qt.Key.Key_F7):
            self.next_change(1)
        elif key in (Qt.Key.Key_P,):
            self.next_change(-1)
        elif key == Qt.Key.Key_Home:
            self.verticalScrollBar().setValue(0)
        elif key == Qt.Key.Key_End:
            self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())
        else:
            super().keyPressEvent(event)

    def first_line(self) -> int:
        """Index of the line at the upper edge."""
        return max(0, self._line_at((self._offset - PAD) // line_painter().height + 1))

    def mark(self, hit: Hit | None) -> None:
        """Select a place and bring it into sight; None = nothing is selected any more."""
        self._selection.clear()
        self.viewport().update()
        if hit is None:
            return
        lines, row = line_painter(), self.model.rows[hit.row]
        side = 0 if not self.side_by_side else 1 if row.kind == "-" else 2
        screen = self.model.screen_row(hit.row, self.side_by_side)
        self._selection.begin((screen, hit.start, side))
        self._selection.extend((screen, hit.end, side))
        y, height = screen * lines.height + PAD, self.viewport().height()
        if not self._offset <= y <= self._offset + height - 2 * lines.height:
            self.verticalScrollBar().setValue(y - height // 3)
        left, right = lines.width(row.text[: hit.start]), lines.width(row.text[: hit.end])
        self._widest = max(self._widest, right)
        self._bars()
        across = self.horizontalScrollBar()
        if not across.value() <= left or right > across.value() + self._text_width():
            across.setValue(0 if right <= self._text_width() else round(left - self._text_width() / 3))

    def next_change(self, by: int) -> None:
        """Scroll to the next (1) or previous (-1) run of changed lines."""
        height = line_painter().height
        top = (self.verticalScrollBar().value() + 3 * height) // height
        places = [self.model.screen_row(at, self.side_by_side) for at in self.model.changes()]
        later = (
            [place for place in places if place > top]
            if by > 0
            else [place for place in places if place < top]
        )
        if later:
            self.verticalScrollBar().setValue((later[0] if by > 0 else later[-1]) * height - 3 * height + PAD)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        screen, _, side = self._place(event.pos())
        at = self._line(screen, side)
        if at >= 0 and self.model.rows:
            show_menu(self, at, event.globalPos())


def _hunk_words(row: DiffRow) -> str:
    """`@@ -1,2 +1,3 @@ def parse` → the place in the code, which is what people look for; else the line."""
    where = row.text.rpartition("@@")[2].strip()
    if where:
        return f"⋯  {where}"
    return "⋯  " + QCoreApplication.translate("DiffView", "from line {}").format(row.new or row.old or 1)
