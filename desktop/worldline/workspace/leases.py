"""Who works in a worktree: a lease with pid and start time, so that a number used again is not taken for its owner."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from worldline.core.errors import WorkspaceError
from worldline.core.process_id import identity, lives


def _file(worktree: Path) -> Path:
    return worktree.with_name(worktree.name + ".lease")


def read(worktree: Path) -> dict[str, Any] | None:
    """The lease if its owner lives, else None."""
    try:
        lease: dict[str, Any] = json.loads(_file(worktree).read_text("utf-8"))
        is_alive = lives(int(lease.get("pid", 0)), lease.get("started", ""))
    except (OSError, ValueError, TypeError, AttributeError):  # cut off by a loss of power
        return None
    return lease if is_alive else None


def check(worktree: Path, session_id: str = "") -> None:
    """Raises `WorkspaceError` (kind `leased`) when another session's process works there."""
    lease = read(worktree)
    if (
        lease is None
        or (session_id and lease.get("session") == session_id)
        or lease.get("pid") == os.getpid()
    ):
        return
    raise WorkspaceError(
        f"{worktree} is the worktree of a session that is open (pid {lease['pid']}).",
        "Close that session first, or start a new attempt: each gets a worktree of its own.",
        kind="leased",
    )


def take(worktree: Path, session_id: str) -> None:
    """Become the user of a worktree. Raises like `check`, and `WorkspaceError` (kind `not_writable`)."""
    with written(worktree), one_at_a_time(worktree.parent):
        lease = read(worktree)
        if lease is not None and (lease.get("session") != session_id or lease.get("pid") != os.getpid()):
            check(worktree, "")
        write(worktree, session_id)


def write(worktree: Path, session_id: str, more: dict[str, Any] | None = None) -> None:
    """Write down that this process is the user; inside of `one_at_a_time`."""
    value = {"pid": os.getpid(), "started": identity(os.getpid()), "session": session_id, **(more or {})}
    temp = _file(worktree).with_suffix(f".{os.getpid()}.tmp")
    temp.write_text(json.dumps(value), "utf-8")
    temp.replace(_file(worktree))


@contextlib.contextmanager
def written(folder: Path) -> Iterator[None]:
    """Raises `WorkspaceError` (kind `not_writable`) where a lease of this folder cannot be written."""
    try:
        yield
    except OSError as error:
        raise WorkspaceError(
            f"It cannot be written down who works in {folder} ({error.strerror or error}).",
            "Make room, or make the data folder of Worldline writable, then try again.",
            kind="not_writable",
        ) from error


@contextlib.contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Between looking and taking nobody else takes it: a removal and a session that is opened must not both have it."""
    import fcntl

    with folder.with_name(f"{folder.name}.leases.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def release(worktree: Path) -> None:
    """Let go, if it is this process that holds it."""
    lease = read(worktree)
    if lease is not None and lease.get("pid") == os.getpid():
        _file(worktree).unlink(missing_ok=True)
