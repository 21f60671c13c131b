"""Files reached one folder at a time, never through a symbolic link.

A path string is resolved by the kernel anew at each call, and an agent's process may put a link into it between two
calls; a folder that is held open cannot be swapped.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import stat
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from worldline.workspace.filesig import OPEN_FILE, FileSig, read_file, read_open
from worldline.workspace.objects import BLOB, object_id

_OPEN_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NOREPLACE, _EXCHANGE = 1, 2
NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)
"""What file systems without hard links (exFAT, some network drives) say when asked for one."""
NO_FOLDER = (errno.ENOTDIR, errno.ELOOP)
"""What is said of a path that leads through something else than folders."""
_NAMES = (sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())


def _many() -> int:
    """Folders that may be held open at a time: a part of what this process may open."""
    try:
        import resource
    except ImportError:
        return 200
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 2000 if soft == resource.RLIM_INFINITY else max(_IN_USE, min(2000, soft // 8))


_IN_USE = 8
"""Folders that were asked for last and are not let go: whoever asked for them may hold two or three at a time."""
_MAX_OPEN = _many()

_renameat2: Callable[[int, bytes, int, bytes, int], int] | None
_openat2: Callable[[int, int, bytes, bytes, int], int] | None = None
try:
    _libc = ctypes.CDLL(None, use_errno=True)
    _renameat2 = _found = _libc.renameat2
    _found.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    if sys.platform.startswith("linux"):
        _libc.syscall.argtypes = [
            ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t,
        ]  # fmt: skip
        _openat2 = _libc.syscall
except (AttributeError, OSError):  # other systems and old C libraries: the slower ways below
    _renameat2 = None
_OPENAT2 = 437
"""The same on all machines that people work at."""
_FILE_BENEATH, _DIR_BENEATH = (struct.pack("=QQQ", how, 0, 0x04 | 0x08) for how in (OPEN_FILE, _OPEN_DIR))
"""How it opens: for reading, no link on the way, never above the folder."""
_ODD = re.compile(r"(?:^|/)\.{0,2}(?:/|$)|\0")
"""Paths with a part that cannot be the name of a file."""


def _rename2(old: str, old_fd: int, new: str, new_fd: int, flags: int) -> bool:
    """False when this file system cannot do it; OSError for everything else."""
    if _renameat2 is None:
        return False
    if _renameat2(old_fd, old.encode(*_NAMES), new_fd, new.encode(*_NAMES), flags) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP):
        return False
    raise OSError(code, os.strerror(code), new)


def exchange(old: str, old_fd: int, new: str, new_fd: int) -> bool:
    """Swap two names in one step. False where that cannot be done."""
    return _rename2(old, old_fd, new, new_fd, _EXCHANGE)


def rename_new(old: str, old_fd: int, new: str, new_fd: int) -> None:
    """Rename to a name that must be free. Raises FileExistsError."""
    if _rename2(old, old_fd, new, new_fd, _NOREPLACE):
        return
    status = os.stat(old, dir_fd=old_fd, follow_symlinks=False)
    if stat.S_ISDIR(status.st_mode):
        os.rename(old, new, src_dir_fd=old_fd, dst_dir_fd=new_fd)
        return
    try:
        os.link(old, new, src_dir_fd=old_fd, dst_dir_fd=new_fd, follow_symlinks=False)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        with contextlib.suppress(FileNotFoundError):
            os.stat(new, dir_fd=new_fd, follow_symlinks=False)
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new) from error
        os.rename(old, new, src_dir_fd=old_fd, dst_dir_fd=new_fd)
        return
    os.unlink(old, dir_fd=old_fd)


def split(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    return folder, name


def short_name(name: str) -> str:
    """The name, or its beginning: one that another part can be added to, on any file system."""
    raw = os.fsencode(name)
    return name if len(raw) <= _LONGEST else os.fsdecode(raw[:_LONGEST])


_LONGEST = 200
"""Bytes."""


def _check_name(name: str) -> None:
    """A state may come from somebody else: no name in it leads upwards. Raises OSError."""
    if name in ("", ".", ".."):
        raise OSError(errno.EINVAL, "this cannot be the name of a file", name)


def make_dir(name: str, dir_fd: int, mode: int) -> None:
    """Make a folder with exactly these permissions, whatever the umask is. Raises OSError."""
    os.mkdir(name, 0o700, dir_fd=dir_fd)
    fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        os.fchmod(fd, mode)
    finally:
        os.close(fd)


def is_occupied(name: str, dir_fd: int) -> bool:
    """Whether there is anything in a folder. Raises OSError."""
    fd = os.open(name, _OPEN_DIR, dir_fd=dir_fd)
    try:
        return bool(os.listdir(fd))  # noqa: PTH208 - an open folder has no path
    finally:
        os.close(fd)


class SafeTree:
    """Folders below a root, held open. Not for several threads."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.root_fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._open: dict[str, int] = {}

    def close(self) -> None:
        self.drop()
        if self.root_fd >= 0:
            os.close(self.root_fd)
            self.root_fd = -1

    def drop(self) -> None:
        """Let go of all folders (after folders were moved or removed)."""
        for fd in self._open.values():
            os.close(fd)
        self._open.clear()

    def folder(self, path: str) -> int:
        """An open descriptor of the folder ("" = the root). Raises NotADirectoryError or OSError (ELOOP) when a part
        is a link or a file, FileNotFoundError when it is missing."""
        if not path:
            return self.root_fd
        known = self._open.pop(path, None)
        if known is None:
            if len(self._open) >= _MAX_OPEN:
                self._let_go(_MAX_OPEN // 2)
            try:
                known = self._opened(path)
            except OSError as error:
                # This process, or the machine, may open no more: it must do with fewer.
                if error.errno not in (errno.EMFILE, errno.ENFILE) or not self._let_go(_IN_USE):
                    raise
                known = self._opened(path)
        self._open[path] = known  # the last one asked for comes last
        return known

    def _opened(self, path: str) -> int:
        fd = self._beneath(path, _DIR_BENEATH) if "/" in path else -1
        if fd < 0:
            parent, name = split(path)
            _check_name(name)
            fd = os.open(name, _OPEN_DIR, dir_fd=self.folder(parent))
        return fd

    def _let_go(self, keep: int) -> bool:
        """Close all but so many, those that were asked for last. False: there are no others."""
        old = list(self._open)[: -max(keep, _IN_USE)]
        for path in old:
            os.close(self._open.pop(path))
        return bool(old)

    def make_folder(self, path: str, mode: int) -> None:
        """Make the folder and its parents; those that are there stay as they are."""
        parts = path.split("/") if path else []
        for depth in range(1, len(parts) + 1):
            folder = "/".join(parts[:depth])
            parent, name = split(folder)
            _check_name(name)
            with contextlib.suppress(FileExistsError):
                make_dir(name, self.folder(parent), mode)
            self.folder(folder)

    @contextlib.contextmanager
    def at(self, path: str) -> Iterator[tuple[int, str]]:
        folder, name = split(path)
        _check_name(name)
        yield self.folder(folder), name

    def content(self, path: str) -> tuple[str, os.stat_result]:
        """See `content_of`. Where the system can do it, all the way to the file is gone anew, whatever is held open; `drop`
        before it does the same for the others."""
        fd = self._beneath(path, _FILE_BENEATH)
        if fd >= 0:
            try:
                got = read_open(fd, 1 << 40)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                got = None
            finally:
                os.close(fd)
            if got is not None:
                return object_id(BLOB, got[0]).hex(), got[1]
        # An old kernel, a link, a folder, a file that must not be read.
        with self.at(path) as (folder, name):
            return content_of(name, folder)

    def _beneath(self, path: str, how: bytes) -> int:
        """Open it in one step, all the way from the root. -1: it is not there, a part of it is a link, the system cannot do
        it, or anything else that the slower way says more of."""
        if _openat2 is None or _ODD.search(path) is not None:
            return -1
        return _openat2(_OPENAT2, self.root_fd, path.encode(*_NAMES), how, len(how))

    def lstat(self, path: str) -> os.stat_result | None:
        """None when nothing is there, or when a part of the path is no real folder."""
        folder, name = split(path)
        try:
            return os.stat(name, dir_fd=self.folder(folder), follow_symlinks=False)
        except OSError as error:
            if error.errno in (errno.ENOENT, *NO_FOLDER):
                return None
            raise


def is_same(now: os.stat_result, sig: FileSig | None, *, moved: bool = False) -> bool:
    """Stat data alone says that this is still the file that was read. False: look at its content. `moved`: it was
    renamed since, which sets its ctime; every write sets its mtime too, and `sig` was old enough to tell them apart."""
    if sig is None or sig[1] < 0:
        return False
    ctime = sig[1] if moved else now.st_ctime_ns
    return (now.st_mtime_ns, ctime, now.st_size, now.st_ino, now.st_mode) == sig[:5]


def unchanged(name: str, dir_fd: int, sig: FileSig | None, *, moved: bool = False) -> bool:
    """See `is_same`, of what is at `name`. Raises OSError."""
    if sig is None or sig[1] < 0:
        return False
    return is_same(os.stat(name, dir_fd=dir_fd, follow_symlinks=False), sig, moved=moved)


def content_id(name: str, dir_fd: int) -> tuple[str, int]:
    """Blob id and st_mode of what is at `name` ("" for what has no content). FileNotFoundError when nothing is."""
    oid, status = content_of(name, dir_fd)
    return oid, status.st_mode


def content_of(name: str, dir_fd: int) -> tuple[str, os.stat_result]:
    """Blob id of what is at `name` and stat data that belongs to it."""
    try:
        got = read_file(name, dir_fd, 1 << 40)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EINVAL, errno.ENXIO, errno.EACCES):
            raise
    else:
        assert got is not None
        return object_id(BLOB, got[0]).hex(), got[1]
    status = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        return object_id(BLOB, os.fsencode(os.readlink(name, dir_fd=dir_fd))).hex(), status
    if stat.S_ISREG(status.st_mode):
        raise PermissionError(errno.EACCES, "it cannot be read", name)
    return "", status
