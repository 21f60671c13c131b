"""What waits in a pipe: whoever must not wait for its other end asks, instead of giving the reader some time."""

from __future__ import annotations

import struct


def unread(pipe: int) -> int:
    """Bytes that were written and not read yet. Not on Windows."""
    import fcntl
    import termios

    count: int = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]
    return count
