"""Trees of a store that were read or made lately, in the forms in which they are asked for."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from itertools import accumulate

from worldline.workspace.objects import EMPTY_TREE, TreeEntry, TreeRow, parse_tree, tree_rows

_MANY = 50_000
_MOST_BYTES = 64 << 20
_FEW_ROWS = 32
_MANY_STARTS = 512
_ALL_STARTS = 500_000
"""Numbers in all of them: one folder may have as many entries as there are files."""


class TreeCache:
    """Contract: all that is given is shared and not to be changed. `read` gives an object by its id, or raises."""

    def __init__(self, read: Callable[[bytes], bytes]) -> None:
        self._read = read
        self._raw: dict[bytes, bytes] = {}
        self._bytes = 0
        self._parsed: dict[bytes, list[TreeEntry]] = {}
        self._rows: dict[bytes, list[TreeRow]] = {}
        self._starts: dict[bytes, array[int]] = {}
        self._all_starts = 0

    def clear(self) -> None:
        self._raw.clear()
        self._bytes = 0
        self._parsed.clear()
        self._rows.clear()
        self._starts.clear()
        self._all_starts = 0

    def entries(self, oid: bytes) -> list[TreeEntry]:
        known = self._parsed.get(oid)
        if known is None:
            if len(self._parsed) > _MANY:
                self._parsed.clear()
            known = self._parsed[oid] = parse_tree(self.raw(oid))
        return known

    def raw(self, oid: bytes) -> bytes:
        """A tree as it is stored."""
        if oid == EMPTY_TREE:
            return b""
        known = self._raw.get(oid)
        if known is None:
            known = self._read(oid)
            self._keep(oid, known)
        return known

    def know(self, oid: bytes, data: bytes) -> None:
        """Spare reading back what has just been made."""
        if oid not in self._raw:
            self._keep(oid, data)

    def _keep(self, oid: bytes, data: bytes) -> None:
        self._bytes += len(data)
        # A large folder that changes often leaves many trees that nobody asks for again.
        if len(self._raw) >= _MANY or self._bytes > _MOST_BYTES:
            self._raw.clear()
            self._bytes = len(data)
        self._raw[oid] = data

    def rows(self, oid: bytes) -> list[TreeRow]:
        """The last few are kept: what a state is compared with next is most often the one that was made last."""
        known = self._rows.pop(oid, None)
        if known is None:
            known = tree_rows(self.raw(oid))
            if len(self._rows) >= _FEW_ROWS:
                del self._rows[next(iter(self._rows))]
        self._rows[oid] = known
        return known

    def starts(self, oid: bytes, other: bytes) -> array[int]:
        """Where the entries of a tree begin, and where the last ends; or those of `other`, if they are what is known."""
        known = self._starts.get(oid) or self._starts.get(other)
        if known is None:
            lengths = (len(mode) + len(name) + 22 for mode, name, _ in self.rows(oid))
            known = array("I", accumulate(lengths, initial=0))
            self.know_starts(oid, known)
        return known

    def know_starts(self, oid: bytes, starts: array[int]) -> None:
        if oid in self._starts:
            return
        self._all_starts += len(starts)
        self._starts[oid] = starts
        while len(self._starts) > _MANY_STARTS or (self._all_starts > _ALL_STARTS and len(self._starts) > 2):
            self._all_starts -= len(self._starts.pop(next(iter(self._starts))))
