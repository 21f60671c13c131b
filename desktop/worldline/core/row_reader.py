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

from worldline.core.kinds import NodeKind, Outcome
from worldline.core.session_file import KINDS, OUTCOMES, interrupted_upto, read_cursor

_BASE = 48
"""Codes are sent as printable characters from this one on."""
_UNCODE = bytes((code - _BASE) % 256 for code in range(256))
_HEX = b"0123456789abcdef"
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


_KIND = f"CASE kind {_cases([k.value for k in KINDS], NodeKind.UNKNOWN.value)}"
_OUTCOME = f"CASE outcome {_cases([o.value for o in OUTCOMES], Outcome.NONE.value)}"
_FROM = "FROM nodes n LEFT JOIN node_ends e ON e.node = n.seq"


@dataclass(slots=True, eq=False, repr=False)
class Shape:
    """What the tree is drawn from. Index = row (`seq` - 1)."""

    parents: array[int] = field(default_factory=lambda: array("i"))
    """Row of the parent, -1 for a root."""
    breaks: list[int] = field(default_factory=list)
    """Rows that do not hang on the row above, the first one included; ascending."""
    kinds: bytes = b""
    """Codes of `session_file.KINDS`."""
    outcomes: bytes = b""
    """Codes of `session_file.OUTCOMES`."""
    flags: dict[int, int] = field(default_factory=dict)
    """Row → bits, for rows that have any."""
    cursor: int = 0
    """`seq` of the cursor, 0 for none."""
    cursor_uid: str = ""

    def __len__(self) -> int:
        return len(self.parents)


@dataclass(slots=True, eq=False, repr=False)
class Uids:
    """The ids of the first rows. The picture needs none but the cursor's, so they are read after it."""

    packed: bytes
    """8 bytes a row; zeros for ids that are not our own."""
    odd: dict[int, str]
    """Row → id, for ids that are not our own."""


@dataclass(slots=True, eq=False, repr=False)
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
    """All rows as far as the picture needs them: about 0.3 µs each."""
    connection.text_factory = bytes
    connection.execute("BEGIN")  # one state of the file, whatever is written meanwhile
    try:
        return _read_shape(connection)
    finally:
        connection.execute("ROLLBACK")
        connection.text_factory = str


def _read_shape(connection: sqlite3.Connection) -> Shape:
    count = connection.execute("SELECT max(seq) FROM nodes").fetchone()[0]
    if not count:
        return Shape()
    kinds, outcomes = connection.execute(
        "SELECT group_concat(k, ''), group_concat(o, '')"
        f" FROM (SELECT {_KIND} AS k, {_OUTCOME} AS o FROM nodes ORDER BY seq)"
    ).fetchone()
    if not len(kinds) == len(outcomes) == count:
        raise NotPlain("rows are missing")
    # Most nodes hang on the one before and have no flags: only the others are read.
    parents = array("i", range(-1, count - 1))
    breaks, flags = [], {}
    for seq, parent, bits, _ in _numbers(
        connection,
        "SELECT seq AS a, ifnull(parent, 0) AS b, flags AS c, 0 AS d FROM nodes"
        " WHERE parent IS NOT seq - 1 OR flags <> 0 ORDER BY seq",
    ):
        if not 0 <= parent < seq:
            raise NotPlain("a parent is not above its child")
        if parent != seq - 1 or seq == 1:
            parents[seq - 1] = parent - 1
            breaks.append(seq - 1)
        if bits:
            flags[seq - 1] = bits
    ended = bytearray(outcomes.translate(_UNCODE))
    _read_ends(connection, ended, flags)
    _interrupt(connection, ended)
    cursor = read_cursor(connection)
    uid = connection.execute("SELECT uid FROM nodes WHERE seq = ?", (cursor,)).fetchone() or (b"",)
    return Shape(
        parents,
        breaks,
        kinds.translate(_UNCODE),
        bytes(ended),
        flags,
        cursor,
        uid[0].decode("utf-8", "replace"),
    )


def _numbers(
    connection: sqlite3.Connection, query: str, span: tuple[int, ...] = ()
) -> Iterable[tuple[int, int, int, int]]:
    """The rows of a query for four numbers a, b, c, d. In one step: `sqlite3` gives the interpreter's lock back and waits
    for it again for every row that it hands over, 5 ms each while the window is being made."""
    joined = connection.execute(
        f"SELECT group_concat(a), group_concat(b), group_concat(c), group_concat(d) FROM ({query})", span
    ).fetchone()
    if joined[0] is None:
        return ()
    return zip(*(map(int, column.split(b",")) for column in joined), strict=True)


def read_uids(connection: sqlite3.Connection, count: int) -> Uids:
    """The ids of the first `count` rows: about 0.2 µs each."""
    connection.text_factory = bytes
    try:
        joined = connection.execute(
            "SELECT group_concat(uid) FROM (SELECT uid FROM nodes WHERE seq <= ? ORDER BY seq)", (count,)
        ).fetchone()[0]
        odd: dict[int, str] = {}
        if not _all_ours(joined, count):
            words = joined.split(b",")
            if len(words) != count:
                raise NotPlain("an id is broken")
            for row, word in enumerate(words):
                if len(word) != 16 or word.strip(_HEX):
                    odd[row], words[row] = word.decode("utf-8", "replace"), b"0" * 16
            joined = b",".join(words)
        return Uids(bytes.fromhex(joined.replace(b",", b"").decode("ascii")), odd)
    finally:
        connection.text_factory = str


def _all_ours(joined: bytes, count: int) -> bool:
    """Nothing but ids of 16 hex digits."""
    return (
        len(joined) == count * 17 - 1
        and joined[16::17] == b"," * (count - 1)
        and not joined.translate(None, _HEX + b",")
        and joined.count(b",") == count - 1
    )


def _read_ends(connection: sqlite3.Connection, outcomes: bytearray, flags: dict[int, int]) -> None:
    """What nodes got with their ends, which are rows of their own."""
    nodes, ends = connection.execute(
        f"SELECT group_concat(node), group_concat(o, '') FROM (SELECT node, {_OUTCOME} AS o FROM node_ends ORDER BY id)"
    ).fetchone()
    if nodes is None:
        return
    seqs = [int(node) for node in nodes.split(b",")]
    if min(seqs) < 1 or max(seqs) > len(outcomes):
        raise NotPlain("an end has no node")
    for seq, code in zip(seqs, ends.translate(_UNCODE), strict=True):
        outcomes[seq - 1] = code
    for seq, bits, _, _ in _numbers(
        connection, "SELECT node AS a, flags AS b, 0 AS c, 0 AS d FROM node_ends WHERE flags <> 0"
    ):
        flags[seq - 1] = flags.get(seq - 1, 0) | bits


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
        for seq, added, removed, files in _numbers(
            connection,
            "SELECT n.seq AS a, ifnull(e.added, n.added) AS b, ifnull(e.removed, n.removed) AS c,"
            f" ifnull(e.files, n.files) AS d {_FROM} WHERE n.seq BETWEEN ? AND ? AND (b OR c OR d)",
            span,
        )
    }
    took = array("I", (min(int(one), 0xFFFFFFFF) for one in row[1].split(b",")))
    ends = list(accumulate(map(len, previews)))
    return Details(first, created, took, tools, models, branches, runs, b"".join(previews), ends, counts)
