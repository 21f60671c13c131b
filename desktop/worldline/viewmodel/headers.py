"""One row as a header: from the wire, or from the flat arrays again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
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


def header_of(raw: Mapping[str, Any]) -> NodeHeader:
    """A header as it comes over the wire, without pydantic: unknown fields are ignored, missing ones are empty."""
    word = str(raw["kind"])
    kind = NodeKind.of(word)
    return NodeHeader(
        seq=int(raw["seq"]),
        uid=str(raw["uid"]),
        parent=int(raw["parent"]),
        kind=kind,
        created=int(raw.get("created", 0)),
        preview=str(raw.get("preview", "")),
        outcome=Outcome.of(str(raw.get("outcome", "none"))),
        flags=NodeFlag(int(raw.get("flags", 0))),
        size=int(raw.get("size", 0)),
        run=str(raw.get("run", "")),
        branch=str(raw.get("branch", "")),
        tool=str(raw.get("tool", "")),
        model=str(raw.get("model", "")),
        state=str(raw.get("state", "")),
        added=int(raw.get("added", 0)),
        removed=int(raw.get("removed", 0)),
        files=int(raw.get("files", 0)),
        finished=int(raw.get("finished", 0)),
        raw_kind=word if kind is NodeKind.UNKNOWN else "",
    )
