"""Labels, notes and bookmarks of nodes: records beside the tree, the newest of each kind wins, "" takes it away.
They are never in the parent chain and never sent to the model."""

from __future__ import annotations

from typing import Literal

from worldline.core.jsontext import loads
from worldline.session.model import Marks

MarkKind = Literal["label", "note", "bookmark"]
MARK_KINDS: tuple[MarkKind, ...] = ("label", "note", "bookmark")


def folded(raw: dict[str, dict[str, str]]) -> dict[str, Marks]:
    """From `header_reader.read_marks`: only nodes that still carry something."""
    found: dict[str, Marks] = {}
    for uid, kinds in raw.items():
        marks = Marks()
        for kind, text in kinds.items():
            data = loads(text)
            setattr(marks, kind, str(data.get("text", "")))
            if kind == "label" and marks.label:
                marks.color = str(data.get("color", ""))
        if marks.label or marks.note or marks.bookmark:
            found[uid] = marks
    return found
