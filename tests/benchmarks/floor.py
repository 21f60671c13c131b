"""What a durable restore cannot do without, alone: the system calls of one that goes back to where it came from.

The journal on the disk before anything is touched, the new content beside its place, each file compared before and after it
is swapped, read back and hashed, the mark, letting go. No safety state, no plan, no names to be found out.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import statistics
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_OPENAT2 = 437
STEPS = (
    "journal on the disk",
    "content beside it",
    "compare, swap, compare",
    "read back, hash",
    "mark, let go",
)


def _calls() -> tuple[Callable[[int, str, int], int], Callable[[int, str, int, str], int]]:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.renameat2.argtypes = [
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_uint,
    ]
    libc.syscall.argtypes = [
        ctypes.c_long,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_size_t,
    ]
    hows = {flags: struct.pack("=QQQ", flags, 0, 0x04 | 0x08) for flags in (_DIR, _FILE)}

    def beneath(top: int, path: str, flags: int) -> int:
        return int(libc.syscall(_OPENAT2, top, path.encode(), hows[flags], 24))

    def swap(one_fd: int, one: str, two_fd: int, two: str) -> int:
        return int(libc.renameat2(one_fd, one.encode(), two_fd, two.encode(), 2))

    return beneath, swap


def restore_floor(base: Path, files: int, rounds: int = 12) -> dict[str, float]:
    """Median milliseconds of each of `STEPS`, and of all, for so many files of 650 bytes in as many folders."""
    place = Path(tempfile.mkdtemp(prefix="floor-", dir=base))
    work, store = place / "work", place / "store"
    names = [f"m{number}/p" for number in range(files)]
    for number, name in enumerate(names):
        (work / name).mkdir(parents=True)
        (work / name / "f.py").write_bytes(os.urandom(650))
        (store / "spare").mkdir(parents=True, exist_ok=True)
        (store / "spare" / str(number)).write_bytes(os.urandom(650))
    (store / "blank").mkdir()
    (store / "settling").mkdir()
    blank = store / "blank" / "journal"
    blank.write_bytes(b" " * 8192)
    os.sync()
    beneath, swap = _calls()
    times: dict[str, list[float]] = {name: [] for name in (*STEPS, "all")}
    for _ in range(rounds):
        begin = at = time.perf_counter()

        def step(name: str) -> None:
            nonlocal at
            now = time.perf_counter()
            times[name].append((now - at) * 1000)
            at = now

        top = os.open(work, _DIR)
        fd = os.open(blank, os.O_WRONLY)
        os.write(fd, b"{}".ljust(8192))
        os.fdatasync(fd)
        os.close(fd)
        os.rename(store / "blank", store / "restore")
        step(STEPS[0])
        os.rename(store / "spare", ".staging", dst_dir_fd=top)
        staging = os.open(".staging", _DIR, dir_fd=top)
        for number in range(files):
            os.stat(str(number), dir_fd=staging, follow_symlinks=False)
            os.utime(str(number), dir_fd=staging, follow_symlinks=False)
        step(STEPS[1])
        folders = []
        for number, name in enumerate(names):
            folders.append(folder := beneath(top, name, _DIR))
            os.stat("f.py", dir_fd=folder, follow_symlinks=False)
            assert swap(staging, str(number), folder, "f.py") == 0
            os.stat(str(number), dir_fd=staging, follow_symlinks=False)
        for folder in folders:
            os.close(folder)
        step(STEPS[2])
        for name in names:
            fd = beneath(top, f"{name}/f.py", _FILE)
            os.fstat(fd)
            data = os.pread(fd, 651, 0)
            os.fstat(fd)
            os.close(fd)
            hashlib.sha1(b"blob 650\0" + data, usedforsecurity=False).digest()
        step(STEPS[3])
        os.link(store / "restore" / "journal", store / "restore" / "committed")
        os.rename(".staging", store / "spare", src_dir_fd=top)
        os.rename(store / "restore", store / "settling" / "record")
        os.close(staging)
        os.close(top)
        step(STEPS[4])
        times["all"].append((time.perf_counter() - begin) * 1000)
        (store / "settling" / "record" / "committed").unlink()
        os.rename(store / "settling" / "record", store / "blank")
    shutil.rmtree(place)
    return {name: statistics.median(values) for name, values in times.items()}
