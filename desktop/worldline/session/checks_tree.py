"""Checks of rows: the file, its triggers, the tree, pairs of starts and ends, references, the cursor."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from worldline.core import header_reader
from worldline.core.ids import is_node_id
from worldline.core.kinds import NodeKind, Outcome
from worldline.session import lock, schema
from worldline.session.faults import Found, bad, note

MANY = 200
"""Faults of one sort beyond this are counted, not listed."""
_AT_ONCE = 900


def _sqlite(connection: sqlite3.Connection, path: Path) -> Found:
    version = header_reader.schema_of(connection)
    if version > header_reader.SCHEMA_VERSION:
        yield note(
            "newer_schema",
            path.name,
            f"It was written by a newer version of Worldline (schema {version}).",
            "It can be read here; to go on in it, update Worldline.",
        )
    for (line,) in connection.execute(f"PRAGMA integrity_check({MANY})"):
        if line != "ok":
            yield bad(
                "sqlite",
                path.name,
                f"The file itself is damaged: {line}",
                "Rows on undamaged pages are shown; `worldline recover` writes a sound copy of them.",
            )


def _append_only(connection: sqlite3.Connection, path: Path) -> Found:
    expected = sqlite3.connect(":memory:")
    with contextlib.closing(expected):
        expected.executescript(schema.create_script())
        query = "SELECT type, name, sql FROM sqlite_schema WHERE type IN ('table', 'trigger') AND name NOT LIKE 'search%'"
        there = {(kind, name): sql for kind, name, sql in connection.execute(query)}
        newer = header_reader.schema_of(connection) > header_reader.SCHEMA_VERSION
        for kind, name, sql in expected.execute(query):
            found = there.get((kind, name))
            if found is None or (kind == "trigger" and not newer and found != sql):
                yield bad(
                    "schema_changed",
                    f"{kind} {name}",
                    f"The {kind} {name} is {'missing' if found is None else 'not the one Worldline made'}."
                    + (
                        " The file no longer refuses to have its history changed."
                        if kind == "trigger"
                        else ""
                    ),
                    "Everything that is readable is shown." if kind == "trigger" else "The rest is shown.",
                )


def _tree(connection: sqlite3.Connection, path: Path) -> Found:
    columns = header_reader.read_columns(connection, live=lock.writer_lives(path))
    for seq in columns.missing:
        yield bad(
            "missing_node",
            f"node number {seq}",
            "Its row is gone.",
            "The nodes round it; those below it stand apart.",
        )
    for seq in columns.bad_parents:
        yield bad(
            "bad_parent",
            f"node number {seq}",
            "Its parent is not an earlier node (missing, itself, or a cycle).",
            "It is shown as a root of its own; what hangs below it is complete.",
        )
    roots = (
        sum(1 for parent in columns.parent[1:] if parent == 0)
        - len(columns.missing)
        - len(columns.bad_parents)
    )
    if len(columns) and roots < 1:
        yield bad("no_root", path.name, "The first node is gone.", "The rest of the tree is shown.")
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
        yield bad(
            "fork_mark",
            f"node number {wrong_forks[0]}",
            f"{len(wrong_forks)} nodes are wrongly marked as forks or not.",
            "The tree is right; only the number of branches in the list of sessions is wrong.",
        )
    if went_back:
        yield note(
            "clock",
            path.name,
            f"The clock went back {went_back} times.",
            "Everything: order comes from numbers, not from times.",
        )
    for uid, seq in connection.execute("SELECT uid, seq FROM nodes"):
        if not is_node_id(uid):
            yield bad(
                "bad_id",
                f"node number {seq}",
                f"{uid!r} is no id of a node.",
                "It is shown, and can be reached in the tree.",
            )


def _headers(connection: sqlite3.Connection, path: Path) -> Found:
    """Rows that are whole for SQLite and cannot be shown: a page of noise may still have the form of a page."""
    seqs = [int(seq) for (seq,) in connection.execute("SELECT seq FROM nodes ORDER BY seq")]
    for begin in range(0, len(seqs), _AT_ONCE):
        part = seqs[begin : begin + _AT_ONCE]
        if not _unshowable(connection, part):
            continue
        for seq in part:
            if why := _unshowable(connection, [seq]):
                yield bad(
                    "bad_row",
                    f"node number {seq}",
                    f"What is known of it is damaged: {why}",
                    "Every other node; `worldline recover` saves what is readable.",
                )


def _unshowable(connection: sqlite3.Connection, seqs: list[int]) -> str:
    try:
        header_reader.read_some_headers(connection, seqs)
    except (sqlite3.DatabaseError, ValueError, TypeError, OverflowError) as problem:
        return str(problem)
    return ""


def _references(connection: sqlite3.Connection, path: Path) -> Found:
    lost: dict[tuple[str, str], int] = {}
    for table, rowid, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        key = (str(table), str(parent))
        lost[key] = lost.get(key, 0) + 1
        if lost[key] <= MANY:
            yield bad(
                "broken_reference",
                f"{table} {rowid}",
                f"It refers to a row of {parent} that is gone.",
                "The node is shown without it."
                if parent == "bodies"
                else "Everything that does not need it.",
            )


def _pairs(connection: sqlite3.Connection, path: Path) -> Found:
    for node, kind, outcome in connection.execute(
        "SELECT e.node, n.kind, n.outcome FROM node_ends e LEFT JOIN nodes n ON n.seq = e.node"
    ):
        if kind is None or outcome not in (Outcome.RUNNING.value, Outcome.WAITING.value):
            what = "was never started" if kind is None else "had its end already when it was stored"
            yield bad(
                "end_without_start",
                f"node number {node}",
                f"There is an end for a node that {what}.",
                "The end is not used.",
            )
    for table, key, other in (("node_ends", "node", "nodes"), ("run_ends", "run", "runs")):
        for (row,) in connection.execute(f"SELECT {key} FROM {table} GROUP BY {key} HAVING count(*) > 1"):
            yield bad("two_ends", f"{other} {row}", "It ends twice.", "The first end is shown.")
    for (run,) in connection.execute("SELECT run FROM run_ends WHERE run NOT IN (SELECT id FROM runs)"):
        yield bad("end_without_start", f"run {run}", "A run ended that never began.", "All nodes are shown.")
    live = lock.writer_lives(path)
    dead = header_reader.interrupted_upto(connection) if live else 1 << 62
    for seq, uid in connection.execute(
        "SELECT seq, uid FROM nodes WHERE outcome IN ('running', 'waiting') AND seq <= ?"
        " AND NOT EXISTS (SELECT 1 FROM node_ends WHERE node = seq)",
        (dead,),
    ):
        yield note(
            "interrupted",
            f"node {uid} (number {seq})",
            "It was started and never finished: the program ended in the middle. What it did by then is not known.",
            "Everything. The model is told exactly this.",
        )


def _kinds(connection: sqlite3.Connection, path: Path) -> Found:
    newer = header_reader.schema_of(connection) > header_reader.SCHEMA_VERSION
    for kind, count in connection.execute("SELECT kind, count(*) FROM nodes GROUP BY kind"):
        if kind == schema.LOST_KIND:
            yield note(
                "lost_node",
                f"{count} nodes",
                "They were lost when this session was recovered from a damaged file; unknown nodes stand for them.",
                "What hung below them is shown as trees of their own.",
            )
        elif NodeKind.of(kind) is NodeKind.UNKNOWN and kind != NodeKind.UNKNOWN.value:
            yield (note if newer else bad)(
                "unknown_kind",
                f"{count} nodes of kind {kind!r}",
                "This version of Worldline does not know this kind of node.",
                "They are kept as they are and shown as unknown; the model does not see them.",
            )


def _cursor(connection: sqlite3.Connection, path: Path) -> Found:
    cursor = header_reader.read_cursor(connection)
    if not cursor:
        if connection.execute("SELECT 1 FROM nodes WHERE parent IS NOT NULL LIMIT 1").fetchone():
            yield bad(
                "no_cursor",
                path.name,
                "Where you were is not stored.",
                "Everything; choose a node to go on from.",
            )
    elif not header_reader.uid_of(connection, cursor):
        yield bad(
            "cursor_lost",
            f"node number {cursor}",
            "The node you were on is gone.",
            "Everything else; choose a node to go on from.",
        )


CHECKS = (_sqlite, _append_only, _tree, _headers, _references, _pairs, _kinds, _cursor)
