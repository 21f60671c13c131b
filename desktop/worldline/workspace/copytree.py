"""Copying a workspace into a new worktree: what is tracked, what is untracked, and chosen ignored files."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from worldline.workspace.capture import umask
from worldline.workspace.copier import GONE, OPEN_DIR, Copied, Copier, Result
from worldline.workspace.copying import Copying, Piece
from worldline.workspace.filesig import FileSig
from worldline.workspace.folders import IGNORED, Context, Dir
from worldline.workspace.ignore import RuleSet, Stack, is_ignored
from worldline.workspace.model import ProgressCall
from worldline.workspace.outer_rules import global_rules, stack_for
from worldline.workspace.reading import Found
from worldline.workspace.repos import GitRoot
from worldline.workspace.safefs import SafeTree
from worldline.workspace.scan import Walk
from worldline.workspace.store import Store

CHOSEN = (".env*",)
"""Ignored files that go along without being asked for."""
_WORKTREE_LINE = re.compile(rb"(?m)^[ \t]*worktree[ \t]*=.*\n?")
_INDEX_ENTRY = 100
"""Bytes of a file in a staging area, most often."""
_PLAIN: FileSig = (0, 0, 0, 0, stat.S_IFREG, b"")
"""In place of what is not known yet of a regular file."""


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
    shared = True
    """Whether other processors may help: somebody waits for it."""

    def __init__(self, root: GitRoot, dest: Path, include: RuleSet, progress: ProgressCall | None) -> None:
        self.root, self.dest, self.progress = root, dest, progress
        self.included: list[str] = []
        self.notes: list[str] = []
        self.left_out: list[str] = []
        """What is no file that could be copied."""
        self._top = Dir()
        self.pairs: dict[str, Copied] = {}
        """By path: what is copied."""
        self._nodes: list[Dir] = []
        """Folders by number, in the order in which they are told of."""
        self._told: list[tuple[int, str]] = []
        """Notes, with the number of the folder that each is about."""
        self._included: list[tuple[int, str]] = []
        self._closed: list[tuple[str, int]] = []
        """Folders that are still to be closed to writing, and their modes."""
        self._roots: dict[str, GitRoot] = {}
        self._global = global_rules(root)
        self._done = 0
        self._usual = 0o777 & ~umask()
        self._context = Context(
            _NO_STORE, chosen=CHOSEN, include=include or None, enter_root=self._enter, is_linked=self._is_linked,
            base=stack_for(root, self._global),
        )  # fmt: skip

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
        copying = Copying(source, dest, self._usual, self._took)
        try:
            if self.shared:
                copying.start(self._about())
            self.root.refresh_index()
            self._context.links = self.root.links()
            self._add_tracked(self.root.tracked())
            top = self._top = Dir()
            self.survey(self._context).run(source.root_fd, top)
            self._before(top)
            self._folder(top, "", source.root_fd, dest.root_fd, copying)
            copying.finish()
            for path, mode in reversed(self._closed):  # those inside of others first
                os.fchmod(dest.folder(path), stat.S_IMODE(mode))
        finally:
            copying.close()
            source.close()
            dest.close()
            # No ring of references: all that was learned goes with the copy, and the collector has nothing to look through.
            self._context.enter_root = self._context.is_linked = None
        self.included += [path for _, path in sorted(self._included, key=_number)]
        self.notes += [note for _, note in sorted(self._told, key=_number)]
        for path, inner in self._roots.items():
            self._repository(path, inner)

    def _about(self) -> int:
        """How many files there are, about. Helpers start while that is found out."""
        try:
            return os.lstat(self.root.gitdir / "index").st_size // _INDEX_ENTRY
        except FileNotFoundError:
            return 0

    def is_elsewhere(self, path: str) -> bool:
        """In a repository inside of this one."""
        return any(path.startswith(f"{inner}/") for inner in self._roots)

    def _before(self, top: Dir) -> None:
        """What there is to copy is known; nothing is copied yet."""

    # --- files ------------------------------------------------------------------------------------------------

    def _folder(self, node: Dir, prefix: str, source: int, dest: int, copying: Copying) -> None:
        number = len(self._nodes)
        self._nodes.append(node)
        names = []
        for name, sig in self._missing(node, prefix, dest).items():
            if stat.S_ISLNK(sig[4]):
                self._took(Piece(number, prefix, [name]), [Copier.link(name, source, dest)])
            else:
                names.append(name)
        copying.add(number, prefix, names, source, dest)
        for name, reason in node.skipped.items():
            if reason != IGNORED:
                self.left_out.append(prefix + name)
                self._told.append((number, f"{prefix}{name} {reason}; it was not copied"))
        for name, child in node.dirs.items():
            if is_wanted(child):
                self._child(child, name, prefix, source, dest, copying)

    def _child(self, child: Dir, name: str, prefix: str, source: int, dest: int, copying: Copying) -> None:
        path = prefix + name
        inner_source = self._open_source(name, source)
        if inner_source < 0:
            return
        try:
            self._make_folder(name, path, dest)
            inner_dest = os.open(name, OPEN_DIR, dir_fd=dest)
            try:
                if child.mode & 0o700 != 0o700:
                    self._closed.append((path, child.mode))
                elif os.fstat(inner_dest).st_mode != child.mode:
                    os.fchmod(inner_dest, stat.S_IMODE(child.mode))
                self._folder(child, f"{path}/", inner_source, inner_dest, copying)
            finally:
                os.close(inner_dest)
        finally:
            os.close(inner_source)

    def _took(self, piece: Piece, results: list[Result]) -> None:
        number, prefix, names = piece
        tracked = self._context.tracked
        for name, result in zip(names, results, strict=True):
            path = prefix + name
            if isinstance(result, str):
                if result != GONE:
                    self._told.append((number, f"{path} {result}; it was not copied"))
                continue
            self.pairs[path] = result
            if path not in tracked and self._was_ignored(self._nodes[number], path, name):
                self._included.append((number, path))
        before, self._done = self._done, self._done + len(names)
        if self.progress is not None and self._done // 100 != before // 100:
            self.progress("copy", self._done, 0)

    def _missing(self, node: Dir, prefix: str, dest: int) -> dict[str, FileSig]:
        """Files of this folder that are to be written."""
        return node.files

    def _open_source(self, name: str, source: int) -> int:
        """-1: it was deleted since it was listed, as files may be. Raises OSError."""
        try:
            return os.open(name, OPEN_DIR, dir_fd=source)
        except FileNotFoundError:
            return -1

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


def _number(pair: tuple[int, str]) -> int:
    return pair[0]


def is_wanted(child: Dir) -> bool:
    """Whether a folder is copied at all."""
    return not child.in_ignored or _holds_files(child)


def _holds_files(node: Dir) -> bool:
    return bool(node.files) or any(_holds_files(child) for child in node.dirs.values())


_NO_STORE: Store = None  # type: ignore[assignment]
