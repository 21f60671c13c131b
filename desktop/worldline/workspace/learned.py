"""What a restore has read back of the files that it put down: the next capture need not look at them again."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator

from worldline.workspace.filesig import FileSig, is_fresh, signature
from worldline.workspace.folders import CHOSEN_CAP, RULING, Dir
from worldline.workspace.watch import Dirty

_Row = tuple[int, FileSig]
"""The ctime with which a file was read, and what is known of it by that alone."""


class Learned:
    """Contract: `begin` is called before the first file is read, `add` for each that reads as it should. Nothing is taken for
    true that the walk could not tell to be changed since: by the events that came after `begin`, where the kernel tells, else
    by stat data."""

    def __init__(self, mark: Callable[[], None]) -> None:
        """`mark`: has what is told from now on kept apart from what was told before."""
        self._mark = mark
        self._rows: dict[str, dict[str, _Row]] = {}
        """By folder ("" or with a `/` at the end) and name."""
        self.by_inode: dict[int, FileSig] = {}
        self._asked_ns = 0
        """When it was asked for last what is known."""

    def begin(self) -> None:
        self.clear()
        self._mark()

    def add(self, path: str, status: os.stat_result, oid: bytes, before_ns: int) -> None:
        """The content that belongs to `status`, and was not read before `before_ns`, is that of the blob, which is in the
        store."""
        sig = self.by_inode[status.st_ino] = signature(status, oid, before_ns)
        # One with a second name may be written to by that, of which nobody tells.
        if status.st_nlink == 1 and stat.S_ISREG(status.st_mode) and status.st_size <= CHOSEN_CAP:
            folder, slash, name = path.rpartition("/")
            if name not in RULING:
                self._rows.setdefault(folder + slash, {})[name] = (status.st_ctime_ns, sig)

    def clear(self) -> None:
        self._rows = {}
        self.by_inode = {}

    def known(self, top: Dir) -> dict[str, set[str]]:
        """The files that were known by their names before, by folder: of the others only their inodes are of use from here
        on. Asked for before the kernel is asked what happened, and before `put`."""
        self._asked_ns = time.time_ns()
        found: dict[str, set[str]] = {}
        for prefix, node in self._nodes(top):
            names = {name for name in self._rows[prefix] if name in node.files and name not in node.linked}
            if names and node.is_simple:
                found[prefix] = names
        self._rows = {prefix: {n: self._rows[prefix][n] for n in names} for prefix, names in found.items()}
        return found

    def put(self, top: Dir, dirty: Dirty | None) -> list[str]:
        """Write down what is known before a walk that goes by `dirty`. Returns the folders whose trees it changes: `remake`
        them after the walk, which would look at them else."""
        changed: list[str] = []
        for prefix, node in self._nodes(top):
            told = dirty.get(prefix, set()) if dirty is not None else None
            new: dict[str, FileSig] = {}
            for name, (ctime, sig) in self._rows[prefix].items():
                quiet = told is not None and name not in told
                # Nothing had happened to it when the kernel was asked: a change after that leaves another time, if that time
                # was past by then. It will be told of, and looked at by its times alone.
                new[name] = self._aged(sig, ctime) if quiet and sig[1] < 0 else sig
            if node.update(new):
                changed.append(prefix)
        return changed

    def _aged(self, sig: FileSig, ctime: int) -> FileSig:
        return sig if is_fresh(sig[0], ctime, self._asked_ns) else (sig[0], ctime, *sig[2:])

    def _nodes(self, top: Dir) -> Iterator[tuple[str, Dir]]:
        for prefix in list(self._rows):
            node = top.below(prefix)
            if node is not None:
                yield prefix, node


def remake(top: Dir, folders: list[str]) -> None:
    """Have the trees of these folders made again."""
    for prefix in folders:
        node: Dir | None = top
        for part in prefix.split("/"):
            if node is None:
                break
            node.tree = b""
            node = node.dirs.get(part)
