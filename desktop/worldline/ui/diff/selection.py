"""What is marked in a diff, to be copied: from one place to another, on one side."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from worldline.protocol.model import DiffRow

Place = tuple[int, int, int]
"""Row on screen, column, side."""
LineOf = Callable[[int, int], int]
"""The line of the diff in a row on screen on a side; -1 = none."""


class Selection:
    """True while there is one, be it empty."""

    def __init__(self) -> None:
        self._anchor: Place | None = None
        self._head: Place | None = None

    def __bool__(self) -> bool:
        return self._anchor is not None

    def clear(self) -> None:
        self._anchor = self._head = None

    def begin(self, place: Place) -> None:
        self._anchor = self._head = place

    def extend(self, place: Place) -> None:
        """Mark up to this place; its side does not count."""
        if self._anchor is not None:
            self._head = (*place[:2], self._anchor[2])

    def span(self, line_of: LineOf, at: int, side: int, length: int) -> tuple[int, int] | None:
        """Where the marked part of a line of this length begins and ends."""
        if self._anchor is None or self._head is None or self._anchor[2] != side:
            return None
        (a, a_col, _), (b, b_col, _) = sorted((self._anchor, self._head))
        first, last = line_of(a, side), line_of(b, side)
        if first < 0 or last < 0 or not first <= at <= last:
            return None
        start, end = (a_col if at == first else 0), (b_col if at == last else length)
        return (start, end) if end > start else None

    def text(self, rows: Sequence[DiffRow], line_of: LineOf) -> str:
        if self._anchor is None or self._head is None:
            return ""
        side = self._anchor[2]
        (a, a_col, _), (b, b_col, _) = sorted((self._anchor, self._head))
        out = []
        for screen in range(a, b + 1):
            at = line_of(screen, side)
            if at >= 0 and rows[at].kind not in "@\\":
                text = rows[at].text
                out.append(text[a_col if screen == a else 0 : b_col if screen == b else len(text)])
        return "\n".join(out)
