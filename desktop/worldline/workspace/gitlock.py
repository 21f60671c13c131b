"""Replacing a file of a git folder by git's own lock protocol: a complete file is linked to `<name>.lock`, then renamed, so
that a git command of the person either sees the old or the new file, and a lock that is held is waited for and never
removed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from worldline.core.errors import WorkspaceError
from worldline.workspace import gitfiles
from worldline.workspace.journal import RootMove
from worldline.workspace.safefs import NO_LINKS

LOCK_WAIT = 2.0
"""Seconds that a lock of the person's git is waited for."""


class LockHeld(WorkspaceError):
    """Somebody else holds the lock of this file."""

    def __init__(self, lock: Path) -> None:
        super().__init__(
            f"Another git command holds {lock}.",
            "Wait until it has finished, or remove the lock file if no git is running. Then open the session again: what "
            "was begun is put back.",
            kind="repo_busy",
        )


def locked_replace(
    path: Path,
    data: bytes,
    token: str,
    wait: float = LOCK_WAIT,
    *,
    check: Callable[[], None] | None = None,
) -> None:
    """Replace a file of a git folder. Raises `LockHeld`, and what `check` raises when it is asked, with the lock held, whether
    the file may go; it is then as before."""
    lock = path.with_name(path.name + ".lock")
    temp = path.with_name(f"{path.name}.worldline-{token}")
    try:
        # A repository whose HEAD or staging area is empty after a loss of power is broken: they are never renamed into
        # place before their content is on the disk.
        gitfiles.write_new(temp, data)
        with contextlib.suppress(FileNotFoundError):
            temp.chmod(path.lstat().st_mode & 0o777)
        until = time.monotonic() + wait
        while True:
            try:
                _take(lock, temp)
                break
            except FileExistsError:
                if time.monotonic() >= until:
                    raise LockHeld(lock) from None
                time.sleep(0.02)
        try:
            if check is not None:
                check()
        except BaseException:
            lock.unlink()
            raise
        lock.replace(path)
    finally:
        temp.unlink(missing_ok=True)


class _Others(Exception):
    """Somebody else has written the file since."""


def put_back(
    gitdir: Path,
    name: str,
    data: bytes,
    token: str,
    is_ours: Callable[[bytes], bool],
    wait: float = LOCK_WAIT,
) -> None:
    """Replace a file that we wrote by what was there before; one that somebody else has written since stays. Raises
    `LockHeld`, OSError."""

    def check() -> None:
        if not is_ours(gitfiles.read(gitdir, name)):
            raise _Others

    if is_ours(gitfiles.read(gitdir, name)):
        with contextlib.suppress(_Others):
            locked_replace(gitdir / name, data, token, wait, check=check)


def _take(lock: Path, temp: Path) -> None:
    """Make the lock with the whole new content. Raises FileExistsError."""
    try:
        lock.hardlink_to(temp)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        os.close(os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
        temp.replace(lock)


def clean_locks(move: RootMove, token: str) -> None:
    """Remove what a kill inside `locked_replace` left: only files that are ours by name or by content."""
    gitdir = Path(move.gitdir)
    head = digest_of(move.head_after.encode("utf-8", "surrogateescape")) if move.head_after else ""
    for name, digest in (("index", move.index_after), ("HEAD", head)):
        temp = gitdir / f"{name}.worldline-{token}"
        lock = gitdir / f"{name}.lock"
        with contextlib.suppress(OSError):
            same = temp.exists() and temp.samefile(lock)
            if same or (digest and digest_of(gitfiles.read(gitdir, lock.name)) == digest):
                lock.unlink()
        temp.unlink(missing_ok=True)


def digest_of(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()
