"""What a git repository in the workspace looks like from outside: HEAD, branch, operation in progress, staging area.

Read from its files, without its configuration and without its locks, so that a repository libgit2 cannot open
(SHA-256, reftable, another owner) still has its files captured.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import pygit2

from worldline.core.plainfile import read_plain
from worldline.workspace import gitfiles, indexfile
from worldline.workspace.gitplace import MAX_REF, GitPlace, git_folders
from worldline.workspace.ignore import RuleSet
from worldline.workspace.objects import MODE_GITLINK
from worldline.workspace.remembered import Remembered

_PROGRESS_FILES = (
    "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "MERGE_AUTOSTASH", "AUTO_MERGE", "CHERRY_PICK_HEAD", "REVERT_HEAD",
    "REBASE_HEAD", "SQUASH_MSG", "BISECT_START", "BISECT_LOG", "BISECT_NAMES", "BISECT_TERMS", "BISECT_EXPECTED_REV",
)  # fmt: skip
_PROGRESS_FOLDERS = ("rebase-merge", "rebase-apply", "sequencer")
_PROGRESS = frozenset((*_PROGRESS_FILES, *_PROGRESS_FOLDERS))
_OPERATIONS = {
    "rebase-merge": "rebase", "rebase-apply": "rebase", "MERGE_HEAD": "merge", "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert", "BISECT_LOG": "bisect",
}  # fmt: skip
_MAX_PROGRESS_BYTES = 4 << 20
_OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(slots=True, frozen=True)
class Head:
    commit: str = ""
    """"" = unborn or not readable."""
    ref: str = ""
    """Full name of the branch HEAD is on, "" = detached."""

    @property
    def branch(self) -> str:
        return self.ref.removeprefix("refs/heads/")


def operation_of(names: set[str]) -> str:
    """The operation in progress that these files stand for ("" = none)."""
    for name, operation in _OPERATIONS.items():
        if name in names or any(n.startswith(name + "/") for n in names):
            return operation
    return ""


@dataclass(slots=True)
class GitRoot(GitPlace):
    """One repository, and what was read of it."""

    trouble: str = ""
    """Why only its files are captured; "" = everything is."""
    index_sig: tuple[int, ...] = ()
    entries: list[indexfile.Entry] = field(default_factory=list)
    noted_tree: bytes = b""
    """The git tree of all that is staged, where git noted it (after a commit, say)."""
    index_tree: bytes = b""
    """Id of the stored staging area; b"" = not stored yet."""
    found_trouble: str = ""
    """`trouble` as `find` saw it."""
    goes_by: tuple[object, ...] | None = None
    """What `glance` gave before `find` was asked last."""
    _repo: pygit2.Repository | None = None
    _config: pygit2.Config | None = None
    _remembered: Remembered = field(default_factory=Remembered, compare=False)

    @classmethod
    def find_outer(cls, work: Path) -> GitRoot | None:
        """The repository that a subfolder belongs to. Only its rules and tracked names count for the workspace."""
        for parent in work.parents:
            root = cls.find(parent, "")
            if root is not None:
                root.outer = f"{work.relative_to(parent).as_posix()}/"
                root.trouble = f"the folder is only a part of the repository in {parent}"
                return root
        return None

    def outside_rules(self) -> list[tuple[str, bytes]]:
        """Rules from `info/exclude` and, for a subfolder, from the folders above it: (where we lie below, text)."""
        rules = [(self.outer, self._exclude_text())]
        parts = self.outer.split("/")[:-1]
        for depth in range(len(parts)):
            try:
                text = read_plain(self.work.joinpath(*parts[:depth], ".gitignore"))
            except OSError:
                continue
            rules.append(("/".join(parts[depth:]) + "/", text))
        return rules

    @classmethod
    def find(cls, work: Path, path: str) -> GitRoot | None:
        try:
            found = git_folders(work)
        except (OSError, ValueError):
            return None
        if found is None:
            return None
        root = cls(path, work, *found)
        try:
            if not (found[0] / "HEAD").is_file():
                return None
            root.trouble = root.foreign() or root.find_trouble()
        except PermissionError as error:
            root.trouble = f"its git folder cannot be read ({error.strerror or error})"
        root.found_trouble = root.trouble
        return root

    def reopen(self) -> pygit2.Repository | None:
        """libgit2's view, opened anew: an open one still sees the objects of packs that `git gc` has deleted."""
        if self._repo is not None:
            self._repo.free()
            self._repo = self._config = None
        return self.repo

    @property
    def config(self) -> pygit2.Config | None:
        """What is set for it, read anew where a file of it changed. Asked for each capture, so it is kept: libgit2 looks at the
        files when it is asked for a setting."""
        repo = self.repo
        if self._config is None and repo is not None:
            self._config = repo.config
        return self._config

    @property
    def hash_size(self) -> int:
        return 32 if "SHA-256" in self.trouble else 20

    @property
    def repo(self) -> pygit2.Repository | None:
        """libgit2's view, None when it refuses the repository (the reason goes to `trouble`)."""
        if self._repo is None and not self.trouble:
            try:
                self._repo = pygit2.Repository(str(self.gitdir))
            except (pygit2.GitError, OSError, KeyError, ValueError) as error:  # by what it stumbles over
                self.trouble = f"it cannot be opened ({error})"
        return self._repo

    def head(self) -> Head:
        try:
            data = self._remembered.read(
                f"{self.gitdir}/HEAD", lambda: gitfiles.read(self.gitdir, "HEAD", MAX_REF), links=False
            )
            text = os.fsdecode(data).strip()
        except OSError:
            return Head()
        if not text.startswith("ref:"):
            return Head(commit=text if _OID.fullmatch(text) else "")
        ref = text[4:].strip()
        return Head(commit=self.resolve(ref), ref=ref)

    def resolve(self, ref: str) -> str:
        """The commit a ref names, "" when there is none."""
        for _ in range(5):
            if not ref.startswith("refs/") or ".." in ref.split("/") or "\0" in ref:
                return ""
            text = ""
            for folder in (self.common, self.gitdir):
                try:
                    text = os.fsdecode(self._plain(f"{folder}/{ref}", MAX_REF)).strip()
                    break
                except OSError:
                    continue
            if not text:
                return self._packed(ref)
            if not text.startswith("ref:"):
                return text if _OID.fullmatch(text) else ""
            ref = text[4:].strip()
        return ""

    def _packed(self, ref: str) -> str:
        try:
            data = self._plain(f"{self.common}/packed-refs", gitfiles.MAX_BYTES)
        except OSError:
            return ""
        at = data.find(b" " + os.fsencode(ref) + b"\n")
        if at < 40:
            return ""
        return data[data.rfind(b"\n", 0, at) + 1 : at].decode("ascii", "replace")

    def progress(self) -> dict[str, bytes]:
        """Files of an operation in progress, relative to the git folder."""
        found: dict[str, bytes] = {}
        size = 0
        try:
            there = self._remembered.names(str(self.gitdir), _PROGRESS)
        except OSError:
            return found
        # As a rule none is there: asking for each would cost more than all else in a small jump.
        names = [name for name in _PROGRESS_FILES if name in there]
        folders = [folder for folder in _PROGRESS_FOLDERS if folder in there]
        # Which commits are known to be good or bad, or what a rebase has labelled, is said by refs of this worktree.
        if "BISECT_START" in there:
            folders.append("refs/bisect")
        if "rebase-merge" in there:
            folders.append("refs/rewritten")
        for folder in folders:
            names += gitfiles.files_below(self.gitdir, folder)
        for name in names:
            try:
                data = gitfiles.read(self.gitdir, name, _MAX_PROGRESS_BYTES)
            except OSError:
                continue
            if name in _PROGRESS_FILES or size < _MAX_PROGRESS_BYTES:
                size += len(data)
                found[name] = data
        return found

    def refresh_index(self) -> tuple[set[str], set[str]] | None:
        """Read the staging area again if it changed. Returns the paths (relative to the workspace) that became and
        ceased to be tracked, None when it is as before."""
        try:
            status = os.lstat(f"{self.gitdir}/index")
            sig: tuple[int, ...] = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
        except FileNotFoundError:
            sig = (0,)
        except PermissionError:
            sig = (-1,)
        if sig == self.index_sig:
            return None
        before = self.tracked()
        try:
            data = self._index() if sig != (0,) else b""
            self.entries, self.noted_tree = indexfile.read(
                data, self.hash_size, lambda name: gitfiles.read(self.gitdir, f"sharedindex.{name}")
            )
            if self.trouble.startswith("its staging area"):
                self.trouble = ""
        except indexfile.UnreadableIndex as error:
            self.entries, self.noted_tree = error.entries, b""
            self.trouble = self.trouble or str(error)
        self.index_sig = sig
        self.index_tree = b""
        after = self.tracked()
        return after - before, before - after

    def _index(self) -> bytes:
        try:
            return gitfiles.read(self.gitdir, "index")
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise indexfile.UnreadableIndex(
                f"its staging area cannot be read ({error.strerror or error})"
            ) from error

    def tracked(self) -> set[str]:
        if self.outer:
            cut = len(self.outer)
            return {entry.path[cut:] for entry in self.entries if entry.path.startswith(self.outer)}
        prefix = self.path + "/" if self.path else ""
        return {prefix + entry.path for entry in self.entries}

    def links(self) -> set[str]:
        """Paths of submodules, relative to the workspace."""
        prefix, cut = (f"{self.path}/" if self.path else ""), len(self.outer)
        return {
            prefix + entry.path[cut:]
            for entry in self.entries
            if entry.mode == MODE_GITLINK and entry.path.startswith(self.outer)
        }

    def exclude_rules(self) -> RuleSet:
        return RuleSet(self._exclude_text(), self.path + "/" if self.path else "")

    def _exclude_text(self) -> bytes:
        try:
            return self._plain(f"{self.common}/info/exclude")
        except OSError:
            return b""

    def _plain(self, path: str, limit: int = 64 << 20) -> bytes:
        return self._remembered.read(path, lambda: read_plain(path, limit), links=True)
