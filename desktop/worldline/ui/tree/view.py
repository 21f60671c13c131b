"""The tree widget: scrolls, zooms, and turns mouse and keys into intent. It paints; it never runs work.

Arrow keys look at nodes without touching the disk; a click or Enter goes there. A new node never moves another: the
view scrolls by itself only while it follows the live branch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from worldline.ui import first_paint
from worldline.ui.session_state import SessionState
from worldline.ui.theme import theme
from worldline.ui.tree import painter
from worldline.ui.tree.choice import Choice
from worldline.ui.tree.pulse import Pulse
from worldline.ui.tree.scroll import TreeScroll
from worldline.viewmodel.tree_model import NO_ROW

if TYPE_CHECKING:
    from PySide6.QtCore import QEvent
    from PySide6.QtGui import (
        QContextMenuEvent,
        QFocusEvent,
        QKeyEvent,
        QMouseEvent,
        QPaintEvent,
        QResizeEvent,
        QWheelEvent,
    )

A_LINE_OR_TWO = 90
"""Pixels by which the view grows when lines below the panes go."""


class TreeView(TreeScroll):
    hovered = Signal(int, QPoint)
    """Row under the pointer and a place for the card; -1 = none."""
    menu_asked = Signal(int, QPoint)
    follow_changed = Signal(bool)
    label_asked = Signal(int)
    note_asked = Signal(int)
    search_asked = Signal()
    filter_changed = Signal(str)
    """Another filter is in use, however it was chosen."""

    def __init__(self, state: SessionState, parent: QWidget | None = None) -> None:
        super().__init__(painter.Scene(state.tree), parent)
        self.state = state
        self.follow_live = True
        self._pressed = NO_ROW
        self.choice = Choice(state, self.scene, self.viewport().update)
        self._pulse = Pulse(state, self._show_pulse, self)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.setObjectName("tree")
        self.setAccessibleName(self.tr("Session tree"))
        self.setAccessibleDescription(
            self.tr(
                "Arrow keys look at nodes, Enter goes there, Space chooses for Compare, F10 opens the menu."
            )
        )
        self.viewport().setMouseTracking(True)
        self.viewport().setAutoFillBackground(False)
        state.headers_changed.connect(self._rows_came)
        state.node_ended.connect(self._node_ended)
        state.loaded.connect(self._loaded)
        state.details_changed.connect(self.viewport().update)
        state.cursor_changed.connect(self._cursor_moved)
        state.selection_changed.connect(self._selection_moved)
        # What was clicked is not where anybody went.
        state.stayed.connect(lambda: self._selection_moved(state.selection))
        state.label_changed.connect(lambda _uid: self.viewport().update())
        state.countered_changed.connect(lambda _uids: self.viewport().update())
        state.run_started.connect(lambda _run: self.refold())
        theme().changed.connect(self.viewport().update)
        self._access: Any = None
        """The module for screen readers, once the window has been seen."""
        first_paint.after(self, self._meet_readers)
        if len(state.tree):
            self._loaded()

    # Screen readers --------------------------------------------------------------------------------------------
    def _meet_readers(self) -> None:
        from worldline.ui.tree import access

        access.install()
        self._access = access

    def _focus_moved(self, row: int) -> None:
        if self._access is not None:
            self._access.focus_moved(self, row)

    # Model -----------------------------------------------------------------------------------------------------
    def _rows_came(self, first: int) -> None:
        scene = self.scene
        scene.layout.follow()
        scene.items.follow()
        scene.overview.follow(first)
        self._pulse.begin()
        self._bars()
        if self.follow_live and self.state.is_loaded:
            self._to_end()
        self.viewport().update()
        self.looks_changed.emit()
        if self._access is not None:
            self._access.row_added(self, len(self.state.tree) - 1)

    def _node_ended(self, seq: int) -> None:
        self.scene.layout.outcome_changed(seq - 1)
        self.viewport().update()

    def _loaded(self) -> None:
        self.scene.layout.follow()
        self.refold()
        self._cursor_moved(self.state.cursor)
        self._bars()
        if self.state.cursor:
            self.reveal(self.state.cursor_row())

    def _cursor_moved(self, uid: str) -> None:
        row = self.state.tree.row(uid) if uid else NO_ROW
        if row >= len(self.scene.layout):
            return  # the row is announced in the same batch
        if row >= 0 and self.scene.items.open_run(row):
            self.scene.overview.clear()
            self._bars()
        self.scene.set_cursor(row)
        if not self.state.selection:
            # What was clicked or chosen by keyboard before is no longer where anybody is.
            self.scene.current = NO_ROW
        if not self.follow_live and row >= 0:
            self._make_visible(row)
        self.viewport().update()
        self.looks_changed.emit()
        self._focus_moved(row)

    def _selection_moved(self, uid: str) -> None:
        row = self.state.tree.row(uid) if uid else NO_ROW
        if row != self.scene.current:
            self.scene.current = row
            if row >= 0:
                self.reveal(row)
        self.viewport().update()

    # What is shown ---------------------------------------------------------------------------------------------
    def refold(self) -> None:
        self.show_only(self.scene.items.filter, self.scene.items.text, folding=self.scene.items.folding)

    def show_only(self, name: str, text: str = "", *, folding: bool | None = None) -> None:
        """Filter and fold; the row at the middle of the view stays where it is."""
        scene = self.scene
        other = name != scene.items.filter
        extent = self._extent()
        middle = int(scene.geometry.item_at(extent / 2))
        keep_row = scene.items.row(min(max(middle, 0), len(scene.items) - 1)) if len(scene.items) else NO_ROW
        if scene.cursor >= 0 and 0 <= scene.geometry.along(scene.items.item(scene.cursor)) <= extent:
            keep_row = scene.cursor
        before = scene.geometry.along(scene.items.item(keep_row)) if keep_row >= 0 else 0.0
        keep = {
            row for row in (scene.cursor, scene.current, *scene.chosen, *self.state.tree.live) if row >= 0
        }
        scene.items.show(
            filter_name=name,
            text=text,
            folding=scene.items.folding if folding is None else folding,
            keep=keep,
        )
        scene.overview.clear()
        self._bars()
        if keep_row >= 0:
            self._scroll_by(scene.geometry.along(scene.items.item(keep_row)) - before)
        self.viewport().update()
        self.looks_changed.emit()
        if other:
            self.filter_changed.emit(name)

    def toggle_run(self, row: int) -> None:
        """Unfold the run at `row`, or fold it again; the clicked place stays under the pointer."""
        items = self.scene.items
        if not items.open_run(row):
            items.close_run(row)
        self.scene.overview.clear()
        self._bars()
        self.viewport().update()
        self.looks_changed.emit()

    def set_sideways(self, on: bool) -> None:
        self.scene.geometry.sideways = on
        self._bars()
        if self.state.cursor_row() >= 0:
            self.reveal(self.state.cursor_row())
        self.viewport().update()
        self.looks_changed.emit()

    def set_follow(self, on: bool) -> None:
        if on != self.follow_live:
            self.follow_live = on
            if on:
                self._to_end()
            self.follow_changed.emit(on)

    def reveal(self, row: int) -> None:
        """Bring a row into view and make it an item of its own."""
        if row < 0 or row >= len(self.scene.layout):
            return
        if self.scene.items.open_run(row):
            self.scene.overview.clear()
            self._bars()
        self._make_visible(row)

    def _make_visible(self, row: int) -> None:
        geometry = self.scene.geometry
        at, extent = geometry.along(self.scene.items.item(row)), self._extent()
        margin = min(geometry.step * 2, extent / 4)
        if at < margin:
            self._scroll_by(at - extent / 3)
        elif at > extent - margin:
            self._scroll_by(at - extent * 2 / 3)
        self.viewport().update()

    def cover(self, pixels: int) -> None:
        """So many pixels at the lower end are covered by the minimap."""
        if pixels != self.covered:
            self.covered = pixels
            self._bars()
            if self.follow_live and self.state.is_loaded:
                self._to_end()

    def keep_clear(self, place: QRectF | None) -> None:
        """The minimap lies here, at the right side."""
        blocked = (place.left(), place.top(), place.bottom()) if place is not None else None
        if blocked != self.scene.blocked:
            self.scene.blocked = blocked
            self.viewport().update()

    # Events ----------------------------------------------------------------------------------------------------
    def paintEvent(self, _event: QPaintEvent) -> None:
        canvas = QPainter(self.viewport())
        size = self.viewport().size()
        # (fillRect would first make the 180 names of Qt's ready-made gradients.)
        canvas.setPen(Qt.PenStyle.NoPen)
        canvas.setBrush(theme().tokens.color("panel"))
        canvas.drawRect(self.viewport().rect())
        self.scene.focused = self.hasFocus()
        painter.paint(canvas, self.scene, size.width(), size.height(), self.devicePixelRatioF())
        if not len(self.scene.items):
            self._paint_empty(canvas)
        canvas.end()

    def _paint_empty(self, canvas: QPainter) -> None:
        filtered = len(self.state.tree) > 0
        text = (
            self.tr("No node fits this filter.")
            if filtered
            else self.tr(
                "Every prompt, reply and step will be a node here.\nClick a node to go back to it, files included."
            )
        )
        canvas.setPen(theme().tokens.color("muted"))
        canvas.setFont(theme().font_ui())
        canvas.drawText(
            self.viewport().rect().adjusted(24, 24, -24, -24),
            Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap,
            text,
        )

    def _to_end(self, steps: float = 1.5) -> None:
        """Where the live branch grows: its last row, which is the last row of all. `steps`: room from its middle on."""
        live = max(self.state.tree.live, default=self.state.cursor_row())
        if live >= 0:
            geometry = self.scene.geometry
            over = (
                geometry.along(self.scene.items.item(live))
                + geometry.step * steps
                + self.covered
                - self._extent()
            )
            if over > 0:
                self._scroll_by(over)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # At the end of the tree the rows would move down by the height of a line that goes below the panes, from under
        # the pointer.
        grown = event.size().height() - event.oldSize().height()
        self._bars(self.scene.geometry.scroll_along if 0 < grown <= A_LINE_OR_TWO else 0)
        if self.follow_live and self.state.is_loaded:
            # A line that comes or goes below must not move the rows as long as all of the last one is seen.
            self._to_end(0.5)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.zoom(1.0015 ** event.angleDelta().y(), event.position())
            event.accept()
            return
        if event.angleDelta().y() > 0:
            self.set_follow(False)
        super().wheelEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        row = self.row_at(event.position())
        if row != self.scene.hover:
            self.scene.hover = row
            self.viewport().setCursor(
                Qt.CursorShape.PointingHandCursor if row >= 0 else Qt.CursorShape.ArrowCursor
            )
            self.viewport().update()
            self.hovered.emit(row, event.globalPosition().toPoint())

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.scene.hover = NO_ROW
        self.hovered.emit(NO_ROW, QPoint())
        self.viewport().update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed = (
            self.row_at(event.position()) if event.button() == Qt.MouseButton.LeftButton else NO_ROW
        )
        self.hovered.emit(NO_ROW, QPoint())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        row = self.row_at(event.position())
        if event.button() != Qt.MouseButton.LeftButton or row < 0 or row != self._pressed:
            return
        modifiers = event.modifiers()
        if modifiers & Qt.KeyboardModifier.ControlModifier:
            self.choice.toggle(row)
        elif modifiers & Qt.KeyboardModifier.ShiftModifier:
            self.choice.pair(row)
        elif self.scene.items.is_folded(self.scene.items.item(row)):
            self.toggle_run(row)
        else:
            self.activate(row)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        event.accept()  # the first click has gone there already

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() == event.Reason.Keyboard:
            row = self.scene.focus_row()
            place = self.viewport().mapToGlobal(self.rect_of(row).center()) if row >= 0 else event.globalPos()
        else:
            row, place = (
                self.row_at(QPointF(self.viewport().mapFromGlobal(event.globalPos()))),
                event.globalPos(),
            )
        if row >= 0:
            self.menu_asked.emit(row, place)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        # Here, because the table of all keys takes 10 ms to make, which the first paint need not wait for.
        from worldline.ui.tree import keys

        if not keys.handle(self, event):
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._focus_moved(self.scene.focus_row())
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    # Intent ----------------------------------------------------------------------------------------------------
    def look_at(self, row: int) -> None:
        """Move the keyboard's place: chat and changes follow, the disk does not."""
        self.scene.current = row
        self.set_follow(False)
        self._make_visible(row)
        self.state.select(self.state.tree.uid(row))
        self._focus_moved(row)
        self.viewport().update()

    def activate(self, row: int) -> None:
        """Go there."""
        self.scene.current = row
        self.choice.clear()
        self.state.go(self.state.tree.uid(row))

    def _show_pulse(self, part: float) -> None:
        self.scene.pulse = part
        first, last = self.scene.visible_items(self._extent())
        for row in self.state.tree.live:
            if first <= self.scene.items.item(row) <= last:
                self.viewport().update(self.rect_of(row))
