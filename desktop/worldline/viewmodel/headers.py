"""Rows of the flat arrays as headers again."""

from __future__ import annotations

from worldline.core.headers import NodeHeader
from worldline.viewmodel.tree_model import TreeModel


def header_at(tree: TreeModel, row: int) -> NodeHeader:
    """A row of the flat arrays as a header again; only made for the path that is shown."""
    created, took = tree.created[row], tree.took[row]
    return NodeHeader(
        seq=row + 1,
        uid=tree.uid(row),
        parent=tree.parent[row] + 1,
        kind=tree.kind_of(row),
        created=created,
        preview=tree.preview(row),
        outcome=tree.outcome_of(row),
        flags=tree.flags_of(row),
        run=tree.run(row),
        branch=tree.branch(row),
        tool=tree.tool(row),
        model=tree.model(row),
        added=tree.added[row],
        removed=tree.removed[row],
        files=tree.files[row],
        finished=created + took if took else 0,
    )
