"""Differences of two trees of the store, by ids: costs what differs, not what exists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import NamedTuple

from worldline.workspace.objects import EMPTY_TREE, MODE_DIR, TreeEntry, TreeRow, entry_of, head_of
from worldline.workspace.store import Store
from worldline.workspace.treecache import TreeCache


class Leaf(NamedTuple):
    """A file, a link, or an empty folder (mode 0o040000)."""

    mode: int
    oid: bytes


class Difference(NamedTuple):
    path: str
    old: Leaf | None
    new: Leaf | None


def leaves(store: Store, tree: bytes, prefix: str = "") -> Iterator[tuple[str, Leaf]]:
    """Everything below a tree; an empty folder is a leaf of its own."""
    for entry in store.tree(tree):
        path = prefix + entry.name
        if entry.mode != MODE_DIR:
            yield path, Leaf(entry.mode, entry.oid)
        elif entry.oid == EMPTY_TREE:
            yield path, Leaf(MODE_DIR, EMPTY_TREE)
        else:
            yield from leaves(store, entry.oid, path + "/")


def _one_sided(store: Store, entry: TreeEntry, path: str) -> Iterator[tuple[str, Leaf]]:
    if entry.mode != MODE_DIR or entry.oid == EMPTY_TREE:
        yield path, Leaf(entry.mode, entry.oid)
    else:
        yield from leaves(store, entry.oid, path + "/")


def _is_leaf(entry: TreeEntry) -> bool:
    return entry.mode != MODE_DIR or entry.oid == EMPTY_TREE


def leaf_at(store: Store, tree: bytes, path: str) -> Leaf | None:
    """None where nothing is, and for a folder with something in it."""
    entry = store.lookup(tree, path)
    return Leaf(entry.mode, entry.oid) if entry is not None and _is_leaf(entry) else None


_Named = dict[str, TreeEntry]
_FEW = 16
"""Differences that are looked for one by one."""


class Other(NamedTuple):
    """An entry that has another content in a second tree, and the same name and mode."""

    mode: int
    name: str
    old: bytes
    new: bytes


def in_place(trees: TreeCache, a: bytes, b: bytes) -> list[Other] | None:
    """What differs where nothing but a few ids does; else None. The trees are not taken apart: that would cost what is there,
    and this costs what differs."""
    was, is_now = trees.raw(a), trees.raw(b)
    if len(was) != len(is_now):
        return None
    starts = trees.starts(a, b)
    found: list[Other] = []
    last = len(starts) - 1
    low = 0
    while low < last and was[starts[low] :] != is_now[starts[low] :]:
        high = last
        while high - low > 1:
            middle = (low + high) // 2
            begin, end = starts[low], starts[middle]
            if was[begin:end] == is_now[begin:end]:
                low = middle
            else:
                high = middle
        begin, end = starts[low], starts[low + 1]
        head = was[begin : end - 20]
        # All before it is the same in both, so that an entry begins here in both, and ends at the same place.
        if head != is_now[begin : end - 20] or len(found) >= _FEW:
            return None
        found.append(Other(*head_of(head), was[end - 20 : end], is_now[end - 20 : end]))
        low += 1
    trees.know_starts(a, starts)
    trees.know_starts(b, starts)
    return found


def _one_by_one(was: list[TreeRow], is_now: list[TreeRow]) -> tuple[_Named, _Named] | None:
    """Entries that differ, where both trees have the same names; else None. Both are in the order of git."""
    if len(was) != len(is_now):
        return None
    pairs = [(a, b) for a, b in zip(was, is_now, strict=True) if a != b]
    if any(a[1] != b[1] for a, b in pairs):
        return None
    return _named(a for a, _ in pairs), _named(b for _, b in pairs)


def _as_sets(was: list[TreeRow], is_now: list[TreeRow]) -> tuple[_Named, _Named]:
    old, new = set(was), set(is_now)
    return _named(old - new), _named(new - old)


def _named(rows: Iterable[TreeRow]) -> _Named:
    return {entry.name: entry for entry in map(entry_of, rows)}


def diff(store: Store, old: bytes, new: bytes, prefix: str = "") -> Iterator[Difference]:
    """Leaves that differ, in tree order; a path that changed from file to occupied folder appears
    once for each leaf."""
    if old == new:
        return
    few = in_place(store.trees, old, new)
    if few is not None:
        for mode, name, one, two in sorted(few, key=itemgetter(1)) if len(few) > 1 else few:
            path = prefix + name
            if mode != MODE_DIR:
                yield Difference(path, Leaf(mode, one), Leaf(mode, two))
            elif EMPTY_TREE not in (one, two):
                yield from diff(store, one, two, path + "/")
            else:
                for inner, leaf in _one_sided(store, TreeEntry(name, mode, one), path):
                    yield Difference(inner, leaf, None)
                for inner, leaf in _one_sided(store, TreeEntry(name, mode, two), path):
                    yield Difference(inner, None, leaf)
        return
    was, is_now = store.trees.rows(old), store.trees.rows(new)
    before, after = _one_by_one(was, is_now) or _as_sets(was, is_now)
    for name in sorted(before.keys() | after.keys()):
        a, b = before.get(name), after.get(name)
        path = prefix + name
        both_folders = a is not None and b is not None and a.mode == b.mode == MODE_DIR
        if a is not None and b is not None and both_folders and EMPTY_TREE not in (a.oid, b.oid):
            yield from diff(store, a.oid, b.oid, path + "/")
        elif a is not None and b is not None and _is_leaf(a) and _is_leaf(b):
            yield Difference(path, Leaf(a.mode, a.oid), Leaf(b.mode, b.oid))
        else:
            for inner, leaf in _one_sided(store, a, path) if a is not None else ():
                yield Difference(inner, leaf, None)
            for inner, leaf in _one_sided(store, b, path) if b is not None else ():
                yield Difference(inner, None, leaf)
