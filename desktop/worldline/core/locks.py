"""Looking at the locks of others. Who takes one is `session.lock` and `workspace.store`."""

from __future__ import annotations

import sys
from pathlib import Path


def is_locked(path: Path) -> bool:
    """Whether somebody holds the lock file at `path`; also when it cannot be told. Never waits, and lets go at once of what
    it got. Always False where there are no such locks: there the system itself refuses to move a file that is open."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        with path.open("rb") as lock:
            # A shared one: two who look at the same moment must not take each other for the holder.
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
