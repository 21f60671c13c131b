"""Files that have another name in a later state: one change each, as the list of changes has it, and not two."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import pygit2
from pygit2.enums import DeltaStatus, DiffFind, DiffOption

from worldline.workspace.objects import MODE_DIR, MODE_GITLINK
from worldline.workspace.store import Store
from worldline.workspace.treediff import Difference, Leaf

MAX_COUNTED = 2_000
"""Above so many changed files, lines are not counted and renames are found by equal content only."""
_LIMIT = 400
"""Files with a new name that are compared with those that are gone."""
_MAX_BYTES = 1 << 20
"""Of all that came and went. Where somebody waits more is compared by equal content only."""


def find(diff: pygit2.Diff, *, equal_only: bool = False) -> None:
    """Join what was renamed in a difference of two trees."""
    equal = DiffFind.FIND_EXACT_MATCH_ONLY if equal_only or len(diff) > MAX_COUNTED else 0
    diff.find_similar(flags=DiffFind.FIND_RENAMES | equal, rename_limit=_LIMIT)


def join(
    store: Store, old: bytes, new: bytes, found: Sequence[Difference], *, quick: bool = False
) -> list[Difference]:
    """`found`, all that differs between the trees `old` and `new`, with one row for each renamed file in place of two: the
    new path and both sides. Costs nothing where nothing came or nothing went, which is nearly always. `quick`: not what
    would be felt where somebody waits."""
    gone = [row.old for row in found if row.new is None and _is_file(row.old)]
    came = [row.new for row in found if row.old is None and _is_file(row.new)]
    if not gone or not came or (quick and len(found) > MAX_COUNTED):
        return list(found)
    moved = _moved(store, old, new, quick and _size(store, [*gone, *came]) > _MAX_BYTES)
    sides = {row.path: row.old for row in found}
    left = set(moved.values())
    return [
        Difference(row.path, sides[moved[row.path]], row.new) if row.path in moved else row
        for row in found
        if row.path not in left
    ]


def _moved(store: Store, old: bytes, new: bytes, equal_only: bool) -> Mapping[str, str]:
    """New path → old path."""
    trees = [store.repo[pygit2.Oid(raw=tree)].peel(pygit2.Tree) for tree in (old, new)]
    diff = trees[0].diff_to_tree(trees[1], flags=DiffOption.INCLUDE_TYPECHANGE)
    find(diff, equal_only=equal_only)
    return {
        os.fsdecode(delta.new_file.raw_path): os.fsdecode(delta.old_file.raw_path)
        for delta in diff.deltas
        if delta.status == DeltaStatus.RENAMED
    }


def _is_file(leaf: Leaf | None) -> bool:
    return leaf is not None and leaf.mode not in (MODE_DIR, MODE_GITLINK)


def _size(store: Store, leaves: Sequence[Leaf | None]) -> int:
    return sum(store.size_of(leaf.oid) for leaf in leaves if leaf is not None)
