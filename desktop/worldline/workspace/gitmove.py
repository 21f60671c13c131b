"""Putting a repository's staging area, operation in progress and HEAD where a state says, and back again.

Done with git's own lock protocol: see `gitlock`.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import functools
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

import pygit2

from worldline.core.errors import WorkspaceError
from worldline.core.plainfile import read_plain
from worldline.workspace import durable, gitfiles, indexfile
from worldline.workspace.gitlock import LockHeld, clean_locks, digest_of, locked_replace, put_back
from worldline.workspace.journal import RootMove
from worldline.workspace.objects import MODE_GITLINK
from worldline.workspace.repos import GitRoot
from worldline.workspace.states import RootState, State, put_index, read_index
from worldline.workspace.store import Store

log = logging.getLogger(__name__)

DETACHED = "@"
"""In place of the name of a home branch: HEAD was on none. No branch can be called so."""
StatOf = Callable[[str, bytes], os.stat_result | None]
"""Stat data of a file (named from the workspace) that is known to have the content of this blob; None: it may not."""


def give_back(repo: pygit2.Repository, store: Store, root: RootState) -> None:
    """Write what the repository has lost (`git gc`) back from our copies: the commit of HEAD and staged content."""
    gave = False
    rows = {entry.name: entry for entry in store.tree(root.kept)} if root.kept else {}
    for name, entry in rows.items():
        if name.startswith("b-") and pygit2.Oid(raw=entry.oid) not in repo.odb:
            repo.write(pygit2.enums.ObjectType.BLOB, store.read(entry.oid))
            gave = True
        elif name.startswith("d-"):
            _copy_tree(repo, store, entry.oid)
    for name, entry in rows.items():
        if name.startswith("c-") and pygit2.Oid(hex=name[2:]) not in repo.odb:
            _copy_tree(repo, store, rows["t-" + name[2:]].oid)
            repo.write(pygit2.enums.ObjectType.COMMIT, store.read(entry.oid))
            gave = True
    if gave:
        durable.sync_filesystem(Path(repo.path))


def _copy_tree(repo: pygit2.Repository, store: Store, tree: bytes) -> None:
    if pygit2.Oid(raw=tree) in repo.odb:
        return
    for entry in store.tree(tree):
        if entry.mode == 0o040000:
            _copy_tree(repo, store, entry.oid)
        elif entry.mode != MODE_GITLINK and pygit2.Oid(raw=entry.oid) not in repo.odb:
            repo.write(pygit2.enums.ObjectType.BLOB, store.read(entry.oid))
    repo.write(pygit2.enums.ObjectType.TREE, store.read(tree))


def index_bytes(root: GitRoot, target: State, wanted: RootState, stat_of: StatOf) -> bytes:
    """The staging area of a state as a file. Entries that the present one has too keep its stat data; for others it is
    taken from disk where the file is known to be the staged content, so that `git status` need not read it.

    Git never looks into a file whose stat data it knows: with those of another content it would take a file that was
    edited for unchanged, and overwrite it unasked. It looks again where a file is not older (in seconds) than the staging
    area; ours is newer than the present one, so that the stat data of such entries say nothing any more."""
    written = root.index_sig[0] // 10**9 if root.index_sig else 0
    present = {(e.path, e.oid): e for e in root.entries if e.stage == 0 and 0 < e.stat[2] < written}
    entries = []
    prefix = wanted.path + "/" if wanted.path else ""
    for entry in read_index(target.store, wanted.index):
        known = present.get((entry.path, entry.oid))
        if known is not None and known.mode == entry.mode:
            entry = entry._replace(stat=known.stat, size=known.size)
        elif entry.stage == 0:
            status = stat_of(prefix + entry.path, entry.oid)
            if status is not None:
                stat, size = indexfile.stat_of(status)
                entry = entry._replace(stat=stat, size=size)
        entries.append(entry)
    return indexfile.encode(entries)


_MOVED_SINCE = "HEAD and the staging area stay as they are: the branch of that node has moved since."


def plan_move(
    root: GitRoot, now: RootState, wanted: RootState, new_branch: str | None, home: str = ""
) -> tuple[RootMove, list[str]]:
    """What must happen to one repository, as far as it is known before files are written; and notes for the person.
    `home`: an existing branch to put HEAD on. Raises `WorkspaceError` (kind `branch_moved`)."""
    move = RootMove(wanted.path, str(root.gitdir))
    name = wanted.path or "the repository"
    if now.trouble or wanted.trouble or root.trouble:
        reason = root.trouble or now.trouble or wanted.trouble
        return move, [f"Of {name} only files are put back: {reason}."]
    move.progress_before = {n: base64.b64encode(d).decode("ascii") for n, d in root.progress().items()}
    move.head_before = os.fsdecode(gitfiles.read(root.gitdir, "HEAD"))
    at = functools.cache(root.resolve)
    ref, note = _choose_ref(root, now, wanted, new_branch, home if not wanted.path else "", at)
    if note:
        return RootMove(wanted.path, str(root.gitdir)), [note]
    tip = at(ref) if ref else ""
    if ref and tip == "" and wanted.head:
        move.branch_made, move.branch_at = ref, wanted.head
    elif ref and tip != wanted.head and ref != now.ref:
        raise WorkspaceError(
            f"The branch {ref.removeprefix('refs/heads/')} is not at the commit of this node any more.",
            "Choose another name for the fork, or bring the changes home to that branch instead.",
            kind="branch_moved",
        )
    text = f"ref: {ref}\n" if ref else f"{wanted.head}\n"
    move.head_after = text if text != move.head_before else ""
    return move, []


def short(ref: str) -> str:
    return ref.removeprefix("refs/heads/")


def checked_out_elsewhere(root: GitRoot, ref: str) -> str:
    """The folder of another worktree that has the branch checked out, "" = none. Git allows a branch only once."""
    wanted = os.fsencode(f"ref: {ref}")
    entries = root.common / "worktrees"
    gitdirs = [root.common, *(entries.iterdir() if entries.is_dir() else ())]
    for gitdir in gitdirs:
        if gitdir == root.gitdir:
            continue
        try:
            if read_plain(gitdir / "HEAD").strip() != wanted:
                continue
            if gitdir == root.common:
                return "" if _is_bare(root) else str(root.common.parent)
            place = Path(os.fsdecode(read_plain(gitdir / "gitdir").strip())).parent
        except OSError:
            continue
        if place.exists():  # git forgets a worktree whose folder is gone
            return str(place)
    return ""


def _is_bare(root: GitRoot) -> bool:
    repo = root.repo
    return repo is not None and "core.bare" in repo.config and repo.config.get_bool("core.bare")


def _choose_ref(
    root: GitRoot,
    now: RootState,
    wanted: RootState,
    new_branch: str | None,
    home: str,
    at: Callable[[str], str],
) -> tuple[str, str]:
    """The ref that HEAD goes on ("" = detached at the state's commit), or a note why HEAD stays. `at`: the commit of a ref.
    Raises `WorkspaceError` (kind `branch_elsewhere`)."""
    if home:
        ref = "" if home == DETACHED else f"refs/heads/{home}"
        if ref and (place := checked_out_elsewhere(root, ref)):
            raise WorkspaceError(
                f"{home} is checked out in {place}, and a branch can be checked out only once.",
                f"Switch to another branch there, or remove that worktree with `git worktree remove {place}`.",
                kind="branch_elsewhere",
            )
        return ref, ""
    if new_branch and not (wanted.path and now.head == wanted.head):
        return f"refs/heads/{new_branch}", ""
    if (
        wanted.ref
        and at(wanted.ref) == wanted.head
        and (wanted.ref == now.ref or not checked_out_elsewhere(root, wanted.ref))
    ):
        return wanted.ref, ""
    if now.head == wanted.head:
        return now.ref, ""
    if not wanted.path:
        return "", _MOVED_SINCE
    if not wanted.head:  # there is no commit that HEAD could be put on without a branch
        return "", f"{wanted.path}: {_MOVED_SINCE}"
    return "", ""


def carry_out(
    root: GitRoot,
    move: RootMove,
    target: State,
    wanted: RootState,
    now: RootState,
    token: str,
    note: Callable[[str], None],
) -> None:
    """Do it. The journal already holds `move`. Raises `WorkspaceError` when the repository refuses."""
    if wanted.trouble or now.trouble:
        return
    moves = wanted.head != now.head or bool(move.index_after)
    repo = root.reopen() if moves else root.repo
    if repo is None:
        return
    try:
        if moves:
            give_back(repo, target.store, wanted)
        if move.branch_made:
            repo.references.create(move.branch_made, pygit2.Oid(hex=move.branch_at), force=False)
            durable.sync_files([root.common / move.branch_made])
    except (KeyError, ValueError, pygit2.GitError, OSError) as error:
        raise WorkspaceError(
            f"The branch for this fork could not be made ({error}).", "Check the repository with `git fsck`."
        ) from error
    if move.progress_moves:
        _write_progress(root.gitdir, move.progress_before, move.progress_after)
    name = wanted.path or "the repository"
    if move.index_after:
        data = (index_file(move)).read_bytes()
        try:
            locked_replace(
                root.gitdir / "index", data, token, check=lambda: _refuse_staged(root, now, target.store)
            )
        except LockHeld:
            move.index_after = ""
            note(f"The staging area of {name} was left as it is: another git command holds its lock.")
    if move.head_after:
        try:
            locked_replace(
                root.gitdir / "HEAD",
                move.head_after.encode("utf-8", "surrogateescape"),
                token,
                check=lambda: _refuse_moved(root, move),
            )
        except LockHeld as error:
            raise WorkspaceError(
                f"HEAD of {name} is locked by another git command.",
                "Wait until it has finished, or remove the lock file if no git is running, then jump again.",
                kind="repo_busy",
            ) from error
        _reflog(root, now.head, wanted.head)


def _refuse_staged(root: GitRoot, now: RootState, store: Store) -> None:
    """Raise `WorkspaceError` (kind `repo_busy`) when somebody has staged something since the safety state was made: nothing
    else would have it."""
    if not now.index:
        return
    again = GitRoot(root.path, root.work, root.gitdir, root.common, trouble=root.trouble)
    again.index_sig, again.entries = root.index_sig, root.entries
    # Most commands of git only look at files, and write down their times.
    if again.refresh_index() is not None and put_index(store, again.entries) != now.index:
        name = root.path or "the repository"
        raise WorkspaceError(
            f"The staging area of {name} was just changed by another git command.",
            "Jump again.",
            kind="repo_busy",
        )


def _refuse_moved(root: GitRoot, move: RootMove) -> None:
    """The same when somebody has moved HEAD since it was read."""
    if gitfiles.read(root.gitdir, "HEAD") != move.head_before.encode("utf-8", "surrogateescape"):
        name = root.path or "the repository"
        raise WorkspaceError(
            f"HEAD of {name} was just moved by another git command.", "Jump again.", kind="repo_busy"
        )


def index_file(move: RootMove) -> Path:
    return Path(move.index_before).with_suffix(".after")


def _reflog(root: GitRoot, old: str, new: str) -> None:
    if old == new:
        return
    zero = "0" * 40
    line = f"{old or zero} {new or zero} Worldline <worldline@localhost> {int(time.time())} +0000\tworldline: jump\n"
    gitfiles.append(root.gitdir, "logs/HEAD", line)


def _write_progress(gitdir: Path, before: dict[str, str], after: dict[str, str]) -> None:
    """Replace the files of an operation in progress. Files that are not the ones recorded are left alone."""
    for name, data in before.items():
        if name not in after:
            gitfiles.remove(gitdir, name, base64.b64decode(data))
    for name, data in after.items():
        try:
            gitfiles.replace(gitdir, name, base64.b64decode(data))
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR, errno.EISDIR):
                raise
            raise WorkspaceError(
                f"{gitdir / name} is not where git would put it: something leads elsewhere there.",
                "Look at it, remove it, then jump again.",
                kind="repo_busy",
            ) from error


def _is_our_index(move: RootMove, data: bytes) -> bool:
    """Whether this staging area is the one that we wrote; that git has looked at files since changes nothing."""
    if digest_of(data) == move.index_after:
        return True
    try:
        ours = indexfile.parse(index_file(move).read_bytes())
        return indexfile.records(indexfile.parse(data)) == indexfile.records(ours)
    except (OSError, indexfile.UnreadableIndex):
        return False


def take_back(move: RootMove, token: str) -> None:
    """Undo `carry_out`, as far as nobody changed things since. Can be repeated."""
    gitdir = Path(move.gitdir)
    if not gitdir.is_dir():
        return
    clean_locks(move, token)
    if move.head_after and gitfiles.is_file(gitdir, "HEAD"):
        was, ours = (text.encode("utf-8", "surrogateescape") for text in (move.head_before, move.head_after))
        put_back(gitdir, "HEAD", was, token, lambda now: now == ours, 10)
    if move.index_after and gitfiles.is_file(gitdir, "index"):
        if move.index_was_there:
            before = Path(move.index_before).read_bytes()
            put_back(gitdir, "index", before, token, lambda now: _is_our_index(move, now), 10)
        elif _is_our_index(move, gitfiles.read(gitdir, "index")):
            (gitdir / "index").unlink()
    if move.progress_moves:
        try:
            _write_progress(gitdir, move.progress_after, move.progress_before)
        except (OSError, WorkspaceError) as error:
            # Everything else goes back all the same; the safety state has these files.
            log.warning("the operation in progress of %s could not be put back: %s", gitdir, error)
    if move.branch_made:
        common = gitdir
        if (gitdir / "commondir").is_file():
            common = (gitdir / os.fsdecode(read_plain(gitdir / "commondir").strip())).resolve()
        for path in (common / move.branch_made, common / "logs" / move.branch_made):
            with contextlib.suppress(OSError):
                if path.parts[-1] and (
                    "logs" in path.parts
                    # Empty: the power was lost before its content was on the disk.
                    or os.fsdecode(read_plain(path)).strip("\0 \n") in (move.branch_at, "")
                ):
                    path.unlink()
