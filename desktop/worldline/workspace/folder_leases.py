"""Who works in a folder of the person: as with worktrees one session at a time, for two would put back each other's files.

The leases lie in the data folder, never beside the person's own. A folder in or around another one counts as the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path

from worldline.core import paths
from worldline.core.errors import WorkspaceError
from worldline.workspace import leases


def take(folder: Path, session: str) -> Path:
    """Become the session that works in this folder; returns what `leases.release` takes. Raises `WorkspaceError` (kind
    `leased`) while another process works in it, in one inside of it, or in one around it, and (kind `not_writable`)."""
    real = folder.resolve()
    with leases.written(folder), leases.one_at_a_time(place := paths.folder_leases_dir()):
        for lease in place.glob("*.lease"):
            there = _folder_of(lease)
            holder = leases.read(lease.with_suffix(""))
            if there is None or holder is None:
                continue  # its owner is gone: the next one takes its place
            if holder.get("pid") != os.getpid() and _overlap(there, real):
                raise WorkspaceError(
                    f"Another session works in {there} already (process {holder['pid']}).",
                    "Close that session first, or start this one in a folder of its own: each gets a worktree of the repository.",
                    kind="leased",
                )
        mine = place / hashlib.sha256(os.fsencode(real)).hexdigest()[:32]
        leases.write(mine, session, {"folder": os.fsencode(real).hex()})
    return mine


def _folder_of(lease: Path) -> Path | None:
    with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
        return Path(os.fsdecode(bytes.fromhex(json.loads(lease.read_text("utf-8")).get("folder", ""))))
    return None


def _overlap(one: Path, other: Path) -> bool:
    return one == other or one in other.parents or other in one.parents
