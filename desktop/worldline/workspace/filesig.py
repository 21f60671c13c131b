"""What stat data says of a file, and reading a file so that content and stat data belong together."""

from __future__ import annotations

import errno
import os
import stat

_RACY_NS = 20_000_000
_COARSE_NS = 2_000_000_000
OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

FileSig = tuple[int, int, int, int, int, bytes]
"""mtime_ns, ctime_ns (-1: read again), size, inode, st_mode, blob id."""


def is_fresh(mtime_ns: int, ctime_ns: int, now_ns: int) -> bool:
    """Changed so recently that another change after `now_ns` could leave the same times. Of what is read take the time before
    that: whoever changes it in between must be told apart, however long this process is held up after it."""
    coarse = mtime_ns % 1_000_000_000 == 0 and ctime_ns % 1_000_000_000 == 0
    return max(mtime_ns, ctime_ns) >= now_ns - (_COARSE_NS if coarse else _RACY_NS)


def _signed(status: os.stat_result, oid: bytes, fresh: bool) -> FileSig:
    return (
        status.st_mtime_ns,
        -1 if fresh else status.st_ctime_ns,
        status.st_size,
        status.st_ino,
        status.st_mode,
        oid,
    )


def signature(status: os.stat_result, oid: bytes, before_ns: int) -> FileSig:
    """For content that was read with this stat data, and not before `before_ns`."""
    fresh = is_fresh(status.st_mtime_ns, status.st_ctime_ns, before_ns)
    return _signed(status, oid, fresh)


def renamed_signature(status: os.stat_result, oid: bytes, before_ns: int) -> FileSig:
    """`signature` of one that was renamed, which sets its ctime and nothing else: its mtime alone tells of writes."""
    fresh = is_fresh(status.st_mtime_ns, status.st_mtime_ns, before_ns)
    return _signed(status, oid, fresh)


class Unstable(OSError):
    """A file changed each time it was read."""


def read_file(name: str, dir_fd: int, limit: int) -> tuple[bytes, os.stat_result] | None:
    """Content and stat data that belong together; None when it is larger than `limit`. Never follows a link and never
    waits on a pipe."""
    fd = os.open(name, OPEN_FILE, dir_fd=dir_fd)
    try:
        return read_open(fd, limit)
    finally:
        os.close(fd)


def read_open(fd: int, limit: int) -> tuple[bytes, os.stat_result] | None:
    """`read_file` of one that was opened with `OPEN_FILE`."""
    for _ in range(4):
        before = os.fstat(fd)
        if not stat.S_ISREG(before.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        if before.st_size > limit:
            return None
        data = os.pread(fd, before.st_size + 1, 0)
        while 0 < len(data) < before.st_size:
            more = os.pread(fd, before.st_size + 1 - len(data), len(data))
            if not more:
                break
            data += more
        after = os.fstat(fd)
        same = (before.st_mtime_ns, before.st_ctime_ns) == (after.st_mtime_ns, after.st_ctime_ns)
        if same and len(data) == after.st_size:
            return data, after
    raise Unstable(errno.EBUSY, "it kept changing while it was read")


SPECIAL = {
    stat.S_IFIFO: "is a named pipe",
    stat.S_IFSOCK: "is a socket",
    stat.S_IFBLK: "is a device",
    stat.S_IFCHR: "is a device",
}


def size_text(limit: int) -> str:
    return f"{limit >> 20} MB" if limit >= 1 << 20 else f"{limit} bytes"


def clashes(names: set[str]) -> tuple[str, ...]:
    if len({name.casefold() for name in names}) == len(names):
        return ()
    seen: dict[str, list[str]] = {}
    for name in sorted(names):
        seen.setdefault(name.casefold(), []).append(name)
    return tuple(name for group in seen.values() if len(group) > 1 for name in group)
