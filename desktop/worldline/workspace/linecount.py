"""How many lines a change added and removed: of a small one at once, of any other later and in another process."""

from __future__ import annotations

import contextlib
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pygit2

from worldline.workspace import difftext, renames
from worldline.workspace.objects import MODE_DIR, MODE_GITLINK, MODE_LINK
from worldline.workspace.store import Store
from worldline.workspace.treediff import Difference, Leaf, diff

if TYPE_CHECKING:
    from worldline.workspace.sources import Source

MAX_FILES = 200
MAX_BYTES = 1 << 20
"""Of old and new content together. Counting is part of every capture and must not be felt."""
_MAX_FILE = 128 << 10
"""Of one side of one file: libgit2 holds the interpreter lock while it compares, 10 ms for this much."""
_LARGEST = 64 << 20
"""Larger files are never compared line by line."""
_PROBE = 8000
_KEPT = 200
"""Counts of so many pairs of trees are kept."""


def count(store: Store, differences: Sequence[Difference]) -> tuple[int, int] | None:
    """Lines added and removed; None when that would take too long. Binary files count 0."""
    if len(differences) > MAX_FILES:
        return None
    added = removed = 0
    budget = MAX_BYTES
    for row in differences:
        old, new = (_text(store, leaf, min(budget, _MAX_FILE)) for leaf in (row.old, row.new))
        if old is None or new is None:
            return None
        budget -= len(old) + len(new)
        plus, minus = _lines(old, new)
        added += plus
        removed += minus
    return added, removed


def _lines(old: bytes, new: bytes) -> tuple[int, int]:
    if old == new or b"\0" in old[:_PROBE] or b"\0" in new[:_PROBE]:
        return 0, 0
    if not old or not new:  # the usual case in a large change: a file that is new or gone
        text = old or new
        lines = text.count(b"\n") + (not text.endswith(b"\n"))
        return (lines, 0) if new else (0, lines)
    _, plus, minus = pygit2.Patch.create_from(old, new, context_lines=0).line_stats
    return plus, minus


def _text(store: Store, leaf: Leaf | None, budget: int) -> bytes | None:
    """Content of a side, None when it is larger than the budget."""
    if leaf is None or leaf.mode in (MODE_DIR, MODE_GITLINK):
        return b""
    if store.size_of(leaf.oid) > budget:
        return None
    return store.read(leaf.oid)


def is_large(store: Store, old: bytes, new: bytes) -> bool:
    """Whether comparing two trees would be felt: it is done in another process then."""
    total = 0
    for number, row in enumerate(diff(store, old, new)):
        if number >= MAX_FILES:
            return True
        for leaf in (row.old, row.new):
            if leaf is not None and leaf.mode not in (MODE_DIR, MODE_GITLINK):
                size = store.size_of(leaf.oid)
                total += size
                if size > _MAX_FILE or total > MAX_BYTES:
                    return True
    return False


def count_all(source: Source, a: str, b: str) -> dict[str, tuple[int, int]]:
    """Lines added and removed by changed path (as `FileChange.path` has it), whatever the number; kept for the next time
    that the same two trees are asked for. Files above 64 MB and binary ones count 0."""
    old, new = source.state(a), source.state(b)
    store = source.store
    place = _place(store, old.files, new.files)
    known = _load(place)
    if known is not None:
        return known
    counts: dict[str, tuple[int, int]] = {}
    for row in renames.join(store, old.files, new.files, list(diff(store, old.files, new.files))):
        sides = [_text(store, leaf, _LARGEST) for leaf in (row.old, row.new)]
        links = any(leaf is not None and leaf.mode == MODE_LINK for leaf in (row.old, row.new))
        if sides[0] is not None and sides[1] is not None and not links:
            path = difftext.path_text(row.path.encode("utf-8", "surrogateescape"))[0]
            counts[path] = _lines(sides[0], sides[1])
    _keep(place, counts)
    return counts


def cached(store: Store, a: str, b: str) -> dict[str, tuple[int, int]] | None:
    """What `count_all` has counted before, None when it has not."""
    from worldline.workspace.states import State

    return _load(_place(store, State.load(store, a).files, State.load(store, b).files))


def _place(store: Store, old: bytes, new: bytes) -> Path:
    return store.path / "lines" / f"{old.hex()}-{new.hex()}"


def _load(place: Path) -> dict[str, tuple[int, int]] | None:
    try:
        rows = json.loads(zlib.decompress(place.read_bytes()))
        return {str(path): (int(plus), int(minus)) for path, plus, minus in rows}
    except (OSError, ValueError, zlib.error):  # not counted yet, or cut off: count again
        return None


def _keep(place: Path, counts: dict[str, tuple[int, int]]) -> None:
    """Only a saving: a full disk costs time and nothing else."""
    rows = [[path, *pair] for path, pair in counts.items()]
    with contextlib.suppress(OSError):
        place.parent.mkdir(exist_ok=True, mode=0o700)
        temp = place.with_suffix(".tmp")
        temp.write_bytes(zlib.compress(json.dumps(rows).encode("ascii"), 1))
        temp.replace(place)
        others = sorted(place.parent.iterdir(), key=lambda p: p.stat().st_mtime_ns, reverse=True)
        for stale in others[_KEPT:]:
            stale.unlink(missing_ok=True)
