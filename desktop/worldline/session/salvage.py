"""Reading a damaged session: what is readable is shown, the rest is named. The file itself is only read."""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from pathlib import Path

from worldline.core.errors import SessionError
from worldline.session import connect
from worldline.session.document import SessionDocument
from worldline.session.recover import Recovered, recover


def open_damaged(path: Path, problem: SessionError) -> SessionDocument:
    """Open what is readable of the session at `path`, read-only, in memory. `damage` of the document says what is lost.

    Raises `problem`, for which it cannot be opened as it is, when nothing of a session can be found in it either."""
    path = path.absolute()
    with tempfile.TemporaryDirectory(prefix="worldline-read-") as folder:
        copy = Path(folder) / "session.worldline"
        try:
            found = recover(path, copy)
        except SessionError as nothing:
            if nothing.kind == "not_a_session":
                raise problem from nothing
            raise
        memory = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        with contextlib.closing(sqlite3.connect(copy)) as source, connect.told(path):
            source.backup(memory)
    memory.execute("PRAGMA query_only = 1")
    document = SessionDocument(path, memory, writer=None)
    document.damage = _told(problem, found)
    return document


def _told(problem: SessionError, found: Recovered) -> list[str]:
    return [problem.message, f"{found.nodes} steps of it can be read, and are shown.", *found.losses()]
