"""Files that restores replaced, kept for going back: taking one is a rename in place of a new file.

Making thousands of files, and removing as many, costs more than everything else in a large restore, and people go to
and fro. It is only a saving: whatever comes from here is verified by its content like everything that a restore puts
down. Spares lie in the store, never in the workspace, and are gone when the workspace is closed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from worldline.workspace.filesig import FileSig
from worldline.workspace.safefs import SafeTree, content_id, is_same, rename_new

FOLDER = "spares"
MAX_FILES = 20_000
MAX_BYTES = 256 << 20
_BATCHES = 3
_OPEN_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class _Spare(NamedTuple):
    batch: str
    name: str
    sig: FileSig


class Spares:
    """The spares of one workspace. One thread. `later`: has a folder removed when there is time for it."""

    def __init__(self, store_path: Path, later: Callable[[Path], None]) -> None:
        self._folder = store_path / FOLDER
        self._later = later
        self._batches: dict[str, tuple[int, int, int]] = {}
        """By name: open folder, number of files, their bytes. Oldest first."""
        self._known: dict[bytes, list[_Spare]] = {}
        self._number = 0
        """Of the next batch. Never again: an old one of the same name may be about to be removed."""

    def keep(self, tree: SafeTree, staging: str, found: Iterable[tuple[str, FileSig | None]]) -> bool:
        """Take over a staging folder whose files (name in it, stat data and content as they were seen at their place)
        are not needed any more. False: it is still where it was, and the caller removes it."""
        # Not the name of the staging folder: going to and fro gives the same one again and again.
        batch = str(self._number)
        rows = [_Spare(batch, name, sig) for name, sig in found if _is_usable(sig)]  # type: ignore[arg-type]
        size = sum(row.sig[2] for row in rows)
        if not rows or len(rows) > MAX_FILES or size > MAX_BYTES:
            return False
        try:
            if not self._batches:
                self._folder.mkdir(mode=0o700, exist_ok=True)
            os.rename(staging, self._folder / batch, src_dir_fd=tree.root_fd)
        except OSError:  # another file system, as a rule
            return False
        self._number += 1
        self._batches[batch] = (os.open(self._folder / batch, _OPEN_DIR), len(rows), size)
        for row in rows:
            self._known.setdefault(row.sig[5], []).append(row)
        while len(self._batches) > _BATCHES or not self._fits():
            self._later(self._let_go(next(iter(self._batches))))
        return True

    def _fits(self) -> bool:
        files, size = (sum(batch[n] for batch in self._batches.values()) for n in (1, 2))
        return files <= MAX_FILES and size <= MAX_BYTES

    def take(self, oid: bytes, mode: int, name: str, dir_fd: int) -> bool:
        """Put a file with this content at `name` (free), as new as if it had just been written. False: there is none."""
        rows = self._known.get(oid)
        while rows:
            spare = rows.pop()
            batch = self._batches.get(spare.batch)
            if batch is None:
                continue
            try:
                status = os.stat(spare.name, dir_fd=batch[0], follow_symlinks=False)
                # A second name of it may lie anywhere; its times and mode are not ours to change.
                if status.st_nlink != 1 or not _is_still(spare, status, batch[0]):
                    continue
                os.utime(spare.name, dir_fd=batch[0], follow_symlinks=False)
                if stat.S_IMODE(status.st_mode) != stat.S_IMODE(mode):
                    os.chmod(spare.name, stat.S_IMODE(mode), dir_fd=batch[0])
                rename_new(spare.name, batch[0], name, dir_fd)
            except OSError:
                continue
            return True
        return False

    def clear(self) -> None:
        """Remove all spares."""
        for name in list(self._batches):
            self._let_go(name)
        self._known = {}
        shutil.rmtree(self._folder, ignore_errors=True)

    def _let_go(self, name: str) -> Path:
        os.close(self._batches.pop(name)[0])
        return self._folder / name


def _is_usable(sig: FileSig | None) -> bool:
    return sig is not None and stat.S_ISREG(sig[4])


def _is_still(spare: _Spare, status: os.stat_result, dir_fd: int) -> bool:
    """Whether it has the content that was seen. One that was changed shortly before it was seen (people go to and fro
    quickly) is read: that is still a small part of making a file."""
    if is_same(status, spare.sig, moved=True):
        return True
    if spare.sig[1] >= 0 or status.st_size != spare.sig[2]:
        return False
    return content_id(spare.name, dir_fd)[0] == spare.sig[5].hex()


def remove_folder(folder: Path) -> None:
    """Remove what a restore replaced; what cannot be removed is left."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if not entry.is_dir(follow_symlinks=False):
                    Path(entry.path).unlink()
    shutil.rmtree(folder, ignore_errors=True)
