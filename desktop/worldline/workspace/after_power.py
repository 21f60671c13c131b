"""What a loss of power leaves of the small objects of a store that were written just before.

They are not synced one by one, so that their content may be gone while their names are there. Whoever writes the same
content again would take them for what they are called: what cannot be read is removed, so that it is written again. Trees that
name it stay, and say no more that all below them is there.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

from worldline.workspace.durable import boot_id

log = logging.getLogger(__name__)

_NAME = "boot"
_GAPS = "gaps"
LAST_WALK = "last-walk"
"""Where it is kept what the last walk saw (`memory`), by the ids of what it put into the store."""
_LATE_S = 600
"""What was written so long before the last object is on the disk: systems write everything out after half a minute."""


def look(store: Path, read: Callable[[bytes], object], broken: type[Exception]) -> int:
    """Look once after each start of the machine; how many were removed. Only for the one writer. `read` raises `broken` or
    KeyError for an object that is not what its name says. Raises OSError."""
    note = store / _NAME
    now = boot_id()
    try:
        if now and note.read_text("ascii", "replace") == now:
            return 0
    except FileNotFoundError:
        pass  # never looked at yet
    removed = 0
    for oid, path in _latest(store / "objects"):
        try:
            read(oid)
        except (broken, KeyError):
            log.warning("%s was lost with the power", path)
            # First: a kill here must not leave a store that is taken for whole.
            (store / _GAPS).touch()
            (store / LAST_WALK).unlink(missing_ok=True)
            path.unlink(missing_ok=True)
            removed += 1
    note.write_text(now, "ascii")
    return removed


def has_gaps(store: Path) -> bool:
    """Whether something has been removed so: a tree that is there may lack what it names."""
    return (store / _GAPS).exists()


def are_filled(store: Path) -> None:
    """All that is in the store now is whole."""
    (store / _GAPS).unlink(missing_ok=True)


def _latest(objects: Path) -> list[tuple[bytes, Path]]:
    found: list[tuple[float, Path]] = []
    for fan in objects.iterdir():
        if len(fan.name) == 2 and fan.is_dir():
            with os.scandir(fan) as entries:
                found += [(entry.stat().st_mtime, Path(entry.path)) for entry in entries]
    newest = max((at for at, _ in found), default=0.0)
    rows = [(path.parent.name + path.name, path) for at, path in found if at >= newest - _LATE_S]
    return [(bytes.fromhex(name), path) for name, path in rows if len(name) == 40]
