"""Bringing a copy of a workspace up to date with it, and making one so that this can be done later.

By construction the result is what a copy made anew would be: a file stays only where the original is the very one that was
copied and nobody has touched the copy since. Everything else is removed and written by the code that writes new copies.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from worldline.workspace import copytree, isolate_ready
from worldline.workspace.copier import made_of
from worldline.workspace.filesig import FileSig
from worldline.workspace.folders import Dir
from worldline.workspace.ignore import RuleSet
from worldline.workspace.isolate_manifest import Manifest, Row
from worldline.workspace.model import ProgressCall
from worldline.workspace.repos import GitRoot

_BLOCK = 4096
_OPEN_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEVER = -1


class Doubt(Exception):
    """The copy is not used at all; says why."""


class Update(copytree.Copy):
    """`dest` holds what `old` says, or nothing where `old` is empty. Raises `Doubt` and OSError; then `dest` is of no use."""

    survey = copytree.StatSurvey
    shared = False

    def __init__(
        self,
        root: GitRoot,
        dest: Path,
        include: RuleSet,
        progress: ProgressCall | None,
        old: Manifest,
        allow: Callable[[int], None] | None = None,
    ) -> None:
        """`allow` is told how much room the copy takes before anything is written; it raises what it likes."""
        super().__init__(root, dest, include, progress)
        self._old = old
        self._allow = allow
        self._folders: set[str] = set()
        self._there: dict[str, int] = {}
        """Folders of the copy that were seen and not gone into yet, with their modes."""
        self._gone = -1
        """Folder for what is not wanted any more, open; -1 = there is none yet."""
        self._thrown = 0
        self.room = 0
        """Bytes on disk, about."""
        self.reused = 0
        """Files that did not have to be written."""

    def manifest(self, settled_ns: int) -> Manifest:
        """What the copy holds now. An original that changed after `settled_ns` could have changed again with the same
        times while it was copied: its copy is never trusted."""
        files: dict[str, Row] = {}
        for path, (mtime, ctime, size, inode, *made) in self.pairs.items():
            ctime = ctime if max(mtime, ctime) < settled_ns else _NEVER
            mode = made[4]
            files[path] = (mtime, ctime, size, inode, mode, *made[:4], mode)
        return Manifest(os.path.realpath(self.root.work), files, frozenset(self._folders), self.room)

    def _before(self, top: Dir) -> None:
        if self._roots:
            raise Doubt("there are other repositories in it")
        self.room = _room(top)
        if self._allow is not None:
            self._allow(self.room)

    def _missing(self, node: Dir, prefix: str, dest: int) -> dict[str, FileSig]:
        """Tidy a folder of the copy up: what is not wanted or not trusted goes, and is to be written if it is wanted."""
        if prefix:
            self._folders.add(prefix[:-1])
        missing = dict(node.files)
        with os.scandir(dest) as entries:
            found = list(entries)
        known, tracked = self._old.files.get, self._context.tracked
        for entry in found:
            name = entry.name
            path = prefix + name
            if entry.is_dir(follow_symlinks=False):
                child = node.dirs.get(name)
                if child is None or not copytree.is_wanted(child):
                    self._remove(name, path, dest)
                elif path not in self._old.folders:
                    raise Doubt(f"{path} was put into it")
                else:
                    self._there[path] = entry.stat(follow_symlinks=False).st_mode
                continue
            row = known(path)
            if row is None:
                raise Doubt(f"{path} was put into it")
            sig = node.files.get(name)
            if sig is not None and _is_same(row, sig):
                now = entry.stat(follow_symlinks=False)
                if _is_untouched(row, now):
                    del missing[name]
                    self.pairs[path] = (*sig[:4], *made_of(now))
                    self.reused += 1
                    if path not in tracked and self._was_ignored(node, path, name):
                        self._included.append((len(self._nodes) - 1, path))
                    continue
            self._throw_away(name, dest)
        return missing

    def run(self) -> None:
        try:
            super().run()
        finally:
            if self._gone >= 0:
                os.close(self._gone)
                self._gone = -1

    def _throw_away(self, name: str, dest: int) -> None:
        """Move it out of the copy. To give its space back takes ten times as long, and nobody waits for that."""
        if self._gone < 0:
            place = isolate_ready.gone_of(self.dest)
            place.mkdir(mode=0o700, exist_ok=True)
            self._gone = os.open(place, _OPEN_DIR)
        self._thrown += 1
        os.rename(name, str(self._thrown), src_dir_fd=dest, dst_dir_fd=self._gone)

    def _open_source(self, name: str, source: int) -> int:
        """One that is gone may be in the copy still, which is of no use then."""
        return os.open(name, _OPEN_DIR, dir_fd=source)

    def _make_folder(self, name: str, path: str, dest: int) -> None:
        mode = self._there.pop(path, None)
        if mode is None:
            super()._make_folder(name, path, dest)
        elif mode & 0o700 != 0o700:  # closed to writing, like the original
            os.chmod(name, 0o700, dir_fd=dest)

    def _remove(self, name: str, path: str, dest: int) -> None:
        """A folder that is not wanted any more, if all in it was put there by us."""
        if path not in self._old.folders:
            raise Doubt(f"{path} was put into it")
        os.chmod(name, 0o700, dir_fd=dest)
        folder = os.open(name, _OPEN_DIR, dir_fd=dest)
        try:
            with os.scandir(folder) as entries:
                found = list(entries)
            for entry in found:
                inner = f"{path}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    self._remove(entry.name, inner, folder)
                elif inner in self._old.files:
                    os.unlink(entry.name, dir_fd=folder)
                else:
                    raise Doubt(f"{inner} was put into it")
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=dest)


def _is_same(row: Row, sig: FileSig) -> bool:
    """Whether the original is the one that was copied."""
    return (
        row[1] == sig[1] and row[0] == sig[0] and row[3] == sig[3] and row[2] == sig[2] and row[4] == sig[4]
    )


def _is_untouched(row: Row, now: os.stat_result) -> bool:
    """Whether the copy is as it was left. A second name of it may lie anywhere: whoever writes there would write here."""
    return (
        row[6] == now.st_ctime_ns
        and row[5] == now.st_mtime_ns
        and row[8] == now.st_ino
        and row[7] == now.st_size
        and row[9] == now.st_mode
        and now.st_nlink == 1
    )


def _room(node: Dir) -> int:
    """What the files below a folder take on disk, about."""
    own = sum(_BLOCK + sig[2] // _BLOCK * _BLOCK for sig in node.files.values() if stat.S_ISREG(sig[4]))
    return own + sum(_BLOCK + _room(child) for child in node.dirs.values() if copytree.is_wanted(child))
