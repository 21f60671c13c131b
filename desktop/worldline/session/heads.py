"""A copy of a node's row beside each of its texts, so that a file cut at its end keeps its tree.

The rows of nodes are small and fill a page in some fifteen steps. Until then the page lies behind texts that are much older
than the cut may be: what is left are the texts of steps whose place in the tree is gone. So each row of `bodies` says whose it is;
in the same row, as one more page in every commit would cost more than the whole copy. It stands before the data: of a text that
reaches over the cut, the copy is still there.

Only `recover` and `verify` read it. Bodies that were stored before (by an equal text) carry the copy of the node that came first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from worldline.core.headers import NodeHeader
from worldline.core.ids import is_node_id
from worldline.core.jsontext import dumps, loads
from worldline.session.bodies import WORTH_REMEMBERING as MAY_BE_THERE
from worldline.session.model import NodeEnd

Heads = tuple[bytes, bytes, bytes, bytes]
"""Of message, detail, task state and search text."""
PARTS = (b"m", b"d", b"t", b"s")
_END_PARTS = (b"M", b"D", b"T", b"S")
SINCE_SCHEMA = 2
COUNTS = ("added", "removed", "files")
NODE_COLUMNS = (
    "uid", "parent", "kind", "created", "preview", "outcome", "flags", "run", "branch", "tool", "model", "state", "moved",
    *COUNTS,
)  # fmt: skip
END_COLUMNS = ("at", "outcome", "preview", "flags", "state", *COUNTS)
"""What the values of a copy are, in their order."""
_TELLS_ITSELF = 2_000
"""Bytes of a message up to which its preview can be had from its own text, on the same page."""


@dataclass(frozen=True, slots=True)
class Head:
    """What one body says: the part that it is, of which node, of its beginning or its end. `values` are the columns of the
    table behind the key, without the bodies; empty where another part of the node says it."""

    part: int
    seq: int
    end: bool
    values: list[Any]


def of_node(header: NodeHeader, *, moved: bool, given_preview: str, message_size: int) -> Heads:
    """`given_preview` "" = it is the beginning of the message. `message_size` 0 = there is none."""
    preview = header.preview if given_preview or message_size > _TELLS_ITSELF else None
    known = [
        header.seq, header.uid, header.parent, header.raw_kind or header.kind.value, header.created, preview,
        header.outcome.value, int(header.flags), header.run, header.branch, header.tool, header.model, header.state,
        int(moved),
    ]  # fmt: skip
    if header.files:
        known += (header.added, header.removed, header.files)
    return _spread(PARTS, known, header.seq, message_size)


def of_end(seq: int, end: NodeEnd, preview: str, at: int, *, message_size: int) -> Heads:
    known = [seq, at, end.outcome.value, preview, int(end.flags), end.state]
    if end.files:
        known += (end.added, end.removed, end.files)
    return _spread(_END_PARTS, known, seq, message_size)


def of_row(seq: int, row: Mapping[str, Any], *, end: bool, message_size: int) -> Heads:
    """Of a row as it is stored, by the names of its columns."""
    names: tuple[str, ...] = END_COLUMNS if end else NODE_COLUMNS
    if not row["files"]:
        names = names[: -len(COUNTS)]
    known = [seq, *((row[name] or 0) if name == "parent" else row[name] for name in names)]
    return _spread(_END_PARTS if end else PARTS, known, seq, message_size)


def _spread(letters: tuple[bytes, ...], known: list[Any], seq: int, message_size: int) -> Heads:
    """All of it beside the message; beside the detail where there is no message, or one that may be stored already."""
    m, d, t, s = letters
    try:
        full = orjson.dumps(known)
    except orjson.JSONEncodeError:  # a lone surrogate in a word that came from elsewhere
        full = dumps(known)
    short = b"[%d]" % seq
    if 0 < message_size < MAY_BE_THERE:
        return m + full, d + short, t + short, s + short
    return m + full, d + full, t + short, s + short


_NODE = (str, int, str, int, (str, type(None)), str, int, str, str, str, str, str, int)
_END = (int, str, str, int, str)
_COUNTS = (int, int, int)
"""Added, removed, files: left out where no file changed."""


def read(head: object) -> Head | None:
    """None for what is no such copy: nothing is taken over from a torn page that does not have its form."""
    if not isinstance(head, bytes) or not head:
        return None
    letter, end = head[:1], head[:1] in _END_PARTS
    if not end and letter not in PARTS:
        return None
    try:
        values = loads(head[1:])
    except ValueError:
        return None
    if not isinstance(values, list) or not values or type(values[0]) is not int or values[0] < 1:
        return None
    seq, rest = values[0], values[1:]
    if rest:
        shape = _END if end else _NODE
        if len(rest) == len(shape):
            rest += (0, 0, 0)
        if len(rest) != len(shape) + 3 or any(type(value) is bool for value in rest):
            return None
        if not all(map(isinstance, rest, shape + _COUNTS)):
            return None
        if not end and not (is_node_id(rest[0]) and 0 <= rest[1] < seq):
            return None
    return Head((_END_PARTS if end else PARTS).index(letter), seq, end, rest)
