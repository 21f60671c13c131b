"""Everything outside a workspace, as it can be compared before and after: the independent record of what happened."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path


def picture(*roots: Path, without: tuple[Path, ...] = ()) -> dict[str, tuple[object, ...]]:
    """Path → (type and mode, owner, links, contents or target). Times of files count as well, those of folders not."""
    found: dict[str, tuple[object, ...]] = {}
    for root in roots:
        for base, folders, files in os.walk(root):
            folders[:] = [f for f in folders if Path(base) / f not in without]
            for name in [*folders, *files]:
                path = Path(base) / name
                if path in without:
                    continue
                info = path.lstat()
                contents: object = ""
                if stat.S_ISREG(info.st_mode):
                    contents = (
                        hashlib.sha256(path.read_bytes()).hexdigest(),
                        info.st_mtime_ns,
                        info.st_nlink,
                    )
                elif stat.S_ISLNK(info.st_mode):
                    contents = str(path.readlink())
                found[str(path)] = (info.st_mode, info.st_uid, contents)
    return found


def changes(before: dict[str, tuple[object, ...]], after: dict[str, tuple[object, ...]]) -> list[str]:
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
