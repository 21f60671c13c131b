"""Making the folder of a session anew, from a state, where the old one is gone. A folder that is there is never touched.

Everything is made under a passing name beside the place and put there in one step, so that a kill leaves no half of it: the
next try begins anew.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

import pygit2

from worldline.core import paths
from worldline.core.errors import WorkspaceError
from worldline.core.plainfile import read_plain
from worldline.workspace import copytree, durable, gitmove, guard, registration, worktrees
from worldline.workspace.engine import Workspace
from worldline.workspace.removal import remove_tree
from worldline.workspace.repos import GitRoot
from worldline.workspace.states import RootState
from worldline.workspace.store import Store

_OWN = "refs/heads/worldline/"


@dataclass(slots=True)
class Origin:
    """The repository that the folder was a worktree of."""

    source: Path
    session: str
    base_commit: str = ""
    base_branch: str = ""
    was_at: Path | None = None
    """Where the folder was."""


@dataclass(slots=True)
class Made:
    folder: Path
    files: int = 0
    linked: bool = False
    """It is a worktree of the repository again."""
    notes: list[str] = field(default_factory=list)


def may_be_made(folder: Path) -> bool:
    """Whether a folder of this name can be made: the one around it is there and writable. Folders around it are not made: a
    disk that is not mounted would get a second self below its mount point."""
    return folder.parent.is_dir() and os.access(folder.parent, os.W_OK | os.X_OK)


def make(folder: Path, store: Path, state: str, origin: Origin | None, session: str) -> Made:
    """Make `folder` with the files of `state`; where `origin` is still there, as its worktree with HEAD and staging area.

    Raises `WorkspaceError`: `exists`, `refused`, `not_writable`, `missing_state` (then there is nothing to make it from), and what `guard.refuse` raises.
    Nothing is left then."""
    if os.path.lexists(folder):
        raise WorkspaceError(
            f"{folder} is there already.",
            "Choose another place; a folder that exists is never touched.",
            kind="exists",
        )
    if not may_be_made(folder):
        raise WorkspaceError(
            f"{folder} cannot be made: {folder.parent} is not there, or not writable.",
            "Choose another place.",
            kind="not_writable",
        )
    _refuse_anothers(folder, session)
    passing = folder.with_name(f".{folder.name}.worldline-made-anew")
    if os.path.lexists(passing):  # of a try that was killed; it was nobody's place yet
        remove_tree(passing)
    fresh: list[Path] = []
    passing.mkdir(mode=0o700 if folder.parent == paths.worktrees_dir() else 0o777)
    try:
        guard.refuse(passing, session_id=session)
        made = Made(folder)
        _forget_unfinished(passing, store)
        if origin is not None:
            made.linked = _link(passing, folder, store, state, origin, made.notes, fresh)
        _fill(passing, store, state, made)
        durable.sync_filesystem(passing)
        _put(passing, folder)
    except BaseException:
        remove_tree(passing)
        for entry in fresh:
            remove_tree(entry)
        raise
    return made


def _refuse_anothers(folder: Path, session: str) -> None:
    """Raise `WorkspaceError` (kind `refused`) for a place in the worktree of another session, there or to come back."""
    home = paths.worktrees_dir().resolve()
    real = folder.parent.resolve() / folder.name
    if home not in real.parents:
        return
    top = home / real.relative_to(home).parts[0]
    owner = worktrees.info_of(top).get("session", session)
    if owner != session or (top != real and any(top.iterdir())):
        raise WorkspaceError(
            f"{folder} is in the folder of another session.", "Choose another place.", kind="refused"
        )


def _put(passing: Path, folder: Path) -> None:
    if os.path.lexists(folder):  # rename would replace an empty one
        raise WorkspaceError(f"{folder} is there by now.", "Choose another place.", kind="exists")
    passing.rename(folder)
    durable.sync_path(folder.parent)


def _forget_unfinished(folder: Path, store: Path) -> None:
    """A restore that was cut off when the old folder went is over: what it was about to replace is gone."""
    workspace = Workspace(folder, store, watch=False)
    try:
        workspace.recover()
    finally:
        workspace.close()


def _fill(folder: Path, store: Path, state: str, made: Made) -> None:
    workspace = Workspace(folder, store, watch=False)
    try:
        gone = workspace.missing({state})
        if gone:
            raise WorkspaceError(
                f"The files of the last step are not whole in the store ({gone[state]}).",
                "Without them the folder cannot be made anew; the conversation can be read and exported.",
                kind="missing_state",
            )
        plan = workspace.plan(state, last=state, users=set(), choices={}, default_choice="restore")
        report = workspace.apply(plan, new_branch=None)
        if not report.done:
            raise WorkspaceError("The files could not be put in place.", report.note, kind="not_writable")
        made.files = sum(item.action == "create" for item in plan.items)
        if report.note:
            made.notes.append(report.note)
    finally:
        workspace.close()


def _link(
    passing: Path,
    folder: Path,
    store_path: Path,
    state: str,
    origin: Origin,
    notes: list[str],
    fresh: list[Path],
) -> bool:
    """Make `passing` a worktree that will lie at `folder`. False, with a note, where the repository is gone or refuses.
    `fresh` gets the entry if there was none."""
    root = GitRoot.find(origin.source, "") or GitRoot.find_outer(origin.source)
    repo = root.repo if root is not None else None
    if root is None or repo is None:
        notes.append(
            f"The repository {origin.source} is not there any more: the folder has its files and no git."
        )
        return False
    store = Store(store_path)
    try:
        wanted = _main_root(store, state)
        if wanted is None or wanted.trouble:
            notes.append("What git had there is not known: the folder has its files and no git.")
            return False
        gitmove.give_back(repo, store, wanted)
    finally:
        store.close()
    entry = _entry_for(root, folder, origin.session)
    if not entry.exists():
        fresh.append(entry)
    if not (entry / "HEAD").exists():  # new, or of a try that was killed
        entry.mkdir(parents=True, exist_ok=True)
        # Of the old ones nothing is known any more; the new worktree began with those of the person's folder as well.
        copytree.carry_settings(root.gitdir, entry)
    for name, text in (
        ("locked", _locked_by(origin.session)),
        ("commondir", "../..\n"),
        ("gitdir", f"{folder / '.git'}\n"),
        ("HEAD", _head(root, repo, wanted)),
    ):
        durable.write_durably(entry / name, os.fsencode(text))
    (passing / ".git").write_bytes(b"gitdir: " + os.fsencode(entry) + b"\n")
    _unlock_old(root, folder, origin)
    if folder.parent == paths.worktrees_dir():
        info = {
            "source": str(root.work), "entry": str(entry), "session": origin.session,
            "base_commit": origin.base_commit, "base_branch": origin.base_branch,
        }  # fmt: skip
        folder.with_name(folder.name + ".info").write_text(json.dumps(info), "utf-8")
    return True


def _unlock_old(root: GitRoot, folder: Path, origin: Origin) -> None:
    """The registration of the place where it was is git's to forget now, unless the folder comes back."""
    old = origin.was_at
    if old is None or old == folder:
        return
    entry = root.common / "worktrees" / old.name
    with contextlib.suppress(OSError):
        is_ours = read_plain(entry / "locked", 10_000) == os.fsencode(_locked_by(origin.session))
        if is_ours and os.fsdecode(read_plain(entry / "gitdir", 10_000)).strip() == str(old / ".git"):
            (entry / "locked").unlink()


_LOCKED = "used by Worldline session {session}\n"
"""For git, which shows it to who wants to remove the worktree; the same in every language."""


def _locked_by(session: str) -> str:
    return _LOCKED.format(session=session)


def _main_root(store: Store, state: str) -> RootState | None:
    from worldline.workspace.states import State

    return State.load(store, state).main


def _entry_for(root: GitRoot, folder: Path, session: str) -> Path:
    """The entry that the old worktree had there, or one that was begun for it, or the name of a new one."""
    entries = root.common / "worktrees"
    known = entries / folder.name
    for number in range(1, 1000):
        if not os.path.lexists(known):
            return known
        try:
            is_ours = read_plain(known / "locked", 10_000) == os.fsencode(_locked_by(session))
        except OSError:
            is_ours = False
        if registration.is_of(known, folder, begun=is_ours):
            return known
        known = entries / f"{folder.name}-{number}"
    raise WorkspaceError(
        f"There are too many worktrees called {folder.name} in {root.common}.", "Prune them with git."
    )


def _head(root: GitRoot, repo: pygit2.Repository, wanted: RootState) -> str:
    """HEAD as it was, on the branch where that is still at this commit and free."""
    ref, commit = wanted.ref, wanted.head
    if not commit:
        return f"ref: {ref}\n"
    if ref.startswith(_OWN) and not root.resolve(ref):
        repo.references.create(ref, pygit2.Oid(hex=commit), force=False)
    if ref and root.resolve(ref) == commit and not gitmove.checked_out_elsewhere(root, ref):
        return f"ref: {ref}\n"
    return f"{commit}\n"
