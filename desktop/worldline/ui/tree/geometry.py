"""Where an item is on screen: one scale, two directions. Floats in view coordinates; no state but the scroll."""

from __future__ import annotations

from dataclasses import dataclass

ROWS, DOTS = 24.0, 8.0
"""From this many pixels a row on: readable rows; glyph with a short label. Below: dots and lines."""
MIN_SCALE, MAX_SCALE, DEFAULT_SCALE = 0.0005, 44.0, 28.0
MARGIN = 18.0


@dataclass(slots=True, eq=False, repr=False)
class Geometry:
    """`scale` is the pixels of an item from above to below; left to right an item takes more, for its words."""

    scale: float = DEFAULT_SCALE
    sideways: bool = False
    scroll_along: float = 0.0
    scroll_across: float = 0.0

    @property
    def level(self) -> int:
        """1 = rows that can be read, 2 = glyphs, 3 = dots and lines."""
        return 1 if self.scale >= ROWS else 2 if self.scale >= DOTS else 3

    @property
    def step(self) -> float:
        """Pixels from one item to the next."""
        if self.sideways and self.scale > DOTS:
            return self.scale + (self.scale - DOTS) * 6
        return self.scale

    def scale_for(self, step: float) -> float:
        """The scale at which an item takes `step` pixels."""
        return (step + 6 * DOTS) / 7 if self.sideways and step > DOTS else step

    @property
    def lane_step(self) -> float:
        if self.sideways:
            return max(3.0, min(64.0, self.scale * 2.2))
        return max(2.0, min(18.0, self.scale * 0.64))

    def along(self, item: float) -> float:
        """Middle of an item in the direction of time."""
        return MARGIN / 2 + (item + 0.5) * self.step - self.scroll_along

    def across(self, lane: float) -> float:
        return MARGIN + lane * self.lane_step - self.scroll_across

    def point(self, item: float, lane: float) -> tuple[float, float]:
        along, across = self.along(item), self.across(lane)
        return (along, across) if self.sideways else (across, along)

    def item_at(self, position: float) -> float:
        """The (fractional) item at a place in the direction of time."""
        return (position + self.scroll_along - MARGIN / 2) / self.step

    def lane_at(self, position: float) -> float:
        return (position + self.scroll_across - MARGIN) / self.lane_step

    def length(self, items: int) -> float:
        return MARGIN + items * self.step

    def breadth(self, lanes: int) -> float:
        return MARGIN * 2 + max(lanes - 1, 0) * self.lane_step
