"""The ids of all rows, eight bytes each; ids that are not our own (imported sessions) are kept beside them."""

from __future__ import annotations

from collections.abc import Callable

from worldline.core.ids import is_uid
from worldline.core.row_reader import Uids

NO_ROW = -1
Later = Callable[[], Uids | None]


class UidColumn:
    """Row → id and back. May be filled when the first id is asked for: the picture of a tree needs none."""

    def __init__(self) -> None:
        self.packed = bytearray()
        self.odd: dict[int, str] = {}
        self.odd_rows: dict[str, int] = {}
        self._later: Later | None = None
        self.lost = False
        """They could not be read; `put` brings them one by one."""

    def fill_later(self, count: int, known: dict[int, str], later: Later) -> None:
        """`later` may wait; it is called once, at the first question that `known` does not answer. None = they cannot
        be read."""
        self.packed = bytearray(8 * count)
        self.odd = dict(known)
        self.odd_rows = {uid: row for row, uid in known.items()}
        self._later = later

    def fill(self) -> None:
        """Have them all now."""
        later, self._later = self._later, None
        if later is None:
            return
        uids = later()
        if uids is None:
            self.lost = True
            return
        self.packed = bytearray(uids.packed)
        self.odd = dict(uids.odd)
        self.odd_rows = {uid: row for row, uid in uids.odd.items()}

    def append(self, uid: str) -> None:
        self.fill()
        row = len(self.packed) // 8
        self.packed += bytes(8)
        self.put(row, uid)

    def put(self, row: int, uid: str) -> None:
        if is_uid(uid):
            self.packed[row * 8 : row * 8 + 8] = bytes.fromhex(uid)
        else:
            self.odd[row] = uid
            self.odd_rows[uid] = row

    def uid(self, row: int) -> str:
        """ "" for an id that could not be read."""
        odd = self.odd.get(row)
        if odd is not None:
            return odd
        if self._later is not None:
            self.fill()
            return self.uid(row)
        packed = self.packed[row * 8 : row * 8 + 8]
        return packed.hex() if not self.lost or any(packed) else ""

    def row(self, uid: str) -> int:
        """-1 when it is not there. A search over the packed ids: under a millisecond at a million."""
        odd = self.odd_rows.get(uid, NO_ROW)
        if odd != NO_ROW:
            return odd
        if self._later is not None:
            self.fill()
            return self.row(uid)
        if not is_uid(uid):
            return NO_ROW
        needle = bytes.fromhex(uid)
        at = self.packed.rfind(needle)
        while at >= 0:
            if at % 8 == 0:
                return at // 8
            at = self.packed.rfind(needle, 0, at + 7)
        return NO_ROW
