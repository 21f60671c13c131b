"""Bodies: bytes of any size, named by their SHA-256, stored once, compressed where it pays."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib

from worldline.core.errors import SessionError

PLAIN, ZLIB = 0, 1
_WORTH_TRYING = 4096
"""Bytes. Below this, packing costs more time in an append and in a walk than the space is worth."""


def encode(data: bytes) -> tuple[int, bytes]:
    """(codec, stored bytes). Packed only when at least an eighth is saved."""
    if len(data) >= _WORTH_TRYING:
        # A sample tells incompressible data (images, archives) apart without packing all of it.
        sample = data[:65536]
        if len(zlib.compress(sample, 1)) * 8 <= len(sample) * 7:
            packed = zlib.compress(data, 1)
            if len(packed) * 8 <= len(data) * 7:
                return ZLIB, packed
    return PLAIN, data


def decode(codec: int, data: bytes, size: int) -> bytes:
    """Raises ValueError when the stored bytes do not give back `size` bytes."""
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
    return body


def put(connection: sqlite3.Connection, data: bytes) -> int:
    """Id of the body; stores it unless the same bytes are there. Part of the caller's transaction."""
    digest = hashlib.sha256(data).digest()
    row = connection.execute("SELECT id FROM bodies WHERE hash = ?", (digest,)).fetchone()
    if row:
        return int(row[0])
    codec, stored = encode(data)
    done = connection.execute(
        "INSERT INTO bodies(hash, codec, size, data) VALUES(?, ?, ?, ?)", (digest, codec, len(data), stored)
    )
    assert done.lastrowid is not None
    return done.lastrowid


def get(connection: sqlite3.Connection, body_id: int) -> bytes:
    """Raises SessionError `damaged` when the body is gone or does not fit its size."""
    row = connection.execute("SELECT codec, data, size FROM bodies WHERE id = ?", (body_id,)).fetchone()
    if row is None:
        raise damaged(f"body {body_id} is missing")
    try:
        return decode(*row)
    except ValueError as problem:
        raise damaged(f"body {body_id}: {problem}") from problem


def by_hash(connection: sqlite3.Connection, name: str) -> bytes | None:
    """None when no body has this hex SHA-256. Raises SessionError `damaged`."""
    try:
        digest = bytes.fromhex(name)
    except ValueError:
        return None
    row = connection.execute("SELECT id FROM bodies WHERE hash = ?", (digest,)).fetchone()
    return get(connection, int(row[0])) if row else None


def damaged(what: str) -> SessionError:
    return SessionError(
        f"A part of this session file cannot be read: {what}.",
        "Everything else still works. `worldline verify` lists what is damaged, `worldline recover` writes a sound copy.",
        kind="damaged",
    )
