"""Writing the new content of a restore beside its place, before anything is touched."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Sequence

from worldline.workspace.model import PlanItem, ProgressCall
from worldline.workspace.safefs import make_dir
from worldline.workspace.spares import Spares
from worldline.workspace.store import Store
from worldline.workspace.unlocking import WRITABLE

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def write_all(
    items: Sequence[PlanItem],
    store: Store,
    staging: int,
    spares: Spares | None,
    there: Collection[int],
    progress: ProgressCall | None,
) -> dict[str, int]:
    """Each item under its number; those of `there` lie in the folder already. A full disk shows here, while everything is as before. Nothing is synced: until the
    restore is a fact its content is needed by nobody, and then the store has it (see `settle`).

    Returns folders with the permissions that they are to have in the end: with those they might not be moved."""
    closed: dict[str, int] = {}
    for number, item in enumerate(items):
        if progress is not None and number % 50 == 0:
            progress("restore", number, len(items))
        if item.action not in ("create", "overwrite"):
            continue
        name = str(number)
        if stat.S_ISDIR(item.mode):
            if item.action == "overwrite":
                closed[item.path] = stat.S_IMODE(item.mode)
                make_dir(name, staging, closed[item.path] | WRITABLE)
            continue
        if number in there:
            continue
        oid = bytes.fromhex(item.blob)
        if stat.S_ISLNK(item.mode):
            os.symlink(os.fsdecode(store.read(oid)), name, dir_fd=staging)
        elif spares is None or not spares.take(oid, item.mode, name, staging):
            write_file(name, staging, store.read(oid), stat.S_IMODE(item.mode))
    return closed


def write_file(name: str, staging: int, data: bytes, perm: int, *, sync: bool = False) -> None:
    """A new file with exactly these permissions; on the disk before this returns if it is to `sync`."""
    fd = os.open(name, _NEW_FILE, perm & 0o777, dir_fd=staging)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        # The umask and the default permissions of the folder may have taken something away.
        if stat.S_IMODE(os.fstat(fd).st_mode) != perm:
            os.fchmod(fd, perm)
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)
