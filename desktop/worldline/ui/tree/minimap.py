"""The whole tree in a corner: where the view is, and a way to anywhere.

It lies over rows, so it stays away from the two that count: where the person is and what they look at. It moves only
when one of them comes under it. The words of the others, and the counts at their ends, end before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QImage, QPainter, QPen
from PySide6.QtWidgets import QWidget

from worldline.ui.theme import theme
from worldline.ui.tree.view import TreeView

if TYPE_CHECKING:
    from PySide6.QtGui import QMouseEvent, QPaintEvent

WIDTH, HEIGHT = 92, 130
GAP = 12
"""Pixels to the edges of the tree."""


USEFUL_FROM, KEPT_FROM = 1.5, 1.3
"""Heights of the view that the tree takes, from which on an overview is of use."""


class Minimap(QWidget):
    """Hidden while everything is in view anyway."""

    def __init__(self, view: TreeView) -> None:
        super().__init__(view)
        self._view = view
        self.wanted = True
        self.setFixedSize(WIDTH, HEIGHT)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAccessibleName(self.tr("Overview of the tree"))
        self.setToolTip(self.tr("Overview: click to go to a part of the tree"))
        view.looks_changed.connect(self.refresh)
        view.state.selection_changed.connect(lambda _uid: self.refresh())
        theme().changed.connect(self.update)
        self.refresh()

    def refresh(self) -> None:
        view = self._view
        geometry, count = view.scene.geometry, len(view.scene.items)
        extent = view.viewport().width() if geometry.sideways else view.viewport().height()
        # Once it is of use it is until much more fits: a line that comes or goes below the panes would take it away and
        # bring it back, and with it the room that is kept for it, by which the rows would jump.
        least = KEPT_FROM if view.covered else USEFUL_FROM
        useful = self.wanted and geometry.length(count) > extent * least and view.width() > WIDTH * 2
        view.cover(HEIGHT + GAP if useful and not geometry.sideways else 0)
        place = self._free_place() if useful else None
        if place is not None:
            self.move(place)
        self.setVisible(place is not None)
        right = place is not None and not geometry.sideways
        view.keep_clear(QRectF(self.geometry()) if right else None)
        self.update()

    def _free_place(self) -> QPoint | None:
        """Where it covers neither the cursor nor what is looked at: as it is, if it can stay. None = nowhere."""
        ground = self._view.viewport().rect().adjusted(0, GAP, -GAP, -GAP)
        scene = self._view.scene
        rows = {row for row in (scene.cursor, scene.current) if 0 <= row < len(scene.layout)}
        taken = [self._view.rect_of(row) for row in rows]
        x = ground.right() - WIDTH + 1
        left = x if not scene.geometry.sideways else max(GAP, (ground.width() - WIDTH) // 2)
        places = [
            QPoint(at, y)
            for at in dict.fromkeys((x, left))
            for y in (ground.bottom() - HEIGHT + 1, ground.top(), ground.center().y() - HEIGHT // 2)
            if y >= ground.top()
        ]
        if self.isVisibleTo(self._view) and self.pos() in places:
            places.insert(0, self.pos())
        for place in places:
            box = QRect(place, QSize(WIDTH, HEIGHT))
            if not any(box.intersects(one) for one in taken):
                return place
        return None

    def paintEvent(self, _event: QPaintEvent) -> None:
        view, t = self._view, theme().tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ground = t.color("bg")
        ground.setAlpha(235)
        painter.setBrush(ground)
        painter.setPen(QPen(t.color("line"), 1))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
        count = len(view.scene.items)
        if not count:
            return
        inner = self._inner()
        level = max(0, (count // (HEIGHT * 2)).bit_length())
        picture = view.scene.overview.picture(level)
        image = QImage(
            picture.cells, picture.width, picture.height, picture.width, QImage.Format.Format_Indexed8
        )
        image.setColorTable([0, t.color("muted").rgba()])
        cells = max(1, (count - 1 >> level) + 1)
        lanes = min(picture.width, view.scene.layout.lane_count)
        wide = min(inner.width(), lanes * 6.0)
        painter.drawImage(
            QRectF(inner.left(), inner.top(), wide, inner.height()), image, QRectF(0, 0, lanes, cells)
        )
        per_item = inner.height() / count
        rows = view.scene.layout.bad
        painter.setPen(QPen(t.color("bad"), 2.5))
        for row in rows[:: max(1, len(rows) // 300)]:
            x = inner.left() + (view.scene.layout.lane[row] + 0.5) * wide / lanes
            painter.drawPoint(QRectF(x, inner.top() + view.scene.items.item(row) * per_item, 0, 0).topLeft())
        if view.scene.cursor >= 0:
            painter.setPen(QPen(t.color("accent"), 5, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
            x = inner.left() + (view.scene.layout.lane[view.scene.cursor] + 0.5) * wide / lanes
            y = inner.top() + view.scene.items.item(view.scene.cursor) * per_item
            painter.drawPoint(QRectF(x, y, 0, 0).topLeft())
        geometry = view.scene.geometry
        extent = view.viewport().width() if geometry.sideways else view.viewport().height()
        top = max(0.0, geometry.item_at(0)) * per_item
        end = min(float(count), geometry.item_at(extent)) * per_item
        veil = t.color("accent")
        veil.setAlpha(36)
        painter.setPen(QPen(t.color("accent"), 1))
        painter.setBrush(veil)
        painter.drawRoundedRect(
            QRectF(inner.left() - 4, inner.top() + top, inner.width() + 8, max(4.0, end - top)), 3, 3
        )

    def _inner(self) -> QRectF:
        return QRectF(self.rect()).adjusted(9, 8, -9, -8)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._go(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._go(event)

    def _go(self, event: QMouseEvent) -> None:
        inner = self._inner()
        share = (event.position().y() - inner.top()) / inner.height()
        self._view.set_follow(False)
        self._view.scroll_to_item(min(1.0, max(0.0, share)) * len(self._view.scene.items))

    def sizeHint(self) -> QSize:
        return QSize(WIDTH, HEIGHT)
