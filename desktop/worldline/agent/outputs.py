"""What a call put out, as the session keeps it: whole, masked, in parts that can be read one by one."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Iterator
from typing import IO, Any

from worldline.core.live_mask import LiveMask
from worldline.session.document import SessionDocument
from worldline.tools.model import ToolResult

KEEP_WHOLE = 16_000
"""Bytes; a longer output is kept as a blob, with its head and tail in the node."""
PART = 4_000_000
"""Bytes of one blob of a very large output; all but the last are exactly as long."""
_READ = 256_000
_END = 4_000


async def kept_output(doc: SessionDocument, result: ToolResult | None) -> tuple[Any, int]:
    """The `output` of the node's detail, None = there is none; and secrets that were masked here. Raises SessionError."""
    if result is None:
        return None, 0
    if result.whole is not None:
        with result.whole as file:
            return await _large(doc, file)
    full = result.full_output
    if full is None:
        return None, 0
    if len(full) <= KEEP_WHOLE:
        return full.decode("utf-8", "replace"), 0
    return {"blob": doc.put_blob(full), **_ends(full[:_END], full[-_END:], len(full))}, 0


async def _large(doc: SessionDocument, file: IO[bytes]) -> tuple[dict[str, Any], int]:
    masked = LiveMask()
    parts: list[dict[str, Any]] = []
    head = tail = b""
    # Reading and masking takes a while: on a thread. A part at a time, so that the loop is never held for long.
    reader = _parts(file, masked)
    while (part := await asyncio.to_thread(next, reader, None)) is not None:
        head = head or part[:_END]
        tail = (tail + part)[-_END:]
        parts.append({"blob": doc.put_blob(part), "bytes": len(part)})
    return {"parts": parts, **_ends(head, tail, sum(part["bytes"] for part in parts))}, masked.count


def _parts(file: IO[bytes], masked: LiveMask) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    waiting = bytearray()
    while True:
        chunk = file.read(_READ)
        text = masked.feed(decoder.decode(chunk, not chunk)) + ("" if chunk else masked.rest())
        waiting += text.encode("utf-8", "surrogateescape")
        while len(waiting) >= PART:
            yield bytes(waiting[:PART])
            del waiting[:PART]
        if not chunk:
            if waiting:
                yield bytes(waiting)
            return


def _ends(head: bytes, tail: bytes, size: int) -> dict[str, Any]:
    return {
        "bytes": size,
        "head": head.decode("utf-8", "replace"),
        "tail": tail.decode("utf-8", "replace"),
    }
