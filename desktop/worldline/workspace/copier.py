"""Copying files from one open folder into another. Also a program: it answers the requests of `copying`.

Three quarters of the time are the kernel's, most of that in making the new file. Fewer calls for each file, `sendfile` and
`copy_file_range` were measured, and none made a difference that could be told from chance; a second process makes one.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat

from worldline.workspace.messages import serve

TYPE_CHECKING = False
if TYPE_CHECKING:  # these would take as long as all else of starting a helper
    from collections.abc import Iterable, Sequence

OPEN_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_FICLONE = 0x40049409
_CANNOT_CLONE = (errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS, errno.EPERM)
LARGE = 4 << 20
"""A helper leaves larger files to whoever asked: it answers soon, or it is not there any more."""

Copied = tuple[int, int, int, int, int, int, int, int, int, int, int, int]
"""What the original was as it was opened: mtime_ns, ctime_ns, size, inode. What the copy is: mtime_ns, ctime_ns, size, inode,
st_mode, device, uid, gid."""
CHANGED = -1
"""In place of the ctime of an original that was changed while it was copied: what was known of it says nothing of the copy."""
Result = Copied | str
"""Instead of stat data: why there is no copy (for people, or one of these)."""
GONE = ""
"""It was deleted before it could be copied."""
TOO_LARGE = "is too large for a helper"


def made_of(now: os.stat_result) -> tuple[int, int, int, int, int, int, int, int]:
    """What a copy is, as in `Copied`."""
    return (
        now.st_mtime_ns, now.st_ctime_ns, now.st_size, now.st_ino, now.st_mode, now.st_dev, now.st_uid, now.st_gid,
    )  # fmt: skip


class Copier:
    """`usual`: permissions that a new file gets when they are asked for."""

    def __init__(self, usual: int, most: int = 1 << 63) -> None:
        self._unusual = ~usual
        self._most = most
        self._clone = True

    def file(self, name: str, source: int, dest: int) -> Result:
        """Copy one file between two open folders. Raises OSError; then a part of it may be there."""
        try:
            old = os.open(name, _OPEN_FILE, dir_fd=source)
        except FileNotFoundError:
            return GONE
        except PermissionError:
            return "cannot be read"
        try:
            now = os.fstat(old)
            if not stat.S_ISREG(now.st_mode):
                return "is no regular file"
            size, mtime = now.st_size, now.st_mtime_ns
            if size > self._most:
                return TOO_LARGE
            # Nobody else can look into the new worktree: its top folder is closed to others.
            perm = stat.S_IMODE(now.st_mode)
            new = os.open(name, _NEW_FILE, perm, dir_fd=dest)
            try:
                self._content(old, new, size)
                then = os.fstat(old)
                ctime = now.st_ctime_ns
                if (then.st_mtime_ns, then.st_ctime_ns, then.st_size) != (mtime, ctime, size):
                    mtime, ctime = then.st_mtime_ns, CHANGED
                if perm & self._unusual:
                    os.fchmod(new, perm)
                os.utime(new, ns=(mtime, mtime))
                return (mtime, ctime, size, now.st_ino, *made_of(os.fstat(new)))
            finally:
                os.close(new)
        finally:
            os.close(old)

    @staticmethod
    def link(name: str, source: int, dest: int) -> Result:
        """Copy one symbolic link. Raises OSError."""
        try:
            now = os.stat(name, dir_fd=source, follow_symlinks=False)
            os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=dest)
        except FileNotFoundError:
            return GONE
        except PermissionError:
            return "cannot be read"
        made = os.stat(name, dir_fd=dest, follow_symlinks=False)
        return (now.st_mtime_ns, now.st_ctime_ns, now.st_size, now.st_ino, *made_of(made))

    def _content(self, old: int, new: int, size: int) -> None:
        if self._clone and size:
            try:
                fcntl.ioctl(new, _FICLONE, old)
                return
            except OSError as error:
                if error.errno not in _CANNOT_CLONE:
                    raise
                self._clone = False
        while data := os.read(old, 1 << 16 if size < 1 << 16 else 1 << 20):
            written = os.write(new, data)
            while written < len(data):
                written += os.write(new, memoryview(data)[written:])
            if len(data) == size < 1 << 16:
                return  # all of a small file; reading for its end would cost as much again


class _Way:
    """Folders below an open one, each opened in the one above and never through a link."""

    def __init__(self, root: int) -> None:
        self._open: list[tuple[str, int]] = [("", root)]

    def to(self, parts: Sequence[str]) -> int:
        """Raises OSError."""
        shared = 0
        while (
            shared < len(parts)
            and shared + 1 < len(self._open)
            and self._open[shared + 1][0] == parts[shared]
        ):
            shared += 1
        self.close(shared)
        for name in parts[shared:]:
            self._open.append((name, os.open(name, OPEN_DIR, dir_fd=self._open[-1][1])))
        return self._open[-1][1]

    def close(self, keep: int = 0) -> None:
        while len(self._open) > keep + 1:
            os.close(self._open.pop()[1])


def main(source: str, dest: str, usual: str, parent: str) -> None:
    """`source` and `dest` are numbers of open folders. Each request: [(folder, names of files), ...]; its answer: for each
    folder a result for each name, or None where something failed: then a part of it may be there."""
    copier = Copier(int(usual), LARGE)
    whose = int(parent)

    def copied(folder: str, names: Iterable[str], old: _Way, new: _Way) -> list[Result] | None:
        parts = folder.split("/")[:-1]
        try:
            here, there = old.to(parts), new.to(parts)
            results = []
            for name in names:
                if os.getppid() != whose:
                    # What is half made is taken away when the next one starts; nothing may come into it then.
                    os._exit(1)
                results.append(copier.file(name, here, there))
        except OSError:
            return None
        return results

    def answer(request: list[tuple[str, list[str]]]) -> list[list[Result] | None]:
        # What was open on the way for one request may lie elsewhere by the next.
        old, new = _Way(int(source)), _Way(int(dest))
        try:
            return [copied(folder, names, old, new) for folder, names in request]
        finally:
            old.close()
            new.close()

    serve(answer)
