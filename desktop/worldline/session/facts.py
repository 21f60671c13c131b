"""What a session file says in JSON beside its tree (its folder, the records, its runs), and whether that can be read.

A damaged byte in them breaks no page: only taking them apart tells, and the sum of the row (`session.sums`)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

from worldline.core.jsontext import loads
from worldline.core.usage import Usage

MODES = ("none", "isolated", "in_place")
"""How a session can work with a folder."""


def is_object(text: object) -> bool:
    """Whether it is a JSON object, as everything is that is stored in a record."""
    try:
        return isinstance(text, str) and isinstance(loads(text), dict)
    except (ValueError, RecursionError):
        return False


def workspace_of(text: str) -> dict[str, Any]:
    """The folder of a session, as it was noted. Raises ValueError for what nobody wrote so."""
    place = loads(text)
    if not isinstance(place, dict):
        raise ValueError("the folder of the session is no object")
    if place.get("mode", "none") not in MODES:
        raise ValueError(f"the session's way to work is {place['mode']!r}")
    return place


def is_fact(key: object, value: object) -> bool:
    """Whether this row of `meta` can be read."""
    try:
        if key == "workspace":
            workspace_of(str(value))
        elif key == "created":
            int(str(value))
    except (ValueError, RecursionError):
        return False
    return True


def is_usage(text: object) -> bool:
    """Whether it is the sum of what a run used."""
    if not is_object(text):
        return False
    try:
        Usage(**loads(str(text)))
    except ValueError:
        return False
    return True


COLUMNS: tuple[tuple[str, str, Callable[[object], bool]], ...] = (
    ("records", "data", is_object),
    ("runs", "settings", is_object),
    ("run_ends", "usage", is_usage),
)
"""Table and column of what is stored as JSON, and what tells whether it can be read."""


def unreadable(connection: sqlite3.Connection, *, thorough: bool) -> Iterator[tuple[str, int]]:
    """Table and number of the rows whose JSON cannot be read. Not `thorough`: what SQLite takes for an object is believed,
    which is several times quicker; what it refuses (a very deep one) is looked at all the same."""
    for table, column, fits in COLUMNS:
        where = (
            ""
            if thorough
            else f" WHERE CASE WHEN json_valid({column}) THEN json_type({column}) <> 'object' ELSE 1 END"
        )
        for number, text in connection.execute(f"SELECT id, {column} FROM {table}{where}"):
            if not fits(text):
                yield table, int(number)
