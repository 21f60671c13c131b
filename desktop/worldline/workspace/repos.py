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

from worldline.workspace import indexfile
from worldline.workspace.ignore import RuleSet, Stack
from worldline.workspace.objects import MODE_GITLINK

_PROGRESS_FILES = (
    "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "MERGE_AUTOSTASH", "AUTO_MERGE", "CHERRY_PICK_HEAD", "REVERT_HEAD",
    "REBASE_HEAD", "SQUASH_MSG", "BISECT_START", "BISECT_LOG", "BISECT_NAMES", "BISECT_TERMS", "BISECT_EXPECTED_REV",
)  # fmt: skip
_PROGRESS_FOLDERS = ("rebase-merge", "rebase-apply", "sequencer")
_OPERATIONS = {
    "rebase-merge": "rebase", "rebase-apply": "rebase", "MERGE_HEAD": "merge", "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert", "BISECT_LOG": "bisect",
}  # fmt: skip
_MAX_PROGRESS_BYTES = 4 << 20
_UNUSUAL = re.compile(rb"(?im)^\s*(refstorage|objectformat)\s*=\s*\"?(\w+)")


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
class GitRoot:
    """One repository: `path` is "" for the workspace itself, else the folder relative to it."""

    path: str
    work: Path
    gitdir: Path
    common: Path
    pointer: bytes = b""
    """Content of a `.git` file (submodules, worktrees), b"" when `.git` is a folder."""
    trouble: str = ""
    """Why only its files are captured; "" = everything is."""
    index_sig: tuple[int, ...] = ()
    entries: list[indexfile.Entry] = field(default_factory=list)
    index_tree: bytes = b""
    """Id of the stored staging area; b"" = not stored yet."""
    index_blobs: set[bytes] = field(default_factory=set)
    outer: str = ""
    """Where the workspace lies in this repository ("a/b/"), when it is only a part of it."""
    _repo: pygit2.Repository | None = None

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
        rules = [(self.outer, self.exclude_rules().text)]
        parts = self.outer.split("/")[:-1]
        for depth in range(len(parts)):
            try:
                text = self.work.joinpath(*parts[:depth], ".gitignore").read_bytes()
            except OSError:
                continue
            rules.append(("/".join(parts[depth:]) + "/", text))
        return rules

    @classmethod
    def find(cls, work: Path, path: str) -> GitRoot | None:
        dot = work / ".git"
        try:
            if dot.is_symlink() or dot.is_dir():
                gitdir = dot.resolve()
                pointer = b""
            else:
                pointer = dot.read_bytes()
                if not pointer.startswith(b"gitdir:"):
                    return None
                gitdir = (work / os.fsdecode(pointer[7:].strip())).resolve()
            if not (gitdir / "HEAD").is_file():
                return None
            common_file = gitdir / "commondir"
            common = gitdir
            if common_file.is_file():
                common = (gitdir / os.fsdecode(common_file.read_bytes().strip())).resolve()
        except OSError:
            return None
        root = cls(path, work, gitdir, common, pointer)
        root.trouble = root.find_trouble()
        return root

    def find_trouble(self) -> str:
        try:
            found = dict(_UNUSUAL.findall((self.common / "config").read_bytes()))
        except OSError as error:
            return f"its configuration cannot be read ({error.strerror})"
        words = {key.lower(): value.lower() for key, value in found.items()}
        if words.get(b"objectformat", b"sha1") != b"sha1":
            return "it uses SHA-256 object names"
        if words.get(b"refstorage", b"files") != b"files":
            return "it keeps its branches in a reftable"
        return ""

    def reopen(self) -> pygit2.Repository | None:
        """libgit2's view, opened anew: an open one still sees the objects of packs that `git gc` has deleted."""
        if self._repo is not None:
            self._repo.free()
            self._repo = None
        return self.repo

    @property
    def hash_size(self) -> int:
        return 32 if "SHA-256" in self.trouble else 20

    @property
    def repo(self) -> pygit2.Repository | None:
        """libgit2's view, None when it refuses the repository (the reason goes to `trouble`)."""
        if self._repo is None and not self.trouble:
            try:
                self._repo = pygit2.Repository(str(self.gitdir))
            except pygit2.GitError as error:
                self.trouble = f"it cannot be opened ({error})"
        return self._repo

    def head(self) -> Head:
        try:
            text = (self.gitdir / "HEAD").read_text("utf-8", "surrogateescape").strip()
        except OSError:
            return Head()
        if not text.startswith("ref:"):
            return Head(commit=text)
        ref = text[4:].strip()
        return Head(commit=self.resolve(ref), ref=ref)

    def resolve(self, ref: str) -> str:
        """The commit a ref names, "" when there is none."""
        for _ in range(5):
            text = ""
            for folder in (self.common, self.gitdir):
                try:
                    text = (folder / ref).read_text("utf-8", "surrogateescape").strip()
                    break
                except OSError:
                    continue
            if not text:
                return self._packed(ref)
            if not text.startswith("ref:"):
                return text
            ref = text[4:].strip()
        return ""

    def _packed(self, ref: str) -> str:
        try:
            data = (self.common / "packed-refs").read_bytes()
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
        for name in _PROGRESS_FILES:
            try:
                found[name] = (self.gitdir / name).read_bytes()
            except OSError:
                continue
        for folder in _PROGRESS_FOLDERS:
            top = self.gitdir / folder
            if not top.is_dir():
                continue
            for file in sorted(top.rglob("*")):
                if file.is_file() and size < _MAX_PROGRESS_BYTES:
                    data = file.read_bytes()
                    size += len(data)
                    found[str(file.relative_to(self.gitdir))] = data
        if "MERGE_MSG" in found and not operation_of(set(found)):
            del found["MERGE_MSG"]  # left over from a commit; git ignores it as well
        return found

    def refresh_index(self) -> tuple[set[str], set[str]] | None:
        """Read the staging area again if it changed. Returns the paths (relative to the workspace) that became and
        ceased to be tracked, None when it is as before."""
        try:
            status = (self.gitdir / "index").stat()
            sig: tuple[int, ...] = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
        except FileNotFoundError:
            sig = (0,)
        if sig == self.index_sig:
            return None
        before = self.tracked()
        try:
            data = (self.gitdir / "index").read_bytes() if sig != (0,) else b""
            self.entries = indexfile.parse(
                data, self.hash_size, lambda name: (self.gitdir / f"sharedindex.{name}").read_bytes()
            )
            if self.trouble.startswith("its staging area"):
                self.trouble = ""
        except indexfile.UnreadableIndex as error:
            self.entries = error.entries
            self.trouble = self.trouble or str(error)
        self.index_sig = sig
        self.index_tree = b""
        after = self.tracked()
        return after - before, before - after

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
        try:
            text = (self.common / "info" / "exclude").read_bytes()
        except OSError:
            text = b""
        return RuleSet(text, self.path + "/" if self.path else "")


def global_rules(root: GitRoot | None) -> bytes:
    """Text of the person's own ignore file (`core.excludesFile`), b"" when there is none."""
    name = ""
    try:
        config = (
            root.repo.config
            if root is not None and root.repo is not None
            else pygit2.Config.get_global_config()
        )
        if "core.excludesfile" in config:
            name = str(config["core.excludesfile"] or "")
    except (OSError, KeyError, pygit2.GitError):
        name = ""
    base = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config")
    path = Path(name) if name else base / "git" / "ignore"
    try:
        return path.expanduser().read_bytes()
    except (OSError, RuntimeError):  # RuntimeError: there is no home folder
        return b""


def stack_for(root: GitRoot | None, global_text: bytes) -> Stack:
    stack: Stack = (RuleSet(global_text),)
    return (*stack, root.exclude_rules()) if root is not None else stack
