"""What a copy that is kept ready for the next session holds: of each file what the original was, and what the copy was, when
the copy was written.

Both are stat data. Whoever takes the copy compares them with what is there now: an original that is another, or a copy that
somebody touched, is written anew. Nothing of the content has to be read for that.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from array import array
from dataclasses import dataclass, field
from typing import Any

_MAGIC = b"worldline ready copy 1\n"
_NUMBERS = 10
_SUM = 32

Row = tuple[int, ...]
"""mtime_ns, ctime_ns, size, inode and st_mode of the original (ctime -1: the copy must not be trusted), then of the copy."""


class BadManifest(ValueError):
    """Cut off, damaged, or of another version."""


@dataclass(slots=True)
class Manifest:
    source: str
    """The folder that was copied, all links in it followed."""
    files: dict[str, Row] = field(default_factory=dict)
    folders: frozenset[str] = frozenset()
    bytes: int = 0
    """Of all files."""


def encode(manifest: Manifest) -> bytes:
    """Of two manifests with the same content the bytes need not be the same."""
    head = {
        "source": os.fsencode(manifest.source).hex(), "order": sys.byteorder, "files": len(manifest.files),
        "folders": len(manifest.folders), "bytes": manifest.bytes,
    }  # fmt: skip
    names = b"".join(os.fsencode(name) + b"\0" for name in (*manifest.folders, *manifest.files))
    numbers = array("q", (number for row in manifest.files.values() for number in row))
    body = b"".join((_MAGIC, json.dumps(head).encode("ascii"), b"\n", names, numbers.tobytes()))
    return body + hashlib.sha256(body).digest()


def head_of(data: bytes) -> dict[str, Any]:
    """The facts at the beginning: `source`, `files`, `folders`, `bytes`. Raises `BadManifest`."""
    end = data.find(b"\n", len(_MAGIC))
    if not data.startswith(_MAGIC) or end < 0:
        raise BadManifest("it is of another version")
    try:
        head = json.loads(data[len(_MAGIC) : end])
        head["source"] = os.fsdecode(bytes.fromhex(head["source"]))
        counts = [head[key] for key in ("files", "folders", "bytes")]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise BadManifest("its beginning is damaged") from error
    if head.get("order") != sys.byteorder or not all(isinstance(n, int) and n >= 0 for n in counts):
        raise BadManifest("it is of another machine")
    return {**head, "end": end + 1}


def decode(data: bytes) -> Manifest:
    """Raises `BadManifest` for anything but what `encode` gave, whole."""
    head = head_of(data)
    body, digest = data[:-_SUM], data[-_SUM:]
    if hashlib.sha256(body).digest() != digest:
        raise BadManifest("it is damaged")
    size = head["files"] * _NUMBERS * 8
    names = os.fsdecode(body[head["end"] : len(body) - size]).split("\0")
    if len(names) != head["files"] + head["folders"] + 1 or names.pop():
        raise BadManifest("it does not fit together")
    numbers = array("q")
    numbers.frombytes(body[len(body) - size :])
    rows = iter(numbers)
    files = dict(zip(names[head["folders"] :], zip(*[rows] * _NUMBERS, strict=True), strict=True))
    return Manifest(head["source"], files, frozenset(names[: head["folders"]]), head["bytes"])
