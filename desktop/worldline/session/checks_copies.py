"""Checks of the copies beside the texts (`session.heads`) against the rows that they are copies of.

No hash goes with the row of a node: a changed word in it, the id of a state for one, breaks no page and is read like any
other. The copy tells that one of the two is damaged.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from worldline.core import header_reader
from worldline.session import heads
from worldline.session.faults import Found, bad
from worldline.session.heads import Head

_TABLES = ("nodes", "seq", heads.NODE_COLUMNS), ("node_ends", "node", heads.END_COLUMNS)
_BODIES = ("message", "detail", "task", "search")
_NOT_LOST = "Everything that is shown. `worldline recover` is where it would be missed."


def check_copies(connection: sqlite3.Connection, path: Path) -> Found:
    if header_reader.schema_of(connection) < heads.SINCE_SCHEMA:
        return
    (last,) = connection.execute("SELECT ifnull(max(seq), 0) FROM nodes").fetchone()
    rows = _Rows(connection)
    for body, data in connection.execute("SELECT id, head FROM bodies WHERE head IS NOT NULL ORDER BY id"):
        head = heads.read(data)
        if head is None:
            yield bad("bad_copy", f"body {body}", "What stands beside it of its node is damaged.", _NOT_LOST)
            continue
        where = f"node number {head.seq}"
        row = rows.of(head)
        if row is None:
            # A node in the middle is missed in the tree as well.
            if head.end or head.seq > last:
                meaning = (
                    "The copy beside its text is there, and its end is gone."
                    if head.end
                    else "The copy beside its text is there, and its row is gone."
                )
                yield bad("row_lost", where, meaning, "Every other node; `worldline recover` puts it back.")
            continue
        for name in _differing(head, body, row):
            yield bad(
                "copy_differs",
                where,
                f"Its row and the copy beside its text say different things ({name}): one of them is damaged.",
                "What the row says is shown; which of them is right cannot be told.",
            )


class _Rows:
    """Rows by the copies of them. Those of one row follow each other."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: tuple[bool, int] = (False, 0)
        self._row: dict[str, Any] | None = None

    def of(self, head: Head) -> dict[str, Any] | None:
        if self._known != (head.end, head.seq):
            self._known = head.end, head.seq
            table, key, names = _TABLES[head.end]
            columns = (*names, *_BODIES)
            found = self._connection.execute(
                f"SELECT {', '.join(columns)} FROM {table} WHERE {key} = ?", (head.seq,)
            ).fetchone()
            self._row = None if found is None else dict(zip(columns, found, strict=True))
        return self._row


def _differing(head: Head, body: int, row: dict[str, Any]) -> list[str]:
    """Names of the columns in which they differ."""
    found = [] if row[_BODIES[head.part]] == body else [_BODIES[head.part]]
    if not head.values:
        return found
    said = dict(zip(_TABLES[head.end][2], head.values, strict=True))
    if not said["files"] and not row["files"]:
        said = {name: value for name, value in said.items() if name not in heads.COUNTS}
    if said.get("preview", "") is None:  # it can be had from the text
        del said["preview"]
    return [
        name for name, value in said.items() if (row[name] or 0 if name == "parent" else row[name]) != value
    ] + found
