"""Checking a session file. Nothing is changed; every fault comes with what it means and what still works."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from worldline.core import header_reader
from worldline.core.errors import SessionError
from worldline.core.ids import is_node_id
from worldline.core.jsontext import loads
from worldline.core.kinds import NodeKind, Outcome
from worldline.session import bodies, connect, lock, schema

_MANY = 200
"""Faults of one sort beyond this are counted, not listed."""


@dataclass(frozen=True, slots=True)
class Fault:
    kind: str
    where: str
    meaning: str
    still_works: str


@dataclass(slots=True)
class Report:
    faults: list[Fault] = field(default_factory=list)
    notes: list[Fault] = field(default_factory=list)
    """Worth knowing, and no damage: steps that were interrupted, a newer schema, a clock that went back."""

    @property
    def sound(self) -> bool:
        return not self.faults

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "sound": self.sound,
            "faults": [asdict(fault) for fault in self.faults],
            "notes": [asdict(note) for note in self.notes],
        }


def verify(path: Path, state_exists: Callable[[str], bool] | None = None) -> Report:
    """Check the whole file. `state_exists` says whether the object store still holds a workspace state.

    Raises SessionError `missing` and `not_a_session`; damage of any degree is reported, not raised."""
    report = Report()
    try:
        connect.check_file(path)
        connection = connect.connect_read(path)
    except SessionError as problem:
        if problem.kind != "damaged":
            raise
        report.faults.append(_unreadable(path, problem.message))
        return report
    with contextlib.closing(connection):
        for check in (_sqlite, _append_only, _tree, _references, _pairs, _kinds, _cursor, _bodies):
            try:
                _take(report, check(connection, path))
            except sqlite3.DatabaseError as problem:
                report.faults.append(
                    Fault(
                        "unreadable",
                        check.__name__.strip("_"),
                        f"This part of the file cannot be read to the end ({problem}).",
                        "What can be read is shown; `worldline recover` saves it into a sound file.",
                    )
                )
        if state_exists is not None:
            with contextlib.suppress(sqlite3.DatabaseError):  # reported above
                _take(report, _states(connection, state_exists))
    return report


def _take(report: Report, found: Iterator[tuple[bool, Fault]]) -> None:
    counts: dict[str, int] = {}
    for is_fault, fault in found:
        counts[fault.kind] = counts.get(fault.kind, 0) + 1
        if counts[fault.kind] <= _MANY:
            (report.faults if is_fault else report.notes).append(fault)
    for kind, count in counts.items():
        if count > _MANY:
            last = next(f for f in (*report.faults, *report.notes) if f.kind == kind)
            more = Fault(kind, f"{count - _MANY} more", last.meaning, last.still_works)
            (report.faults if last in report.faults else report.notes).append(more)


def _unreadable(path: Path, message: str) -> Fault:
    return Fault(
        "unreadable",
        path.name,
        message,
        "`worldline recover` saves what is readable into a new file; this one is left as it is.",
    )


def _sqlite(connection: sqlite3.Connection, path: Path) -> Iterator[tuple[bool, Fault]]:
    version = header_reader.schema_of(connection)
    if version > header_reader.SCHEMA_VERSION:
        yield (
            False,
            Fault(
                "newer_schema",
                path.name,
                f"It was written by a newer version of Worldline (schema {version}).",
                "It can be read here; to go on in it, update Worldline.",
            ),
        )
    for (line,) in connection.execute(f"PRAGMA integrity_check({_MANY})"):
        if line != "ok":
            yield (
                True,
                Fault(
                    "sqlite",
                    path.name,
                    f"The file itself is damaged: {line}",
                    "Rows on undamaged pages are shown; `worldline recover` writes a sound copy of them.",
                ),
            )


def _append_only(connection: sqlite3.Connection, path: Path) -> Iterator[tuple[bool, Fault]]:
    expected = sqlite3.connect(":memory:")
    with contextlib.closing(expected):
        expected.executescript(schema.create_script())
        query = "SELECT type, name, sql FROM sqlite_schema WHERE type IN ('table', 'trigger') AND name NOT LIKE 'search%'"
        there = {(kind, name): sql for kind, name, sql in connection.execute(query)}
        newer = header_reader.schema_of(connection) > header_reader.SCHEMA_VERSION
        for kind, name, sql in expected.execute(query):
            found = there.get((kind, name))
            if found is None or (kind == "trigger" and not newer and found != sql):
                yield (
                    True,
                    Fault(
                        "schema_changed",
                        f"{kind} {name}",
                        f"The {kind} {name} is {'missing' if found is None else 'not the one Worldline made'}."
                        + (
                            " The file no longer refuses to have its history changed."
                            if kind == "trigger"
                            else ""
                        ),
                        "Everything that is readable is shown."
                        if kind == "trigger"
                        else "The rest is shown.",
                    ),
                )


def _tree(connection: sqlite3.Connection, path: Path) -> Iterator[tuple[bool, Fault]]:
    columns = header_reader.read_columns(connection, live=lock.writer_lives(path))
    for seq in columns.missing:
        yield (
            True,
            Fault(
                "missing_node",
                f"node number {seq}",
                "Its row is gone.",
                "The nodes round it; those below it stand apart.",
            ),
        )
    for seq in columns.bad_parents:
        yield (
            True,
            Fault(
                "bad_parent",
                f"node number {seq}",
                "Its parent is not an earlier node (missing, itself, or a cycle).",
                "It is shown as a root of its own; what hangs below it is complete.",
            ),
        )
    roots = (
        sum(1 for parent in columns.parent[1:] if parent == 0)
        - len(columns.missing)
        - len(columns.bad_parents)
    )
    if len(columns) and roots < 1:
        yield True, Fault("no_root", path.name, "The first node is gone.", "The rest of the tree is shown.")
    seen_child = bytearray(len(columns) + 1)
    forks = {row[0] for row in connection.execute("SELECT seq FROM nodes WHERE fork = 1")}
    wrong_forks = []
    created = columns.created
    went_back = 0
    for seq in range(1, len(columns) + 1):
        parent = columns.parent[seq]
        if bool(seen_child[parent]) != (seq in forks) and seq not in columns.missing:
            wrong_forks.append(seq)
        seen_child[parent] = 1
        went_back += created[seq] < created[seq - 1] - 1000
    if wrong_forks and not columns.missing and not columns.bad_parents:
        yield (
            True,
            Fault(
                "fork_mark",
                f"node number {wrong_forks[0]}",
                f"{len(wrong_forks)} nodes are wrongly marked as forks or not.",
                "The tree is right; only the number of branches in the list of sessions is wrong.",
            ),
        )
    if went_back:
        yield (
            False,
            Fault(
                "clock",
                path.name,
                f"The clock went back {went_back} times.",
                "Everything: order comes from numbers, not from times.",
            ),
        )
    for uid, seq in connection.execute("SELECT uid, seq FROM nodes"):
        if not is_node_id(uid):
            yield (
                True,
                Fault(
                    "bad_id",
                    f"node number {seq}",
                    f"{uid!r} is no id of a node.",
                    "It is shown, and can be reached in the tree.",
                ),
            )


def _references(connection: sqlite3.Connection, path: Path) -> Iterator[tuple[bool, Fault]]:
    lost: dict[tuple[str, str], int] = {}
    for table, rowid, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        key = (str(table), str(parent))
        lost[key] = lost.get(key, 0) + 1
        if lost[key] <= _MANY:
            yield (
                True,
                Fault(
                    "broken_reference",
                    f"{table} {rowid}",
                    f"It refers to a row of {parent} that is gone.",
                    "The node is shown without it."
                    if parent == "bodies"
                    else "Everything that does not need it.",
                ),
            )


def _pairs(connection: sqlite3.Connection, path: Path) -> Iterator[tuple[bool, Fault]]:
    for node, kind, outcome in connection.execute(
        "SELECT e.node, n.kind, n.outcome FROM node_ends e LEFT JOIN nodes n ON n.seq = e.node"
    ):
        if kind is None or outcome not in (Outcome.RUNNING.value, Outcome.WAITING.value):
            what = "was never started" if kind is None else "had its end already when it was stored"
            yield (
                True,
                Fault(
                    "end_without_start",
                    f"node number {node}",
                    f"There is an end for a node that {what}.",
                    "The end is not used.",
                ),
            )
    for table, key, other in (("node_ends", "node", "nodes"), ("run_ends", "run", "runs")):
        for (row,) in connection.execute(f"SELECT {key} FROM {table} GROUP BY {key} HAVING count(*) > 1"):
            yield True, Fault("two_ends", f"{other} {row}", "It ends twice.", "The first end is shown.")
    for (run,) in connection.execute("SELECT run FROM run_ends WHERE run NOT IN (SELECT id FROM runs)"):
        yield (
            True,
            Fault("end_without_start", f"run {run}", "A run ended that never began.", "All nodes are shown."),
        )
    live = lock.writer_lives(path)
    dead = header_reader.interrupted_upto(connection) if live else 1 << 62
    for seq, uid in connection.execute(
        "SELECT seq, uid FROM nodes WHERE outcome IN ('running', 'waiting') AND seq <= ?"
        " AND NOT EXISTS (SELECT 1 FROM node_ends WHERE node = seq)",
        (dead,),
    ):
        yield (
            False,
            Fault(
                "interrupted",
                f"node {uid} (number {seq})",
                "It was started and never finished: the program ended in the middle. What it did by then is not known.",
                "Everything. The model is told exactly this.",
            ),
        )


def _kinds(connection: sqlite3.Connection, path: Path) -> Iterator[tuple[bool, Fault]]:
    newer = header_reader.schema_of(connection) > header_reader.SCHEMA_VERSION
    for kind, count in connection.execute("SELECT kind, count(*) FROM nodes GROUP BY kind"):
        if kind == schema.LOST_KIND:
            yield (
                False,
                Fault(
                    "lost_node",
                    f"{count} nodes",
                    "They were lost when this session was recovered from a damaged file; unknown nodes stand for them.",
                    "What hung below them is shown as trees of their own.",
                ),
            )
        elif NodeKind.of(kind) is NodeKind.UNKNOWN and kind != NodeKind.UNKNOWN.value:
            yield (
                not newer,
                Fault(
                    "unknown_kind",
                    f"{count} nodes of kind {kind!r}",
                    "This version of Worldline does not know this kind of node.",
                    "They are kept as they are and shown as unknown; the model does not see them.",
                ),
            )


def _cursor(connection: sqlite3.Connection, path: Path) -> Iterator[tuple[bool, Fault]]:
    cursor = header_reader.read_cursor(connection)
    if not cursor:
        if connection.execute("SELECT 1 FROM nodes WHERE parent IS NOT NULL LIMIT 1").fetchone():
            yield (
                True,
                Fault(
                    "no_cursor",
                    path.name,
                    "Where you were is not stored.",
                    "Everything; choose a node to go on from.",
                ),
            )
    elif not header_reader.uid_of(connection, cursor):
        yield (
            True,
            Fault(
                "cursor_lost",
                f"node number {cursor}",
                "The node you were on is gone.",
                "Everything else; choose a node to go on from.",
            ),
        )


def _bodies(connection: sqlite3.Connection, path: Path) -> Iterator[tuple[bool, Fault]]:
    users: dict[int, str] | None = None
    rows = connection.execute("SELECT id, hash, codec, size, data FROM bodies")
    for body_id, digest, codec, size, data in rows:
        try:
            sound = hashlib.sha256(bodies.decode(codec, data, size)).digest() == digest
            why = "" if sound else "its bytes do not fit their hash"
        except (ValueError, TypeError) as problem:
            why = str(problem)
        if why:
            users = _users(connection) if users is None else users
            where = users.get(body_id, "an output stored apart")
            yield (
                True,
                Fault(
                    "bad_body",
                    f"body {body_id} of {where}",
                    f"Its content is damaged: {why}.",
                    "The tree, and every other node.",
                ),
            )
    for column, table, key in (
        ("message", "nodes", "seq"),
        ("detail", "nodes", "seq"),
        ("message", "node_ends", "node"),
    ):
        for seq, codec, data, size in connection.execute(
            f"SELECT t.{key}, b.codec, b.data, b.size FROM {table} t JOIN bodies b ON b.id = t.{column}"
        ):
            try:
                fits = isinstance(loads(bodies.decode(codec, data, size)), dict)
            except (ValueError, TypeError):
                continue  # named above
            if not fits:
                yield (
                    True,
                    Fault(
                        "bad_body",
                        f"{column} of node number {seq}",
                        "It is no JSON object.",
                        "The tree, and every other node.",
                    ),
                )


def _users(connection: sqlite3.Connection) -> dict[int, str]:
    found: dict[int, str] = {}
    for table, key in (("nodes", "seq"), ("node_ends", "node")):
        for seq, *ids in connection.execute(f"SELECT {key}, message, detail, task, search FROM {table}"):
            found.update((body_id, f"node number {seq}") for body_id in ids if body_id is not None)
    return found


def _states(
    connection: sqlite3.Connection, state_exists: Callable[[str], bool]
) -> Iterator[tuple[bool, Fault]]:
    asked: dict[str, bool] = {}
    for uid, state in connection.execute(
        "SELECT uid, state FROM nodes WHERE state NOT IN ('', '!') UNION ALL"
        " SELECT n.uid, e.state FROM node_ends e JOIN nodes n ON n.seq = e.node WHERE e.state NOT IN ('', '!')"
    ):
        if state not in asked:
            asked[state] = state_exists(state)
        if not asked[state]:
            yield (
                True,
                Fault(
                    "state_missing",
                    f"node {uid}",
                    f"The files as they were there (state {state[:12]}) are no longer in the object store.",
                    "The conversation; going there leaves the files as they are.",
                ),
            )
