"""What lies below a folder, found again quickly: a folder that did not change is not gone through a second time."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

MOST_ENTRIES = 200_000
Stamp = tuple[int, int, int, int, int]
SETTLED_NS = 2_000_000_000
"""What was changed more recently than this could change again without another time."""
_MOST_KNOWN = 100_000


def settled(info: os.stat_result) -> Stamp | None:
    """What changes with every change (nobody can set the time of the inode back), None = too recent to rely on."""
    if max(info.st_ctime_ns, info.st_mtime_ns) > time.time_ns() - SETTLED_NS:
        return None
    return (info.st_dev, info.st_ino, info.st_ctime_ns, info.st_mtime_ns, info.st_size)


class Below:
    """Finds entries that `wanted` says are meant, which must depend on path and type alone."""

    def __init__(
        self,
        wanted: Callable[[os.DirEntry[str]], bool],
        *,
        enter: Callable[[os.DirEntry[str]], bool] = lambda entry: entry.name != ".git",
    ) -> None:
        """`enter`: whether to look into a folder. Links are not followed, and what is wanted is not looked into."""
        self._wanted = wanted
        self._enter = enter
        self._known: dict[str, tuple[Stamp, list[str], list[str]]] = {}
        """Folder → the folders in it to look into, and what was found in it."""

    def find(self, top: Path, most: int | None = None) -> tuple[list[Path], bool]:
        """What is there, and whether all was looked at: no more than `most` entries are."""
        most = MOST_ENTRIES if most is None else most
        found: list[Path] = []
        folders = [str(top)]
        seen = 0
        while folders and seen < most:
            folder = folders.pop()
            with contextlib.suppress(OSError):  # gone, or not to be seen by this user
                stamp = settled(os.lstat(folder))
                known = self._known.get(folder)
                if known is not None and stamp is not None and known[0] == stamp:
                    seen += 1
                    inner, there = known[1], known[2]
                else:
                    inner, there, count = self._look_into(folder)
                    seen += count
                    if stamp is not None:
                        if len(self._known) >= _MOST_KNOWN:
                            self._known.clear()
                        self._known[folder] = (stamp, inner, there)
                folders += inner
                found += map(Path, there)
        return found, not folders

    def _look_into(self, folder: str) -> tuple[list[str], list[str], int]:
        inner: list[str] = []
        there: list[str] = []
        count = 0
        with os.scandir(folder) as entries:
            for entry in entries:
                count += 1
                with contextlib.suppress(OSError):
                    if self._wanted(entry):
                        there.append(entry.path)
                    elif entry.is_dir(follow_symlinks=False) and self._enter(entry):
                        inner.append(entry.path)
        return inner, there, count
