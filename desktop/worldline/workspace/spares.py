"""Files that restores replaced, kept for going back: taking one is a rename in place of a new file.

Making thousands of files, and removing as many, costs more than everything else in a large restore, and people go to
and fro. It is only a saving: whatever comes from here is verified by its content like everything that a restore puts
down. Spares lie in the store, never in the workspace, and are gone when the workspace is closed. Those
that a killed process left are looked at like the others before they go.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from worldline.workspace import aside
from worldline.workspace.blanks import NAME
from worldline.workspace.filesig import FileSig
from worldline.workspace.journal import Journal
from worldline.workspace.looker import OPEN_DIR
from worldline.workspace.model import PlanItem
from worldline.workspace.safefs import NO_LINKS, SafeTree, rename_new
from worldline.workspace.store import Store

FOLDER = "spares"
MAX_FILES = 20_000
MAX_BYTES = 256 << 20
_BATCHES = 3


class _Batch:
    """What one restore replaced."""

    __slots__ = ("_by_content", "fd", "files", "items", "left", "others", "size")

    def __init__(self, fd: int, found: Mapping[str, FileSig], items: Sequence[PlanItem]) -> None:
        self.fd = fd
        """Its folder, open."""
        self.left: dict[str, FileSig] = dict(found)
        """Stat data and content of its files, by name."""
        self.files, self.size = len(self.left), sum(sig[2] for sig in self.left.values())
        self.items: Sequence[PlanItem] = items
        """Those of the restore, until it has been looked again."""
        self.others = 0
        """How many names lie in it beside those of `left`, once it has been looked again."""
        self._by_content: dict[bytes, list[str]] | None = None

    def pop(self, oid: bytes) -> tuple[str, FileSig] | None:
        """A file with this content, which is not in it any more from now on."""
        if self._by_content is None:
            self._by_content = {}
            for name, sig in self.left.items():
                self._by_content.setdefault(sig[5], []).append(name)
        names = self._by_content.get(oid)
        if not names:
            return None
        name = names.pop()
        return name, self.left.pop(name)

    def forget(self, names: Iterable[str]) -> None:
        """These are not in it any more."""
        for name in names:
            self.left.pop(name, None)


class Spares:
    """The spares of one workspace. One thread. `later`: has a folder removed when there is time for it."""

    def __init__(self, store_path: Path, later: Callable[[Path], None]) -> None:
        self._folder = store_path / FOLDER
        self._later = later
        self._batches: dict[str, _Batch] = {}
        """By name, oldest first."""
        self._number = 0
        """Of the next batch. Never again: an old one of the same name may be about to be removed."""
        self._left: list[str] | None = None
        """Batches of a killed process; None: nobody has looked yet whether there are any."""
        self._is_made = False
        """The folder is there."""

    def keep(self, tree: SafeTree, journal: Journal, fd: int, found: Mapping[str, FileSig]) -> bool:
        """Take over the staging folder of a restore (open as `fd`) whose files (by their names in it, as they were seen
        there) are not needed any more. False: it is still where it was, and the caller removes it."""
        # Not the name of the staging folder: going to and fro gives the same one again and again.
        name = str(self._number)
        files = {name: sig for name, sig in found.items() if stat.S_ISREG(sig[4])}
        batch = _Batch(fd, files, journal.items)
        if not batch.left or batch.files > MAX_FILES or batch.size > MAX_BYTES:
            return False
        try:
            batch.fd = os.dup(fd)
        except OSError:  # too many are open
            return False
        try:
            if not self._is_made:
                self._folder.mkdir(mode=0o700, exist_ok=True)
                self._is_made = True
            # For whoever comes after a kill: what each name stands for.
            _name(journal, fd)
            os.rename(journal.staging, self._path(name), src_dir_fd=tree.root_fd)
        except OSError:  # another file system, as a rule
            os.close(batch.fd)
            return False
        self._number += 1
        self._batches[name] = batch
        while len(self._batches) > _BATCHES or not self._fits():
            self._later(self._let_go(next(iter(self._batches))))
        return True

    def look_again(self, tree: SafeTree, store: Store) -> list[str]:
        """Once for each restore: a program that had a file open as it was replaced may have written to it since. Returns
        the paths of what was saved (see `aside.save`)."""
        found: list[str] = []
        for name in list(self._leftovers()):
            found += self._look_at_left(tree, store, name)
            self._leftovers().remove(name)
        for batch in self._batches.values():
            if batch.items:
                names = os.listdir(batch.fd)  # noqa: PTH208 - an open folder has no path
                saved = aside.save(tree, batch.fd, batch.items, store, batch.left, names=names)
                batch.items = ()
                batch.forget(saved)
                _unname(batch.fd)
                batch.others = len(set(names).difference(saved, batch.left, (NAME,)))
                found += saved.values()
        return found

    def _leftovers(self) -> list[str]:
        if self._left is None:
            try:
                self._left = [name for name in os.listdir(self._folder) if name not in self._batches]  # noqa: PTH208
            except FileNotFoundError:
                self._left = []
            self._number = max([self._number, *(int(name) + 1 for name in self._left if name.isdecimal())])
        return self._left

    def _look_at_left(self, tree: SafeTree, store: Store, name: str) -> list[str]:
        """See `look_again`. A batch that was looked at before the kill has no journal any more."""
        saved: dict[str, str] = {}
        journal = Journal.read(self._folder / name)
        if journal is not None:
            fd = os.open(self._path(name), OPEN_DIR)
            try:
                saved = aside.save(tree, fd, journal.items, store, {}, power_lost=journal.power_lost)
                _unname(fd)
            finally:
                os.close(fd)
        self._later(self._folder / name)
        return list(saved.values())

    @property
    def is_unsure(self) -> bool:
        """Whether there is anything to `look_again` at."""
        return bool(self._leftovers()) or any(batch.items for batch in self._batches.values())

    def _fits(self) -> bool:
        files = sum(batch.files for batch in self._batches.values())
        return files <= MAX_FILES and sum(batch.size for batch in self._batches.values()) <= MAX_BYTES

    def choose(self, items: Sequence[PlanItem]) -> str:
        """A batch that can `become` the staging folder of a restore, "" = none: each file in it is wanted, and under the very
        number that is its name, as when one goes back to where one came from. No file has to be moved or made for it then,
        and no folder. Each is looked at before, and made new: under its number lies nothing, ever, but what is meant to be
        put in its place."""
        for name, batch in reversed(self._batches.items()):
            there = _modes(batch, items)
            try:
                if not there or batch.items or batch.others:
                    continue
                for number, mode in there.items():
                    renew(str(number), batch.fd, mode, items[number].mode)
            except OSError:
                continue
            return name
        return ""

    def become(self, tree: SafeTree, staging: str, chosen: str) -> tuple[int, set[int]]:
        """Make the batch that `choose` gave the staging folder. Returns it, open (-1: it was not made), and the numbers of the
        items that lie in it."""
        if not chosen:
            return -1, set()
        try:
            os.rename(self._path(chosen), staging, dst_dir_fd=tree.root_fd)
        except OSError:
            return -1, set()
        batch = self._batches.pop(chosen)
        return batch.fd, set(map(int, batch.left))

    def take(self, oid: bytes, mode: int, name: str, dir_fd: int) -> bool:
        """Put a file with this content at `name` (free), as new as if it had just been written. False: there is none."""
        for batch in self._batches.values():
            while (spare := batch.pop(oid)) is not None:
                batch.others += 1
                try:
                    found = _mode_of(*spare, batch.fd)
                    if not found:
                        continue
                    renew(spare[0], batch.fd, found, mode)
                    rename_new(spare[0], batch.fd, name, dir_fd)
                except OSError:
                    continue
                batch.others -= 1
                return True
        return False

    def clear(self) -> None:
        """Remove all spares, but for those of a killed process that nobody has looked at yet."""
        for name in list(self._batches):
            remove_folder(self._let_go(name))
        if not self._leftovers():
            shutil.rmtree(self._folder, ignore_errors=True)
        self._is_made = False

    def _path(self, name: str) -> str:
        return f"{self._folder}/{name}"

    def _let_go(self, name: str) -> Path:
        os.close(self._batches.pop(name).fd)
        return self._folder / name


def _name(journal: Journal, fd: int) -> None:
    try:
        os.link(f"{journal.folder}/{NAME}", NAME, dst_dir_fd=fd)
    except OSError as error:
        if error.errno not in (errno.EEXIST, *NO_LINKS):
            raise


def _unname(fd: int) -> None:
    """It has been looked again at a batch."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(NAME, dir_fd=fd)


def renew(name: str, dir_fd: int, mode: int, wanted: int) -> None:
    """Make a file that was there before, with `mode`, as new as one that is written now. Raises OSError."""
    os.utime(name, dir_fd=dir_fd, follow_symlinks=False)
    if stat.S_IMODE(mode) != stat.S_IMODE(wanted):
        os.chmod(name, stat.S_IMODE(wanted), dir_fd=dir_fd)


def _modes(batch: _Batch, items: Sequence[PlanItem]) -> dict[int, int]:
    """See `Spares.choose`; {} where a file in the batch is not wanted as it is."""
    found: dict[int, int] = {}
    for name, sig in batch.left.items():
        number = int(name) if name.isdecimal() else len(items)
        item = items[number] if number < len(items) else None
        if item is None or item.action not in ("create", "overwrite") or item.blob != sig[5].hex():
            return {}
        try:
            mode = _mode_of(name, sig, batch.fd) if stat.S_ISREG(item.mode) else 0
        except OSError:
            mode = 0
        if not mode:
            return {}
        found[number] = mode
    return found


def _mode_of(name: str, sig: FileSig, dir_fd: int) -> int:
    """Mode of a spare, if it has the content that was seen and no second name; else 0. Raises OSError."""
    status = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    # A second name of it may lie anywhere; its times and mode are not ours to change.
    return status.st_mode if status.st_nlink == 1 and _is_still(sig, status) else 0


def _is_still(sig: FileSig, status: os.stat_result) -> bool:
    """Whether it has the content that was seen, as far as stat data says it. One that was changed shortly before it was seen
    (people go to and fro quickly) is the same unless it was written to in the very moment in which it was seen. It is read
    once it is in its place, like all that a restore puts down: then nothing is changed, and no spare is used the next time."""
    return (status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode) == (sig[0], *sig[2:5])


def remove_folder(folder: Path) -> None:
    """Remove what a restore replaced; what cannot be removed is left."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if not entry.is_dir(follow_symlinks=False):
                    Path(entry.path).unlink()
    shutil.rmtree(folder, ignore_errors=True)
