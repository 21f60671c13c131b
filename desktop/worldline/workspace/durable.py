"""Making what was written survive a loss of power, in as few trips to the disk as can be.

What is relied on: a file system writes changes of names down in the order in which they were made (ext4, xfs, btrfs,
APFS do), and `fsync` writes down the file and every change of names before it. Content of files that were never synced
may be gone after a loss of power, although their names are there.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
from collections.abc import Callable, Iterable
from pathlib import Path

_BATCH = 200
"""Files held open at a time."""
_START_WRITING = 2
_ALL = ctypes.c_int64(0)
"""From the beginning, to the end."""
_PAGE = 4096

_libc = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
_syncfs: Callable[[int], int] | None = getattr(_libc, "syncfs", None)
_sync_file_range: Callable[..., int] | None = getattr(_libc, "sync_file_range", None)


def sync_path(path: Path) -> None:
    """A file, or the names in a folder."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_files(paths: Iterable[Path]) -> None:
    """Many files; the names of those in new folders are for the caller to sync. What is gone by now is left out.

    Writing is begun for all of them before the first is waited for: one commit of the file system then serves all.
    """
    batch: list[int] = []
    wanted = list(paths)
    for number, path in enumerate(wanted):
        with contextlib.suppress(FileNotFoundError):
            batch.append(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC))
        if len(batch) >= _BATCH or number == len(wanted) - 1:
            try:
                sync_open(batch)
            finally:
                for fd in batch:
                    os.close(fd)
                batch = []


def start_writing(fd: int) -> None:
    """Let the disk begin with what was written to a file, without waiting for it: the sync that must follow has less to wait
    for. Where that cannot be done, nothing happens."""
    if _sync_file_range is not None:
        _sync_file_range(fd, _ALL, _ALL, _START_WRITING)


def sync_open(fds: list[int]) -> None:
    """Files that are open."""
    for fd in fds:
        start_writing(fd)
    for fd in fds:
        os.fsync(fd)


def sync_filesystem(path: Path) -> None:
    """Everything on the file system that holds `path`. May take long: others' unwritten data go along."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _syncfs is None:
            os.sync()
        elif _syncfs(fd) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), str(path))
    finally:
        os.close(fd)


def on_one_disk(fd: int, path: Path) -> bool:
    """Whether what is open and what is at `path` lie on one file system, so that their changes of names have an order."""
    return os.fstat(fd).st_dev == path.stat().st_dev


def write_durably(path: Path, data: bytes) -> None:
    """Replace a file as a whole: its content is on the disk before it gets the name, and so before all that is renamed
    later."""
    temp = path.with_name(path.name + ".tmp")
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.fsync(fd)
    finally:
        os.close(fd)
    temp.replace(path)


@functools.cache
def boot_id() -> str:
    """Names the run of the machine since it was last switched on; "" where that cannot be known."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def is_hollow(data: bytes, wanted: bytes) -> bool:
    """Whether a loss of power explains that a file that was written as `wanted` reads as `data`: it is too short, or
    pages of it are empty."""
    if data == wanted or len(data) > len(wanted):
        return False
    for at in range(0, len(data), _PAGE):
        page = data[at : at + _PAGE]
        if page != wanted[at : at + len(page)] and page.strip(b"\0"):
            return False
    return True
