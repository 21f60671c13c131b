"""Scroll, zoom and what is under a point: the geometry of the tree tied to two scroll bars."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, QRect, Signal
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from worldline.ui.tree.geometry import DEFAULT_SCALE, MAX_SCALE, MIN_SCALE
from worldline.ui.tree.painter import Scene, words_left
from worldline.viewmodel.tree_model import NO_ROW

MAX_BAR = 2_000_000_000


class TreeScroll(QAbstractScrollArea):
    looks_changed = Signal()
    """Zoom, scroll, fold or filter have changed (the minimap draws again)."""

    def __init__(self, scene: Scene, parent: QWidget | None) -> None:
        super().__init__(parent)
        # One made here is known to the binding; for Qt's own it would look through all widget classes (5 ms, once).
        self.setViewport(QWidget(self))
        self.scene = scene
        self.covered = 0
        """Pixels at the end that the minimap lies over: the last rows can be scrolled above it."""

    def zoom(self, factor: float, at: QPointF | None = None) -> None:
        geometry = self.scene.geometry
        place = (at.x() if geometry.sideways else at.y()) if at is not None else self._extent() / 2
        item = geometry.item_at(place)
        lane = geometry.lane_at(0)
        geometry.scale = min(MAX_SCALE, max(MIN_SCALE, geometry.scale * factor))
        self._bars()
        self._set_scroll(
            geometry.scroll_along + geometry.along(item - 0.5) - place, lane * geometry.lane_step
        )
        self.viewport().update()
        self.looks_changed.emit()

    def reset_zoom(self) -> None:
        self.zoom(DEFAULT_SCALE / self.scene.geometry.scale)

    def fit(self) -> None:
        """The whole tree at once."""
        count = max(1, len(self.scene.items))
        geometry = self.scene.geometry
        wanted = max(MIN_SCALE, (self._extent() - 24) / count)
        if geometry.sideways:
            wanted = geometry.scale_for(wanted)
        geometry.scale = min(DEFAULT_SCALE, wanted)
        self._bars()
        self._set_scroll(0, 0)
        self.viewport().update()
        self.looks_changed.emit()

    # Scroll ----------------------------------------------------------------------------------------------------
    def _extent(self) -> float:
        size = self.viewport().size()
        return float(size.width() if self.scene.geometry.sideways else size.height())

    def _bars(self, held: float = 0) -> None:
        """`held`: the scroll that is to be kept although the rows end before the view does."""
        geometry, size = self.scene.geometry, self.viewport().size()
        length = geometry.length(len(self.scene.items)) + 24 + self.covered
        breadth = geometry.breadth(self.scene.layout.lane_count)
        if geometry.sideways:
            breadth += geometry.lane_step / 2
        elif geometry.level < 3:
            breadth = (
                0  # words are elided instead of scrolled; lanes of a wide tree are reached by zooming out
            )
        along, across = self.verticalScrollBar(), self.horizontalScrollBar()
        extent, cross = size.height(), size.width()
        if geometry.sideways:
            along, across, extent, cross = across, along, cross, extent
        length = max(length, held + extent)
        for bar, total, page in ((along, length, extent), (across, breadth, cross)):
            bar.setRange(0, int(min(MAX_BAR, max(0.0, total - page))))
            bar.setPageStep(max(1, page))
            bar.setSingleStep(max(8, int(geometry.step)))
        self._take_scroll()

    def _take_scroll(self) -> None:
        geometry = self.scene.geometry
        along, across = self.verticalScrollBar().value(), self.horizontalScrollBar().value()
        if geometry.sideways:
            along, across = across, along
        geometry.scroll_along, geometry.scroll_across = float(along), float(across)

    def _set_scroll(self, along: float, across: float) -> None:
        bars = [self.verticalScrollBar(), self.horizontalScrollBar()]
        if self.scene.geometry.sideways:
            bars.reverse()
        bars[0].setValue(int(along))
        bars[1].setValue(int(across))
        self._take_scroll()

    def _scroll_by(self, delta: float) -> None:
        self._set_scroll(self.scene.geometry.scroll_along + delta, self.scene.geometry.scroll_across)

    def scroll_to_item(self, item: float) -> None:
        """Put an item in the middle (the minimap)."""
        self._scroll_by(self.scene.geometry.along(item) - self._extent() / 2)
        self.viewport().update()
        self.looks_changed.emit()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self._take_scroll()
        self.viewport().update()
        self.looks_changed.emit()

    def row_at(self, point: QPointF) -> int:
        """The row under a point of the viewport, -1 for none. In rows the whole line counts."""
        geometry, items = self.scene.geometry, self.scene.items
        item = int(geometry.item_at(point.x() if geometry.sideways else point.y()))
        if not 0 <= item < len(items):
            return NO_ROW
        row = items.row(item)
        if geometry.sideways or geometry.level == 3:
            lane = geometry.lane_at(point.y() if geometry.sideways else point.x())
            if geometry.level == 3:
                return row
            if abs(lane - self.scene.layout.lane[row]) > 0.6:
                return NO_ROW
        return row

    def rect_of(self, row: int) -> QRect:
        """Where a row is in the viewport (accessibility, tests)."""
        geometry = self.scene.geometry
        x, y = geometry.point(self.scene.items.item(row), self.scene.layout.lane[row])
        half = int(max(3.0, geometry.step / 2))
        if geometry.sideways:
            return QRect(int(x) - half, int(y) - 14, half * 2, 44)
        return QRect(0, int(y) - half, self.viewport().width(), half * 2)

    def words_rect(self, row: int) -> QRect:
        """Where the words of a row are; never narrower than what can be written in."""
        whole = self.rect_of(row)
        if self.scene.geometry.sideways:
            return whole.adjusted(0, 20, max(0, 160 - whole.width()), 0)
        left = int(words_left(self.scene, self.scene.items.item(row))) - 9
        return QRect(QPoint(min(left, whole.right() - 160), whole.top()), whole.bottomRight() - QPoint(6, 0))
