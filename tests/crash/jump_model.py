"""What is in a folder, seen by a walk of its own and by git: the judge of the campaign of jumps."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ENV = {
    **os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_TERMINAL_PROMPT": "0",
    **{f"GIT_{who}_{what}": "t@e" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    "GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000",
}  # fmt: skip
_FLAGS = 0x8000 | 1 << 29 | 1 << 30
"""Assume unchanged, intent to add, skip worktree, as git has them in memory."""

Row = tuple[str, int, bytes]
"""Kind, permissions, content."""


def _git(folder: Path, *words: str, given: bytes = b"") -> bytes:
    done = subprocess.run(["git", *words], cwd=folder, env=ENV, input=given, capture_output=True)
    return done.stdout if done.returncode in (0, 1) else b"!" + done.stderr[:80]


@dataclass
class Seen:
    """All that is in a folder, without the help of the engine."""

    rows: dict[str, Row] = field(default_factory=dict)
    repos: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)
    """Commit of HEAD, and the staging area."""
    ignored: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, work: Path) -> Seen:
        seen = cls()
        seen._walk(work, "", "", {})
        return seen

    def _walk(self, work: Path, folder: str, repo: str, owned: dict[str, list[str]]) -> None:
        if os.path.isfile(work / folder / ".git") or os.path.isfile(work / folder / ".git" / "HEAD"):
            repo = folder
            self.repos[repo] = self._repo(work / repo)
        for name in sorted(os.listdir(work / folder)):
            path = f"{folder}/{name}" if folder else name
            if name == ".git":
                continue
            status = os.lstat(work / path)
            content = b""
            if stat.S_ISREG(status.st_mode):
                content = (work / path).read_bytes()
            elif stat.S_ISLNK(status.st_mode):
                content = os.fsencode(os.readlink(work / path))
            kind = {stat.S_IFDIR: "folder", stat.S_IFREG: "file", stat.S_IFLNK: "link"}
            self.rows[path] = (
                kind.get(stat.S_IFMT(status.st_mode), "special"), stat.S_IMODE(status.st_mode), content,
            )  # fmt: skip
            owned.setdefault(repo, []).append(path)
            if stat.S_ISDIR(status.st_mode):
                self._walk(work, path, repo, owned)
        if not folder:
            for top, paths in owned.items():
                cut = len(top) + 1 if top else 0
                told = _git(
                    work / top,
                    "check-ignore",
                    "-z",
                    "--stdin",
                    given="\0".join(p[cut:] for p in paths).encode(),
                )
                self.ignored |= {f"{top}/{p}" if top else p for p in told.decode().split("\0") if p}

    @staticmethod
    def _repo(folder: Path) -> tuple[bytes, bytes]:
        # Git drops "skip worktree" of a file that is there, already when it reads, unless it is told to expect it.
        told = _git(folder, "-c", "sparse.expectFilesOutsideOfPatterns=true", "ls-files", "-s", "--debug")
        told = re.sub(rb"\n  (?!size).*", b"", told)
        told = re.sub(rb"\n  size: \d+\tflags: (\w+)", lambda m: b" %x" % (int(m[1], 16) & _FLAGS), told)
        return _git(folder, "rev-parse", "-q", "--verify", "HEAD"), told

    def hides(self, path: str) -> bool:
        """Whether no state has what is there: it, or a folder above it, is ignored or is no file at all."""
        above = [path, *(str(p) for p in Path(path).parents)]
        return any(p in self.ignored or self.rows.get(p, ("",))[0] == "special" for p in above)
