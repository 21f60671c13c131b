"""Making and opening session files, and saying in words what SQLite or the disk had to say."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from worldline.core import header_reader
from worldline.core.errors import SessionError
from worldline.core.header_reader import FIRST_SCHEMA, SCHEMA_VERSION
from worldline.session import schema

_MAGIC = b"SQLite format 3\0"
PAGE = 4096
"""Bytes of a page of a session file."""
_PAGE_KINDS = (b"\x02", b"\x05", b"\x0a", b"\x0d")
_LOOKED_AT = 16
"""Pages whose first letter is looked at where the beginning of a file is not that of a session."""
_BUSY_MS = 5000


def translate(problem: sqlite3.Error | OSError, path: Path, *, saving: bool) -> SessionError:
    """The error for the person. `saving`: something was being written, and was not."""
    if isinstance(problem, OSError):
        return _not_saved(f"{problem.strerror or problem}", "Nothing was lost that was saved before.")
    code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or (
        not code and ("malformed" in str(problem) or "decode to UTF-8" in str(problem))
    ):
        return SessionError(
            f"{path.name} is damaged ({problem}).",
            "It is left as it is. `worldline verify` says what still works, `worldline recover` writes a sound copy.",
            kind="damaged",
        )
    if saving:
        if code == sqlite3.SQLITE_FULL:
            return _not_saved("the disk is full", "Make room, then go on: the next write tries again.")
        if code == sqlite3.SQLITE_READONLY:
            return _not_saved("the file or its folder is read-only", "Make it writable, then go on.")
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return _not_saved("another program keeps the file locked", "Close that program, then go on.")
        return _not_saved(
            str(problem), "Check the disk and the folder, then go on: the next write tries again."
        )
    return SessionError(
        f"{path.name} cannot be read ({problem}).",
        "Check the disk and your rights to the folder.",
        kind="unreadable",
    )


def _not_saved(why: str, hint: str) -> SessionError:
    return SessionError(f"The session could not be saved: {why}.", hint, kind="not_saved")


@contextlib.contextmanager
def told(path: Path, *, saving: bool = False) -> Iterator[None]:
    """Turn what SQLite raises into a SessionError. Broken constraints and wrong use are defects of ours and pass unchanged."""
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
        raise
    except UnicodeDecodeError as problem:
        # SQLite quotes the file in its messages: on a torn page that is noise, which Python refuses to turn into text.
        raise translate(sqlite3.DatabaseError(f"malformed text: {problem}"), path, saving=saving) from problem
    except (sqlite3.DatabaseError, OSError) as problem:
        raise translate(problem, path, saving=saving) from problem


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """`told`, for code that also takes rows apart: on a torn page a number may be a text and JSON may be noise."""
    with told(path):
        try:
            yield
        except (ValueError, TypeError, OverflowError, KeyError, AttributeError) as problem:
            raise sqlite3.DatabaseError(f"malformed row: {problem}") from problem


def check_file(path: Path) -> None:
    """Cheap checks before SQLite sees the file. Raises SessionError `missing`, `not_a_session`, `damaged`."""
    if not path.exists():
        raise SessionError(
            f"There is no session at {path}.", "Check the name and the folder.", kind="missing"
        )
    if not path.is_file():
        raise _foreign(path)
    try:
        with path.open("rb") as file:
            head = file.read(len(_MAGIC))
            ours = head != _MAGIC and path.suffix == ".worldline" and _has_pages(file)
    except OSError as problem:
        raise translate(problem, path, saving=False) from problem
    if head == _MAGIC:
        return
    if path.suffix == ".worldline" and not head.strip(b"\0"):
        raise SessionError(
            f"{path.name} is damaged: its beginning is empty.",
            "It is left as it is. `worldline recover` saves what is readable into a new file.",
            kind="damaged",
        )
    if ours:
        raise SessionError(
            f"{path.name} is damaged: its beginning cannot be read.",
            "It is left as it is. `worldline recover` saves what is readable into a new file.",
            kind="damaged",
        )
    raise _foreign(path)


def _has_pages(file: BinaryIO) -> bool:
    """Whether what follows the first page has the form of SQLite's pages: each begins with one of four letters."""
    letters = []
    for number in range(1, _LOOKED_AT + 1):
        file.seek(number * PAGE)
        letters.append(file.read(1))
    there = [letter for letter in letters if letter]
    return len(there) >= 3 and sum(letter in _PAGE_KINDS for letter in there) * 4 >= len(there) * 3


def _foreign(path: Path) -> SessionError:
    return SessionError(
        f"{path.name} is not a session of Worldline.",
        "Sessions end in .worldline; sessions of other agents come in by `worldline import`.",
        kind="not_a_session",
    )


def create_file(path: Path) -> None:
    """Make a new empty session under a passing name and put it in place in one step: it is there whole or not at all.

    Raises SessionError `exists` (nothing is ever overwritten) and `not_saved`.
    """
    passing = path.with_name(f".{path.name}.{os.getpid()}.new")
    with told(path, saving=True):
        try:
            # Nobody else on this machine need read what was said and done; its log gets the same permissions.
            passing.unlink(missing_ok=True)
            os.close(os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            with contextlib.closing(sqlite3.connect(passing, isolation_level=None)) as connection:
                connection.execute(f"PRAGMA page_size = {PAGE}")
                connection.execute("PRAGMA synchronous = FULL")
                connection.executescript(schema.create_script())
                connection.execute("PRAGMA journal_mode = WAL")
            try:
                os.link(passing, path)
            except FileExistsError:
                raise SessionError(
                    f"{path} is already there.", "Choose another name, or open it.", kind="exists"
                ) from None
            except OSError:
                # No hard links here (exFAT, some network drives). The lock is ours, so nobody else creates this file.
                if path.exists():
                    raise
                passing.rename(path)
            sync_folder(path.parent)
        finally:
            remove(passing)


def remove(path: Path) -> None:
    """Remove a session file that was made here and is not wanted after all, with its log and its lock. Nothing else that only
    begins like it."""
    for end in ("", "-wal", "-shm", ".lock"):
        path.with_name(path.name + end).unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make a new name in `folder` durable, where the OS knows how."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def connect_write(path: Path) -> sqlite3.Connection:
    """Raises SessionError `not_a_session`, `newer_schema`, `damaged`, `not_saved`."""
    with told(path):
        connection = sqlite3.connect(
            _uri(path, "rw"),
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=_BUSY_MS / 1000,
            cached_statements=256,
        )
    try:
        with told(path):
            check_identity(connection, path, write=True)
            for pragma in (
                "journal_mode = WAL",
                "synchronous = FULL",
                "foreign_keys = ON",
                "recursive_triggers = ON",
                "trusted_schema = OFF",
                "cell_size_check = ON",
                "journal_size_limit = 67108864",
            ):
                connection.execute(f"PRAGMA {pragma}").fetchall()
    except BaseException:
        close_as_found(connection, path)
        raise
    return connection


def close_as_found(connection: sqlite3.Connection, path: Path) -> None:
    """Close a connection for writing, and leave the file and its log as they are: SQLite writes the log into the file when the
    last connection is closed, and what a crash has damaged is not to be written to. `recover` reads both."""
    with contextlib.ExitStack() as stack:
        if _has_frames(path):
            with contextlib.suppress(sqlite3.Error):
                # One for reading, that is closed last and cannot write: Python 3.11 has no way to say so.
                last = sqlite3.connect(_uri(path, "ro"), uri=True, isolation_level=None, timeout=0)
                stack.callback(last.close)
                last.execute("BEGIN")
                last.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        connection.close()


def _has_frames(path: Path) -> bool:
    """Whether anything is in the log of a session; an empty one may go."""
    try:
        return path.with_name(path.name + "-wal").stat().st_size > 0
    except OSError:
        return False


def _uri(path: Path, mode: str) -> str:
    return f"file:{quote(str(path.absolute()))}?mode={mode}"


def connect_read(path: Path) -> sqlite3.Connection:
    """Raises SessionError `not_a_session`, `damaged`, `unreadable`. A newer schema is fine for reading."""
    with told(path):
        connection = header_reader.connect_readonly(path)
        try:
            check_identity(connection, path, write=False)
        except BaseException:
            connection.close()
            raise
    return connection


def check_identity(connection: sqlite3.Connection, path: Path, *, write: bool) -> None:
    if not header_reader.is_session(connection):
        raise _foreign(path)
    version = header_reader.schema_of(connection)
    if write and version > SCHEMA_VERSION:
        raise SessionError(
            f"{path.name} was written by a newer version of Worldline (schema {version}, this one writes {SCHEMA_VERSION}).",
            "Update Worldline to go on in it. Here it can be read, not changed.",
            kind="newer_schema",
        )
    if write and version < FIRST_SCHEMA:
        raise SessionError(
            f"{path.name} has the unknown schema {version}.",
            "Read it, or save what is in it with `worldline recover`.",
            kind="damaged",
        )
