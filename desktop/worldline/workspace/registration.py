"""The entry of a worktree in the repository: which one is whose.

An entry is made file by file, and a kill may come before it says what it is for. Git does not list such a one, and being
locked it is never pruned.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from worldline.core.plainfile import read_plain

_MOST = 10_000


def is_of(entry: Path, worktree: Path, *, begun: bool) -> bool:
    """Whether this entry is for the worktree at this path: it says so. `begun`: we have written down that it would be made; then
    one of the worktree's very name that does not say yet what it is for is the one, too."""
    if entry.parent.name != "worktrees" or entry.is_symlink() or not entry.is_dir():
        return False
    wanted = os.fsencode(worktree / ".git")
    try:
        back = read_plain(entry / "gitdir", _MOST).strip(b"\0 \t\r\n")  # a loss of power may have emptied it
    except FileNotFoundError:
        back = b""
    except OSError:
        return False
    return back == wanted or (begun and entry.name == worktree.name and wanted.startswith(back))


def remove(entry: Path) -> None:
    """Take an entry away, as far as that can be done, and the folder of the entries where it was the last."""
    shutil.rmtree(entry, ignore_errors=True)
    with contextlib.suppress(OSError):  # others are in it
        entry.parent.rmdir()
