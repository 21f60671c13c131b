"""Whether the pages of a session file are whole, as cheaply as that can be told.

Opening reads the rows of the tree and nothing else, so a page that was destroyed elsewhere is met only when its text is
wanted. SQLite's quick look through all pages finds it. It does not compare texts with their hashes: `verify` does, and
takes several times as long.
"""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import threading
from pathlib import Path

from worldline.core.errors import SessionError
from worldline.core.header_reader import HeaderColumns
from worldline.session import connect
from worldline.session.facts import unreadable

_MOST = 4
"""Faults that are looked for; one is enough to know."""


def page_faults(connection: sqlite3.Connection) -> list[str]:
    """What SQLite finds wrong, in its words, and rows whose JSON is none; empty for a sound file. Raises what it raises where it cannot go on."""
    found = [str(line) for (line,) in connection.execute(f"PRAGMA quick_check({_MOST})")]
    if found != ["ok"]:
        return found
    rows = itertools.islice(unreadable(connection, thorough=False), _MOST)
    return [f"row {number} of {table} cannot be read" for table, number in rows]


def tree_faults(columns: HeaderColumns) -> list[str]:
    """What reading the rows of the tree has met already."""
    gone = [f"node number {seq} is missing" for seq in columns.missing]
    return (gone + [f"the parent of node number {seq} is missing" for seq in columns.bad_parents])[:_MOST]


def damage_of(path: Path, faults: list[str]) -> list[str]:
    """The sentences for the person: what is wrong, and what to do about it. Empty without faults."""
    if not faults:
        return []
    first = " ".join(faults[0].split())
    return [
        f"{path.name} is damaged ({first}).",
        "It is not written to any more.",
        f"`worldline verify {path}` says what is lost and what still works;"
        f" `worldline recover {path} --out NEW` saves what is readable into a new session.",
    ]


class FileCheck:
    """One look through a session file in any thread, with a connection of its own; beside a writer, too."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._guard = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._stopped = False

    def run(self) -> list[str]:
        """What is wrong; empty for a sound file and for a look that was stopped. Raises SessionError for a file that cannot be
        looked at (it is gone, or the disk fails)."""
        try:
            connection = connect.connect_read(self._path)
        except SessionError as problem:
            if problem.kind == "damaged":
                return [_said(problem)]
            raise
        with contextlib.closing(connection):
            with self._guard:
                if self._stopped:
                    return []
                self._connection = connection
            try:
                with connect.told(self._path):
                    return page_faults(connection)
            except SessionError as problem:
                return self._met(problem)
            finally:
                with self._guard:
                    self._connection = None

    def _met(self, problem: SessionError) -> list[str]:
        if self._stopped:
            return []  # the interruption, not the file
        if problem.kind == "damaged":
            return [_said(problem)]
        raise problem

    def stop(self) -> None:
        """End the look, from another thread: nobody waits for it any more."""
        with self._guard:
            self._stopped = True
            if self._connection is not None:
                self._connection.interrupt()


def _said(problem: SessionError) -> str:
    """The words of SQLite, where there are any: the sentence round them is made by `damage_of`."""
    return str(problem.__cause__ or problem.message)
