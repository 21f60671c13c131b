"""How much of what went into a new worktree is uncommitted: to be told, so that nobody looks for it in vain."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

import pygit2

from worldline.core.plainfile import is_endless
from worldline.workspace.copytree import Copy
from worldline.workspace.indexfile import SKIP_WORKTREE, Entry
from worldline.workspace.objects import MODE_EXEC, MODE_FILE, MODE_GITLINK, MODE_LINK
from worldline.workspace.repos import GitRoot, Head
from worldline.workspace.safefs import SafeTree, content_id

READ = 500
"""Files that were touched are read here; of more than these git is asked, which reads faster."""
ASKED_ONE_BY_ONE = 20
"""For more it is asked for all at once."""
_CHANGED = (
    pygit2.GIT_STATUS_WT_MODIFIED
    | pygit2.GIT_STATUS_WT_TYPECHANGE
    | pygit2.GIT_STATUS_WT_DELETED
    | pygit2.GIT_STATUS_WT_UNREADABLE
)
_ATTRIBUTES = ".gitattributes"
_RULES = (_ATTRIBUTES, ".gitignore", ".gitmodules")


def uncommitted(root: GitRoot, copy: Copy, head: Head, unsure: list[Entry]) -> int:
    """Files that differ from HEAD. `unsure`: what is in the staging area and not known to be clean in the copy. What lies in
    repositories inside of this one is theirs."""
    repo = root.repo
    assert repo is not None
    pairs = copy.pairs
    entries = root.entries
    tracked = {entry.path for entry in entries}
    changed = pairs.keys() - tracked
    changed = {path for path in changed.difference(copy.included) if not copy.is_elsewhere(path)}
    touched = []
    for entry in unsure:
        path, mode, _, stage, flags, _, _ = entry
        if stage:
            changed.add(path)
        elif path in pairs:
            if not flags & SKIP_WORKTREE:
                touched.append(entry)
        elif not (path.endswith("/") or mode == MODE_GITLINK or flags & SKIP_WORKTREE):
            changed.add(path)
    tree = repo[head.commit].peel(pygit2.Tree) if head.commit else None
    is_staged = tree is None or tree.id.raw != root.noted_tree
    if not touched and not is_staged:
        return len(changed)
    try:
        index = repo.index
    except pygit2.GitError:  # libgit2 reads no sparse or split index: counted without it
        staged = tracked if tree is None else _staged(tree, entries)
        return len(changed | staged | set(_unlike(copy, touched)))
    if tree is None:
        return len(changed | tracked)
    changed.update(_edited(root, repo, index, copy, touched))
    if is_staged:
        changed.update(os.fsdecode(delta.new_file.raw_path) for delta in index.diff_to_tree(tree).deltas)
    return len(changed)


def _edited(
    root: GitRoot, repo: pygit2.Repository, index: pygit2.Index, copy: Copy, touched: Sequence[Entry]
) -> set[str]:
    """Which of these files are not what is staged."""
    if len(touched) > READ:
        unlike = {entry.path for entry in touched}
    else:
        unlike = set(_unlike(copy, touched))
        if not _converts(root, repo, copy):
            return unlike
    if not unlike or _is_trap(root, copy):
        return unlike
    try:
        if len(unlike) <= ASKED_ONE_BY_ONE:
            return {path for path in unlike if repo.status_file(path) & _CHANGED}
        found = index.diff_to_workdir(pygit2.enums.DiffOption.IGNORE_SUBMODULES)
    except (
        pygit2.GitError,
        KeyError,
    ):  # files come and go meanwhile: a number for people is not worth failing
        return unlike
    return unlike & {os.fsdecode(delta.old_file.raw_path) for delta in found.deltas}


def _unlike(copy: Copy, touched: Sequence[Entry]) -> list[str]:
    """Files whose bytes or kind are not those that are staged."""
    found = []
    tree = SafeTree(copy.dest)
    try:
        for entry in touched:
            with tree.at(entry.path) as (folder, name):
                oid, mode = content_id(name, folder)
            kind = MODE_LINK if stat.S_ISLNK(mode) else MODE_EXEC if mode & 0o100 else MODE_FILE
            if oid != entry.oid.hex() or kind != entry.mode:
                found.append(entry.path)
    finally:
        tree.close()
    return found


def _converts(root: GitRoot, repo: pygit2.Repository, copy: Copy) -> bool:
    """Whether a file may be unchanged for git though its bytes or its permissions are others than what is staged."""
    config = repo.config
    if "core.attributesfile" in config or (root.common / "info" / "attributes").exists():
        return True
    if "core.autocrlf" in config and config["core.autocrlf"] not in ("false", "0", "no", "off"):
        return True
    for setting in ("core.filemode", "core.symlinks"):
        if setting in config and not config.get_bool(setting):
            return True
    if any(path.endswith(_ATTRIBUTES) for path in copy.pairs):
        return True
    own = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config")
    try:
        return (own.expanduser() / "git" / "attributes").exists()
    except RuntimeError:  # there is no home folder
        return False


def _is_trap(root: GitRoot, copy: Copy) -> bool:
    """Whether libgit2 would not come back when asked about these files: a pipe is where it reads rules."""
    places = [root.work / path for path in (*copy.left_out, *copy.pairs) if path.endswith(_RULES)]
    places += [root.common / "info" / name for name in ("exclude", "attributes")]
    return any(is_endless(path) for path in places)


def _staged(tree: pygit2.Tree, entries: Sequence[Entry]) -> set[str]:
    """Where the staging area is not what a commit has; a folder of a sparse one counts as one file."""
    left = {entry.path: (entry.mode, entry.oid) for entry in entries}
    found: set[str] = set()
    todo = [("", tree)]
    while todo:
        prefix, folder = todo.pop()
        for there in folder:
            path = prefix + os.fsdecode(there.raw_name or b"")
            leaf = (int(there.filemode), bytes(there.id.raw))
            if isinstance(there, pygit2.Tree):
                if left.get(path + "/") == leaf:
                    del left[path + "/"]
                else:
                    todo.append((path + "/", there))
            elif left.pop(path, None) != leaf:
                found.add(path)
    return found | left.keys()
