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


def build_trees(node: Dir, context: Context) -> tuple[bytes, bytes]:
    """Store the git trees of all changed folders; returns the ids of the tree and of the record of permissions."""
    if node.tree:
        return node.tree, node.perms
    entries = [TreeEntry(name, git_mode(sig[4]), sig[5]) for name, sig in node.files.items()]
    odd = []
    for name, sig in node.files.items():
        perm = stat.S_IMODE(sig[4])
        usual = context.file_perm | (0o111 & context.dir_perm if sig[4] & stat.S_IXUSR else 0)
        if perm != usual and not stat.S_ISLNK(sig[4]):
            odd.append(b"%o %s\0" % (perm, os.fsencode(name)))
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
