"""What a git repository in the workspace looks like from outside: HEAD, branch, operation in progress, staging area.

Read from its files, without its configuration and without its locks, so that a repository libgit2 cannot open
(SHA-256, reftable, another owner) still has its files captured.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from dataclasses import dataclass, field
from pathlib import Path

import pygit2

from worldline.core.plainfile import read_plain
from worldline.workspace import gitfiles, indexfile
from worldline.workspace.filesig import is_fresh
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
_MAX_REF = 10_000
_OID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
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


def _folders(work: Path) -> tuple[Path, Path, bytes] | None:
    """The git folder of `work`, the one it shares with other worktrees, and the text of a `.git` that is a file. None:
    there is no repository. Raises OSError."""
    dot = work / ".git"
    if dot.is_symlink() or dot.is_dir():
        gitdir, pointer = dot.resolve(), b""
    else:
        pointer = read_plain(dot, _MAX_REF)
        if not pointer.startswith(b"gitdir:"):
            return None
        gitdir = (work / os.fsdecode(pointer[7:].strip())).resolve()
    shared = _text(gitdir / "commondir")
    return gitdir, (gitdir / shared).resolve() if shared else gitdir, pointer


def _around(top: Path) -> list[Path]:
    """Git folder and shared git folder of the repository that a folder is in; [] = in none."""
    for folder in (top, *top.parents):
        try:
            found = _folders(folder)
            if found is not None and (found[0] / "HEAD").is_file():
                return [found[0], found[1]]
        except (OSError, ValueError):
            continue
    return []


def _text(path: Path) -> str:
    """Of a small file that says where something is; "" = there is none."""
    try:
        return os.fsdecode(read_plain(path, _MAX_REF)).strip() if path.is_file() else ""
    except OSError:
        return ""


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
    noted_tree: bytes = b""
    """The git tree of all that is staged, where git noted it (after a commit, say)."""
    index_tree: bytes = b""
    """Id of the stored staging area; b"" = not stored yet."""
    outer: str = ""
    """Where the workspace lies in this repository ("a/b/"), when it is only a part of it."""
    found_trouble: str = ""
    """`trouble` as `find` saw it."""
    goes_by: tuple[object, ...] | None = None
    """What `glance` gave before `find` was asked last."""
    _repo: pygit2.Repository | None = None
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
            found = _folders(work)
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

    def glance(self) -> tuple[object, ...] | None:
        """Stat data of all that `find` goes by: the same again says that it would find the same. None: ask it. A
        repository inside the workspace is looked at each time, for a command may have planted something in it."""
        if self.path or self.outer:
            return None
        try:
            # Texts, not paths: this is asked each time, and joining paths would be most of it.
            look = os.stat
            dot, gitdir = os.lstat(f"{self.work}/.git"), look(self.gitdir)
            place = dot
            if stat.S_ISREG(dot.st_mode):
                place = (self.work / os.fsdecode(self.pointer[7:].strip())).stat()
            if (place.st_dev, place.st_ino) != (gitdir.st_dev, gitdir.st_ino):
                return None
            common = self.common.stat() if self.common != self.gitdir else gitdir
            told = [look(f"{self.common}/config")]
            with contextlib.suppress(FileNotFoundError):
                told.append(look(f"{self.gitdir}/commondir"))
            if stat.S_ISREG(dot.st_mode):
                told.append(dot)
            head = os.lstat(f"{self.gitdir}/HEAD")
        except (OSError, ValueError):
            return None
        now = time.time_ns()
        if any(is_fresh(one.st_mtime_ns, one.st_ctime_ns, now) for one in told):
            return None
        files = [(one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns) for one in told]
        return (
            dot.st_ino,
            gitdir.st_dev,
            gitdir.st_ino,
            common.st_dev,
            common.st_ino,
            (head.st_mode, head.st_uid),
            files,
        )

    def foreign(self) -> str:
        """Why a repository inside the workspace is not touched: its `.git` leads to a repository elsewhere, which is not
        part of the workspace, or to the one around it, or parts of it lead elsewhere. A command of the agent can write
        such a `.git` and would have us move the HEAD of another repository. "" = it is one of its own."""
        if not self.path:
            return ""
        if strange := gitfiles.strange_parts(self.gitdir):
            return f"{strange} in its git folder is no file"
        top = self.work
        for _ in self.path.split("/"):
            top = top.parent
        top = top.resolve()
        own = _around(top)
        if self.gitdir in own:
            return "its .git leads to the repository around it"
        part = bool(own) and not (top / ".git").exists()
        homes = [top] if part else [top, *(folder / "modules" for folder in own)]
        linked = _text(self.gitdir / "gitdir")
        if linked and Path(linked).resolve() == (self.work / ".git").resolve() and self.common not in own:
            return ""  # a worktree of another repository: that one says so itself
        if self._says_its_place() and self.gitdir.is_relative_to(own[-1] / "modules" if own else top):
            return ""  # a submodule of a repository of which the workspace is a part
        for folder in (self.gitdir, self.common):
            if folder in own or not any(folder.is_relative_to(home) for home in homes):
                return "its .git leads to a repository elsewhere"
        return ""

    def _says_its_place(self) -> bool:
        """Whether its configuration names this folder as its worktree, as git writes it for submodules."""
        found = re.search(r"(?m)^[ \t]*worktree[ \t]*=[ \t]*(\S.*?)[ \t]*$", _text(self.gitdir / "config"))
        return found is not None and (self.gitdir / found[1]).resolve() == self.work.resolve()

    def find_trouble(self) -> str:
        try:
            found = dict(_UNUSUAL.findall(read_plain(self.common / "config")))
        except OSError as error:
            return f"its configuration cannot be read ({error.strerror or error})"
        words = {key.lower(): value.lower() for key, value in found.items()}
        if words.get(b"objectformat", b"sha1") != b"sha1":
            return "it uses SHA-256 object names"
        if words.get(b"refstorage", b"files") != b"files":
            return "it keeps its branches in a reftable"
        if not os.access(self.gitdir / "HEAD", os.R_OK, effective_ids=os.access in os.supports_effective_ids):
            return "its HEAD cannot be read"
        if (self.gitdir / "HEAD").is_symlink():
            # No link in a git folder is followed: it would be taken for a repository without a commit.
            return "its HEAD is a link"
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
            data = self._remembered.read(
                f"{self.gitdir}/HEAD", lambda: gitfiles.read(self.gitdir, "HEAD", _MAX_REF), links=False
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
                    text = os.fsdecode(self._plain(f"{folder}/{ref}", _MAX_REF)).strip()
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
