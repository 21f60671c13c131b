"""The folder of a demo: made in the place for temporary files, and gone when nobody can come back to it.

An engine that is killed leaves it, because the window goes on from it with the next engine. An engine that is told to end
takes it away. What the end of a window left is taken away by a later demo.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import tempfile
import time
from pathlib import Path

from worldline.workspace.removal import remove_tree

logger = logging.getLogger(__name__)

PREFIX = "worldline-demo-"
OLD_S = 24 * 3600.0
_LOCK = "in-use"
"""A file that every engine of the demo has locked for as long as it lives, and that marks a folder as a demo's."""
_SESSION = "demo.worldline"


class DemoFolder:
    """Held by this process from `create` or `around` to `remove` or the end of the process."""

    def __init__(self, path: Path) -> None:
        """Lock `path`, which has the lock's file. Raises OSError."""
        self.path = path
        self._lock = _open_lock(path)
        fcntl.flock(self._lock, fcntl.LOCK_SH)
        os.utime(self._lock)

    @classmethod
    def create(cls) -> DemoFolder:
        path = Path(tempfile.mkdtemp(prefix=PREFIX))
        (path / _LOCK).touch(mode=0o600)
        return cls(path)

    @classmethod
    def around(cls, session: Path) -> DemoFolder | None:
        """The folder that a demo's session is in; None when it is in no such folder. All of it will be removed, so that a
        file with the name of the lock does not make it one."""
        folder = session.absolute().parent
        is_demo = session.name == _SESSION and folder.name.startswith(PREFIX) and not folder.is_symlink()
        return cls(folder) if is_demo and (folder / _LOCK).is_file() else None

    @property
    def session(self) -> Path:
        return self.path / _SESSION

    @property
    def repository(self) -> Path:
        return self.path / "shop"

    @property
    def remote(self) -> Path:
        return self.path / "remote.git"

    @property
    def data(self) -> Path:
        """The app's own data, so that the demo leaves nothing in the person's."""
        return self.path / "data"

    def remove(self) -> None:
        """Take it away, unless another engine has it too."""
        try:
            if _is_alone(self._lock):
                remove_tree(self.path)
        finally:
            os.close(self._lock)


def sweep(now: float | None = None) -> list[Path]:
    """Take away demos of ours that no process has and nothing was written to for a day; which ones."""
    now = time.time() if now is None else now
    gone = []
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            if folder.is_symlink() or folder.stat().st_uid != os.getuid() or now - _used(folder) < OLD_S:
                continue
            lock = _open_lock(folder)
        except OSError:  # no lock, so no demo of this kind; or another demo has just taken it away
            continue
        try:
            if _is_alone(lock):
                remove_tree(folder)
                gone.append(folder)
        finally:
            os.close(lock)
    if gone:
        logger.info("took away %d folders of demos that had ended", len(gone))
    return gone


def _open_lock(folder: Path) -> int:
    return os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)


def _is_alone(lock: int) -> bool:
    """Take the lock for this process alone, without waiting."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _used(folder: Path) -> float:
    """When an engine last began or wrote here. Raises OSError without a lock's file."""
    last = (folder / _LOCK).stat().st_mtime
    for name in (_SESSION, f"{_SESSION}-wal"):
        with contextlib.suppress(FileNotFoundError):
            last = max(last, (folder / name).stat().st_mtime)
    return last
