"""Stores of sessions that are deleted: the files of their steps, which stay until the person lets them be removed.

Works on files alone. A store is known to be needed by a session file in its place, and by what the store itself says: a
session that is opened for writing writes down in its store where its file lies (`note`).
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worldline.core import paths
from worldline.core.errors import WorkspaceError
from worldline.core.locks import is_locked
from worldline.core.plainfile import read_plain
from worldline.protocol.folders import FolderRemoved, SessionFolder
from worldline.session.catalog import SessionEntry, entry_of, list_sessions
from worldline.session.lock import WriterLock
from worldline.workspace import durable, storage
from worldline.workspace.removal import remove_tree
from worldline.workspace.store import Store

logger = logging.getLogger(__name__)

_NOTE = "session.json"
_HOME = "-home"
"""A store with what was in the person's folder before something was brought there; goes with the one that it belongs to."""
_REMOVING = ".removing-"


@dataclass(slots=True)
class Left:
    """A store without a session in its place."""

    path: Path
    more: list[Path] = field(default_factory=list)
    """What goes with it."""
    trashed: list[SessionEntry] = field(default_factory=list)
    """Sessions in the trash that it belongs to."""
    note: dict[str, Any] = field(default_factory=dict)

    @property
    def all(self) -> list[Path]:
        return [self.path, *self.more]


def note(store: Path, session: Path, title: str, root: str) -> None:
    """Write down whose a store is. For lists alone: that it cannot be written hinders nobody."""
    if not store.is_dir():
        return
    facts = {"session_file": str(session), "title": title, "root": root}
    if _noted(store) == facts:
        return
    try:
        durable.write_durably(store / _NOTE, json.dumps(facts).encode("ascii"))
    except OSError as error:
        logger.warning("it is not written down which session keeps its files in %s: %s", store, error)


def _noted(store: Path) -> dict[str, Any]:
    try:
        facts = json.loads(read_plain(store / _NOTE))
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


# --- which there are ------------------------------------------------------------------------------------------------


def left() -> list[Left]:
    """The stores of deleted sessions, by name. What a crash left of a removal is finished first."""
    _finish()
    top = paths.stores_dir()
    names = sorted(p.name for p in top.iterdir() if p.is_dir() and not p.is_symlink() and p.name[:1] != ".")
    needed = _stores_of(list_sessions(paths.sessions_dir()))
    trash: dict[Path, list[SessionEntry]] = {}
    for entry in list_sessions(paths.trash_dir()):
        for store in _stores_of([entry]):
            trash.setdefault(store, []).append(entry)
    found = []
    for name in names:
        store = top / name
        if name.endswith(_HOME) and name.removesuffix(_HOME) in names:
            continue
        facts = _noted(store)
        if store in needed or _is_elsewhere(store, facts):
            continue
        more = [top / (name + _HOME)] if name + _HOME in names else []
        found.append(Left(store, more, trash.get(store, []), facts))
    return found


def _stores_of(entries: list[SessionEntry]) -> set[Path]:
    """Of a session that cannot be read: the store with its name, as it may be mended."""
    found = set()
    for entry in entries:
        store = str(entry.workspace.get("store") or "")
        name = Path(store) if store else paths.stores_dir() / entry.path.stem
        found |= {name, name.with_name(name.name + _HOME)}
    return found


def _is_elsewhere(store: Path, facts: dict[str, Any]) -> bool:
    """Its session file lies in a place of its own."""
    file = Path(str(facts.get("session_file") or "/"))
    if not file.is_file() or file.parent.resolve() == paths.trash_dir().resolve():
        return False
    entry = entry_of(file)
    return bool(entry.problem) or store in _stores_of([entry])


# --- in words -------------------------------------------------------------------------------------------------------


def listing(only: Path | None = None, *, quick_first: bool = False) -> Iterator[SessionFolder]:
    """Like `folders.listing`. Raises `WorkspaceError` (kind `refused`) where `only` is none of them."""
    stores = [_one(only)] if only is not None else left()
    if quick_first:
        for store in stores:
            yield _facts(store)
    for store in stores:
        folder = _facts(store)
        folder.looked = True
        folder.bytes = sum(map(size_of, store.all))
        try:
            lines = loss_of(store)
        except (OSError, WorkspaceError) as error:
            folder.problem = f"It cannot be looked at ({error})."
        else:
            folder.lose, folder.lose_id = lines, id_of(lines)
        yield folder


def is_store(path: Path) -> bool:
    return path.expanduser().absolute().parent.resolve() == paths.stores_dir().resolve()


def _one(path: Path) -> Left:
    wanted = path.expanduser().absolute().name
    for store in left():
        if store.path.name == wanted:
            return store
    raise WorkspaceError(
        f"{path} holds nothing of a deleted session.",
        "Delete its session first, if that is what you want.",
        kind="refused",
    )


def _facts(store: Left) -> SessionFolder:
    from worldline.engine.folders import clean

    trashed = store.trashed[0] if store.trashed else None
    title = trashed.title if trashed else str(store.note.get("title") or "")
    root = trashed.workspace.get("root") if trashed else store.note.get("root")
    return SessionFolder(
        kind="store",
        path=clean(str(store.path)),
        name=clean(store.path.name),
        session="trash" if trashed else "none",
        title=clean(title),
        session_file=clean(str(trashed.path)) if trashed else "",
        repository=clean(str(root or "")),
        in_use="A session works with it."
        if any(is_locked(path / "writer.lock") for path in store.all)
        else "",
        note="Its session is in the trash: without this it can be had back and read, and no step of it can be gone back to."
        if trashed
        else "If its session file lies somewhere else, that can still be read, and no step of it can be gone back to.",
    )


def loss_of(store: Left) -> list[str]:
    """What removing it loses, a line each. Raises `WorkspaceError` for what is no store of ours."""
    lines = []
    for path in store.all:
        count, newest = _states(path)
        day = time.strftime("%Y-%m-%d %H:%M", time.gmtime(newest)) if newest else "—"
        lines.append(
            f"the files of {count} step{'s' if count != 1 else ''} in {path.name}, the newest of {day} UTC"
        )
    return lines


def _states(path: Path) -> tuple[int, int]:
    """How many, and when the newest was made (seconds)."""
    if not (path / "HEAD").is_file():
        return 0, 0
    store = Store(path)
    try:
        made = storage.states_made(store)
        return len(made), max(made.values(), default=0)
    finally:
        store.close()


def size_of(folder: Path) -> int:
    """Bytes of all files below it. What comes and goes meanwhile (a pack takes the place of many) may be missing."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(f"{place}/{name}").st_size
    return total


# --- removing -------------------------------------------------------------------------------------------------------


def remove(path: Path, lose_id: str) -> FolderRemoved:
    """Remove a store; `lose_id` is that of what the person has seen. Raises `WorkspaceError`: `refused` (a session needs it, or it
    is none of ours), `locked`, `changed`; SessionError `locked` while its session in the trash is open."""
    from worldline.engine.folders import clean

    store = _one(path)
    with contextlib.ExitStack() as held:
        for entry in store.trashed:
            held.callback(WriterLock.take(entry.path).release)
        for place in store.all:
            if (place / "HEAD").is_file():
                opened = Store(place)
                held.callback(opened.close)
                opened.lock()
        lines = loss_of(_one(path))  # looked at again, now that nobody can begin to use it
        if id_of(lines) != lose_id:
            raise WorkspaceError(
                f"What is in {path} is not what was confirmed; nothing was removed.",
                "Look at what would be lost, then confirm that.",
                kind="changed",
            )
        size = sum(map(size_of, store.all))
        for place in reversed(store.all):
            place.rename(place.with_name(_REMOVING + place.name))
        durable.sync_path(store.path.parent)
    _finish()
    return FolderRemoved(path=clean(str(store.path)), bytes=size, lost=lines)


def _finish() -> None:
    """From the rename on it is decided: what is left of it goes, at once or at the next time."""
    for aside in paths.stores_dir().glob(f"{_REMOVING}*"):
        if not aside.is_symlink():
            remove_tree(aside)


def id_of(lines: list[str]) -> str:
    from worldline.engine.folders import id_of

    return id_of(lines)
