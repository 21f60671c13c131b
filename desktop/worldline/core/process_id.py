"""Telling a process from another one that was given its number later."""

from __future__ import annotations

import functools
from pathlib import Path

_SAME_S = 2.0
"""The time of a start is worked out anew each time, and the clock is put right meanwhile."""


def identity(pid: int) -> str:
    """The same for a process as long as it runs, for whoever asks; "" = there is none with this number.

    On Linux it holds no time of the clock, which may be put forward and back while a process runs: the run of the
    machine, and how long after its beginning the process was started.
    """
    boot = _boot_id()
    if boot:
        try:
            text = Path(f"/proc/{pid}/stat").read_bytes()
        except OSError:
            return ""
        # The name of the program, in brackets, may hold anything.
        fields = text[text.rfind(b")") + 2 :].split()
        ended = fields[0] in (b"Z", b"X")
        return "" if ended else f"{boot}:{int(fields[19])}"
    import psutil

    try:
        return f"{psutil.Process(pid).create_time():.1f}"
    except psutil.Error:
        return ""


def lives(pid: int, started: object) -> bool:
    """Whether the process whose `identity` was written down as `started` still runs. Older versions wrote the time at which
    it was started: one of them may be open beside this one."""
    text = str(started)
    try:
        since = float(text)
    except ValueError:
        return bool(text) and identity(pid) == text
    import psutil

    try:
        return abs(float(psutil.Process(pid).create_time()) - since) < _SAME_S
    except (psutil.Error, ValueError):
        return False


@functools.cache
def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""
