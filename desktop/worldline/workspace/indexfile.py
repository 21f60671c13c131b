"""The staging area of a git repository, read and written as bytes.

Read by hand because libgit2 refuses split and sparse indexes and does not hand out the flags that a restore must put
back (intent to add, skip worktree). Never takes the repository's lock by reading.
"""

from __future__ import annotations

import hashlib
import os
import struct
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from worldline.workspace.objects import MODE_DIR

_ENCODING, _ERRORS = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
ASSUME_VALID = 0x8000
EXTENDED = 0x4000
SKIP_WORKTREE = 0x4000 << 16
INTENT_TO_ADD = 0x2000 << 16
"""Flags as `Entry` has them."""

Stat = tuple[int, int, int, int, int, int, int, int]
"""ctime s, ns, mtime s, ns, dev, ino, uid, gid as stored (32 bit each); size comes last in `Entry`."""

NO_STAT: Stat = (0, 0, 0, 0, 0, 0, 0, 0)

Seen = tuple[Stat, int]
"""Stat data of one entry, and its size."""


class UnreadableIndex(Exception):
    """The index is of a kind that cannot be restored (unknown, damaged); the reason is the message."""

    def __init__(self, reason: str, entries: list[Entry] | None = None) -> None:
        super().__init__(reason)
        self.entries = entries or []
        """What is tracked all the same."""


class Entry(NamedTuple):
    path: str
    """Of a folder that a sparse checkout leaves out as a whole: it ends with a slash, `mode` is that of a tree."""
    mode: int
    oid: bytes
    stage: int
    flags: int
    """ASSUME_VALID of the first flag word, shifted as it is; extended flags in the upper half."""
    stat: Stat
    size: int


class _Beside(NamedTuple):
    """What there is in an index beside entries."""

    link: bytes | None
    """What leads to another file; None when all entries are in this one."""
    tree: bytes


def _read_name_v4(data: bytes, at: int, previous: bytes) -> tuple[bytes, int]:
    byte = data[at]
    at += 1
    strip = byte & 0x7F
    while byte & 0x80:
        byte = data[at]
        at += 1
        strip = ((strip + 1) << 7) | (byte & 0x7F)
    end = data.index(b"\0", at)
    return previous[: len(previous) - strip] + data[at:end], end + 1


def _extensions(data: bytes, at: int, end: int, hash_size: int, entries: list[Entry]) -> _Beside:
    """Raises `UnreadableIndex`."""
    link: bytes | None = None
    tree = b""
    while at + 8 <= end:
        name = data[at : at + 4]
        size = struct.unpack_from(">I", data, at + 4)[0]
        content = data[at + 8 : at + 8 + size]
        if name == b"link":
            link = content
        elif name == b"TREE":
            tree = _noted_tree(content, hash_size)
        elif name != b"sdir" and not 65 <= name[0] <= 90:
            raise UnreadableIndex(f"its staging area uses an unknown extension {name!r}", entries)
        at += 8 + size
    return _Beside(link, tree)


def _noted_tree(cache: bytes, hash_size: int) -> bytes:
    """The first one in it is that of the top folder; without an id when something was staged since it was made."""
    path, _, rest = cache.partition(b"\0")
    counts, _, rest = rest.partition(b"\n")
    is_valid = not path and counts.partition(b" ")[0].isdigit() and len(rest) >= hash_size
    return rest[:hash_size] if is_valid else b""


def parse(data: bytes, hash_size: int = 20, shared: Callable[[str], bytes] | None = None) -> list[Entry]:
    """All entries, in index order. `shared` reads the other file of a split index, by the hash in its name.

    Raises `UnreadableIndex`."""
    return read(data, hash_size, shared)[0]


def read(
    data: bytes, hash_size: int = 20, shared: Callable[[str], bytes] | None = None
) -> tuple[list[Entry], bytes]:
    """Like `parse`; with the id of the tree that all entries together make, as far as git noted it, else b""."""
    if not data:
        return [], b""
    try:
        entries, beside = _parse(data, hash_size)
        if beside.link is None:
            return entries, beside.tree
        if shared is None:
            raise UnreadableIndex("its staging area is split over two files (core.splitIndex)")
        return _joined(entries, beside.link, hash_size, shared), b""
    except (struct.error, ValueError, IndexError, OSError) as error:
        raise UnreadableIndex(f"its staging area is damaged ({error})") from error


def _joined(own: list[Entry], link: bytes, hash_size: int, shared: Callable[[str], bytes]) -> list[Entry]:
    """A split index as one: entries of the shared file that are not deleted, some of them replaced by the nameless ones
    of the other file, and its new ones."""
    base = link[:hash_size]
    if not any(base):
        return own
    entries: list[Entry | None] = list(_parse(shared(base.hex()), hash_size)[0])
    gone, at = _bits(link, hash_size)
    replaced, _ = _bits(link, at)
    new = iter(own)
    for place in replaced:
        old, row = entries[place], next(new)
        if row.path or old is None:
            raise ValueError("the two files of it do not fit")
        entries[place] = row._replace(path=old.path)
    for place in gone:
        entries[place] = None
    joined = [*(e for e in entries if e is not None), *new]
    return sorted(joined, key=lambda e: (os.fsencode(e.path), e.stage))


def _bits(data: bytes, at: int) -> tuple[list[int], int]:
    """Places of the set bits of a compressed bitmap (EWAH), and where it ends."""
    if at >= len(data):
        return [], at
    count = struct.unpack_from(">I", data, at + 4)[0]
    words = struct.unpack_from(f">{count}Q", data, at + 8)
    found: list[int] = []
    place = number = 0
    while number < count:
        head = words[number]
        run = (head >> 1 & 0xFFFFFFFF) * 64
        if head & 1:
            found += range(place, place + run)
        place += run
        for word in words[number + 1 : number + 1 + (head >> 33)]:
            found += [place + bit for bit in range(64) if word >> bit & 1]
            place += 64
        number += 1 + (head >> 33)
    return found, at + 8 + 8 * count + 4


def _parse(data: bytes, hash_size: int) -> tuple[list[Entry], _Beside]:
    magic, version, count = struct.unpack_from(">4sII", data, 0)
    if magic != b"DIRC" or version not in (2, 3, 4):
        raise UnreadableIndex("its staging area has an unknown format")
    fixed = struct.Struct(f">10I{hash_size}sH")
    unpack, size_of_fixed, encoding = fixed.unpack_from, fixed.size, (_ENCODING, _ERRORS)
    entries = []
    at = 12
    name = b""
    for _ in range(count):  # tens of thousands of times while somebody waits
        start = at
        ctime, ctime_ns, mtime, mtime_ns, dev, ino, mode, uid, gid, size, oid, flags = unpack(data, at)
        at += size_of_fixed
        extra = 0
        if version >= 3 and flags & EXTENDED:
            extra = struct.unpack_from(">H", data, at)[0]
            at += 2
        if version == 4:
            name, at = _read_name_v4(data, at, name)
        else:
            end = data.index(b"\0", at)
            name = data[at:end]
            at = start + ((end - start) // 8 + 1) * 8
        entries.append(
            Entry(
                name.decode(*encoding),
                mode,
                oid,
                (flags >> 12) & 3,
                (flags & ASSUME_VALID) | (extra << 16),
                (ctime, ctime_ns, mtime, mtime_ns, dev, ino, uid, gid),
                size,
            )
        )
    return entries, _extensions(data, at, len(data) - hash_size, hash_size, entries)


def encode(entries: Sequence[Entry], seen: Sequence[Seen] | None = None) -> bytes:
    """The bytes of an index with these entries (version 2, or 3 when flags ask for it). `seen`: their stat data, in place of
    what they say themselves."""
    extended = any(entry.flags >> 16 for entry in entries)
    parts = [struct.pack(">4sII", b"DIRC", 3 if extended else 2, len(entries))]
    fixed = struct.Struct(">10I20sH")
    names = [
        (entry.path.encode(_ENCODING, _ERRORS), entry.stage, number) for number, entry in enumerate(entries)
    ]
    names.sort()
    pack, padding = fixed.pack, [b"\0" * count for count in range(9)]
    for name, stage, number in names:
        _, mode, oid, _, more, stat, size = entries[number]
        if seen is not None:
            stat, size = seen[number]
        extra = more >> 16
        flags = (more & ASSUME_VALID) | (stage << 12) | min(len(name), 0xFFF)
        if extra:
            flags |= EXTENDED
        ctime, ctime_ns, mtime, mtime_ns, dev, ino, uid, gid = stat
        parts.append(pack(ctime, ctime_ns, mtime, mtime_ns, dev, ino, mode, uid, gid, size, oid, flags))
        length = fixed.size + len(name)
        if extra:
            parts.append(struct.pack(">H", extra))
            length += 2
        parts.append(name)
        parts.append(padding[8 - length % 8])
    if any(entry.mode == MODE_DIR for entry in entries):
        parts.append(b"sdir\0\0\0\0")
    body = b"".join(parts)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def stat_of(status: os.stat_result) -> tuple[Stat, int]:
    """What git would remember of a file to see later that it did not change."""
    word = 0xFFFFFFFF
    ctime, mtime = divmod(status.st_ctime_ns, 10**9), divmod(status.st_mtime_ns, 10**9)
    stat = (
        ctime[0] & word, ctime[1], mtime[0] & word, mtime[1], status.st_dev & word, status.st_ino & word,
        status.st_uid & word, status.st_gid & word,
    )  # fmt: skip
    return stat, status.st_size & word


def records(entries: list[Entry]) -> dict[str, bytes]:
    """What is worth keeping, grouped by folder so that equal groups are stored once: folder → lines.

    Stat data is left out: it says nothing about the content and would make every `git status` a change.
    """
    groups: dict[str, list[bytes]] = {}
    for entry in entries:
        folder, _, name = entry.path.rpartition("/")
        row = b"%o %s %d %d %s\0" % (
            entry.mode, entry.oid.hex().encode(), entry.stage, entry.flags, os.fsencode(name),
        )  # fmt: skip
        groups.setdefault(folder, []).append(row)
    return {folder: b"".join(rows) for folder, rows in groups.items()}


def from_records(groups: dict[str, bytes], stat: Callable[[Entry], Entry] | None = None) -> list[Entry]:
    entries = []
    for folder, rows in groups.items():
        prefix = folder + "/" if folder else ""
        for row in rows.split(b"\0")[:-1]:
            mode, oid, stage, flags, name = row.split(b" ", 4)
            entry = Entry(
                prefix + os.fsdecode(name), int(mode, 8), bytes.fromhex(oid.decode()), int(stage), int(flags),
                NO_STAT, 0,
            )  # fmt: skip
            entries.append(stat(entry) if stat is not None else entry)
    return entries
