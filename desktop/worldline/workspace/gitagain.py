"""Making a nested repository again whose git folder was deleted, and taking that back."""

from __future__ import annotations

import base64
import contextlib
import errno
import os
import re
import shutil
import stat
from pathlib import Path

from worldline.core.plainfile import read_plain
from worldline.workspace import aside, durable, gitfiles, gitmove
from worldline.workspace.gitcopy import is_copied, write_copy
from worldline.workspace.journal import Journal
from worldline.workspace.model import KEPT, PlanItem
from worldline.workspace.objects import object_id
from worldline.workspace.repos import GitRoot
from worldline.workspace.safefs import NO_FOLDER, SafeTree, rename_new
from worldline.workspace.states import RootState, State, put_index, repositories_to_go
from worldline.workspace.store import Store

_WORKTREE = re.compile(rb"(?m)^([ \t]*worktree[ \t]*=[ \t]*)([^\s\"\\#;]+)[ \t]*$")
"""Where a configuration names the folder of the files, as git writes it for names without anything odd."""
_MARK = "worldline-restore"
"""File in a git folder that we made; it holds the token of the restore until that is finished."""


def can_remake(work: Path, wanted: RootState, tree: SafeTree, journal: Journal) -> bool:
    """Whether the repository can be made again: nothing is at its `.git`, nothing but folders above once the items are carried
    out, and its history is known, or comes with a repository around it."""
    try:
        if not wanted.path or tree.lstat(f"{wanted.path}/.git") is not None:
            return False
        parts = wanted.path.split("/")
        for depth in range(1, len(parts) + 1):
            part = "/".join(parts[:depth])
            status = tree.lstat(part)
            if status is not None and not stat.S_ISDIR(status.st_mode):
                if any(
                    i.path == part and (i.action == "delete" or stat.S_ISDIR(i.mode)) for i in journal.items
                ):
                    break
                return False
    except PermissionError:  # nobody knows what is there
        return False
    if not wanted.pointer:
        return bool(wanted.git)
    if comes_along(work, wanted, journal):
        return True
    try:
        root = _behind(work, wanted)
    except (OSError, ValueError):
        return False
    return (root.gitdir / "HEAD").is_file() and not root.foreign()


def comes_along(work: Path, wanted: RootState, journal: Journal) -> bool:
    """Whether its `.git` file leads into a git folder that is made again, with all that is in it: a submodule of that one."""
    if not wanted.pointer:
        return False
    place = Path(os.path.normpath(work / wanted.path / _target(wanted.pointer)))
    return any(place.is_relative_to(work / path / ".git") for path in journal.made_git)


def _target(pointer: str) -> str:
    return os.fsdecode(os.fsencode(pointer)[7:].strip())


def _gitdir(work: Path, path: str, pointer: str) -> Path:
    # By text: the folder that `..` starts from may be gone.
    return Path(os.path.normpath(work / path / _target(pointer))).resolve()


def root_of(work: Path, wanted: RootState) -> tuple[GitRoot, RootState]:
    """The repository behind a pointer that is gone, and what is known of it now."""
    root = _behind(work, wanted)
    root.trouble = root.foreign() or root.find_trouble()
    head = root.head()
    return root, RootState(wanted.path, head.commit, head.ref, wanted.pointer)


def _behind(work: Path, wanted: RootState) -> GitRoot:
    gitdir = _gitdir(work, wanted.path, wanted.pointer)
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
        _configure(work, journal, wanted.path, back=False)
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


def _configure(work: Path, journal: Journal, path: str, *, back: bool) -> None:
    """Write the configuration of a git folder that says where its files are, if it is as it was seen. Raises OSError."""
    if path not in journal.configs:
        return
    pointer, *texts = journal.configs[path]
    before, after = (base64.b64decode(text) for text in (reversed(texts) if back else texts))
    gitdir = _gitdir(work, path, pointer)
    if gitfiles.read(gitdir, "config") == before:
        gitfiles.replace(gitdir, "config", after)


def unmake(work: Path, journal: Journal, tree: SafeTree) -> None:
    """Take away what was made. Only what is ours by its mark, or a pointer that nobody changed."""
    for path in journal.made_git:
        with contextlib.suppress(OSError):
            _configure(work, journal, path, back=True)
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


def note(work: Path, journal: Journal, wanted: RootState) -> None:
    """Write down what is about to be made."""
    journal.made_git.append(wanted.path)
    if wanted.pointer:
        journal.pointers[wanted.path] = _digest(os.fsencode(wanted.pointer))
        if texts := _moved_config(work, journal, wanted):
            journal.configs[wanted.path] = [
                wanted.pointer,
                *(base64.b64encode(text).decode("ascii") for text in texts),
            ]


def _moved_config(work: Path, journal: Journal, wanted: RootState) -> tuple[bytes, bytes] | None:
    """The configuration of the git folder behind a `.git` file, and what it is to be, where it names another folder as that
    of its files: `git mv` writes it, and without that no command of git works at the old place. None: it stays, also
    where that other folder is in use."""
    gitdir = _gitdir(work, wanted.path, wanted.pointer)
    try:
        text = gitfiles.read(gitdir, "config")
    except OSError:
        return None
    named = _WORKTREE.search(text)
    if named is None:
        return None
    place = Path(os.path.normpath(gitdir / os.fsdecode(named[2])))
    mine = work / wanted.path
    gone = [work / path for path in journal.gone_git]
    if place == mine or (place not in gone and os.path.lexists(place / ".git")):
        return None
    relative = os.fsencode(os.path.relpath(mine, gitdir))
    return text, text[: named.start(2)] + relative + text[named.end(2) :]
