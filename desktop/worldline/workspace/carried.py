"""How much of what went into a new worktree is uncommitted: to be told, so that nobody looks for it in vain."""

from __future__ import annotations

import pygit2

from worldline.workspace.copytree import Copy
from worldline.workspace.indexfile import NO_STAT, Entry
from worldline.workspace.repos import GitRoot, Head

LOOKED_INTO = 200
"""Files that were touched are compared with what is staged; of more than these, the rest counts as changed."""
_SKIP_WORKTREE = 0x4000
_LINK = 0o160000
_CHANGED = (
    pygit2.GIT_STATUS_WT_MODIFIED
    | pygit2.GIT_STATUS_WT_TYPECHANGE
    | pygit2.GIT_STATUS_WT_DELETED
    | pygit2.GIT_STATUS_WT_UNREADABLE
)


def uncommitted(root: GitRoot, copy: Copy, head: Head, entries: list[Entry]) -> int:
    """Files that differ from HEAD. `entries` of the copy's index: those without stat data are not known to be clean.
    What lies in repositories inside of this one is theirs."""
    repo = root.repo
    assert repo is not None
    tracked = {entry.path for entry in entries}
    changed = copy.pairs.keys() - tracked - set(copy.included)
    changed = {path for path in changed if not copy.is_elsewhere(path)}
    touched = []
    for entry in entries:
        if entry.stage:
            changed.add(entry.path)
        elif entry.path.endswith("/") or entry.mode == _LINK or entry.flags >> 16 & _SKIP_WORKTREE:
            continue
        elif entry.path not in copy.pairs:
            changed.add(entry.path)
        elif entry.stat == NO_STAT:
            touched.append(entry.path)
    tree = repo[head.commit].peel(pygit2.Tree) if head.commit else None
    try:
        index = repo.index
    except (
        pygit2.GitError
    ):  # libgit2 reads no sparse index: counted without it, what may be changed as changed
        staged = tracked if tree is None else {e.path for e in entries if not _is_in(tree, e)}
        return len(changed | staged | set(touched))
    changed.update(path for path in touched[:LOOKED_INTO] if repo.status_file(path) & _CHANGED)
    changed.update(touched[LOOKED_INTO:])
    if tree is None:
        return len(changed | tracked)
    changed.update(delta.new_file.path for delta in index.diff_to_tree(tree).deltas)
    return len(changed)


def _is_in(tree: pygit2.Tree, entry: Entry) -> bool:
    try:
        there = tree[entry.path.rstrip("/")]
    except KeyError:
        return False
    return there.id == pygit2.Oid(raw=entry.oid)
