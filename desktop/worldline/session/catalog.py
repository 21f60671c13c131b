"""The sessions in a folder, for what is stored and for the search through all: no body is opened."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worldline.core import header_reader
from worldline.core.errors import SessionError
from worldline.core.jsontext import loads
from worldline.core.paths import SESSION_SUFFIX
from worldline.session import connect, search
from worldline.session.model import SearchHit

FIRST_NODES = 50
"""A prompt is looked for among so many: there may be none among 100,000."""


@dataclass(slots=True)
class SessionEntry:
    """One line of the list. With a `problem` the rest is what could still be read."""

    path: Path
    title: str = ""
    workspace: dict[str, Any] = field(default_factory=dict)
    updated: int = 0
    """Milliseconds: the last node, end or run that was stored; not the time of the file."""
    bytes: int = 0
    first_prompt: str = ""
    """Its first words: sessions of one folder are often called the same."""
    problem: str = ""


def list_sessions(folder: Path) -> list[SessionEntry]:
    """Every `*.worldline` file of the folder, the newest activity first. A file that cannot be read is listed with its problem and
    hinders no other."""
    if not folder.is_dir():
        return []
    entries = [
        entry_of(path) for path in sorted(folder.glob(f"*{SESSION_SUFFIX}")) if not path.name.startswith(".")
    ]
    entries.sort(key=lambda entry: entry.updated, reverse=True)
    return entries


def entry_of(path: Path) -> SessionEntry:
    """Never raises for what is in the file."""
    entry = SessionEntry(path, title=path.stem)
    try:
        entry.bytes = sum(
            part.stat().st_size for part in (path, path.with_name(path.name + "-wal")) if part.exists()
        )
        entry.updated = int(path.stat().st_mtime * 1000)
        connect.check_file(path)
        with contextlib.closing(connect.connect_read(path)) as connection, connect.told(path):
            _fill(entry, connection)
    except SessionError as problem:
        entry.problem = str(problem)
    except (OSError, ValueError, TypeError) as problem:
        entry.problem = f"{path.name} cannot be read ({problem})."
    return entry


def _fill(entry: SessionEntry, connection: sqlite3.Connection) -> None:
    meta = header_reader.read_meta(connection)
    entry.title = meta.get("title") or entry.title
    entry.workspace = loads(meta.get("workspace", "{}"))
    first = connection.execute(
        "SELECT preview FROM nodes WHERE seq <= ? AND kind IN ('user', 'imported_user') ORDER BY seq LIMIT 1",
        (FIRST_NODES,),
    ).fetchone()
    entry.first_prompt = str(first[0]) if first else ""
    one = _Query(connection)
    entry.updated = max(
        int(meta.get("created", 0)),
        one("SELECT created FROM nodes ORDER BY seq DESC LIMIT 1"),
        one("SELECT at FROM node_ends ORDER BY id DESC LIMIT 1"),
        one("SELECT at FROM run_ends WHERE stop_reason <> 'interrupted' ORDER BY id DESC LIMIT 1"),
    )


class _Query:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __call__(self, sql: str) -> int:
        row = self._connection.execute(sql).fetchone()
        return int(row[0]) if row else 0


def search_sessions(folder: Path, text: str, limit: int = 200) -> Iterator[SearchHit]:
    """Hits of all sessions of the folder, the session with the newest activity first; a damaged one is passed over
    (the list names it). A generator: stop asking and it stops searching."""
    left = limit
    for entry in list_sessions(folder):
        if left <= 0:
            return
        if entry.problem:
            continue
        try:
            with (
                contextlib.closing(connect.connect_read(entry.path)) as connection,
                connect.reading(entry.path),
            ):
                hits = search.find(connection, text, left, session=str(entry.path))
        except SessionError:
            # Damaged where only a search looks: `verify` names it, the other sessions are still searched.
            continue
        left -= len(hits)
        yield from hits
