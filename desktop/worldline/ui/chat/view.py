"""The scrolling list of rows: only what is in sight exists as widgets, so 10,000 messages open like 100."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from worldline.ui.chat.message_rows import EmptyChat
from worldline.ui.chat.row_base import RowSignals, RowWidget
from worldline.ui.chat.row_places import RowPlaces
from worldline.ui.chat.row_pool import RowPool
from worldline.ui.chat.row_widgets import RowWidgets
from worldline.ui.hiding import hide
from worldline.ui.markdown.view import MarkdownView
from worldline.ui.theme import TEXT_WIDTH, theme
from worldline.viewmodel.chat import ChatModel
from worldline.viewmodel.chat_rows import ChatRow, RowKind

MARGIN = 16
"""Pixels around the column of rows, which stays in the middle of a wide pane."""
KEPT = 24
"""Widgets out of sight that are kept for scrolling back."""
FRAME_MS = 33


class ChatView(QAbstractScrollArea):
    """Heights are guessed until a row is seen, then measured. What the person reads stays where it is while rows
    above it get their real height; at the end the view follows new text."""

    bodies_needed = Signal(list)
    follow_changed = Signal(bool)

    def __init__(self, model: ChatModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = model
        self.signals = RowSignals(self)
        self.signals.height_changed.connect(self._on_height_changed)
        self.signals.grown.connect(self._on_grown)
        self.setViewport(QWidget(self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(self.tr("Conversation"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setBackgroundRole(QPalette.ColorRole.Window)
        self.viewport().setAutoFillBackground(True)
        self._places = RowPlaces()
        self._widgets = RowWidgets(RowPool(self.signals, self))
        self._sticky = True
        self._placing = False
        self._held = False
        self._shift = 0
        """By how much the first row in sight has grown above what is read of it."""
        self._dirty: set[str] = set()
        self._asked: set[str] = set()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(FRAME_MS)
        self._timer.timeout.connect(self._apply_touches)
        self.empty = EmptyChat(self.signals, self.viewport())
        model.on_change = self._on_change
        model.on_touch = self._on_touch
        self.verticalScrollBar().setSingleStep(40)
        theme().about_to_change.connect(self._let_go)
        theme().changed.connect(self._looks_changed)
        self._text_size = theme().larger
        self._on_change(0, 0, len(model.rows))

    # -- model

    def _on_change(self, first: int, removed: int, added: int) -> None:
        anchor = self._anchor()
        self._places.follow(self.model.rows, self.column, first, removed, added)
        self._widgets.forget([key for key in self._widgets if self.model.row(key) is None])
        self._places.sum_up()
        self._place(anchor)
        self._widgets.settled()

    def _on_touch(self, row: ChatRow) -> None:
        self._dirty.add(row.key)
        if not self._timer.isActive():
            self._timer.start()

    def flush(self) -> None:
        """Apply what waits for the next frame now."""
        self._timer.stop()
        self._apply_touches()

    def _apply_touches(self) -> None:
        dirty, self._dirty = self._dirty, set()
        anchor = self._anchor()
        resized = emptied = False
        for key in dirty:
            widget, row = self._widgets.get(key), self.model.row(key)
            if widget is not None and row is not None:
                self._update(widget, row)
                resized |= self._measure(self.model.index_of(key), widget)
                # A step that has just ended: what came of it is asked for, also when nothing else moves.
                emptied |= row.body is None and bool(row.uid)
        if resized or emptied:
            self._places.sum_up()
            self._place(anchor)

    def _on_height_changed(self, key: str) -> None:
        widget = self._widgets.get(key)
        if widget is None:
            return
        anchor = self._anchor()
        if self._measure(self.model.index_of(key), widget):
            self._places.sum_up()
            # What was unfolded by hand must not slide away: its top stays where it is.
            self._sticky = False
            self._place(anchor)

    def _on_grown(self, key: str) -> None:
        widget = self._widgets.get(key)
        if widget is not None:
            anchor = self._anchor()
            if self._measure(self.model.index_of(key), widget):
                self._places.sum_up()
            self._place(anchor)

    def _let_go(self) -> None:
        """The style changes: it goes through every widget, so those that nobody sees are in its way."""
        shown = {self.model.rows[at].key for at in self._visible()}
        self._widgets.keep_only(shown)
        for part in self.viewport().findChildren(MarkdownView):
            part.let_go()

    def _looks_changed(self) -> None:
        if theme().larger != self._text_size:
            self._text_size = theme().larger
            self.rebuild()
            return
        # Colours alone: no row gets another height, and what is being answered in one stays written.
        for widget in self._widgets.values():
            widget.recolour()

    def rebuild(self) -> None:
        """Make all widgets anew: fonts have changed."""
        self._widgets.keep_only(())
        self._places.doubt()
        self._place(self._anchor())

    # -- geometry

    @property
    def column(self) -> int:
        return max(120, min(TEXT_WIDTH, self.viewport().width() - 2 * MARGIN))

    def _left(self) -> int:
        return max(MARGIN, (self.viewport().width() - self.column) // 2)

    @property
    def total(self) -> int:
        return self._places.total + 2 * MARGIN

    def _anchor(self) -> tuple[str, int]:
        """The first row in sight and how far its top is above the edge."""
        if not self.model.rows or not self._places.summed:
            return ("", 0)
        at = self.verticalScrollBar().value() - MARGIN
        index = self._places.at(at)
        if index >= len(self.model.rows):
            return ("", 0)
        return (self.model.rows[index].key, at - self._places.top(index))

    def _restore(self, anchor: tuple[str, int]) -> None:
        bar = self.verticalScrollBar()
        bar.setPageStep(self.viewport().height())
        bar.setRange(0, max(0, self.total - self.viewport().height()))
        if self._sticky:
            bar.setValue(bar.maximum())
            return
        index = self.model.index_of(anchor[0]) if anchor[0] else -1
        if index >= 0:
            bar.setValue(self._places.top(index) + anchor[1] + MARGIN)

    def hold(self) -> None:
        """Show nothing until `appearing` has come to its end."""
        self._held = True
        self.empty.hide()

    def appearing(self) -> Iterator[Callable[[], object]]:
        """The end of what there is: its rows are made one in a step, unseen, and seen all at once after the last."""
        while (index := self._unmade()) >= 0:
            yield partial(self._make_ready, index)
        yield self._let_in

    def _unmade(self) -> int:
        """The lowest row that will be in sight and has no widget; -1 = none."""
        for index in self._places.at_the_end(self.viewport().height() - MARGIN):
            if self.model.rows[index].key not in self._widgets:
                return index
        return -1

    def _make_ready(self, index: int) -> None:
        if index < len(self.model.rows):
            self._measure(index, self._widgets.make(self.model.rows[index]))

    def _let_in(self) -> None:
        self._held = False
        self._places.sum_up()
        self._place(self._anchor())

    def _place(self, anchor: tuple[str, int]) -> None:
        """Make, measure and move the rows in sight until their heights agree with where they are."""
        if self._held:
            return
        self.empty.setVisible(all(row.kind is RowKind.DIVIDER and row.header is not None and not row.header.parent
                                  for row in self.model.rows))  # fmt: skip
        if self._placing:
            return
        self._placing = True
        try:
            for _ in range(6):
                self._restore(anchor)
                if not self._realise():
                    break
                self._places.sum_up()
                if anchor[0] and self._shift:
                    anchor = (anchor[0], anchor[1] + self._shift)
            self._move()
        finally:
            self._placing = False
        self.empty.setGeometry(self._left(), 0, self.column, self.viewport().height())

    def _visible(self) -> range:
        top = self.verticalScrollBar().value() - MARGIN
        rows = self._places.between(top, top + self.viewport().height())
        return range(rows.start, min(rows.stop, len(self.model.rows)))

    def _realise(self) -> bool:
        """Widgets for all rows in sight; True if a height was not as thought."""
        resized = False
        self._shift = 0
        needed: list[ChatRow] = []
        top = self.verticalScrollBar().value() - MARGIN
        first = self._anchor()[0]
        for index in self._visible():
            row = self.model.rows[index]
            widget = self._widgets.get(row.key)
            if widget is None:
                widget = self._widgets.make(row)
            else:
                self._widgets.used(row.key)
                self._update(widget, row)
            if not self._places.is_measured(index):
                resized |= self._measure(index, widget)
            above = top - self._places.top(index)
            shift = widget.set_sight(above, above + self.viewport().height())
            if shift is not None:
                resized |= self._measure(index, widget)
                self._shift += shift if row.key == first else 0
            if row.body is None and row.uid:
                needed.append(row)
        missing = [uid for uid in self.model.missing(needed) if uid not in self._asked]
        if missing:
            self._asked.update(missing)
            self.bodies_needed.emit(missing)
        return resized

    def bodies_arrived(self, uids: list[str]) -> None:
        """Bodies are there (or were refused): they may be asked for again."""
        self._asked.difference_update(uids)

    def look_again(self) -> None:
        """Ask for what is missing of the rows in sight."""
        self._place(self._anchor())

    def _update(self, widget: RowWidget, row: ChatRow) -> None:
        if widget.shown_revision != row.revision:
            widget.show_row(row)
            widget.shown_revision = row.revision
            index = self.model.index_of(row.key)
            if index >= 0:
                self._places.doubt(index)

    def _measure(self, index: int, widget: RowWidget) -> bool:
        if index < 0:
            return False
        column = self.column
        widget.resize(column, max(1, widget.height()))
        height = max(1, widget.height_for(column))
        widget.resize(column, height)
        return self._places.measure(index, height)

    def _move(self) -> None:
        visible = self._visible()
        shown = set()
        offset = self.verticalScrollBar().value() - MARGIN
        left = self._left()
        for index in visible:
            key = self.model.rows[index].key
            widget = self._widgets.get(key)
            if widget is None:
                continue
            shown.add(key)
            widget.setGeometry(
                left, self._places.top(index) - offset, self.column, self._places.height(index)
            )
            widget.show()
        for key, widget in self._widgets.items():
            if key not in shown and not widget.isHidden():
                hide(widget, self)
        self._widgets.trim(shown, KEPT)

    # -- scrolling

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        if self._placing:
            return
        bar = self.verticalScrollBar()
        sticky = bar.value() >= bar.maximum() - 4
        if sticky != self._sticky:
            self._sticky = sticky
            self.follow_changed.emit(sticky)
        self._place(self._anchor())

    @property
    def following(self) -> bool:
        return self._sticky

    def follow(self) -> None:
        """Go to the end and stay there."""
        self._sticky = True
        self.follow_changed.emit(True)
        self._place(("", 0))

    def show_key(self, key: str) -> None:
        """Bring a row to the top of the view."""
        index = self.model.index_of(key)
        if index >= 0:
            self._sticky = False
            self._place((key, -MARGIN // 2))

    def widgets(self) -> list[RowWidget]:
        return list(self._widgets.values())

    @property
    def builds(self) -> int:
        """How many row widgets were made; tests hold it against the number of deltas."""
        return self._widgets.builds

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        anchor = self._anchor()
        if event.oldSize().width() != event.size().width():
            self._places.doubt()
        self._place(anchor)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        bar = self.verticalScrollBar()
        if event.key() == Qt.Key.Key_Home:
            bar.setValue(0)
        elif event.key() == Qt.Key.Key_End:
            self.follow()
        else:
            super().keyPressEvent(event)

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            return True
        return super().viewportEvent(event)
