"""Removing an isolated worktree, only with a list of what would be lost."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pygit2
from pygit2.enums import FileStatus

from worldline.core import paths
from worldline.core.errors import WorkspaceError
from worldline.workspace import leases
from worldline.workspace.repos import GitRoot

_MAX_NAMED = 200


def would_lose(path: Path) -> list[str]:
    """What removing the worktree would lose, one line each: files that are in no commit, commits on no other branch."""
    root = GitRoot.find(path, "")
    repo = root.repo if root is not None else None
    if root is None or repo is None:
        names = [str(p.relative_to(path)) for p in sorted(path.rglob("*")) if p.is_file()]
        return [f"file {name} (git cannot say whether it is in a commit)" for name in names[:_MAX_NAMED]]
    lost = []
    for name, status in sorted(repo.status(untracked_files="all").items()):
        if not status & FileStatus.IGNORED:
            word = "untracked" if status & FileStatus.WT_NEW else "changed"
            lost.append(f"{word} file {name}")
    head = root.head()
    if head.commit:
        walk = repo.walk(pygit2.Oid(hex=head.commit))
        for name in repo.references:
            reference = repo.references[name]
            own = name == head.ref or name.startswith("refs/heads/worldline/")
            if not own and isinstance(reference.target, pygit2.Oid):
                try:
                    walk.hide(repo[reference.target].peel(pygit2.Commit).id)
                except pygit2.GitError:  # a tag of a file or tree protects no commit
                    continue
        lost += [f"commit {str(c.id)[:10]} {c.message.splitlines()[0] if c.message else ''}" for c in walk]
    return lost[:_MAX_NAMED]


def remove(path: Path, confirmed: list[str]) -> None:
    """Remove a worktree. `confirmed` must be what `would_lose` says now, so that nothing goes that was not named.

    Its branches stay in the repository (their commits with them). Raises `WorkspaceError`: `leased`, `changed`, and
    `refused` for anything that is not a worktree of ours."""
    path = path.absolute()
    info_file = path.with_name(path.name + ".info")
    if path.parent != paths.worktrees_dir() or not info_file.is_file():
        raise WorkspaceError(
            f"{path} is not a worktree that Worldline made.", "Remove it by hand.", kind="refused"
        )
    if leases.read(path) is not None:
        leases.check(path, "")
        raise WorkspaceError(f"{path} is in use by this session.", "Close the session first.", kind="leased")
    if would_lose(path) != confirmed:
        raise WorkspaceError(
            f"What is in {path} has changed since it was shown; nothing was removed.",
            "Look at the list again.",
            kind="changed",
        )
    entry = Path(json.loads(info_file.read_text("utf-8"))["entry"])
    shutil.rmtree(path)
    if entry.parent.name == "worktrees" and (entry / "gitdir").is_file():
        shutil.rmtree(entry)
    info_file.unlink()
