"""Reading rows straight from the pages of a SQLite file, without its trees of pages.

For `recover` only: when an inner page or the first page is destroyed, SQLite finds nothing of what hangs below it. Every row lies on
a leaf page, and each leaf can be read by itself. Committed pages of the write-ahead log replace those of the file.
File format: https://www.sqlite.org/fileformat2.html (sections 1.6, 2.1 and 4).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

_LEAF = 0x0D
_INTS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_WAL_HEADER, _FRAME_HEADER = 32, 24
_WAL_MAGIC = (0x377F0682, 0x377F0683)

Value = int | float | str | bytes | None


class Row(NamedTuple):
    rowid: int
    values: list[Value]
    whole: bool
    """False: the pages with its end are gone, and `values` are those before."""


class PageFile:
    """Pages of a database file with its log laid over. Reads only; close it with `close`."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("rb")
        log = path.with_name(path.name + "-wal")
        self._log: BinaryIO | None = log.open("rb") if log.is_file() else None
        self.page_size = self._size_of_pages()
        self._overlay: dict[int, int] = {}
        file_pages = path.stat().st_size // self.page_size
        # A page cut short at the end of the file is read too, filled up with zeros.
        self.count = file_pages + (path.stat().st_size % self.page_size > 0)
        if self._log is not None:
            self._read_log(self._log)

    def close(self) -> None:
        self._file.close()
        if self._log is not None:
            self._log.close()

    def _size_of_pages(self) -> int:
        head = self._file.read(100)
        if head[:16] == b"SQLite format 3\0":
            size = int.from_bytes(head[16:18], "big")
            size = 65536 if size == 1 else size
            if size in (512, 1024, 2048, 4096, 8192, 16384, 32768, 65536):
                return size
        if self._log is not None:
            size = int.from_bytes(self._log.read(12)[8:12], "big")
            if size in (512, 1024, 2048, 4096, 8192, 16384, 32768, 65536):
                return size
        return 4096

    def _read_log(self, log: BinaryIO) -> None:
        """Note where the newest committed version of each page lies. Frames behind the last commit never happened."""
        log.seek(0)
        header = log.read(_WAL_HEADER)
        if len(header) < _WAL_HEADER or int.from_bytes(header[:4], "big") not in _WAL_MAGIC:
            return
        salts = header[16:24]
        order = ">" if header[3] & 1 else "<"
        sums = _checksum(header[:24], (0, 0), order)
        waiting: dict[int, int] = {}
        place = _WAL_HEADER
        while True:
            frame = log.read(_FRAME_HEADER + self.page_size)
            if len(frame) < _FRAME_HEADER + self.page_size or frame[8:16] != salts:
                return
            sums = _checksum(frame[:8], sums, order)
            sums = _checksum(frame[_FRAME_HEADER:], sums, order)
            if struct.unpack(">II", frame[16:24]) != sums:
                return
            number, commit = struct.unpack(">II", frame[:8])
            waiting[number] = place + _FRAME_HEADER
            if commit:
                self._overlay.update(waiting)
                waiting.clear()
                self.count = max(self.count, commit)
            place += _FRAME_HEADER + self.page_size

    def page(self, number: int) -> bytes:
        """Page `number` (from 1), filled up with zeros where the file is cut; b"" where there is none."""
        place = self._overlay.get(number)
        if place is not None and self._log is not None:
            self._log.seek(place)
            data = self._log.read(self.page_size)
        elif 1 <= number <= self.count:
            self._file.seek((number - 1) * self.page_size)
            data = self._file.read(self.page_size)
        else:
            return b""
        return data.ljust(self.page_size, b"\0")

    def rows(self) -> Iterator[Row]:
        """Every row on every readable leaf, of whatever table. A broken cell hides only itself."""
        for number in range(1, self.count + 1):
            page = self.page(number)
            start = 100 if number == 1 else 0
            if len(page) < 8 + start or page[start] != _LEAF:
                continue
            cells = int.from_bytes(page[start + 3 : start + 5], "big")
            pointers = page[start + 8 : start + 8 + 2 * cells]
            for at in range(0, len(pointers) - 1, 2):
                try:
                    row = self._cell(page, int.from_bytes(pointers[at : at + 2], "big"))
                except (IndexError, ValueError, struct.error, OverflowError):
                    continue
                yield row

    def _cell(self, page: bytes, at: int) -> Row:
        size, at = _varint(page, at)
        rowid, at = _varint(page, at)
        if rowid >= 1 << 63:
            rowid -= 1 << 64
        usable = self.page_size
        if size > self.page_size * max(self.count, 1):
            raise ValueError("larger than the file")
        most = usable - 35
        if size <= most:
            local = size
        else:
            least = (usable - 12) * 32 // 255 - 23
            local = least + (size - least) % (usable - 4)
            local = local if local <= most else least
        payload = page[at : at + local]
        if len(payload) < local:
            raise ValueError("cut")
        if size > local:
            try:
                payload += self._overflow(
                    int.from_bytes(page[at + local : at + local + 4], "big"), size - local
                )
            except ValueError:
                return Row(rowid, _record(payload, cut=True), whole=False)
        return Row(rowid, _record(payload), whole=True)

    def _overflow(self, number: int, left: int) -> bytes:
        parts = []
        while left > 0:
            page = self.page(number)
            if not number or not page:
                raise ValueError("the chain of pages is broken")
            take = min(left, self.page_size - 4)
            parts.append(page[4 : 4 + take])
            left -= take
            number = int.from_bytes(page[:4], "big")
        return b"".join(parts)


def _checksum(data: bytes, sums: tuple[int, int], order: str) -> tuple[int, int]:
    one, two = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for at in range(0, len(words), 2):
        one = (one + words[at] + two) & 0xFFFFFFFF
        two = (two + words[at + 1] + one) & 0xFFFFFFFF
    return one, two


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for count in range(9):
        byte = data[at]
        at += 1
        if count == 8:
            return (value << 8) | byte, at
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            return value, at
    return value, at


def _record(payload: bytes, *, cut: bool = False) -> list[Value]:
    """The values; of a payload that is `cut` those that are whole. Raises ValueError for what is no record."""
    head, at = _varint(payload, 0)
    types = []
    while at < head:
        kind, at = _varint(payload, at)
        types.append(kind)
    if at != head:
        raise ValueError("no record")
    values: list[Value] = []
    for kind in types:
        size = (kind - 12) // 2 if kind >= 12 else 8 if kind == 7 else _INTS.get(kind, 0)
        if cut and at + size > len(payload):
            return values
        if kind == 0:
            values.append(None)
        elif kind in _INTS:
            values.append(int.from_bytes(payload[at : at + size], "big", signed=True))
        elif kind == 7:
            values.append(struct.unpack(">d", payload[at : at + 8])[0])
        elif kind in (8, 9):
            values.append(kind - 8)
        elif kind >= 12:
            raw = payload[at : at + size]
            values.append(raw.decode("utf-8") if kind % 2 else raw)
        else:
            raise ValueError("no record")
        at += size
        if at > len(payload):
            raise ValueError("cut")
    if at != len(payload):
        raise ValueError("no record")
    return values
