"""Sessions and folders that were open before, from the app's own folder; read without opening an engine."""

from __future__ import annotations

import contextlib
import json
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
    files = {path.resolve() for path in paths.sessions_dir().glob(f"*{paths.SESSION_SUFFIX}")}
    files |= {Path(one) for one in remembered(store)}
    found = [entry for path in files if path.is_file() and (entry := _read(path)) is not None]
    return sorted(found, key=lambda one: one.changed, reverse=True)[:KEPT]


def _read(path: Path) -> Recent | None:
    try:
        with contextlib.closing(session_file.connect_readonly(path)) as connection:
            if not session_file.is_session(connection):
                return None
            meta = session_file.read_meta(connection)
            nodes = connection.execute("SELECT count(*) FROM nodes").fetchone()[0]
        newest = max(
            path.stat().st_mtime, *(p.stat().st_mtime for p in path.parent.glob(f"{path.name}-wal")), 0.0
        )
    except (sqlite3.Error, OSError):
        return None
    return Recent(
        path, meta.get("title", "") or path.stem, _root(meta.get("workspace", "")), newest, int(nodes)
    )


def _root(text: str) -> str:
    try:
        place = json.loads(text)
    except ValueError:
        return ""
    return str(place.get("root", "")) if isinstance(place, dict) else ""
