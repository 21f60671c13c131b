"""Files made beforehand, for what has to be on the disk before anything else may happen.

To sync a new file a file system writes down that it is there and where its content lies, and whoever syncs something else
at that time is waited for. A file that has its place already needs its content written, and nothing else: half the time on a
quiet disk, much less on a busy one. Each lies in a folder of its own: making that takes as long as all the renames of a
small restore.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections import deque
from pathlib import Path

from worldline.workspace.durable import start_writing, sync_files

FOLDER = "blanks"
NAME = "journal"
"""Of the file, also where it goes."""
SIZE = 8192
_MANY = 16
"""As many as people go to and fro before there is time to make others."""
_BLANK = b" " * SIZE


class Begun:
    """A blank that was written and has no name yet that means anything. It costs nothing to let the disk work meanwhile."""

    __slots__ = ("_blank", "_fd")

    def __init__(self, blank: str, fd: int) -> None:
        self._blank, self._fd = blank, fd

    def finish(self, folder: str) -> None:
        """Put it into a folder, which need not be there: its content is on the disk before it gets the name, and so before
        all that is renamed later. Raises OSError."""
        try:
            # Its size and place are as they were; were they not, they would be synced too.
            _sync(self._fd)
        finally:
            self.drop()
        try:
            os.rename(self._blank, folder)  # noqa: PTH104 - texts
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            os.rename(f"{self._blank}/{NAME}", f"{folder}/{NAME}")  # noqa: PTH104
            os.rmdir(self._blank)  # noqa: PTH106

    def drop(self) -> None:
        """Leave it; `Blanks.clear` removes it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Blanks:
    """The blank files of one store. `refill` may be called by another thread than the rest."""

    def __init__(self, store_path: Path) -> None:
        self._folder = store_path / FOLDER
        self._ready: deque[str] = deque()
        """Folders whose files are on the disk. Never one of an earlier process, of which that is not known."""
        self._number = 0

    def refill(self) -> None:
        """Make as many as are missing. Raises OSError."""
        made: list[Path] = []
        self._folder.mkdir(mode=0o700, exist_ok=True)
        for _ in range(_MANY - len(self._ready)):
            path = self._folder / str(self._number)
            self._number += 1
            path.mkdir(mode=0o700)
            (path / NAME).write_bytes(_BLANK)
            made.append(path)
        sync_files(path / NAME for path in made)
        self._ready.extend(map(str, made))

    def begin(self, data: bytes) -> Begun | None:
        """Write `data`, and spaces after it, into a blank, and let the disk begin with it. None: there is no blank for it.
        Raises OSError."""
        if len(data) > SIZE:
            return None
        try:
            blank = self._ready.popleft()
            fd = os.open(f"{blank}/{NAME}", os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except (IndexError, FileNotFoundError):
            return None
        try:
            view = memoryview(data.ljust(SIZE))
            while view:
                view = view[os.write(fd, view) :]
            start_writing(fd)
        except BaseException:
            os.close(fd)
            raise
        return Begun(blank, fd)

    def clear(self) -> None:
        """Remove all."""
        self._ready.clear()
        with contextlib.suppress(OSError):
            shutil.rmtree(self._folder)


_sync = getattr(os, "fdatasync", os.fsync)
