"""Reading the rows of the tree from a session file: `sqlite3` only, no bodies, no writes.

Both processes use it: the window before the engine has answered, the engine through `session`. The names of tables and
columns used here are therefore a contract between versions (tests/session/test_header_contract.py): columns may
be added, none may change its meaning. All functions take a connection, so they work in any thread that owns one.

What SQLite says about a broken file comes out as `sqlite3.DatabaseError`; callers turn it into words for people.
"""

from __future__ import annotations

import operator
import sqlite3
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from worldline.core.headers import NodeHeader
from worldline.core.ids import is_node_id
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.core.session_file import APPLICATION_ID as APPLICATION_ID
from worldline.core.session_file import FIRST_SCHEMA as FIRST_SCHEMA
from worldline.core.session_file import KINDS as KINDS
from worldline.core.session_file import OUTCOMES as OUTCOMES
from worldline.core.session_file import SCHEMA_VERSION as SCHEMA_VERSION
from worldline.core.session_file import connect_readonly as connect_readonly
from worldline.core.session_file import interrupted_upto as interrupted_upto
from worldline.core.session_file import is_session as is_session
from worldline.core.session_file import read_cursor as read_cursor
from worldline.core.session_file import read_meta as read_meta
from worldline.core.session_file import schema_of as schema_of

_UNKNOWN = KINDS.index(NodeKind.UNKNOWN)
_NONE = OUTCOMES.index(Outcome.NONE)
_KIND_CODE = defaultdict(lambda: _UNKNOWN, {kind.value: code for code, kind in enumerate(KINDS)})
_OUTCOME_CODE = defaultdict(lambda: _NONE, {outcome.value: code for code, outcome in enumerate(OUTCOMES)})
_INTERRUPTED = OUTCOMES.index(Outcome.INTERRUPTED)
_UNFINISHED = frozenset({OUTCOMES.index(Outcome.RUNNING), OUTCOMES.index(Outcome.WAITING)})
_CHUNK = 20_000

_ROW = (
    "n.seq, n.uid, ifnull(n.parent, 0), n.kind, n.created, n.preview, n.outcome, n.flags, n.size, n.run, n.branch,"
    " n.tool, n.model, n.state, n.added, n.removed, n.files,"
    " e.at, e.outcome, e.flags, e.preview, e.size, e.state, e.added, e.removed, e.files"
    " FROM nodes n LEFT JOIN node_ends e ON e.node = n.seq"
)


@dataclass(slots=True)
class HeaderColumns:
    """The rows as flat arrays; index = `seq`, index 0 is unused. 22 bytes a node."""

    parent: array[int] = field(default_factory=lambda: array("i", [0]))
    kind: array[int] = field(default_factory=lambda: array("b", [_UNKNOWN]))
    outcome: array[int] = field(default_factory=lambda: array("b", [_NONE]))
    flags: array[int] = field(default_factory=lambda: array("q", [0]))
    created: array[int] = field(default_factory=lambda: array("q", [0]))
    missing: list[int] = field(default_factory=list)
    """Sequence numbers without a row (only in a damaged file); they stand in the arrays as unknown roots."""
    bad_parents: list[int] = field(default_factory=list)
    """Rows whose parent is not an earlier row; they stand in the arrays as roots."""
    unfinished: list[int] = field(default_factory=list)
    """Rows that started, have no end, and are not known to be interrupted: running, if their writer lives."""
    last_end: int = 0
    """Id of the newest end that was read."""

    def __len__(self) -> int:
        return len(self.parent) - 1


def read_columns(
    connection: sqlite3.Connection, into: HeaderColumns | None = None, *, live: bool = True
) -> HeaderColumns:
    """Append the rows that `into` does not hold yet. The cost grows with the number of rows, never with bodies.

    `live` False says that no process writes the file now: whatever is unfinished was interrupted.
    """
    columns = HeaderColumns() if into is None else into
    begin, known_missing = len(columns.parent), len(columns.missing)
    dead = interrupted_upto(connection) if live else 1 << 62
    query = connection.execute(
        "SELECT seq, ifnull(parent, 0), kind, outcome, flags, created FROM nodes WHERE seq >= ? ORDER BY seq",
        (begin,),
    )
    query.arraysize = _CHUNK
    running: list[int] = []
    while rows := query.fetchmany():
        start = len(columns.parent)
        seqs, parents, kinds, outcomes, flags, created = zip(*rows, strict=True)
        if seqs[-1] - start + 1 != len(rows):
            rows = list(_with_gaps(rows, start, columns.missing))
            seqs, parents, kinds, outcomes, flags, created = zip(*rows, strict=True)
        columns.parent.extend(parents)
        columns.kind.extend(map(_KIND_CODE.__getitem__, kinds))
        codes = list(map(_OUTCOME_CODE.__getitem__, outcomes))
        columns.outcome.extend(codes)
        columns.flags.extend(flags)
        columns.created.extend(created)
        if min(parents) < 0 or not all(map(operator.lt, parents, seqs)):
            for seq, parent in zip(seqs, parents, strict=True):
                if not 0 <= parent < seq:
                    columns.bad_parents.append(seq)
                    columns.parent[seq] = 0
        if not _UNFINISHED.isdisjoint(codes):
            running += [seq for seq, code in zip(seqs, codes, strict=True) if code in _UNFINISHED]
    if len(columns.missing) > known_missing:
        gone = set(columns.missing)
        columns.bad_parents += [
            seq
            for seq in range(begin, len(columns.parent))
            if columns.parent[seq] in gone and seq not in gone
        ]
    open_rows = set(columns.unfinished) | set(running)
    for end_id, seq, outcome, added_flags in ends_since(connection, columns.last_end):
        columns.last_end = end_id
        if 0 < seq < len(columns.parent):
            columns.outcome[seq] = _OUTCOME_CODE[outcome]
            if added_flags:
                columns.flags[seq] |= added_flags
            open_rows.discard(seq)
    columns.unfinished = []
    for seq in sorted(open_rows):
        if seq <= dead:
            columns.outcome[seq] = _INTERRUPTED
        else:
            columns.unfinished.append(seq)
    return columns


def _with_gaps(
    rows: Sequence[tuple[int, int, str, str, int, int]], expected: int, missing: list[int]
) -> Iterator[tuple[int, int, str, str, int, int]]:
    for row in rows:
        while expected < row[0]:
            missing.append(expected)
            yield (expected, 0, "", "", 0, 0)
            expected += 1
        yield row
        expected += 1


def ends_since(connection: sqlite3.Connection, last_end: int) -> Iterable[tuple[int, int, str, int]]:
    """(id, seq of the node, outcome, added flags) of ends newer than `last_end`, oldest first."""
    return connection.execute(
        "SELECT id, node, outcome, flags FROM node_ends WHERE id > ? ORDER BY id", (last_end,)
    ).fetchall()


def header_of(row: Sequence[Any], dead: int) -> NodeHeader:
    """One row of the headers query as a `NodeHeader`; unfinished rows up to `dead` are interrupted.

    Raises sqlite3.DatabaseError for a row from a torn page, as far as its form tells."""
    (
        seq,
        uid,
        parent,
        kind_word,
        created,
        preview,
        outcome_word,
        flags,
        size,
        run,
        branch,
        tool,
        model,
        state,
    ) = row[:14]
    added, removed, files, ended, end_outcome, end_flags, end_preview, end_size, end_state = row[14:23]
    if not is_node_id(str(uid)) or "\0" in f"{kind_word}{preview}":
        raise sqlite3.DatabaseError(f"malformed row: node number {seq}")
    kind = NodeKind.of(str(kind_word))
    finished = 0
    if ended is not None:
        finished = int(ended)
        outcome = Outcome.of(str(end_outcome))
        flags, size = int(flags) | int(end_flags), int(size) + int(end_size)
        preview = end_preview or preview
        state = end_state or state
        added, removed, files = row[23:26]
    else:
        outcome = Outcome.of(str(outcome_word))
        if outcome in (Outcome.RUNNING, Outcome.WAITING) and int(seq) <= dead:
            outcome = Outcome.INTERRUPTED
    return NodeHeader(
        seq=int(seq),
        uid=str(uid),
        parent=int(parent),
        kind=kind,
        created=int(created),
        preview=str(preview),
        outcome=outcome,
        flags=NodeFlag(int(flags)),
        size=int(size),
        run=str(run),
        branch=str(branch),
        tool=str(tool),
        model=str(model),
        state=str(state),
        added=int(added),
        removed=int(removed),
        files=int(files),
        finished=finished,
        raw_kind=str(kind_word) if kind is NodeKind.UNKNOWN else "",
    )


def read_headers(
    connection: sqlite3.Connection, since: int = 0, limit: int = -1, *, live: bool = True
) -> list[NodeHeader]:
    """Rows with a larger `seq` than `since`, oldest first."""
    dead = interrupted_upto(connection) if live else 1 << 62
    rows = connection.execute(f"SELECT {_ROW} WHERE n.seq > ? ORDER BY n.seq LIMIT ?", (since, limit))
    return [header_of(row, dead) for row in rows]


def read_some_headers(
    connection: sqlite3.Connection, seqs: Sequence[int], *, live: bool = True
) -> list[NodeHeader]:
    """The rows with these sequence numbers, in that order; ones that are not there are left out."""
    dead = interrupted_upto(connection) if live else 1 << 62
    found: dict[int, NodeHeader] = {}
    for begin in range(0, len(seqs), 900):
        part = seqs[begin : begin + 900]
        marks = ",".join("?" * len(part))
        for row in connection.execute(f"SELECT {_ROW} WHERE n.seq IN ({marks})", tuple(part)):
            header = header_of(row, dead)
            found[header.seq] = header
    return [found[seq] for seq in seqs if seq in found]


def seq_of(connection: sqlite3.Connection, uid: str) -> int:
    """0 when there is no such node."""
    row = connection.execute("SELECT seq FROM nodes WHERE uid = ?", (uid,)).fetchone()
    return int(row[0]) if row else 0


def uid_of(connection: sqlite3.Connection, seq: int) -> str:
    row = connection.execute("SELECT uid FROM nodes WHERE seq = ?", (seq,)).fetchone()
    return str(row[0]) if row else ""


def read_marks(connection: sqlite3.Connection) -> dict[str, dict[str, str]]:
    """uid → {"label", "note", "bookmark": JSON text} of nodes that carry any; the newest of each kind wins.
    A JSON text whose "text" is "" has taken the mark away; such entries are left in for the caller to drop."""
    marks: dict[str, dict[str, str]] = {}
    for uid, kind, data in connection.execute(
        "SELECT n.uid, r.kind, r.data FROM records r JOIN nodes n ON n.seq = r.node"
        " WHERE r.kind IN ('label', 'note', 'bookmark') ORDER BY r.id"
    ):
        marks.setdefault(str(uid), {})[str(kind)] = str(data)
    return marks
