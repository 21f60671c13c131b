"""Making a nested repository again whose git folder was deleted, and taking that back."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

from worldline.core.plainfile import read_plain
from worldline.workspace import aside, durable, gitmove
from worldline.workspace.gitcopy import is_copied, write_copy
from worldline.workspace.journal import Journal
from worldline.workspace.model import KEPT, PlanItem
from worldline.workspace.objects import object_id
from worldline.workspace.repos import GitRoot
from worldline.workspace.safefs import NO_FOLDER, SafeTree, rename_new
from worldline.workspace.states import RootState, State, put_index, repositories_to_go
from worldline.workspace.store import Store

_MARK = "worldline-restore"
"""File in a git folder that we made; it holds the token of the restore until that is finished."""


def can_remake(work: Path, wanted: RootState, tree: SafeTree, items: Sequence[PlanItem]) -> bool:
    """Whether the repository can be made again: nothing is at its `.git`, nothing but folders above once the `items` are
    carried out, and its history is known."""
    try:
        if not wanted.path or tree.lstat(f"{wanted.path}/.git") is not None:
            return False
        parts = wanted.path.split("/")
        for depth in range(1, len(parts) + 1):
            part = "/".join(parts[:depth])
            status = tree.lstat(part)
            if status is not None and not stat.S_ISDIR(status.st_mode):
                if any(i.path == part and (i.action == "delete" or stat.S_ISDIR(i.mode)) for i in items):
                    break
                return False
    except PermissionError:  # nobody knows what is there
        return False
    if not wanted.pointer:
        return bool(wanted.git)
    try:
        root = _behind(work, wanted)
    except (OSError, ValueError):
        return False
    return (root.gitdir / "HEAD").is_file() and not root.foreign()


def _target(pointer: str) -> str:
    return os.fsdecode(os.fsencode(pointer)[7:].strip())


def root_of(work: Path, wanted: RootState) -> tuple[GitRoot, RootState]:
    """The repository behind a pointer that is gone, and what is known of it now."""
    root = _behind(work, wanted)
    root.trouble = root.foreign() or root.find_trouble()
    head = root.head()
    return root, RootState(wanted.path, head.commit, head.ref, wanted.pointer)


def _behind(work: Path, wanted: RootState) -> GitRoot:
    # By text: the folder that `..` starts from may be gone.
    gitdir = Path(os.path.normpath(work / wanted.path / _target(wanted.pointer))).resolve()
    root = GitRoot(wanted.path, work / wanted.path, gitdir, gitdir, os.fsencode(wanted.pointer))
    if (gitdir / "commondir").is_file():
        root.common = (gitdir / os.fsdecode(read_plain(gitdir / "commondir").strip())).resolve()
    return root


def remake(
    work: Path, journal: Journal, wanted: RootState, target: State, tree: SafeTree, staging: int,
    stat_of: gitmove.StatOf,
) -> None:  # fmt: skip
    """Make `.git` in one step. The journal already holds its path."""
    tree.make_folder(wanted.path, journal.folder_perm)
    name = f"git-{journal.made_git.index(wanted.path)}"
    staged = work / journal.staging / name
    if wanted.pointer:
        staged.write_bytes(os.fsencode(wanted.pointer))
    else:
        write_copy(target.store, wanted.git, staged)
        (staged / _MARK).write_text(journal.token, "ascii")
        root = GitRoot(wanted.path, work / wanted.path, staged, staged)
        if wanted.index:
            (staged / "index").write_bytes(gitmove.index_bytes(root, target, wanted, stat_of))
        known = wanted.ref and root.resolve(wanted.ref) == wanted.head
        text = f"ref: {wanted.ref}\n" if known else f"{wanted.head}\n"
        (staged / "HEAD").write_text(text, "utf-8", "surrogateescape")
    # A repository whose files are empty after a loss of power would be worse than none.
    durable.sync_filesystem(work)
    rename_new(name, staging, ".git", tree.folder(wanted.path))


def to_drop(now: State, wanted: State, last: State, items: list[PlanItem]) -> list[str]:
    """Nested repositories that go when the target does not have them. Never one that the person made or works in, that
    was not recorded before, or of which there is no copy."""
    kept = [item.path for item in items if item.action in KEPT]
    return [
        root.path
        for root in repositories_to_go(now, wanted, last)
        if not any(path.startswith(root.path + "/") for path in kept)
    ]


def drop(journal: Journal, now: State, tree: SafeTree, staging: int) -> list[str]:
    """Move the git folders away that the journal names. Returns those that stay: something was done in them since they were
    copied (a commit, say), of which there is no copy."""
    copies = {root.path: root for root in now.roots}
    stays: list[str] = []
    for number, path in enumerate(journal.gone_git):
        gone, root = f"gone-{number}", copies[path]
        try:
            rename_new(".git", tree.folder(path), gone, staging)
        except (FileNotFoundError, NotADirectoryError):
            continue
        if root.pointer:  # all that it leads to stays
            continue
        folder = tree.root / journal.staging / gone
        if not (is_copied(now.store, root.git, folder) and _same_index(now.store, root, folder)):
            aside.give_back(tree, staging, gone, f"{path}/.git")
            stays.append(path)
    return stays


def _same_index(store: Store, root: RootState, folder: Path) -> bool:
    again = GitRoot(root.path, folder, folder, folder)
    again.refresh_index()
    return put_index(store, again.entries) == root.index


def put_back(journal: Journal, tree: SafeTree) -> list[str]:
    """Undo `drop`. Can be repeated. Returns the folders in the place of which somebody has put something else by now."""
    taken = []
    with contextlib.suppress(FileNotFoundError):
        staging = tree.folder(journal.staging)
        for number, path in enumerate(journal.gone_git):
            try:
                os.stat(f"gone-{number}", dir_fd=staging, follow_symlinks=False)
                tree.make_folder(path, journal.folder_perm)
                rename_new(f"gone-{number}", tree.folder(journal.staging), ".git", tree.folder(path))
            except FileNotFoundError:  # it was not moved away yet, or is back
                continue
            except OSError as error:
                if error.errno not in (errno.EEXIST, *NO_FOLDER):
                    raise
                taken.append(path)
    tree.drop()
    return taken


def unmark(work: Path, journal: Journal) -> None:
    """The restore is finished: what was made is the person's now."""
    for path in journal.made_git:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # a pointer file bears no mark
            (work / path / ".git" / _MARK).unlink()


def unmake(work: Path, journal: Journal, tree: SafeTree) -> None:
    """Take away what was made. Only what is ours by its mark, or a pointer that nobody changed."""
    for path in journal.made_git:
        with contextlib.suppress(OSError):
            folder = tree.folder(path)
            git = work / path / ".git"
            if git.is_dir() and not git.is_symlink():
                if (git / _MARK).read_text("ascii") == journal.token:
                    shutil.rmtree(".git", dir_fd=folder)
            elif _digest(git.read_bytes()) == journal.pointers.get(path):
                os.unlink(".git", dir_fd=folder)
    tree.drop()


def _digest(data: bytes) -> str:
    return object_id(3, data).hex()


def note(journal: Journal, wanted: RootState) -> None:
    """Write down what is about to be made."""
    journal.made_git.append(wanted.path)
    if wanted.pointer:
        journal.pointers[wanted.path] = _digest(os.fsencode(wanted.pointer))
