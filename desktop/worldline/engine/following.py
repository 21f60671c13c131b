"""A session that another process writes is followed: what it appends appears here as if it were our own."""

from __future__ import annotations

import asyncio

from worldline.core.errors import SessionError
from worldline.engine.shared import Shared
from worldline.protocol.events import CursorMoved, NodeEnded, NodeStored, WriterChanged
from worldline.protocol.model import Header
from worldline.session.lock import writer_lives

FOLLOW_S = 0.5


async def follow(shared: Shared) -> None:
    """Announce new and ended nodes of a session opened for reading, until cancelled. What cannot be read any more
    ends it: the rows that are known stay."""
    doc = shared.doc
    known, cursor, lived = len(doc.tree), doc.cursor, writer_lives(doc.path)
    while True:
        await asyncio.sleep(FOLLOW_S)
        try:
            rows = doc.poll()
        except SessionError as error:
            shared.status.set(state="failed", sentence=f"{error.message} {error.hint}".strip())
            return
        for row in rows:
            if row.seq > known:
                shared.emit("node_stored", NodeStored(header=Header.of(row)))
            else:
                shared.emit("node_ended", NodeEnded(header=Header.of(row)))
        known = max(known, len(doc.tree))
        lives = writer_lives(doc.path)
        if lives != lived:
            lived = lives
            shared.emit("writer_changed", WriterChanged(lives=lives))
        if doc.cursor != cursor:
            cursor = doc.cursor
            shared.emit("cursor_moved", CursorMoved(node=cursor, why="append"))
