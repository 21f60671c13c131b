"""Git trees of the folders of a walk, made only for those that changed."""

from __future__ import annotations

import os
import stat

from worldline.workspace.folders import Context, Dir
from worldline.workspace.objects import (
    BLOB,
    MODE_DIR,
    MODE_EXEC,
    MODE_FILE,
    MODE_LINK,
    TREE,
    TreeEntry,
    encode_tree,
    object_id,
)


def git_mode(st_mode: int) -> int:
    if stat.S_ISLNK(st_mode):
        return MODE_LINK
    return MODE_EXEC if st_mode & stat.S_IXUSR else MODE_FILE


def _is_odd(st_mode: int, context: Context) -> bool:
    """Permissions that a new file would not have."""
    usual = context.file_perm | (0o111 & context.dir_perm if st_mode & stat.S_IXUSR else 0)
    return stat.S_IMODE(st_mode) != usual and not stat.S_ISLNK(st_mode)


def build_trees(node: Dir, context: Context) -> tuple[bytes, bytes]:
    """Store the git trees of all changed folders; returns the ids of the tree and of the record of permissions."""
    if node.tree:
        return node.tree, node.perms
    entries: list[TreeEntry] = []
    odd = []
    kinds = context.kinds
    for name, sig in node.files.items():
        kind = kinds.get(sig[4])
        if kind is None:
            kind = kinds[sig[4]] = (git_mode(sig[4]), _is_odd(sig[4], context))
        entries.append(TreeEntry(name, kind[0], sig[5]))
        if kind[1]:
            odd.append(b"%o %s\0" % (stat.S_IMODE(sig[4]), os.fsencode(name)))
    below: list[TreeEntry] = []
    for name, child in node.dirs.items():
        tree, perms = build_trees(child, context)
        entries.append(TreeEntry(name, MODE_DIR, tree))
        if perms:
            below.append(TreeEntry(name, MODE_DIR, perms))
        if stat.S_IMODE(child.mode) != context.dir_perm:
            odd.append(b"%o %s\0" % (stat.S_IMODE(child.mode), os.fsencode(name)))
    data = encode_tree(entries)
    node.tree = object_id(TREE, data)
    context.store.put_known(node.tree, TREE, data)
    context.store.know_tree(node.tree, entries)
    node.perms = b""
    if odd or below:
        rows = [TreeEntry("p", MODE_FILE, context.store.put(BLOB, b"".join(sorted(odd))))] if odd else []
        if below:
            rows.append(TreeEntry("d", MODE_DIR, context.store.put_tree(below)))
        node.perms = context.store.put_tree(rows)
    return node.tree, node.perms
