"""The rows of a session straight from its file, in a thread, before its engine has answered."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

from worldline.core import session_file
from worldline.core.row_reader import Details, NotPlain, Shape, Uids, read_details, read_shape, read_uids

log = logging.getLogger("worldline.ui")

AROUND = 600
"""Rows above and below the cursor whose words are read before the first paint."""
CHUNK = 4_000
"""Rows whose words are handed to the window at once: under 10 ms of its time."""


class ReadAhead(threading.Thread):
    """Reads the shape of the tree and the words around the cursor. Start it before Qt is imported: most of the
    work is SQLite's and needs no interpreter lock."""

    def __init__(self, path: Path) -> None:
        super().__init__(name="read-ahead", daemon=True)
        self.path = path
        self._shape = Shape()
        self._details: list[Details] = []
        self._uids: Uids | None = None
        self._shaped = threading.Event()
        self.start()

    def run(self) -> None:
        try:
            self._read()
        finally:
            self._shaped.set()

    def _read(self) -> None:
        # Not readable, damaged, newer, no session at all: the engine says what is wrong with it.
        try:
            with contextlib.closing(session_file.connect_readonly(self.path)) as connection:
                if session_file.is_session(connection):
                    shape = read_shape(connection)
                    if len(shape):
                        at = max(shape.cursor, 1) - 1
                        first, last = max(0, at - AROUND), min(len(shape) - 1, at + AROUND)
                        self._details = [read_details(connection, first, last)]
                        self._shape = shape
                        self._shaped.set()
                        self._uids = read_uids(connection, len(shape))
        except (sqlite3.Error, OSError, ValueError, NotPlain) as error:
            log.info("%s cannot be read ahead: %s", self.path, error)

    def result(self) -> tuple[Shape, list[Details]]:
        """Waits for it. An empty shape when the file cannot be read like this."""
        self._shaped.wait()
        return self._shape, self._details

    def uids(self) -> Uids | None:
        """Waits for them. None when they cannot be read."""
        self.join()
        return self._uids


class DetailReader(threading.Thread):
    """Reads the words of the first `count` rows and hands them over in chunks, in its own thread."""

    def __init__(self, path: Path, count: int, take: Callable[[Details], None]) -> None:
        super().__init__(name="read-details", daemon=True)
        self._path, self._count, self._take = path, count, take
        self.cancelled = threading.Event()

    def run(self) -> None:
        try:
            with contextlib.closing(session_file.connect_readonly(self._path)) as connection:
                for first in range(0, self._count, CHUNK):
                    if self.cancelled.is_set():
                        return
                    self._take(read_details(connection, first, min(self._count, first + CHUNK) - 1))
        except (sqlite3.Error, OSError, ValueError, NotPlain) as error:
            log.warning("%s cannot be read to its end: %s", self._path, error)
