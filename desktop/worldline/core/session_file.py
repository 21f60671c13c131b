"""A session file as both processes open it, and the few facts that are read first. `sqlite3` only.

Apart from `header_reader`, because the window needs no more than this before its first paint.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from worldline.core.kinds import NodeKind, Outcome

APPLICATION_ID = 0x574C444E
"""Marks a SQLite file as a session ("WLDN")."""
SCHEMA_VERSION = 3
"""What new files get. 2: `bodies.head`, see `session.heads`. 3: `sum` in the rows beside the tree, see `session.sums`."""
FIRST_SCHEMA = 1
"""Files from this version on are read and written as they are; none is ever migrated."""

KINDS: tuple[NodeKind, ...] = tuple(NodeKind)
"""Code of a kind in `HeaderColumns.kind` → the kind."""
OUTCOMES: tuple[Outcome, ...] = tuple(Outcome)


def connect_readonly(path: Path) -> sqlite3.Connection:
    """Open a session file for reading without changing it or its folder's contents more than SQLite needs to.

    Works in a read-only folder: without a log beside the file it is opened as immutable, with one a private copy is
    read (the copy is gone when the connection is closed). Raises sqlite3.Error or OSError.
    """
    uri = f"file:{_quoted(path.absolute())}"
    log = path.with_name(path.name + "-wal")
    try:
        connection = sqlite3.connect(
            f"{uri}?mode=ro", uri=True, check_same_thread=False, isolation_level=None
        )
        try:
            connection.execute("PRAGMA query_only = 1")
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        except BaseException:
            connection.close()
            raise
        return connection
    except sqlite3.OperationalError:
        if not path.is_file():
            raise
    if not log.exists() or log.stat().st_size == 0:
        connection = sqlite3.connect(
            f"{uri}?mode=ro&immutable=1", uri=True, check_same_thread=False, isolation_level=None
        )
        connection.execute("PRAGMA query_only = 1")
        return connection
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="worldline-read-") as folder:
        copy = Path(folder) / "session.worldline"
        shutil.copyfile(path, copy)
        shutil.copyfile(log, copy.with_name(copy.name + "-wal"))
        memory = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        with contextlib.closing(sqlite3.connect(copy)) as source:
            source.backup(memory)
    memory.execute("PRAGMA query_only = 1")
    return memory


def _quoted(path: Path) -> str:
    """The path for a `file:` URI. (`urllib` would cost the window 8 ms before its first paint.)"""
    plain = frozenset(b"/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-~")
    raw = os.fsencode(path.as_posix())
    return "".join(chr(byte) if byte in plain else f"%{byte:02X}" for byte in raw)


def is_session(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID)


def schema_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def interrupted_upto(connection: sqlite3.Connection) -> int:
    """Rows up to this `seq` belong to earlier openings: unfinished ones among them were interrupted."""
    row = connection.execute("SELECT last_node FROM openings ORDER BY id DESC LIMIT 1").fetchone()
    return int(row[0]) if row else 0


def read_cursor(connection: sqlite3.Connection) -> int:
    """`seq` of the node that the next prompt hangs on; 0 in an empty session."""
    # A node that takes the cursor with it says so in its own row (that saves a page in every commit); other moves are
    # rows of their own, which say after which node they were made.
    moved = connection.execute(
        "SELECT node, after_node FROM cursor_moves ORDER BY id DESC LIMIT 1"
    ).fetchone()
    node, after = moved or (0, 0)
    taken = connection.execute(
        "SELECT seq FROM nodes WHERE seq > ? AND moved = 1 ORDER BY seq DESC LIMIT 1", (after,)
    )
    row = taken.fetchone()
    return int(row[0] if row else node)


def read_meta(connection: sqlite3.Connection) -> dict[str, str]:
    """Facts about the session as a whole (title, workspace, …), the newest value of each."""
    return {
        str(key): str(value) for key, value in connection.execute("SELECT key, value FROM meta ORDER BY id")
    }
