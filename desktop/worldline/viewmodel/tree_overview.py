"""The whole tree as a small picture: one byte a cell of 2**level items and one lane. Kept and grown with every row,
so an overview of a million nodes costs one scaled blit."""

from __future__ import annotations

from dataclasses import dataclass

from worldline.viewmodel.tree_items import TreeItems
from worldline.viewmodel.tree_layout import TreeLayout

KEPT = 3
"""Levels kept at a time."""
MAX_WIDTH = 512
"""Lanes further right are left out: they would not be told apart in an overview."""


@dataclass(slots=True, eq=False, repr=False)
class Picture:
    cells: bytearray
    width: int
    """A multiple of four: the scanline of an 8-bit image."""
    level: int

    @property
    def height(self) -> int:
        return len(self.cells) // self.width


class Overview:
    def __init__(self, layout: TreeLayout, items: TreeItems) -> None:
        self._layout = layout
        self._items = items
        self._pictures: dict[int, Picture] = {}

    def clear(self) -> None:
        """Folds or filters have changed."""
        self._pictures.clear()

    def follow(self, first_row: int) -> None:
        """Take in the rows from `first_row` on; layout and items know them already."""
        for picture in list(self._pictures.values()):
            for row in range(first_row, len(self._layout)):
                lane = self._layout.lane[row]
                if lane >= picture.width:
                    if picture.width < MAX_WIDTH:
                        self._pictures.pop(picture.level)  # drawn anew, wider, when it is looked at
                        break
                    continue
                cell = (self._items.item(row) >> picture.level) * picture.width + lane
                if cell >= 0:
                    if cell >= len(picture.cells):
                        picture.cells.extend(bytes(picture.width * 64))
                    picture.cells[cell] = 1

    def picture(self, level: int) -> Picture:
        found = self._pictures.get(level)
        if found is None:
            if len(self._pictures) >= KEPT:
                self._pictures.pop(next(iter(self._pictures)))
            found = self._pictures[level] = self._draw(level)
        return found

    def _draw(self, level: int) -> Picture:
        layout, item = self._layout, self._items.item
        width = min(MAX_WIDTH, (layout.lane_count + 19) // 4 * 4)
        height = (max(len(self._items) - 1, 0) >> level) + 1
        cells = bytearray(width * height)
        for lane, first, last in zip(layout.seg_lane, layout.seg_first, layout.seg_last, strict=True):
            if lane < width:
                top, end = max(item(first), 0) >> level, max(item(last), 0) >> level
                cells[top * width + lane : end * width + lane + 1 : width] = b"\1" * (end - top + 1)
        return Picture(cells, width, level)
