"""Where the git folder of a repository is, whether it is the repository's own, and what in it keeps us from reading it."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from dataclasses import dataclass
from pathlib import Path

from worldline.core.plainfile import read_plain
from worldline.workspace import gitfiles
from worldline.workspace.filesig import is_fresh

MAX_REF = 10_000
"""Bytes of a file that says where something is."""
_UNUSUAL = re.compile(rb"(?im)^\s*(refstorage|objectformat)\s*=\s*\"?(\w+)")


def git_folders(work: Path) -> tuple[Path, Path, bytes] | None:
    """The git folder of `work`, the one it shares with other worktrees, and the text of a `.git` that is a file. None:
    there is no repository. Raises OSError."""
    dot = work / ".git"
    if dot.is_symlink() or dot.is_dir():
        gitdir, pointer = dot.resolve(), b""
    else:
        pointer = read_plain(dot, MAX_REF)
        if not pointer.startswith(b"gitdir:"):
            return None
        gitdir = (work / os.fsdecode(pointer[7:].strip())).resolve()
    shared = _text(gitdir / "commondir")
    return gitdir, (gitdir / shared).resolve() if shared else gitdir, pointer


def _around(top: Path) -> list[Path]:
    """Git folder and shared git folder of the repository that a folder is in; [] = in none."""
    for folder in (top, *top.parents):
        try:
            found = git_folders(folder)
            if found is not None and (found[0] / "HEAD").is_file():
                return [found[0], found[1]]
        except (OSError, ValueError):
            continue
    return []


def _text(path: Path) -> str:
    """Of a small file that says where something is; "" = there is none."""
    try:
        return os.fsdecode(read_plain(path, MAX_REF)).strip() if path.is_file() else ""
    except OSError:
        return ""


@dataclass(slots=True)
class GitPlace:
    """Of one repository: `path` is "" for the workspace itself, else the folder relative to it. Only looks at files, and
    each time anew."""

    path: str
    work: Path
    gitdir: Path
    common: Path
    pointer: bytes = b""
    """Content of a `.git` file (submodules, worktrees), b"" when `.git` is a folder."""
    outer: str = ""
    """Where the workspace lies in this repository ("a/b/"), when it is only a part of it."""

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
        """Why libgit2 or we could not read it; "" = nothing is known against it."""
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
