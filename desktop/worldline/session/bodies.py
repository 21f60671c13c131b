"""Bodies: bytes of any size with their SHA-256, compressed where it pays.

What may come again (large outputs, and everything stored by `put_blob`) is *shared*: found by its hash and stored once.
Smaller bodies are not in that index: one page more in every commit costs more than the few that come twice would save.
Those of middle size are remembered by the writer instead (`Recent`): what comes again does so mostly soon."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib

from worldline.core.errors import SessionError

PLAIN, ZLIB = 0, 1
_WORTH_PACKING = 32_768
"""Bytes. Below this, packing would cost an append more than a third of its time."""
_WORTH_SHARING = 32_768
WORTH_REMEMBERING = 4096
_SAMPLE = 65536


def encode(data: bytes) -> tuple[int, bytes]:
    """(codec, stored bytes). Packed only when at least an eighth is saved."""
    if len(data) >= _WORTH_PACKING:
        # The beginning tells incompressible data (images, archives) apart without packing all of it.
        packed = zlib.compress(data[:_SAMPLE], 1)
        if len(packed) * 8 <= min(len(data), _SAMPLE) * 7:
            if len(data) > _SAMPLE:
                packed = zlib.compress(data, 1)
            if len(packed) * 8 <= len(data) * 7:
                return ZLIB, packed
    return PLAIN, data


def decode(codec: int, data: bytes, size: int, digest: bytes) -> bytes:
    """Raises ValueError when the stored bytes do not give back what was stored: damage is never shown as content."""
    if not isinstance(data, bytes) or not isinstance(size, int):
        raise ValueError("the row is torn")
    if codec == PLAIN:
        body = bytes(data)
    elif codec == ZLIB:
        unpacker = zlib.decompressobj()
        try:
            # The bound keeps a damaged row from filling the memory.
            body = unpacker.decompress(data, size + 1)
        except zlib.error as problem:
            raise ValueError(f"the packed bytes are broken ({problem})") from problem
    else:
        raise ValueError(f"unknown packing {codec}")
    if len(body) != size:
        raise ValueError(f"{len(body)} bytes instead of {size}")
    if hashlib.sha256(body).digest() != digest:
        raise ValueError("its bytes do not fit their hash")
    return body


class Recent:
    """Bodies of middle size that were stored through one connection, by their hash."""

    _MOST = 10_000

    def __init__(self) -> None:
        self._ids: dict[bytes, int] = {}

    def find(self, digest: bytes) -> int | None:
        return self._ids.get(digest)

    def add(self, digest: bytes, body_id: int) -> None:
        if len(self._ids) >= self._MOST:
            self._ids.clear()
        self._ids[digest] = body_id

    def forget(self) -> None:
        """After a rollback: some of them are not there any more."""
        self._ids.clear()


def put(
    connection: sqlite3.Connection,
    data: bytes,
    *,
    shared: bool = False,
    recent: Recent | None = None,
    head: bytes = b"",
) -> int:
    """Id of the body; large or `shared` ones are stored only once, and those of middle size that are among the `recent`.
    `head`: whose it is (`session.heads`), for files whose schema has a place for it. Part of the caller's transaction."""
    digest = hashlib.sha256(data).digest()
    if shared or not WORTH_REMEMBERING <= len(data) < _WORTH_SHARING:
        recent = None
    if recent is not None and (known := recent.find(digest)) is not None:
        return known
    if shared or len(data) >= _WORTH_SHARING:
        shared = True
        row = connection.execute("SELECT id FROM bodies WHERE hash = ? AND shared = 1", (digest,)).fetchone()
        if row:
            return int(row[0])
    codec, stored = encode(data)
    if head:
        done = connection.execute(
            "INSERT INTO bodies(hash, codec, size, shared, head, data) VALUES(?, ?, ?, ?, ?, ?)",
            (digest, codec, len(data), int(shared), head, stored),
        )
    else:
        done = connection.execute(
            "INSERT INTO bodies(hash, codec, size, shared, data) VALUES(?, ?, ?, ?, ?)",
            (digest, codec, len(data), int(shared), stored),
        )
    assert done.lastrowid is not None
    if recent is not None:
        recent.add(digest, done.lastrowid)
    return done.lastrowid


def get(connection: sqlite3.Connection, body_id: int) -> bytes:
    """Raises SessionError `damaged` when the body is gone or does not fit its size."""
    row = connection.execute("SELECT codec, data, size, hash FROM bodies WHERE id = ?", (body_id,)).fetchone()
    if row is None:
        raise damaged(f"body {body_id} is missing")
    try:
        return decode(*row)
    except ValueError as problem:
        raise damaged(f"body {body_id}: {problem}") from problem


def by_hash(connection: sqlite3.Connection, name: str) -> bytes | None:
    """None when no shared body has this hex SHA-256. Raises SessionError `damaged`."""
    try:
        digest = bytes.fromhex(name)
    except ValueError:
        return None
    row = connection.execute("SELECT id FROM bodies WHERE hash = ? AND shared = 1", (digest,)).fetchone()
    return get(connection, int(row[0])) if row else None


def size_of(connection: sqlite3.Connection, name: str) -> int | None:
    """Bytes of the shared body with this hex SHA-256; None when there is none."""
    try:
        digest = bytes.fromhex(name)
    except ValueError:
        return None
    row = connection.execute("SELECT size FROM bodies WHERE hash = ? AND shared = 1", (digest,)).fetchone()
    return int(row[0]) if row else None


def damaged(what: str) -> SessionError:
    return SessionError(
        f"A part of this session file cannot be read: {what}.",
        "Everything else still works. `worldline verify` lists what is damaged, `worldline recover` writes a sound copy.",
        kind="damaged",
    )
