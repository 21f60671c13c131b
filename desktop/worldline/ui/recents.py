"""Sessions and folders that were open before, from the app's own folder; read without opening an engine."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from PySide6.QtCore import QSettings

from worldline.core import paths, session_file

KEPT = 30
"""Sessions that are listed, and paths that are remembered."""
FIRST_NODES = 50
"""Among so many the first words of a session are looked for."""


@dataclass(slots=True)
class Recent:
    path: Path
    title: str
    root: str
    changed: float
    """Seconds since the epoch."""
    nodes: int
    first_prompt: str = ""
    """The first words of it."""
    damaged: bool = False
    """Nothing else of it can be read; opening it offers to save what can."""


def told_apart(recents: Sequence[Recent]) -> list[str]:
    """The titles in their order; where several are called the same, with the first words or, for want of any, the name of
    the file, as the Storage dialog has it."""
    times = Counter(one.title for one in recents)
    return [one.title if times[one.title] < 2 else _with_words(one) for one in recents]


def _with_words(recent: Recent) -> str:
    words = recent.first_prompt if recent.first_prompt != recent.title else ""
    return f"{recent.title} · {words or recent.path.name}"


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
    """Newest first, no more of them than are shown: each is a file to be opened."""
    return list(islice(_newest_first(store), KEPT))


def last_session_of(store: QSettings, root: Path) -> Path | None:
    """The session of this folder that was used last, however many others were since."""
    return next((one.path for one in _newest_first(store) if one.root == str(root)), None)


def _newest_first(store: QSettings) -> Iterator[Recent]:
    """Those in the app's folder, and those opened from elsewhere; what cannot be opened at all is left out."""
    known: dict[str, tuple[float, Path]] = {}
    for path in (*paths.sessions_dir().glob(f"*{paths.SESSION_SUFFIX}"), *map(Path, remembered(store))):
        try:
            known.setdefault(os.path.realpath(path), (_changed(path), path))
        except (OSError, ValueError):
            continue  # gone, or no path at all
    for changed, path in sorted(known.values(), key=lambda one: one[0], reverse=True):
        if (entry := _read(path, changed)) is not None:
            yield entry


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
            first = connection.execute(
                "SELECT preview FROM nodes WHERE seq <= ? AND kind IN ('user', 'imported_user') ORDER BY seq LIMIT 1",
                (FIRST_NODES,),
            ).fetchone()
    except (sqlite3.OperationalError, OSError):
        return None
    except sqlite3.DatabaseError:
        return Recent(path, path.stem, "", changed, 0, damaged=True)
    title, words = meta.get("title", "") or path.stem, " ".join(str(first[0] or "").split()) if first else ""
    return Recent(path, title, _root(meta.get("workspace", "")), changed, int(nodes), words)


def _root(text: str) -> str:
    try:
        place = json.loads(text)
    except ValueError:
        return ""
    return str(place.get("root", "")) if isinstance(place, dict) else ""
