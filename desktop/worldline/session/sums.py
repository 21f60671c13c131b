"""The rows beside the tree (records, runs, facts, moves of the cursor), each with a sum of what it says.

Bodies have their hash, and nodes the copies beside their texts (`session.heads`). A changed letter in one of these rows breaks
no page, and what it says may still be JSON: only a sum tells. It stands in the row itself, since one page more in every
commit would cost more than all else about it. `verify` and `recover` alone look at it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence

from worldline.core import header_reader

SINCE_SCHEMA = 3
COLUMNS: dict[str, tuple[str, ...]] = {
    "cursor_moves": ("node", "at", "why", "after_node"),
    "runs": ("uid", "prompt", "started", "settings", "after_node"),
    "run_ends": ("run", "at", "stop_reason", "detail", "api_said", "usage"),
    "usage": ("node", "input", "output", "cache_read", "cache_write", "thinking", "cost", "answers"),
    "records": ("kind", "at", "node", "run", "data"),
    "meta": ("key", "value", "at"),
    "openings": ("at", "app", "pid", "last_node"),
}
"""Table → what the sum is made of: all its columns, but for a key that says nothing else."""
_COST = COLUMNS["usage"].index("cost")
_SIZE = 8
"""Bytes. It tells damage, and no more: whoever can write to the file can write a sum as well."""
_PLAIN = (int, float, str, type(None))

Cell = int | float | str | bytes | None


def has_sums(connection: sqlite3.Connection) -> bool:
    """Whether the rows of this file have a place for them."""
    return header_reader.schema_of(connection) >= SINCE_SCHEMA


def sum_of(table: str, values: Sequence[Cell]) -> bytes:
    """Of the values in the order of `COLUMNS`. Raises TypeError for what no such row holds."""
    if not all(type(value) in _PLAIN for value in values):
        raise TypeError(f"a row of {table} cannot hold {values!r}")
    cells = list(values)
    cost = cells[_COST] if table == "usage" else None
    if isinstance(cost, int):
        cells[_COST] = float(cost)  # which SQLite makes of it
    text = json.dumps([table, *cells], separators=(",", ":"))
    return hashlib.blake2b(text.encode("ascii"), digest_size=_SIZE).digest()


def insert(connection: sqlite3.Connection, table: str, values: Sequence[Cell], *, summed: bool) -> int:
    """Add a row; returns its key. `values` in the order of `COLUMNS`, of the types of the columns; `summed`: see `has_sums`."""
    row = [*values, sum_of(table, values)] if summed else values
    names, marks = _places(table, summed)
    done = connection.execute(f"INSERT INTO {table}({names}) VALUES({marks})", row)
    assert done.lastrowid is not None
    return done.lastrowid


@functools.cache
def _places(table: str, summed: bool) -> tuple[str, str]:
    names = [*COLUMNS[table], *(("sum",) if summed else ())]
    return ", ".join(names), ",".join("?" * len(names))


def changed(connection: sqlite3.Connection) -> Iterator[tuple[str, int]]:
    """Table and number of the rows that say something else than when they were stored."""
    for table, names in COLUMNS.items() if has_sums(connection) else ():
        for number, stored, *values in connection.execute(
            f"SELECT rowid, sum, {', '.join(names)} FROM {table}"
        ):
            if not fits(table, values, stored):
                yield table, int(number)


def fits(table: str, values: Sequence[Cell], stored: Cell) -> bool:
    """Whether this is the sum of the row."""
    try:
        return sum_of(table, values) == stored
    except TypeError:
        return False
