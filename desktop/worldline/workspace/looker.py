"""Stat data of files whose names are known. Also a program: it answers the requests of `looking`.

A look at one file is a system call of a microsecond or two and as much again around it.
"""

from __future__ import annotations

import marshal
import os

from worldline.workspace.messages import FORMAT, serve

TYPE_CHECKING = False
if TYPE_CHECKING:  # these would take as long as all else of starting a helper
    from collections.abc import Iterable
    from typing import Any

OPEN_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK

Seen = list[tuple[int, int, int, int]]
"""For a folder first: mtime_ns, ctime_ns, inode, st_mode. Then for each name: mtime_ns, ctime_ns, size, inode."""


def look(root: int, device: int, folder: str, names: Iterable[str]) -> Seen | None:
    """What stat says now of a folder below the open `root` ("" = itself, else with a `/` at the end) and of these names
    in it; None where that cannot be told, or the folder lies on another device."""
    lstat = os.lstat
    try:
        fd = os.open(folder or ".", OPEN_DIR, dir_fd=root)
        try:
            here = os.fstat(fd)
            if here.st_dev != device:
                return None
            seen = [(here.st_mtime_ns, here.st_ctime_ns, here.st_ino, here.st_mode)]
            for name in names:
                now = lstat(name, dir_fd=fd)
                seen.append((now.st_mtime_ns, now.st_ctime_ns, now.st_size, now.st_ino))
        finally:
            os.close(fd)
    except (OSError, ValueError):
        return None
    return seen


def main(root: str) -> None:
    """Each request: (device, [(folder, names), ...]); its answer: for each the bytes of its `Seen`, or None."""

    def answer(request: tuple[int, list[tuple[str, list[str]]]]) -> Any:
        device, pieces = request
        fd = os.open(root, OPEN_DIR)
        try:
            found = [look(fd, device, folder, names) for folder, names in pieces]
        finally:
            os.close(fd)
        return [seen and marshal.dumps(seen, FORMAT) for seen in found]

    serve(answer)
