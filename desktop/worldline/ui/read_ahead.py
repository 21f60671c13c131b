"""The rows of a session straight from its file, before its engine has answered."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

from worldline.core import header_reader
from worldline.core.headers import NodeHeader

log = logging.getLogger("worldline.ui")

READ_AHEAD = 20_000
"""Rows read before the first paint: about 100 ms; the engine delivers the rest in pages."""


@dataclass(slots=True)
class Ahead:
    rows: list[NodeHeader] = field(default_factory=list)
    cursor: int = 0
    """`seq` of the cursor."""


def read_ahead(path: Path) -> Ahead:
    """What can be read; nothing when the file is no session or broken: the engine says what is wrong with it."""
    try:
        with contextlib.closing(header_reader.connect_readonly(path)) as connection:
            if not header_reader.is_session(connection):
                return Ahead()
            return Ahead(
                header_reader.read_headers(connection, limit=READ_AHEAD),
                header_reader.read_cursor(connection),
            )
    except (sqlite3.Error, OSError) as error:
        log.info("%s cannot be read ahead: %s", path, error)
        return Ahead()
