"""Small files that are asked for at each capture and hardly ever change: read again only where stat data is another."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable

from worldline.workspace.filesig import is_fresh

_MOST_BYTES = 1 << 16
_Sig = tuple[int, int, int, int, int]


def _sig(status: os.stat_result) -> _Sig:
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev


class Remembered:
    """Contents by path. What was changed so shortly before that another change could leave the same times is not kept."""

    def __init__(self) -> None:
        self._texts: dict[str, tuple[_Sig, bytes]] = {}
        self._names: dict[str, tuple[_Sig, frozenset[str]]] = {}

    def read(self, path: str, read: Callable[[], bytes], *, links: bool) -> bytes:
        """What `read` gave when the file was as it is now. `links`: whether it follows them. Raises OSError, and what `read`
        raises."""
        status = os.stat(path, follow_symlinks=links)  # noqa: PTH116 - asked for each capture
        sig = _sig(status)
        known = self._texts.get(path)
        if known is not None and known[0] == sig:
            return known[1]
        self._texts.pop(path, None)
        may_be_kept = stat.S_ISREG(status.st_mode) and not _is_new(
            status
        )  # asked before it is read: see `is_fresh`
        data = read()
        if may_be_kept and len(data) <= _MOST_BYTES:
            self._texts[path] = (sig, data)
        return data

    def names(self, folder: str, wanted: frozenset[str]) -> frozenset[str]:
        """Which of these names are in a folder. Raises OSError."""
        status = os.stat(folder)  # noqa: PTH116
        sig = _sig(status)
        known = self._names.get(folder)
        if known is not None and known[0] == sig:
            return known[1]
        self._names.pop(folder, None)
        may_be_kept = not _is_new(status)
        found = wanted.intersection(os.listdir(folder))  # noqa: PTH208 - asked for each capture
        if may_be_kept:
            self._names[folder] = (sig, found)
        return found


def _is_new(status: os.stat_result) -> bool:
    return is_fresh(status.st_mtime_ns, status.st_ctime_ns, time.time_ns())
