"""Git objects as bytes: trees written and read without an index, packs written in one go.

Written by hand because the ways libgit2 offers either filter the content, need an index of all files, or cost a file
per object (a snapshot of 1,000 files takes half the time as one pack).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import struct
import zlib
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple

BLOB, TREE, COMMIT = 3, 2, 1
_NAMES = {BLOB: b"blob", TREE: b"tree", COMMIT: b"commit"}

MODE_DIR = 0o040000
MODE_FILE = 0o100644
MODE_EXEC = 0o100755
MODE_LINK = 0o120000
MODE_GITLINK = 0o160000

_HEADS = {mode: b"%o " % mode for mode in (MODE_DIR, MODE_FILE, MODE_EXEC, MODE_LINK, MODE_GITLINK)}

EMPTY_TREE = bytes.fromhex("4b825dc642cb6eb9a060e54bf8d69288fbee4904")


_PROBE = 16 << 10
_LARGE_TREE = 32 << 10
_ENTRY = re.compile(rb"([0-7]+) ([^\0]*)\0(.{20})", re.DOTALL)
_MODES = {b"%o" % mode: mode for mode in (MODE_DIR, MODE_FILE, MODE_EXEC, MODE_LINK)}


class TreeEntry(NamedTuple):
    name: str
    """`os.fsdecode`d."""
    mode: int
    oid: bytes


def object_id(kind: int, data: bytes) -> bytes:
    return hashlib.sha1(b"%s %d\0" % (_NAMES[kind], len(data)) + data, usedforsecurity=False).digest()


def encode_tree(entries: Iterable[TreeEntry]) -> bytes:
    """The bytes of a tree; git sorts folders as if their name ended in a slash."""
    rows = []
    for name, mode, oid in entries:
        raw = name.encode("utf-8", "surrogateescape")
        head = _HEADS.get(mode) or b"%o " % mode
        rows.append((raw + b"/" if mode == MODE_DIR else raw, head + raw + b"\0" + oid))
    rows.sort()
    return b"".join([row[1] for row in rows])


TreeRow = tuple[bytes, bytes, bytes]
"""An entry as it stands in a tree: mode, name, id."""


def tree_rows(data: bytes) -> list[TreeRow]:
    """Entries in the order of git. Raises ValueError for what is no tree."""
    rows: list[TreeRow] = _ENTRY.findall(data)
    if len(b"".join(chain.from_iterable(rows))) + 2 * len(rows) != len(data):
        raise ValueError("not a tree")
    return rows


def head_of(head: bytes) -> tuple[int, str]:
    """Mode and name of what stands before the id of an entry."""
    mode, _, name = head[:-1].partition(b" ")
    return _MODES.get(mode) or int(mode, 8), name.decode("utf-8", "surrogateescape")


def head_for(mode: int, name: str) -> bytes:
    """What stands before the id of an entry."""
    return (_HEADS.get(mode) or b"%o " % mode) + name.encode("utf-8", "surrogateescape") + b"\0"


def entry_of(row: TreeRow) -> TreeEntry:
    mode, name, oid = row
    return TreeEntry(name.decode("utf-8", "surrogateescape"), _MODES.get(mode) or int(mode, 8), oid)


def parse_tree(data: bytes) -> list[TreeEntry]:
    """Entries in the order of git. Raises ValueError for what is no tree."""
    return [entry_of(row) for row in tree_rows(data)]


def _stored(data: bytes) -> bytes:
    """As a zlib stream that is not compressed."""
    size = len(data)
    return b"".join(
        (
            b"\x78\x01\x01",
            struct.pack("<HH", size, size ^ 0xFFFF),
            data,
            struct.pack(">I", zlib.adler32(data)),
        )
    )


def deflate(data: bytes, kind: int = BLOB) -> bytes:
    """Packed as git can read it, fast. Setting up the usual 32 KB window costs ten times what packing a small file does;
    a tree is mostly ids, which do not get smaller: packing takes a quarter off it, and longer than all else that is done
    to it."""
    if len(data) <= 64 or (kind == TREE and len(data) <= _LARGE_TREE):
        return _stored(data)
    if len(data) <= 4096:
        packer = zlib.compressobj(1, zlib.DEFLATED, 12, 5)
    elif len(data) <= 16384:
        packer = zlib.compressobj(1, zlib.DEFLATED, 14, 6)
    else:
        # What is packed already (pictures, packs of git) only costs time: ten times as much as storing it as it is.
        probe = data[len(data) // 2 :][:_PROBE]
        dense = len(data) > 4 * _PROBE and len(zlib.compress(probe, 1)) > 0.97 * len(probe)
        return zlib.compress(data, 0 if dense else 1)
    return packer.compress(data) + packer.flush()


def write_loose(objects: Path, oid: bytes, kind: int, data: bytes) -> None:
    """Write one object as a file of its own, as git does: under another name first, so that it is there whole or not at
    all. For a large tree that takes half as long as `pygit2.Odb.write`, which packs it harder."""
    name = oid.hex()
    folder = f"{objects}/{name[:2]}"
    # In one place for all: whoever looks for what a kill left need not look into hundreds of folders.
    temp = f"{objects}/tmp_obj_{name}"
    packed = deflate(b"%s %d\0" % (_NAMES[kind], len(data)) + data, kind)
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o444)
    try:
        try:
            view = memoryview(packed)
            while view:
                view = view[os.write(fd, view) :]
        finally:
            os.close(fd)
        try:
            os.rename(temp, f"{folder}/{name[2:]}")  # noqa: PTH104 - once for each object
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder)  # noqa: PTH102 - once for each object of a new store
            os.rename(temp, f"{folder}/{name[2:]}")  # noqa: PTH104
    except BaseException:  # nobody may write to it again, we neither
        Path(temp).unlink(missing_ok=True)
        raise


def make_folders(objects: Path) -> None:
    """Make those of all loose objects, which `write_loose` would make one by one while somebody waits: in a new store nearly
    each object needs one, and on a busy disk that takes longer than all else in a small capture. Raises OSError."""
    there = set(os.listdir(objects))  # noqa: PTH208 - 256 names are wanted, no paths
    for number in range(256):
        if (name := f"{number:02x}") not in there:
            with contextlib.suppress(FileExistsError):
                (objects / name).mkdir()


class PackWriter:
    """Writes one pack with its index. Nothing is visible to readers before `finish`; `abort` leaves nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._temp = folder / f"tmp_wl_{os.getpid()}_{os.urandom(6).hex()}"
        self._file: IO[bytes] = self._temp.open("wb", buffering=1 << 20)
        self._file.write(b"PACK\0\0\0\2\0\0\0\0")
        self._offset = 12
        self._rows: list[tuple[bytes, int, int]] = []
        self._places: dict[bytes, int] = {}
        self.size = 0

    def add(self, oid: bytes, kind: int, data: bytes) -> None:
        size = len(data)
        first = (kind << 4) | (size & 15)
        size >>= 4
        head = bytearray()
        while size:
            head.append(first | 0x80)
            first = size & 0x7F
            size >>= 7
        head.append(first)
        body = bytes(head) + deflate(data, kind)
        self._rows.append((oid, zlib.crc32(body), self._offset))
        self._file.write(body)
        self._offset += len(body)
        self.size += len(body)

    def read(self, oid: bytes) -> bytes:
        """Content of an object that was added to this pack."""
        if not self._places:
            self._places = {row[0]: row[2] for row in self._rows}
        at = self._places.get(oid)
        if at is None:
            self._places = {row[0]: row[2] for row in self._rows}
            at = self._places[oid]
        self._file.flush()
        with self._temp.open("rb") as file:
            file.seek(at)
            while file.read(1)[0] & 0x80:
                pass
            unpack = zlib.decompressobj()
            parts = []
            while not unpack.eof:
                parts.append(unpack.decompress(file.read(1 << 16)))
        return b"".join(parts)

    def abort(self) -> None:
        self._file.close()
        self._temp.unlink(missing_ok=True)

    def finish(self) -> str:
        """Make the pack readable: the data first, then the index that announces it. Returns its name."""
        self._file.close()
        with self._temp.open("r+b") as file:
            file.seek(8)
            file.write(struct.pack(">I", len(self._rows)))
            file.seek(0)
            digest = hashlib.sha1(usedforsecurity=False)
            while chunk := file.read(1 << 20):
                digest.update(chunk)
            trailer = digest.digest()
            file.write(trailer)
            file.flush()
            os.fsync(file.fileno())
        index = self._index(trailer)
        name = f"pack-{hashlib.sha1(trailer, usedforsecurity=False).hexdigest()}"
        index_temp = self._temp.with_name(self._temp.name + "_idx")
        with index_temp.open("wb") as file:
            file.write(index)
            file.flush()
            os.fsync(file.fileno())
        self._temp.chmod(0o444)
        index_temp.chmod(0o444)
        self._temp.replace(self._folder / f"{name}.pack")
        index_temp.replace(self._folder / f"{name}.idx")
        return name

    def _index(self, trailer: bytes) -> bytes:
        rows = sorted(self._rows)
        fanout = [0] * 256
        for oid, _, _ in rows:
            fanout[oid[0]] += 1
        total = 0
        for value in range(256):
            total += fanout[value]
            fanout[value] = total
        large = [offset for _, _, offset in rows if offset >= 1 << 31]
        place = {offset: number for number, offset in enumerate(large)}
        parts = [b"\xfftOc\0\0\0\2", struct.pack(">256I", *fanout), b"".join(row[0] for row in rows)]
        parts.append(struct.pack(f">{len(rows)}I", *(row[1] for row in rows)))
        parts.append(
            struct.pack(f">{len(rows)}I", *((1 << 31) | place[o] if o in place else o for _, _, o in rows))
        )
        parts.append(struct.pack(f">{len(large)}Q", *large))
        parts.append(trailer)
        body = b"".join(parts)
        return body + hashlib.sha1(body, usedforsecurity=False).digest()
