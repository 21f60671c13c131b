"""Rows of nodes and of their ends, made again from the copies beside their texts, and the copies of rows made anew; see
`session.heads`. For `recover` only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from worldline.core.jsontext import loads
from worldline.session import bodies, heads, text
from worldline.session.pages import Value

Rows = dict[str, dict[int, list[Value]]]
"""Table → key → values as they are stored; the first one is the key's place and None."""
Made = dict[int, list[Value]]
"""Key → values behind it, of a table whose rows are made anew."""
_NODE = (
    "uid", "parent", "kind", "created", "preview", "outcome", "flags", "size", "run", "branch", "tool", "model", "state",
    "added", "removed", "files", "fork", "moved",
)  # fmt: skip
_END = ("node", "at", "outcome", "preview", "flags", "size", "state", "added", "removed", "files")
"""The columns behind the key and before those of the bodies."""


@dataclass(slots=True)
class _Found:
    values: list[Value] = field(default_factory=list)
    """Empty: only a part was found that does not say it."""
    bodies: dict[int, int] = field(default_factory=dict)
    """Part → key of its body."""


class Copies:
    """What the copies say of nodes and ends."""

    def __init__(self) -> None:
        self._nodes: dict[int, _Found] = {}
        self._ends: dict[int, _Found] = {}
        self.nodes = 0
        """Nodes that `fill` put in their place."""

    def take(self, body: int, head: object) -> None:
        """Note what stands beside the body with this key; what is no copy is passed over."""
        known = heads.read(head)
        if known is None:
            return
        found = (self._ends if known.end else self._nodes).setdefault(known.seq, _Found())
        found.values = found.values or known.values
        # A text that came again is stored once: its copy is that of the first node and part.
        found.bodies.setdefault(known.part, body)

    def fill(self, rows: Rows) -> None:
        """Add the nodes and ends that are missing in `rows`."""
        for seq, found in self._nodes.items():
            if found.values and seq not in rows["nodes"]:
                rows["nodes"][seq] = _node(found, rows)
                self.nodes += 1
        ended = {row[1] for row in rows["node_ends"].values()}
        free = max(rows["node_ends"], default=0)
        for seq, found in sorted(self._ends.items()):
            if found.values and seq not in ended:
                free += 1
                rows["node_ends"][free] = _end(seq, found, rows)


def _size(found: _Found, rows: Rows) -> int:
    """Bytes of message and detail, as far as they are there."""
    there = [
        rows["bodies"][body] for part, body in found.bodies.items() if part < 2 and body in rows["bodies"]
    ]
    return sum(cast(int, row[3]) for row in there)


def _bodies(found: _Found) -> list[Value]:
    return [found.bodies.get(part) for part in range(len(heads.PARTS))]


def _node(found: _Found, rows: Rows) -> list[Value]:
    uid, parent, kind, created, preview, outcome, flags, *words, moved, added, removed, files = found.values
    if preview is None:
        preview = _beginning(found, rows)
    # The mark of a fork is made anew by whoever writes the rows.
    return [None, uid, parent or None, kind, created, preview, outcome, flags, _size(found, rows), *words,
            added, removed, files, 0, moved, *_bodies(found)]  # fmt: skip


def _beginning(found: _Found, rows: Rows) -> str:
    row = rows["bodies"].get(found.bodies.get(0, 0))
    if row is None:
        return ""
    _, digest, codec, size, _, data = row
    message = loads(bodies.decode(cast(int, codec), cast(bytes, data), cast(int, size), cast(bytes, digest)))
    return text.preview_of(text.message_text(message)) if isinstance(message, dict) else ""


def _end(seq: int, found: _Found, rows: Rows) -> list[Value]:
    at, outcome, preview, flags, state, added, removed, files = found.values
    return [
        None,
        seq,
        at,
        outcome,
        preview,
        flags,
        _size(found, rows),
        state,
        added,
        removed,
        files,
        *_bodies(found),
    ]


def beside(stored: dict[int, list[Value]], nodes: Made, ends: Made) -> dict[int, bytes]:
    """Key of a body → the copy that belongs beside it; of a body that several rows have, that of the first."""
    found: dict[int, bytes] = {}
    for rows, names in ((nodes, _NODE), (ends, _END)):
        for key, values in rows.items():
            row, texts = dict(zip(names, values, strict=False)), cast(list[int | None], values[len(names) :])
            size = cast(int, stored[texts[0]][3]) if texts[0] is not None else 0
            seq = cast(int, row.get("node", key))
            copies = heads.of_row(seq, row, end=rows is ends, message_size=size)
            for body, copy in zip(texts, copies, strict=True):
                if body is not None:
                    found.setdefault(body, copy)
    return found
