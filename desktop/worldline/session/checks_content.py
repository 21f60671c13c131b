"""Checks of what the rows refer to: bodies and their hashes, workspace states."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from worldline.core.jsontext import loads
from worldline.session import bodies, sums
from worldline.session.facts import is_fact, unreadable
from worldline.session.faults import Found, bad


def check_bodies(connection: sqlite3.Connection, path: Path) -> Found:
    users: dict[int, str] | None = None
    rows = connection.execute("SELECT id, hash, codec, size, data FROM bodies")
    broken: set[int] = set()
    for body_id, digest, codec, size, data in rows:
        try:
            bodies.decode(codec, data, size, digest)
            why = ""
        except (ValueError, TypeError) as problem:
            why = str(problem)
        if why:
            broken.add(body_id)
            users = _users(connection) if users is None else users
            where = users.get(body_id, "an output stored apart")
            yield bad(
                "bad_body",
                f"body {body_id} of {where}",
                f"Its content is damaged: {why}.",
                "The tree, and every other node.",
            )
    for column, table, key in (
        ("message", "nodes", "seq"),
        ("detail", "nodes", "seq"),
        ("message", "node_ends", "node"),
    ):
        for seq, body_id, *stored in connection.execute(
            f"SELECT t.{key}, b.id, b.codec, b.data, b.size, b.hash FROM {table} t JOIN bodies b ON b.id = t.{column}"
        ):
            if body_id in broken:
                continue  # named above
            try:
                fits = isinstance(loads(bodies.decode(*stored)), dict)
            except ValueError:
                fits = False
            if not fits:
                yield bad(
                    "bad_body",
                    f"{column} of node number {seq}",
                    "It is no JSON object.",
                    "The tree, and every other node.",
                )


def _users(connection: sqlite3.Connection) -> dict[int, str]:
    found: dict[int, str] = {}
    for table, key in (("nodes", "seq"), ("node_ends", "node")):
        for seq, *ids in connection.execute(f"SELECT {key}, message, detail, task, search FROM {table}"):
            found.update((body_id, f"node number {seq}") for body_id in ids if body_id is not None)
    return found


def check_facts(connection: sqlite3.Connection, path: Path) -> Found:
    named: set[tuple[str, int]] = set()
    for number, key, value in connection.execute("SELECT id, key, value FROM meta"):
        if not is_fact(key, value):
            named.add(("meta", number))
            yield bad(
                "bad_fact",
                f"meta {number}",
                f"What is stored of the session under {key!r} is damaged.",
                "The tree, and every node.",
            )
    for table, row in unreadable(connection, thorough=True):
        named.add((table, row))
        yield bad("bad_record", f"{table} {row}", "It is no JSON object.", "The tree, and every node.")
    for table, row in sums.changed(connection):
        if (table, row) in named:
            continue
        yield bad(
            "row_changed",
            f"{table} {row}",
            "It says something else than when it was stored: it is damaged.",
            "The tree, and every node; what the row says now is shown.",
        )


def check_states(connection: sqlite3.Connection, state_exists: Callable[[str], bool]) -> Found:
    asked: dict[str, bool] = {}
    pruned: set[str] = set()
    for (data,) in connection.execute("SELECT data FROM records WHERE kind = 'pruned'"):
        pruned.update(loads(data)["nodes"])
    for uid, state in connection.execute(
        "SELECT uid, state FROM nodes WHERE state NOT IN ('', '!') UNION ALL"
        " SELECT n.uid, e.state FROM node_ends e JOIN nodes n ON n.seq = e.node WHERE e.state NOT IN ('', '!')"
    ):
        if uid in pruned:
            continue  # the person was shown what goes, and let it go
        if state not in asked:
            asked[state] = state_exists(state)
        if not asked[state]:
            yield bad(
                "state_missing",
                f"node {uid}",
                f"The files as they were there (state {state[:12]}) are no longer in the object store.",
                "The conversation; going there leaves the files as they are.",
            )
