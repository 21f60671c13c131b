"""Which names changed in which folders since the last walk, told by the kernel (inotify; Linux only).

Events are queued by the time a writer's system call returns, so a drain after a tool has ended sees all of it. Whenever
anything is uncertain (queue overflow, too many folders, a folder that could not be watched, a name that came and went, by
which a known file may have been written) the answer is None: walk. Of folders that are not watched, as those that are
ignored, nothing is told: what is written by a name in there is seen by the next walk over everything.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import struct
import sys
import threading
from collections.abc import Callable, Mapping, Set
from pathlib import Path

from worldline.workspace.arrivals import CREATE, DELETE, MOVED_FROM, MOVED_TO, Arrivals

_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_DELETE_SELF, _MOVE_SELF = 0x400, 0x800
_UNMOUNT, _OVERFLOW, _IGNORED, _ISDIR = 0x2000, 0x4000, 0x8000, 0x40000000
_ONLYDIR, _DONT_FOLLOW = 0x01000000, 0x02000000
_MASK = (
    _MODIFY | _ATTRIB | _CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE | _DELETE_SELF | _MOVE_SELF
    | _ONLYDIR | _DONT_FOLLOW
)  # fmt: skip
_NAMES = MOVED_FROM | MOVED_TO | CREATE | DELETE
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES)
_HEAD = struct.Struct("iIII")
_NONBLOCK, _CLOEXEC = 0o4000, 0o2000000

_BURST_MS = 5
"""What happens within this time is read in one go: a restore of many files would else wait for this thread at each of them.
Short enough for the kernel's queue."""

_READ = 1 << 16
_LONGEST = 300
"""Bytes of an event, its name included."""

Dirty = dict[str, set[str] | None]
"""By folder ("" = the root, else with a `/` at the end): names of files that something happened to; None: anything may
have, folders in it included."""


class Watcher:
    """Watches the folders it is told. A thread of its own empties the kernel's queue; `drain` may be called from the
    workspace thread."""

    def __init__(self, root: Path, is_ours: Callable[[str], bool]) -> None:
        """`is_ours`: says which names in `root` are folders of ours; what happens to them is no change."""
        self._root = os.fsencode(root)
        self._is_ours = is_ours
        self._libc = ctypes.CDLL(None, use_errno=True) if sys.platform.startswith("linux") else None
        self._fd = self._libc.inotify_init1(_NONBLOCK | _CLOEXEC) if self._libc is not None else -1
        self._paths: dict[int, str] = {}
        self._ids: dict[str, int] = {}
        self._dirty: Dirty = {}
        self._before: Dirty = {}
        """What was told before the last `mark`."""
        self._arrivals = Arrivals()
        self._lost = True
        self._dead = self._fd < 0
        self._lock = threading.Lock()
        self._stop_read, self._stop_write = os.pipe()
        self._thread = threading.Thread(target=self._run, name="watch-workspace", daemon=True)
        if not self._dead:
            self._thread.start()

    @property
    def works(self) -> bool:
        return not self._dead

    def watch(self, folder: str) -> None:
        """Watch a folder ("" = the root, else with a `/` at the end). Calling it again is cheap."""
        if self._libc is None or folder in self._ids:
            return
        path = self._root + b"/" + os.fsencode(folder)
        # A known folder may have become a link: what that leads to is another one, and would be taken for it ever after.
        number = -1
        if not _leads_elsewhere(path, len(self._root)):
            number = self._libc.inotify_add_watch(self._fd, path, _MASK)
        else:
            ctypes.set_errno(errno.ELOOP)
        with self._lock:
            if number < 0:
                # Gone again, or closed to us: its parent has an event. Anything else is a limit of the system: give up
                # watching.
                self._lost = True
                self._dead = self._dead or ctypes.get_errno() not in _GONE
                return
            before = self._paths.get(number)
            if before is not None:  # the folder was moved: the kernel knows it by its inode
                self._ids.pop(before, None)
            self._paths[number] = folder
            self._ids[folder] = number

    def mark(self) -> None:
        """Keep what is told from now on apart from what was told until now."""
        if self._dead:
            return
        self._read()
        with self._lock:
            _add(self._before, self._dirty)
            self._dirty = {}

    def drain(self, known: Mapping[str, Set[str]] | None = None) -> Dirty | None:
        """What changed since the last call; None = not known, look at everything. Starts anew either way.

        `known`: files by folder that were read after the last `mark`; what happened to them before that is left out."""
        if self._dead:
            return None
        self._read()
        with self._lock:
            before, self._before = self._before, {}
            dirty, self._dirty = self._dirty, {}
            lost = self._arrivals.end() or self._lost
            self._lost = False
        for folder, names in known.items() if known else ():
            told = before.get(folder)
            if told is not None:
                told -= names
                if not told:
                    del before[folder]
        _add(dirty, before)
        return None if lost else dirty

    @property
    def stirred(self) -> bool:
        """Whether something is known to have happened since the last `drain`."""
        if self._dead:
            return False
        self._read()
        with self._lock:
            return bool(self._dirty or self._before) and not self._lost

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        poll.register(self._stop_read, select.POLLIN)
        end = select.poll()
        end.register(self._stop_read, select.POLLIN)
        while True:
            ready = [fd for fd, _ in poll.poll()]
            if self._stop_read in ready or end.poll(_BURST_MS):
                return
            self._read()

    def _read(self) -> None:
        while True:
            with self._lock:
                try:
                    data = os.read(self._fd, _READ)
                except (BlockingIOError, OSError):
                    return
                self._take(data)
                if len(data) < _READ - _LONGEST:  # there was room for one more: that was all
                    return

    def _take(self, data: bytes) -> None:
        at = 0
        while at < len(data):
            number, mask, cookie, length = _HEAD.unpack_from(data, at)
            at += _HEAD.size + length
            if mask & (_OVERFLOW | _UNMOUNT):
                # What was not told may be that watches have ended: folders were removed, others put in their places. The
                # walk that follows watches each anew (the kernel gives those that still hold under the same number).
                self._lost = True
                self._paths.clear()
                self._ids.clear()
                continue
            folder = self._paths.get(number)
            if folder is None:
                continue
            if mask & _IGNORED:
                self._paths.pop(number, None)
                self._ids.pop(folder, None)
                continue
            name = os.fsdecode(data[at - length : at].rstrip(b"\0"))
            if not folder and mask & _ISDIR and self._is_ours(name):
                continue
            if mask & _ISDIR or not name:
                self._dirty[folder] = None
            elif (names := self._dirty.setdefault(folder, set())) is not None:
                names.add(name)
            if mask & _NAMES:
                self._arrivals.take(number, name, mask, cookie)
            if mask & _ISDIR and mask & (MOVED_FROM | DELETE):
                self._forget(f"{folder}{name}/")

    def _forget(self, gone: str) -> None:
        """A folder went away or elsewhere: its watches, and those below, stand for wrong paths now. A walk is the one
        sure way to set them right."""
        for known in [known for known in self._ids if known.startswith(gone)]:
            number = self._ids.pop(known)
            self._paths.pop(number, None)
            self._lost = True
            if self._libc is not None:
                self._libc.inotify_rm_watch(self._fd, number)

    def close(self) -> None:
        if self._thread.is_alive():
            os.write(self._stop_write, b"x")
            self._thread.join(5)
        for fd in (self._stop_read, self._stop_write, self._fd):
            if fd >= 0:
                os.close(fd)
        self._fd = -1


def _add(dirty: Dirty, more: Dirty) -> None:
    for folder, names in more.items():
        told = dirty.setdefault(folder, names)
        if told is not names:
            dirty[folder] = told | names if told is not None and names is not None else None


def _leads_elsewhere(path: bytes, root: int) -> bool:
    """Whether a part of a folder below the root (of so many bytes; it ends with a slash) is a link."""
    end = path.find(b"/", root + 1)
    while end > 0:
        if os.path.islink(path[:end]):  # noqa: PTH114 - bytes
            return True
        end = path.find(b"/", end + 1)
    return False
