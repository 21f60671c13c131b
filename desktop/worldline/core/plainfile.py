"""Reading files that somebody else may have put there: never waiting on a pipe, never without end."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_AT_LEAST = 1 << 16


def read_plain(path: Path | str, limit: int = 64 << 20) -> bytes:
    """Content of a regular file (links are followed). Raises OSError, also for what is no regular file or above the
    limit."""
    descriptor = os.open(path, _OPEN)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is not a regular file")
        # A buffer as large as the limit would have to be asked of the system each time. The size is only a hint: files
        # of the kernel have none, others may grow.
        piece = max(status.st_size + 1, _AT_LEAST)
        data = b""
        while len(data) <= limit and (more := os.read(descriptor, min(piece, limit + 1 - len(data)))):
            data = data + more if data else more
        if len(data) > limit:
            raise OSError(f"{path} is larger than {limit} bytes")
        return data
    finally:
        os.close(descriptor)


def is_endless(path: Path) -> bool:
    """Whether something is there that may be read without end: a pipe or a device, or a link to one."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
