"""Differences of two trees of the store, by ids: costs what differs, not what exists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from worldline.workspace.objects import EMPTY_TREE, MODE_DIR, TreeEntry, TreeRow, entry_of
from worldline.workspace.store import Store


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


_Named = dict[str, TreeEntry]


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
    was, is_now = store.rows(old), store.rows(new)
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
