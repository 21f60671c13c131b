"""Exactly one writer for a session file.

`<file>.lock` is held by an OS lock for as long as the writer lives, so a lock left by a dead process is never in the way.
Its text says who holds it (pid and the start time of that process, because pids are given out again): it is there for
the message to the person, and decides where the file system has no working OS locks.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

from worldline.core.errors import SessionError
from worldline.core.process_id import identity, lives

_MARK_OFFSET = 1 << 20  # Windows locks bytes against reading too: lock one far behind the text.


@dataclass(frozen=True)
class Holder:
    pid: int
    started: str
    """See `core.process_id`."""
    host: str

    def lives(self) -> bool:
        """Whether that very process runs on this machine. A holder on another machine cannot be asked: it counts as living
        only where the OS lock says so, which the caller has tried first."""
        if ":" not in self.started and self.host != socket.gethostname():
            return False  # else it names the machine too, whose name may change while it runs
        return lives(self.pid, self.started)


def lock_path(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def _os_lock(descriptor: int) -> bool:
    """Try to take the lock without waiting."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, _MARK_OFFSET, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def read_holder(path: Path) -> Holder | None:
    """Who says that it writes the session at `path`; None without a readable lock file."""
    try:
        data = json.loads(lock_path(path).read_bytes())
        return Holder(int(data["pid"]), str(data["started"]), str(data["host"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def writer_lives(path: Path) -> bool:
    holder = read_holder(path)
    return holder is not None and holder.lives()


class WriterLock:
    """Held from `take` to `release`; the OS releases it when the process dies."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: Path) -> WriterLock:
        """Raises SessionError `locked` when another process (or another part of this one) writes the session,
        `not_saved` when the folder cannot be written."""
        file = lock_path(path)
        while True:
            try:
                descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
            except OSError as problem:
                raise SessionError(
                    f"The folder of this session cannot be written: {problem.strerror}.",
                    "Open it read-only, or give it a place where you may write.",
                    kind="not_saved",
                ) from problem
            if not _os_lock(descriptor):
                os.close(descriptor)
                raise _locked(path)
            # The previous holder may have removed the file between our open and our lock.
            if not _same_file(descriptor, file):
                os.close(descriptor)
                continue
            holder = read_holder(path)
            if holder is not None and holder.lives() and holder.pid != os.getpid():
                os.close(descriptor)
                raise _locked(path)
            text = json.dumps(
                {
                    "pid": os.getpid(),
                    "started": identity(os.getpid()),
                    "host": socket.gethostname(),
                }
            ).encode()
            # When there is no room for the text: the OS lock is what counts.
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, text, 0) if hasattr(os, "pwrite") else os.write(descriptor, text)
            return cls(file, descriptor)

    def release(self) -> None:
        """Idempotent. The file goes away only while it is still ours."""
        if self._descriptor < 0:
            return
        if _same_file(self._descriptor, self._path):
            with contextlib.suppress(OSError):
                self._path.unlink()
        os.close(self._descriptor)
        self._descriptor = -1


def _same_file(descriptor: int, path: Path) -> bool:
    try:
        ours, there = os.fstat(descriptor), path.stat()
    except OSError:
        return False
    return (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino)


def _locked(path: Path) -> SessionError:
    holder = read_holder(path)
    who = f"process {holder.pid}" if holder else "another process"
    return SessionError(
        f"{path.name} is already open for writing in {who}.",
        "Go on there, or open it here read-only: it follows what happens.",
        kind="locked",
    )
