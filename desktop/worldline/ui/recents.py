"""Sessions and folders that were open before, from the app's own folder; read without opening an engine."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QSettings

from worldline.core import paths, session_file

KEPT = 30


@dataclass(slots=True)
class Recent:
    path: Path
    title: str
    root: str
    changed: float
    """Seconds since the epoch."""
    nodes: int


def remember(store: QSettings, path: str) -> None:
    """Put a session file at the top of the list."""
    known = [one for one in remembered(store) if one != path]
    store.setValue("recent", [path, *known][:KEPT])


def remembered(store: QSettings) -> list[str]:
    value = store.value("recent", [])
    return [str(one) for one in (value if isinstance(value, list) else [value]) if one]


def short_path(path: str) -> str:
    """`~/code/shop` instead of `/home/me/code/shop`."""
    home = str(Path.home())
    return "~" + path[len(home) :] if path == home or path.startswith(home + "/") else path


def recent_sessions(store: QSettings) -> list[Recent]:
    """Newest first: those in the app's folder, and those opened from elsewhere. Unreadable files are left out."""
    known: dict[str, tuple[float, Path]] = {}
    for path in (*paths.sessions_dir().glob(f"*{paths.SESSION_SUFFIX}"), *map(Path, remembered(store))):
        try:
            known.setdefault(os.path.realpath(path), (_changed(path), path))
        except (OSError, ValueError):
            continue  # gone, or no path at all
    # The newest first, and no more of them than are shown: each is a file to be opened.
    found: list[Recent] = []
    for changed, path in sorted(known.values(), key=lambda one: one[0], reverse=True):
        if len(found) == KEPT:
            break
        if (entry := _read(path, changed)) is not None:
            found.append(entry)
    return found


def _changed(path: Path) -> float:
    """When the session was written last. Raises OSError when it is not there."""
    newest = path.stat().st_mtime
    with contextlib.suppress(OSError):
        newest = max(newest, path.with_name(f"{path.name}-wal").stat().st_mtime)
    return newest


def _read(path: Path, changed: float) -> Recent | None:
    try:
        with contextlib.closing(session_file.connect_readonly(path)) as connection:
            if not session_file.is_session(connection):
                return None
            meta = session_file.read_meta(connection)
            # Not counted: that reads all of a session with a million nodes.
            nodes = connection.execute("SELECT ifnull(max(seq), 0) FROM nodes").fetchone()[0]
    except (sqlite3.Error, OSError):
        return None
    return Recent(
        path, meta.get("title", "") or path.stem, _root(meta.get("workspace", "")), changed, int(nodes)
    )


def _root(text: str) -> str:
    try:
        place = json.loads(text)
    except ValueError:
        return ""
    return str(place.get("root", "")) if isinstance(place, dict) else ""
