"""Session files as the browser sees them: read without a lock, moved to a trash folder instead of deleted."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldline.core import header_reader, paths
from worldline.core.locks import is_locked
from worldline.viewmodel.words import translate

BESIDE = ("-wal", "-shm", ".lock")
"""What SQLite keeps beside a session file; it belongs to it."""


@dataclass(frozen=True, slots=True)
class SessionFile:
    path: Path
    title: str
    changed: float
    """Seconds since the epoch."""
    size: int
    root: str = ""
    nodes: int = 0
    problem: str = ""
    folder: str = ""
    """The folder of its own that it works in, in the app's data folder; "" = none."""


def read_session(path: Path) -> SessionFile:
    """What the list shows of a session. A file that cannot be read is listed with the reason; never raises for what is
    in the file."""
    try:
        parts = [path, *(beside for end in BESIDE if (beside := path.with_name(path.name + end)).exists())]
        # What lies beside the file is touched by everyone who only reads it; what was written is in these two.
        written = [part for part in parts if part == path or part.name.endswith("-wal")]
        changed, size = (
            max(part.stat().st_mtime for part in written),
            sum(part.stat().st_size for part in parts),
        )
    except OSError as error:
        return SessionFile(path, path.stem, 0, 0, problem=error.strerror or str(error))
    meta: dict[str, str] = {}
    nodes, problem = 0, ""
    try:
        with contextlib.closing(header_reader.connect_readonly(path)) as connection:
            meta = header_reader.read_meta(connection)
            nodes = int(connection.execute("SELECT ifnull(max(seq), 0) FROM nodes").fetchone()[0])
    except sqlite3.OperationalError as error:
        problem = str(error)
    except sqlite3.DatabaseError:
        problem = translate("Sessions", "it is damaged, or no session at all")
    except OSError as error:
        problem = error.strerror or str(error)
    place = _place(meta.get("workspace", ""))
    root = str(place.get("root") or "")
    return SessionFile(
        path, meta.get("title") or path.stem, changed, size, root, nodes, problem, _own_folder(place)
    )


def _place(text: str) -> dict[str, Any]:
    try:
        place = json.loads(text)
    except ValueError:
        return {}
    return place if isinstance(place, dict) else {}


def _own_folder(place: dict[str, Any]) -> str:
    worktrees = paths.worktrees_dir()
    for key in ("worktree", "path"):
        path = Path(str(place.get(key) or "/"))
        if worktrees in path.parents:
            own = worktrees / path.relative_to(worktrees).parts[0]
            return str(own) if own.is_dir() else ""
    return ""


def session_paths(folder: Path) -> list[Path]:
    """The session files of a folder, the one that was written last first. Names that lead nowhere come last: they are
    listed with what is wrong."""

    def newest_first(path: Path) -> float:
        try:
            return -path.stat().st_mtime
        except OSError:
            return 0.0

    return sorted(folder.glob(f"*{paths.SESSION_SUFFIX}"), key=newest_first)


def trash_dir() -> Path:
    return paths.trash_dir()


def to_trash(path: Path) -> Path:
    """Move a session with what belongs to it into the trash folder; returns where it is now. Raises OSError; then
    everything is where it was."""
    if is_locked(path.with_name(path.name + ".lock")):
        raise PermissionError(0, translate("Sessions", "it is open in another program; close it there first"))
    stamp = time.strftime("%Y%m%d-%H%M%S")
    target = trash_dir() / f"{path.stem}-{stamp}{path.suffix}"
    number = 1
    while target.exists():
        number += 1
        target = trash_dir() / f"{path.stem}-{stamp}-{number}{path.suffix}"
    moved: list[tuple[Path, Path]] = []
    try:
        for end in ("", *BESIDE):
            source = path.with_name(path.name + end)
            if source.exists():
                aim = target.with_name(target.name + end)
                shutil.move(source, aim)
                moved.append((source, aim))
    except OSError:
        for source, aim in reversed(moved):
            shutil.move(aim, source)
        raise
    return target
