"""Commits that nothing but the reflog of a worktree leads to any more: they go with it.

Read from the files, bounded, and only as far back as git itself keeps what no branch leads to.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pygit2
from pygit2.enums import SortMode

from worldline.workspace import gitfiles

_DAYS = 30
"""git's own limit for what nothing leads to, where none is set."""
_NEVER = ("never", "false")
_MAX_BYTES = 4 << 20
"""Of one reflog, its end."""
_MAX_ALL = 64 << 20
_HEAD = "logs/HEAD"


def entries(gitdir: Path, config: pygit2.Config, name: str = _HEAD) -> list[str]:
    """Ids that a reflog names and git would not drop from it yet, the newest first, each once."""
    try:
        data = gitfiles.read(gitdir, name)[-_MAX_BYTES:]
    except OSError:  # there is none, or something that is no file
        return []
    oldest = _oldest(config)
    found: dict[str, None] = {}
    for line in reversed(data.splitlines()):
        before, _, rest = line.partition(b" ")
        after, _, who = rest.partition(b" ")
        told = who.partition(b"\t")[0].split()
        if len(told) < 2 or not told[-2].isdigit() or len(before) != 40 or len(after) != 40:
            continue  # cut off where the reading began, or damaged
        if int(told[-2]) < oldest:
            break
        for oid in (after, before):
            if oid.strip(b"0"):
                found.setdefault(oid.decode("ascii", "replace"))
    return list(found)


def _oldest(config: pygit2.Config) -> float:
    """The time before which entries are dropped. A limit of another kind than days is taken as git's own."""
    days = float(_DAYS)
    if "gc.reflogexpireunreachable" in config:
        text = str(config["gc.reflogexpireunreachable"]).strip().lower()
        if text in _NEVER:
            return 0
        number, _, unit = text.replace(".", " ").partition(" ")
        if number.isdigit() and unit.split()[:1] in ([], ["day"], ["days"]):
            days = float(number)
    return time.time() - days * 86_400


def elsewhere(gitdir: Path, common: Path, config: pygit2.Config) -> Iterator[str]:
    """Ids in the reflogs that stay when this worktree goes: those of branches, and of HEAD in other worktrees."""
    places = [(common, name) for name in gitfiles.files_below(common, "logs")]
    worktrees = common / "worktrees"
    if worktrees.is_dir():
        places += [(place, _HEAD) for place in sorted(worktrees.iterdir())]
    room = _MAX_ALL
    for folder, name in places:
        if folder == gitdir:
            continue
        try:
            room -= (folder / name).lstat().st_size
        except OSError:
            continue
        if room < 0:
            return
        yield from entries(folder, config, name)


def commits(repo: pygit2.Repository, ids: Iterable[str]) -> list[pygit2.Oid]:
    """Those that are still there."""
    found = []
    for text in ids:
        try:
            oid = pygit2.Oid(hex=text)
            if oid in repo and isinstance(repo[oid], pygit2.Commit):
                found.append(oid)
        except (ValueError, KeyError, pygit2.GitError):
            continue
    return found


def walk(
    repo: pygit2.Repository, tips: Iterable[pygit2.Oid], safe: Iterable[pygit2.Oid]
) -> Iterator[pygit2.Commit]:
    """Commits that `tips` lead to and none of `safe` does, each before those that it was made on."""
    walker = None
    for tip in tips:
        if walker is None:
            walker = repo.walk(tip, SortMode.TOPOLOGICAL)
        else:
            walker.push(tip)
    if walker is None:
        return
    for commit in safe:
        walker.hide(commit)
    yield from walker
