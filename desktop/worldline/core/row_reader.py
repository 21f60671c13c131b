"""The rows of a session in a few long strings that SQLite makes: what the window paints before anything else is loaded.

One Python object a row would cost 15 µs each; here SQLite joins a column into one text, without the interpreter's
lock, and Python cuts it in C. All functions may run in any thread. They raise sqlite3.Error for a broken file and
`NotPlain` for one whose rows have gaps or odd shapes: such a file is left to the engine, which says what is wrong.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate

from worldline.core.header_reader import KINDS, OUTCOMES, interrupted_upto, read_cursor
from worldline.core.kinds import NodeKind, Outcome

_BASE = 48
"""Codes are sent as printable characters from this one on."""
_UNCODE = bytes((code - _BASE) % 256 for code in range(256))
_LINE = "replace(replace({}, char(10), ' '), char(0), ' ')"
"""A text that holds no line break, so that breaks can stand between the rows."""


class NotPlain(Exception):
    """The rows are not 1 … n, or a column is not what it should be."""


def _cases(words: Iterable[str], last: str) -> str:
    found = [(code, word) for code, word in enumerate(words) if word != last]
    # The frequent words first: a CASE compares one after the other.
    order = {"tool": 0, "assistant": 1, "user": 2, "ok": 0, "none": 1, "failed": 2}
    found.sort(key=lambda one: order.get(one[1], 9))
    whens = " ".join(f"WHEN '{word}' THEN '{chr(_BASE + code)}'" for code, word in found)
    other = next(code for code, word in enumerate(words) if word == last)
    return f"{whens} ELSE '{chr(_BASE + other)}' END"


_KIND = f"CASE n.kind {_cases([k.value for k in KINDS], NodeKind.UNKNOWN.value)}"
_OUTCOME = f"CASE ifnull(e.outcome, n.outcome) {_cases([o.value for o in OUTCOMES], Outcome.NONE.value)}"
_FROM = "FROM nodes n LEFT JOIN node_ends e ON e.node = n.seq"
_UID = "CASE WHEN length(n.uid) = 16 AND n.uid NOT GLOB '*[^0-9a-f]*' THEN n.uid ELSE '0000000000000000' END"


@dataclass(slots=True)
class Shape:
    """What the tree is drawn from. Index = row (`seq` - 1)."""

    parents: array[int] = field(default_factory=lambda: array("i"))
    """Row of the parent, -1 for a root."""
    kinds: bytes = b""
    """Codes of `header_reader.KINDS`."""
    outcomes: bytes = b""
    """Codes of `header_reader.OUTCOMES`."""
    flags: dict[int, int] = field(default_factory=dict)
    """Row → bits, for rows that have any."""
    uids: bytes = b""
    """8 bytes a row; zeros for ids that are not our own."""
    odd_uids: dict[int, str] = field(default_factory=dict)
    cursor: int = 0
    """`seq` of the cursor, 0 for none."""

    def __len__(self) -> int:
        return len(self.parents)


@dataclass(slots=True)
class Details:
    """What is said about rows, from `first` on. Words are numbers into `words`."""

    first: int
    created: array[int]
    took: array[int]
    tools: list[str]
    models: list[str]
    branches: list[str]
    runs: list[str]
    text: bytes
    """Previews, one after the other."""
    ends: list[int]
    """Where each preview ends in `text`."""
    counts: dict[int, tuple[int, int, int]]
    """Row → lines added, removed, files changed, for rows that have any."""

    def __len__(self) -> int:
        return len(self.created)


def read_shape(connection: sqlite3.Connection) -> Shape:
    """All rows as far as the picture needs them: about 0.5 µs each."""
    connection.text_factory = bytes
    try:
        return _read_shape(connection)
    finally:
        connection.text_factory = str


def _read_shape(connection: sqlite3.Connection) -> Shape:
    count, first, last = connection.execute("SELECT count(*), min(seq), max(seq) FROM nodes").fetchone()
    if not count:
        return Shape()
    if first != 1 or last != count:
        raise NotPlain("rows are missing")
    kinds, outcomes, uids = connection.execute(
        f"SELECT group_concat(k, ''), group_concat(o, ''), group_concat(u, '')"
        f" FROM (SELECT {_KIND} AS k, {_OUTCOME} AS o, {_UID} AS u {_FROM} ORDER BY n.seq)"
    ).fetchone()
    if not len(kinds) == len(outcomes) == count or len(uids) != count * 16:
        raise NotPlain("a column is broken")
    # Most nodes hang on the one before: only the others are read.
    parents = array("i", range(-1, count - 1))
    for seq, parent in connection.execute(
        "SELECT seq, ifnull(parent, 0) FROM nodes WHERE parent IS NOT seq - 1 AND NOT (seq = 1 AND parent IS NULL)"
    ):
        if not 0 <= parent < seq:
            raise NotPlain("a parent is not above its child")
        parents[seq - 1] = parent - 1
    flags = dict(
        connection.execute(
            f"SELECT n.seq - 1, n.flags | ifnull(e.flags, 0) AS f {_FROM} WHERE n.flags <> 0 OR ifnull(e.flags, 0) <> 0"
        )
    )
    odd = {
        row: bytes(uid).decode("utf-8", "replace")
        for row, uid in connection.execute(
            "SELECT seq - 1, uid FROM nodes WHERE length(uid) <> 16 OR uid GLOB '*[^0-9a-f]*'"
        )
    }
    ended = bytearray(outcomes.translate(_UNCODE))
    _interrupt(connection, ended)
    return Shape(
        parents,
        kinds.translate(_UNCODE),
        bytes(ended),
        flags,
        bytes.fromhex(uids.decode("ascii")),
        odd,
        read_cursor(connection),
    )


def _interrupt(connection: sqlite3.Connection, outcomes: bytearray) -> None:
    """Rows of earlier openings that still work in the file were interrupted."""
    dead = interrupted_upto(connection)
    for outcome in (Outcome.RUNNING, Outcome.WAITING):
        code = OUTCOMES.index(outcome)
        at = outcomes.find(code, 0, dead)
        while at >= 0:
            outcomes[at] = OUTCOMES.index(Outcome.INTERRUPTED)
            at = outcomes.find(code, at + 1, dead)


def read_details(connection: sqlite3.Connection, first: int, last: int) -> Details:
    """What is said about the rows first … last (0-based, inclusive): about 2 µs each."""
    connection.text_factory = bytes
    try:
        return _read_details(connection, first, last)
    finally:
        connection.text_factory = str


def _read_details(connection: sqlite3.Connection, first: int, last: int) -> Details:
    span = (first + 1, last + 1)
    preview = _LINE.format("CASE WHEN ifnull(e.preview, '') <> '' THEN e.preview ELSE n.preview END")
    names = ("tool", "model", "branch", "run")
    joined = ", ".join(f"group_concat({name}, char(10))" for name in names)
    columns = ", ".join(f"{_LINE.format('n.' + name)} AS {name}" for name in names)
    row = connection.execute(
        f"SELECT group_concat(created), group_concat(took), group_concat(preview, char(10)), {joined} FROM ("
        f"SELECT n.created AS created, max(0, ifnull(e.at - n.created, 0)) AS took, {preview} AS preview, {columns}"
        f" {_FROM} WHERE n.seq BETWEEN ? AND ? ORDER BY n.seq)",
        span,
    ).fetchone()
    count = last - first + 1
    created = array("q", map(int, row[0].split(b",")))
    previews = row[2].split(b"\n")
    tools, models, branches, runs = (
        [word.decode("utf-8", "replace") for word in column.split(b"\n")] for column in row[3:]
    )
    if {*map(len, (created, previews, tools, models, branches, runs))} != {count}:
        raise NotPlain("a column is broken")
    counts = {
        seq - 1: (added, removed, files)
        for seq, added, removed, files in connection.execute(
            "SELECT n.seq, ifnull(e.added, n.added) AS a, ifnull(e.removed, n.removed) AS r,"
            f" ifnull(e.files, n.files) AS f {_FROM} WHERE n.seq BETWEEN ? AND ? AND (a OR r OR f)",
            span,
        )
    }
    took = array("I", (min(int(one), 0xFFFFFFFF) for one in row[1].split(b",")))
    ends = list(accumulate(map(len, previews)))
    return Details(first, created, took, tools, models, branches, runs, b"".join(previews), ends, counts)
