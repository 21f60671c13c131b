"""Git trees of the folders of a walk, made only for those that changed."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from worldline.workspace.folders import Context, Dir
from worldline.workspace.objects import (
    BLOB,
    EMPTY_TREE,
    MODE_DIR,
    MODE_EXEC,
    MODE_FILE,
    MODE_LINK,
    TREE,
    TreeEntry,
    encode_tree,
    head_for,
    object_id,
)
from worldline.workspace.store import Store
from worldline.workspace.treediff import Leaf

_FEW = 8


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
    data = _spliced(node, context)
    if data is None:
        data, node.perms = _built(node, context)
        node.places = {}
    node.tree, node.raw, node.edited = object_id(TREE, data), data, {}
    context.store.put_known(node.tree, TREE, data)
    context.store.trees.know(node.tree, data)
    return node.tree, node.perms


def _kind(st_mode: int, context: Context) -> tuple[int, bool]:
    kind = context.kinds.get(st_mode)
    if kind is None:
        kind = context.kinds[st_mode] = (git_mode(st_mode), _is_odd(st_mode, context))
    return kind


def _spliced(node: Dir, context: Context) -> bytes | None:
    """The tree of a folder in which nothing but contents changed: its last one with other ids in it. That costs what
    changed; making it anew costs what is there, and most of a restore of many files. None: make it anew."""
    if node.edited is None or not node.raw:
        return None
    if len(node.edited) > _FEW and len(node.edited) * 16 > len(node.files):
        return None
    rows: list[tuple[str, bytes, bytes]] = []
    for name, old in node.edited.items():
        new = node.files.get(name)
        if new is None:
            return None
        was, is_now = _kind(old[4], context), _kind(new[4], context)
        if was[1] or is_now[1]:
            return None
        head = head_for(is_now[0], name)
        rows.append((name, (head if was == is_now else head_for(was[0], name)) + old[5], head + new[5]))
    for name, child in node.dirs.items():
        if child.tree:
            continue
        before = child.made
        tree, perms = build_trees(child, context)
        child.made = (tree, perms, child.mode)
        if child.made[1:] != before[1:]:
            return None
        head = head_for(MODE_DIR, name)
        rows.append((name, head + before[0], head + tree))
    data = node.raw
    places = node.places
    for name, gone, new_row in rows:
        if len(gone) != len(new_row):
            return None
        at = places.get(name, -1)
        if at < 0:
            at = data.find(gone)
            # Twice: one is the end of a name that looks like an entry.
            if at < 0 or data.find(gone, at + 1) >= 0:
                return None
            places[name] = at
        elif not data.startswith(gone, at):
            return None
        data = b"".join((data[:at], new_row, data[at + len(gone) :]))
    return data


def _built(node: Dir, context: Context) -> tuple[bytes, bytes]:
    entries: list[TreeEntry] = []
    odd = []
    for name, sig in node.files.items():
        mode, is_odd = _kind(sig[4], context)
        entries.append(TreeEntry(name, mode, sig[5]))
        if is_odd:
            odd.append(b"%o %s\0" % (stat.S_IMODE(sig[4]), os.fsencode(name)))
    below: list[TreeEntry] = []
    for name, child in node.dirs.items():
        tree, perms = build_trees(child, context)
        child.made = (tree, perms, child.mode)
        entries.append(TreeEntry(name, MODE_DIR, tree))
        if perms:
            below.append(TreeEntry(name, MODE_DIR, perms))
        if stat.S_IMODE(child.mode) != context.dir_perm:
            odd.append(b"%o %s\0" % (stat.S_IMODE(child.mode), os.fsencode(name)))
    record = b""
    if odd or below:
        rows = [TreeEntry("p", MODE_FILE, context.store.put(BLOB, b"".join(sorted(odd))))] if odd else []
        if below:
            rows.append(TreeEntry("d", MODE_DIR, context.store.put_tree(below)))
        record = context.store.put_tree(rows)
    return encode_tree(entries), record


def edited_tree(store: Store, tree: bytes, wanted: Mapping[str, Leaf | None]) -> bytes:
    """Id of a tree that is like `tree` but for some files, put there or taken out (None); it can be read after `flush`. By
    hand, since libgit2 refuses names that only mean something on other systems (`git~1`, `.GIT`)."""
    entries = {entry.name: entry for entry in store.tree(tree)}
    below: dict[str, dict[str, Leaf | None]] = {}
    for path, leaf in wanted.items():
        name, _, rest = path.partition("/")
        if rest:
            below.setdefault(name, {})[rest] = leaf
        elif leaf is None and name in entries and entries[name].mode != MODE_DIR:
            del entries[name]
    for name, inner in below.items():
        known = entries.get(name)
        there = known.oid if known is not None and known.mode == MODE_DIR else EMPTY_TREE
        made = edited_tree(store, there, inner)
        if made != EMPTY_TREE:
            entries[name] = TreeEntry(name, MODE_DIR, made)
        elif known is not None and known.mode == MODE_DIR:
            del entries[name]
    for path, leaf in wanted.items():
        if leaf is not None and "/" not in path:
            entries[path] = TreeEntry(path, leaf.mode, leaf.oid)
    return store.put_tree(list(entries.values()))
