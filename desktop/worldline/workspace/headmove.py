"""Putting HEAD of the person's own folder on a branch of the session, and back on theirs.

Only HEAD moves, by git's own lock protocol: no file, no staged entry and no other branch is touched, so that it is safe
whatever lies uncommitted. What git itself would refuse is refused here for the same reasons.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

import pygit2

from worldline.core.errors import WorkspaceError
from worldline.workspace import gitfiles
from worldline.workspace.gitlock import LockHeld, locked_replace
from worldline.workspace.gitmove import checked_out_elsewhere, short
from worldline.workspace.repos import GitRoot, operation_of

_STALE_S = 10.0
"""A lock of ours that is older than this was left by a kill: it is held for less than a millisecond."""


@dataclass(slots=True, frozen=True)
class Standing:
    """Where HEAD of a folder is."""

    ref: str = ""
    """Full name of the branch, "" = detached."""
    commit: str = ""
    """"" = the branch has no commit yet."""
    stays: str = ""
    """Why HEAD must not be moved now, in words for people; "" = it can be."""
    is_git: bool = True
    """False: the folder is not the top of a repository, so there is no HEAD of its own."""


@dataclass(slots=True, frozen=True)
class Returned:
    """HEAD is on the person's branch again."""

    ahead: int
    """Commits that are on the branch which was left and not on theirs: what they changed is staged now."""
    commit: str
    """Where the branch that was left stands."""


def look(work: Path) -> Standing:
    """Where HEAD is. Removes a lock that a kill of ours left."""
    root = GitRoot.find(work, "")
    if root is None:
        return Standing(is_git=False)
    _clean(root.gitdir)
    head = root.head()
    if root.trouble or root.repo is None:
        return Standing(
            head.ref, head.commit, f"of this repository only files can be put back: {root.trouble}"
        )
    if operation := operation_of(set(root.progress())):
        return Standing(head.ref, head.commit, f"a {operation} is in progress, which belongs to that branch")
    return Standing(head.ref, head.commit)


def is_at(work: Path, branch: str, commit: str) -> bool:
    """Whether a branch (short name) stands at `commit` and is checked out nowhere else."""
    root = GitRoot.find(work, "")
    ref = f"refs/heads/{branch}"
    return root is not None and root.resolve(ref) == commit and not checked_out_elsewhere(root, ref)


def put_on(work: Path, seen: Standing, branch: str) -> None:
    """Put HEAD on `branch` (short name), which is made at the commit of HEAD unless it stands there already.

    Raises `WorkspaceError`: `head_moved` (HEAD is not where `seen` says), `repo_busy`, `no_branch` (it cannot be made).
    Then HEAD is as before.
    """
    root, repo = _open(work)
    _still(root, seen)
    ref = f"refs/heads/{branch}"
    made = False
    if seen.commit and root.resolve(ref) != seen.commit:
        try:
            repo.references.create(ref, pygit2.Oid(hex=seen.commit), force=False)
        except (KeyError, ValueError, OSError, pygit2.GitError) as error:
            raise WorkspaceError(
                f"The branch {branch} cannot be made ({error}).",
                "A branch named `worldline` is in its way if there is one: rename that.",
                kind="no_branch",
            ) from error
        made = True
    try:
        _move(root, seen, f"ref: {ref}\n", branch)
    except BaseException:
        if made:
            repo.references.delete(ref)
        raise


def go_home(work: Path, ref: str, commit: str) -> Returned:
    """Put HEAD back on the person's branch `ref` ("" = detached at `commit`); `commit`: where HEAD was when it left, "" =
    the branch had none. Files and staging area stay as they are.

    Raises `WorkspaceError`: `repo_busy` (merge or rebase in progress, HEAD locked), `branch_elsewhere` (checked out in another
    worktree), `branch_moved` (deleted, or with commits that what lies here does not have).
    """
    root, repo = _open(work)
    now = look(work)
    name = short(ref) or commit[:10]
    if now.stays:
        raise WorkspaceError(
            f"HEAD cannot go back to {name}: {now.stays}.",
            "Finish it or give it up with git, then return.",
            kind="repo_busy",
        )
    if ref and (place := checked_out_elsewhere(root, ref)):
        raise WorkspaceError(
            f"{name} is checked out in {place}, and a branch can be checked out only once.",
            f"Switch to another branch there, or remove that worktree with `git worktree remove {place}`.",
            kind="branch_elsewhere",
        )
    tip = root.resolve(ref) if ref else commit
    if ref and commit and not tip:
        raise WorkspaceError(
            f"The branch {name} is not there any more.",
            f"Make it again with `git branch {name} {commit[:10]}`, then return.",
            kind="branch_moved",
        )
    ahead = 0
    if tip and tip != now.commit:
        if not now.commit or not _descends(repo, now.commit, tip):
            raise WorkspaceError(
                f"{name} has commits that the files here do not have.",
                f"Go there with `git switch {name}`, or merge it into the branch of the session first.",
                kind="branch_moved",
            )
        ahead = repo.ahead_behind(pygit2.Oid(hex=now.commit), pygit2.Oid(hex=tip))[0]
    elif not tip and now.commit:
        ahead = sum(1 for _ in repo.walk(pygit2.Oid(hex=now.commit)))
    _move(root, now, f"ref: {ref}\n" if ref else f"{tip}\n", name, new=tip)
    return Returned(ahead, now.commit)


def _descends(repo: pygit2.Repository, commit: str, tip: str) -> bool:
    try:
        return repo.descendant_of(pygit2.Oid(hex=commit), pygit2.Oid(hex=tip))
    except (KeyError, ValueError, pygit2.GitError):
        return False


def _open(work: Path) -> tuple[GitRoot, pygit2.Repository]:
    root = GitRoot.find(work, "")
    repo = root.repo if root is not None else None
    if root is None or repo is None:
        raise WorkspaceError(
            f"{work} is not the top of a repository that can be opened.",
            root.trouble if root is not None else "",
            kind="no_repository",
        )
    return root, repo


def _still(root: GitRoot, seen: Standing) -> None:
    head = root.head()
    if (head.ref, head.commit) != (seen.ref, seen.commit):
        raise WorkspaceError("HEAD was moved by somebody else just now.", "Try again.", kind="head_moved")


def _move(root: GitRoot, now: Standing, text: str, to: str, new: str = "") -> None:
    try:
        locked_replace(root.gitdir / "HEAD", text.encode("utf-8", "surrogateescape"), secrets.token_hex(8))
    except LockHeld as error:
        raise WorkspaceError(
            "HEAD is locked by another git command.",
            "Wait until it has finished, or remove the lock file if no git is running.",
            kind="repo_busy",
        ) from error
    _reflog(root, now, to, new or now.commit)


def _reflog(root: GitRoot, now: Standing, to: str, new: str) -> None:
    """As git writes it, so that `git switch -` and `@{-1}` lead back."""
    zero = "0" * 40
    line = (
        f"{now.commit or zero} {new or zero} Worldline <worldline@localhost> {int(time.time())} +0000\t"
        f"checkout: moving from {short(now.ref) or now.commit} to {to}\n"
    )
    gitfiles.append(root.gitdir, "logs/HEAD", line)


def _clean(gitdir: Path) -> None:
    """A kill between taking the lock and giving it back leaves it: git would refuse everything from then on."""
    lock = gitdir / "HEAD.lock"
    for temp in gitdir.glob("HEAD.worldline-*"):
        with contextlib.suppress(OSError):
            if time.time() - temp.stat().st_mtime < _STALE_S:
                continue
            if lock.exists() and os.path.samestat(temp.stat(), lock.stat()):
                lock.unlink()
            temp.unlink()
