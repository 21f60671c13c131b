"""Where the rows of the chat are: their heights, guessed until they are measured, and the sums of them. No widgets."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from worldline.ui.chat.row_heights import guessed_height
from worldline.viewmodel.chat_rows import ChatRow


class RowPlaces:
    """Rows by their index, in pixels from the top of the first. After heights have changed `sum_up` moves the rows."""

    def __init__(self) -> None:
        self._heights: list[int] = []
        self._measured: list[bool] = []
        self._tops: list[int] = [0]

    def __len__(self) -> int:
        return len(self._heights)

    def follow(self, rows: Sequence[ChatRow], column: int, first: int, removed: int, added: int) -> None:
        """From `first` on so many rows have gone and so many have come, which nobody has measured yet. Where that cannot be,
        all of them are new."""
        if len(self._heights) - removed + added != len(rows):
            first, removed, added = 0, len(self._heights), len(rows)
        guessed = [guessed_height(row, column) for row in rows[first : first + added]]
        self._heights[first : first + removed] = guessed
        self._measured[first : first + removed] = [False] * added

    def doubt(self, index: int = -1) -> None:
        """A row has to be measured anew; -1 = all of them."""
        if index < 0:
            self._measured = [False] * len(self._measured)
        else:
            self._measured[index] = False

    def is_measured(self, index: int) -> bool:
        return self._measured[index]

    def measure(self, index: int, height: int) -> bool:
        """The real height of a row; True if it was thought to be another."""
        self._measured[index] = True
        changed = self._heights[index] != height
        self._heights[index] = height
        return changed

    def sum_up(self) -> None:
        self._tops = [0, *accumulate(self._heights)]

    @property
    def total(self) -> int:
        return self._tops[-1]

    @property
    def summed(self) -> int:
        """How many rows have a place."""
        return len(self._tops) - 1

    def height(self, index: int) -> int:
        return self._heights[index]

    def top(self, index: int) -> int:
        return self._tops[index]

    def at(self, y: int) -> int:
        """The row at a height; the first or last one beyond the ends."""
        return max(0, min(len(self._heights) - 1, bisect_right(self._tops, y) - 1))

    def between(self, top: int, bottom: int) -> range:
        """The rows of which something lies between two heights."""
        return range(max(0, bisect_right(self._tops, top) - 1), bisect_right(self._tops, bottom))

    def at_the_end(self, room: int) -> Iterator[int]:
        """The rows that are seen in a room of this height when the last one is, from the last one upwards."""
        for index in range(len(self._heights) - 1, -1, -1):
            yield index
            room -= self._heights[index]
            if room <= 0:
                return
