"""The previews of all rows in one buffer, and the search through them."""

from __future__ import annotations

from array import array
from bisect import bisect_right

from worldline.core.row_reader import Details


class PreviewColumn:
    """Row → first words of its node. A row whose words have not come yet has none."""

    def __init__(self) -> None:
        self._text = bytearray()
        self._ends = array("Q")
        self._ahead: list[Details] = []
        """Details of rows in the middle that came before those above them."""
        self._apart: dict[int, str] = {}
        """Words that are kept beside the buffer."""

    def append(self, row: int, preview: str) -> None:
        """Of the next row at the end; rows above it may still be without words."""
        if len(self._ends) < row:
            self._spill()
            self._ends.extend([len(self._text)] * (row - len(self._ends)))
        self._text += preview.encode("utf-8", "replace")
        self._ends.append(len(self._text))

    def take(self, details: Details) -> None:
        if len(self._ends) == details.first:
            start = len(self._text)
            self._text += details.text
            self._ends.extend(start + end for end in details.ends)
        else:
            self._ahead.append(details)
            if len(self._ends) > details.first:
                self._spill()

    def _spill(self) -> None:
        """Keep the words of rows in the middle apart, because their place in the buffer is taken by nothing."""
        for details in self._ahead:
            start = 0
            for row, end in enumerate(details.ends, details.first):
                self._apart.setdefault(row, details.text[start:end].decode("utf-8", "replace"))
                start = end
        self._ahead.clear()

    def change(self, row: int, preview: str) -> None:
        """A reply that was empty when it was stored has words by now."""
        if preview != self.get(row):
            self._apart[row] = preview

    def get(self, row: int) -> str:
        apart = self._apart.get(row)
        if apart is not None:
            return apart
        if row >= len(self._ends):
            return self._get_ahead(row)
        start = self._ends[row - 1] if row else 0
        return self._text[start : self._ends[row]].decode("utf-8", "replace")

    def _get_ahead(self, row: int) -> str:
        """Of a row whose details have not come in their order."""
        for details in self._ahead:
            at = row - details.first
            if 0 <= at < len(details.ends):
                start = details.ends[at - 1] if at else 0
                return details.text[start : details.ends[at]].decode("utf-8", "replace")
        return ""

    def rows_with(self, needle: str) -> set[int]:
        """Rows whose words contain `needle`, which is casefolded, without regard to case."""
        found: set[int] = set()
        self._spill()
        raw = needle.encode("utf-8", "replace")
        if raw.isascii():
            # One search through the buffer in C instead of a decode for every row.
            buffer = bytes(self._text).lower()
            at = buffer.find(raw)
            while at >= 0:
                row = bisect_right(self._ends, at)
                if at + len(raw) <= self._ends[row]:
                    found.add(row)
                    at = buffer.find(raw, self._ends[row])
                else:
                    at = buffer.find(raw, at + 1)
        else:
            found.update(row for row in range(len(self._ends)) if needle in self.get(row).casefold())
        for row, preview in self._apart.items():
            found.discard(row)
            if needle in preview.casefold():
                found.add(row)
        return found

    def bytes_used(self) -> int:
        return len(self._text) + self._ends.itemsize * len(self._ends)
