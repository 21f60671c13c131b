"""Which objects lie in the packs of a store.

libgit2 says it too, but where an object is in none it looks each time whether somebody has added a pack; that is the usual
case for what a capture adds, and would be a good part of a small one.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

_MAGIC = b"\xfftOc\0\0\0\2"
_FAN = struct.Struct(">256I")
_NAMES = len(_MAGIC) + _FAN.size
_NAME = 20


class PackNames:
    """The packs that are in a folder when it is asked first. `forget` where some came or went."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: list[tuple[tuple[int, ...], mmap.mmap]] | None = None

    def forget(self) -> None:
        for _, data in self._known or ():
            data.close()
        self._known = None

    def hold(self, oid: bytes) -> bool:
        """Raises OSError, and ValueError for what is no index of a pack."""
        if self._known is None:
            # Pruning that was killed, or a loss of power after it, may leave an index whose pack is gone: nothing is in it.
            self._known = [
                _open(path) for path in self._folder.glob("pack-*.idx") if path.with_suffix(".pack").is_file()
            ]
        first = oid[0]
        for fan, data in self._known:
            at = _NAMES + _NAME * (fan[first - 1] if first else 0)
            end = _NAMES + _NAME * fan[first]
            while (at := data.find(oid, at, end)) >= 0:
                if not (at - _NAMES) % _NAME:
                    return True
                at += 1  # the end of one name and the beginning of the next
        return False


def _open(path: Path) -> tuple[tuple[int, ...], mmap.mmap]:
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if len(data) < _NAMES or data[: len(_MAGIC)] != _MAGIC:
        data.close()
        raise ValueError(f"{path} is no index of a pack")
    return _FAN.unpack_from(data, len(_MAGIC)), data
