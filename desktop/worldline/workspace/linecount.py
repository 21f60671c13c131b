"""How many lines a small change added and removed."""

from __future__ import annotations

from collections.abc import Sequence

import pygit2

from worldline.workspace.objects import MODE_DIR, MODE_GITLINK
from worldline.workspace.store import Store
from worldline.workspace.treediff import Difference, Leaf

MAX_FILES = 200
MAX_BYTES = 1 << 20
"""Of old and new content together. Counting is part of every capture and must not be felt."""
_PROBE = 8000


def count(store: Store, differences: Sequence[Difference]) -> tuple[int, int] | None:
    """Lines added and removed; None when that would take too long. Binary files count 0."""
    if len(differences) > MAX_FILES:
        return None
    added = removed = 0
    budget = MAX_BYTES
    for row in differences:
        old, new = (_text(store, leaf, budget) for leaf in (row.old, row.new))
        if old is None or new is None:
            return None
        budget -= len(old) + len(new)
        if old == new or b"\0" in old[:_PROBE] or b"\0" in new[:_PROBE]:
            continue
        _, plus, minus = pygit2.Patch.create_from(old, new, context_lines=0).line_stats
        added += plus
        removed += minus
    return added, removed


def _text(store: Store, leaf: Leaf | None, budget: int) -> bytes | None:
    """Content of a side, None when it is larger than the budget."""
    if leaf is None or leaf.mode in (MODE_DIR, MODE_GITLINK):
        return b""
    if store.size_of(leaf.oid) > budget:
        return None
    return store.read(leaf.oid)
