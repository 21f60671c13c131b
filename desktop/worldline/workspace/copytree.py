"""Copying a workspace into a new worktree: what is tracked, what is untracked, and chosen ignored files."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from worldline.workspace.capture import umask
from worldline.workspace.filesig import FileSig
from worldline.workspace.folders import IGNORED, Context, Dir
from worldline.workspace.ignore import RuleSet, Stack, is_ignored
from worldline.workspace.model import ProgressCall
from worldline.workspace.outer_rules import global_rules, stack_for
from worldline.workspace.repos import GitRoot
from worldline.workspace.safefs import SafeTree
from worldline.workspace.scan import Found, Walk
from worldline.workspace.store import Store

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
CHOSEN = (".env*",)
"""Ignored files that go along without being asked for."""
_FICLONE = 0x40049409
_WORKTREE_LINE = re.compile(rb"(?m)^[ \t]*worktree[ \t]*=.*\n?")
_CANNOT_CLONE = (errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS, errno.EPERM)
_PLAIN: FileSig = (0, 0, 0, 0, stat.S_IFREG, b"")
"""In place of what is not known yet of a regular file."""

_Pair = tuple[tuple[int, int, int, int], os.stat_result]


def without_worktree(config: bytes) -> bytes:
    """A git configuration without `core.worktree`, which would lead a copy back to the original."""
    return _WORKTREE_LINE.sub(b"", config)


def carry_settings(gitdir: Path, entry: Path) -> None:
    """Give a new worktree what git keeps for one worktree alone: its configuration and its sparse checkout."""
    for name in ("info/sparse-checkout", "config.worktree"):
        own = gitdir / name
        if own.is_file():
            (entry / name).parent.mkdir(exist_ok=True)
            (entry / name).write_bytes(without_worktree(own.read_bytes()))


class StatSurvey(Walk):
    """A walk that notes what is there, with its stat data, and reads nothing."""

    _entries: Mapping[str, os.DirEntry[str]] = {}
    """Of the folder that is being listed."""

    def _names(self, fd: int) -> list[tuple[str, bool, int]]:
        with os.scandir(fd) as entries:
            self._entries = {entry.name: entry for entry in entries}
        return [(e.name, e.is_dir(follow_symlinks=False), e.inode()) for e in self._entries.values()]

    def _file(self, here: Found, name: str, limit: int, known: FileSig | None) -> None:
        try:
            now = self._entries[name].stat(follow_symlinks=False)
        except FileNotFoundError:
            return
        except OSError as error:
            here.skipped[name] = f"cannot be read ({error.strerror or error})"
            return
        if stat.S_ISREG(mode := now.st_mode) or stat.S_ISLNK(mode):
            here.files[name] = (now.st_mtime_ns, now.st_ctime_ns, now.st_size, now.st_ino, mode, b"")
        else:
            here.skipped[name] = "is no regular file"


class _Survey(StatSurvey):
    """Without the stat data of regular files: the copy has it from the file that it opens."""

    def _file(self, here: Found, name: str, limit: int, known: FileSig | None) -> None:
        if self._entries[name].is_file(follow_symlinks=False):
            here.files[name] = _PLAIN
        else:
            super()._file(here, name, limit, known)


class Copy:
    """One copy. The source is only read."""

    survey: type[Walk] = _Survey

    def __init__(self, root: GitRoot, dest: Path, include: RuleSet, progress: ProgressCall | None) -> None:
        self.root, self.dest, self.progress = root, dest, progress
        self.included: list[str] = []
        self.notes: list[str] = []
        self.left_out: list[str] = []
        """What is no file that could be copied."""
        self._top = Dir()
        self.pairs: dict[str, _Pair] = {}
        """Path → (mtime_ns, ctime_ns, size, inode) of the source, stat data of the copy."""
        self._roots: dict[str, GitRoot] = {}
        self._global = global_rules(root)
        self._clone = True
        self._done = 0
        self._usual = 0o777 & ~umask()
        root.refresh_index()
        self._context = Context(
            _NO_STORE, tracked=root.tracked(), chosen=CHOSEN, include=include or None, enter_root=self._enter, is_linked=self._is_linked,
            base=stack_for(root, self._global),
        )  # fmt: skip
        self._context.links = root.links()
        self._add_tracked(self._context.tracked)

    def _add_tracked(self, paths: set[str]) -> None:
        self._context.tracked |= paths
        for path in paths:
            folder = path.rpartition("/")[0]
            while folder and folder not in self._context.tracked_dirs:
                self._context.tracked_dirs.add(folder)
                folder = folder.rpartition("/")[0]

    def _enter(self, path: str) -> Stack:
        inner = GitRoot.find(self.root.work / path, path)
        if inner is None:
            return self._context.base[:1]
        inner.refresh_index()
        self._roots[path] = inner
        self._context.links |= inner.links()
        self._add_tracked(inner.tracked())
        return stack_for(inner, self._global)

    def _is_linked(self, path: str) -> bool:
        inner = GitRoot.find(self.root.work / path, path)
        return inner is not None and inner.common != inner.gitdir and inner.common == self.root.common

    def run(self) -> None:
        source, dest = SafeTree(self.root.work), SafeTree(self.dest)
        try:
            top = self._top = Dir()
            self.survey(self._context).run(source.root_fd, top)
            self._before(top)
            self._folder(top, "", source.root_fd, dest.root_fd)
        finally:
            source.close()
            dest.close()
            # No ring of references: all that was learned goes with the copy, and the collector has nothing to look through.
            self._context.enter_root = self._context.is_linked = None
        for path, inner in self._roots.items():
            self._repository(path, inner)

    def is_elsewhere(self, path: str) -> bool:
        """In a repository inside of this one."""
        return any(path.startswith(f"{inner}/") for inner in self._roots)

    def _before(self, top: Dir) -> None:
        """What there is to copy is known; nothing is copied yet."""

    # --- files ------------------------------------------------------------------------------------------------

    def _folder(self, node: Dir, prefix: str, source: int, dest: int) -> None:
        for name, sig in self._missing(node, prefix, dest).items():
            pair = self._file(name, prefix, sig, source, dest)
            if pair is not None:
                path = prefix + name
                self.pairs[path] = pair
                if path not in self._context.tracked and self._was_ignored(node, path, name):
                    self.included.append(path)
        for name, reason in node.skipped.items():
            if reason != IGNORED:
                self.left_out.append(prefix + name)
                self.notes.append(f"{prefix}{name} {reason}; it was not copied")
        for name, child in node.dirs.items():
            if is_wanted(child):
                self._child(child, name, prefix, source, dest)

    def _child(self, child: Dir, name: str, prefix: str, source: int, dest: int) -> None:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        self._make_folder(name, prefix + name, dest)
        inner_source = os.open(name, flags, dir_fd=source)
        try:
            inner_dest = os.open(name, flags, dir_fd=dest)
            try:
                self._folder(child, f"{prefix}{name}/", inner_source, inner_dest)
                if os.fstat(inner_dest).st_mode != child.mode:
                    os.fchmod(inner_dest, stat.S_IMODE(child.mode))
            finally:
                os.close(inner_dest)
        finally:
            os.close(inner_source)

    def _missing(self, node: Dir, prefix: str, dest: int) -> dict[str, FileSig]:
        """Files of this folder that are to be written."""
        return node.files

    def _make_folder(self, name: str, path: str, dest: int) -> None:
        os.mkdir(name, 0o700, dir_fd=dest)

    def _was_ignored(self, node: Dir, path: str, name: str) -> bool:
        include = self._context.include
        chosen = include is not None and include.match(path, name, False) is True
        if node.in_ignored or not (chosen or self._context.is_chosen(name)):
            return node.in_ignored
        # It may be wanted by its name and not be ignored at all.
        return is_ignored(self._rules_at(path.rpartition("/")[0]), path, name, False)

    def _rules_at(self, folder: str) -> Stack:
        """The ignore rules that hold in a folder, as the walk saw them."""
        node, path, stack = self._top, "", self._context.base
        for part in (*folder.split("/"), "") if folder else ("",):
            stack = (*stack, node.rules) if node.rules is not None else stack
            if part:
                node, path = node.dirs[part], f"{path}/{part}" if path else part
                stack = stack_for(self._roots[path], self._global) if path in self._roots else stack
        return stack

    def _file(self, name: str, prefix: str, sig: FileSig, source: int, dest: int) -> _Pair | None:
        """Copy one file or link; what it was and what it is now. None: it could not be copied."""
        self._done += 1
        if self.progress is not None and self._done % 100 == 0:
            self.progress("copy", self._done, 0)
        try:
            if stat.S_ISLNK(sig[4]):
                os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=dest)
                return sig[:4], os.stat(name, dir_fd=dest, follow_symlinks=False)
            old = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=source)
        except FileNotFoundError:
            return None  # deleted since the walk
        except PermissionError:
            self.notes.append(f"{prefix}{name} cannot be read; it was not copied")
            return None
        try:
            now = os.fstat(old)
            if not stat.S_ISREG(now.st_mode):
                self.notes.append(f"{prefix}{name} is no regular file; it was not copied")
                return None
            # Nobody else can look into the new worktree: its top folder is closed to others.
            perm = stat.S_IMODE(now.st_mode)
            new = os.open(name, _NEW_FILE, perm, dir_fd=dest)
            try:
                self._content(old, new, now.st_size)
                if perm & ~self._usual:
                    os.fchmod(new, perm)
                os.utime(new, ns=(now.st_mtime_ns, now.st_mtime_ns))
                return (now.st_mtime_ns, now.st_ctime_ns, now.st_size, now.st_ino), os.fstat(new)
            finally:
                os.close(new)
        finally:
            os.close(old)

    def _content(self, old: int, new: int, size: int) -> None:
        if self._clone and size:
            try:
                fcntl.ioctl(new, _FICLONE, old)
                return
            except OSError as error:
                if error.errno not in _CANNOT_CLONE:
                    raise
                self._clone = False
        while data := os.read(old, 1 << 16 if size < 1 << 16 else 1 << 20):
            written = os.write(new, data)
            while written < len(data):
                written += os.write(new, memoryview(data)[written:])
            if len(data) == size < 1 << 16:
                return  # all of a small file; reading for its end would cost as much again

    # --- repositories inside ------------------------------------------------------------------------------------

    def _repository(self, path: str, inner: GitRoot) -> None:
        """Copy a nested repository or submodule whole, so that the copy depends on nothing outside."""
        target = self.dest / path / ".git"
        if target.exists() or not target.parent.is_dir():
            return
        if inner.common != inner.gitdir:
            self.notes.append(f"{path} is a worktree of another repository; only its files were copied")
            return
        shutil.copytree(
            inner.gitdir, target, symlinks=True, ignore=shutil.ignore_patterns("*.lock", "fsmonitor--daemon*")
        )
        config = target / "config"
        with contextlib.suppress(FileNotFoundError):
            config.write_bytes(without_worktree(config.read_bytes()))


def is_wanted(child: Dir) -> bool:
    """Whether a folder is copied at all."""
    return not child.in_ignored or _holds_files(child)


def _holds_files(node: Dir) -> bool:
    return bool(node.files) or any(_holds_files(child) for child in node.dirs.values())


_NO_STORE: Store = None  # type: ignore[assignment]
