"""The folders of sessions (worktrees) in the data folder: whose each is, what would be lost with it, and removing one.

Works on files alone, without an open session; a session that is open anywhere keeps its folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from worldline.core import paths
from worldline.core.errors import SessionError, WorkspaceError
from worldline.protocol.folders import FolderRemoved, SessionFolder
from worldline.session.catalog import SessionEntry, entry_of, list_sessions
from worldline.session.lock import WriterLock, read_holder, writer_lives
from worldline.session.reader import SessionReader
from worldline.workspace import isolate_ready, leases, worktrees
from worldline.workspace.isolate_ready import ReadyCopy
from worldline.workspace.kept import Kept
from worldline.workspace.loss import Loss
from worldline.workspace.model import NOT_CAPTURED
from worldline.workspace.worktrees import Place

MAX_NAMED = 200
"""Lines that cross; the id stands for all."""
SIZE_S = 2.0
ALL_SIZES_S = 20.0
"""Seconds for adding up the files of one folder, and of all."""


@dataclass(slots=True)
class Owner:
    """A session that works in a folder."""

    entry: SessionEntry
    where: Literal["there", "trash"]


def listing(only: Path | None = None, *, quick_first: bool = False) -> Iterator[SessionFolder]:
    """All folders, or one. With `quick_first` each comes twice: with what is known at once, then with the rest.

    What a crash left of a removal is finished first. Raises `WorkspaceError` (kind `refused`) where `only` is none."""
    worktrees.finish()
    isolate_ready.finish()
    ready = isolate_ready.found() if only is None else isolate_ready.found_at(only)
    if only is not None and ready:
        yield _ready(ready[0])
        return
    places = [worktrees.place_of(only)] if only is not None else worktrees.found()
    owners = _owners(places)
    if quick_first:
        for place in places:
            yield _facts(place, owners[place.path.name])
    end = time.monotonic() + ALL_SIZES_S
    with ThreadPoolExecutor(1, thread_name_prefix="sizes") as beside:
        sizes = [beside.submit(_size, place, end) for place in places]
        for place, size in zip(places, sizes, strict=True):
            folder = _looked(place, owners[place.path.name])
            folder.bytes, folder.bytes_complete = size.result()
            yield folder
    yield from (_ready(copy) for copy in ready)


def _size(place: Place, end: float) -> tuple[int, bool]:
    return worktrees.size_of(place, min(SIZE_S, end - time.monotonic()))


def remove(path: Path, lose_id: str) -> FolderRemoved:
    """Remove a folder; `lose_id` is that of the list that the person has seen ("" = nothing is lost).

    Raises `WorkspaceError` as `worktrees.remove` does, and SessionError `locked` while a session that works there is
    open."""
    if isolate_ready.found_at(path) and not lose_id:
        return FolderRemoved(path=clean(str(path)), bytes=isolate_ready.remove(path))
    worktrees.finish()
    place = worktrees.place_of(path)
    owners = _owners([place])[place.path.name]
    with contextlib.ExitStack() as held:
        for owner in owners:
            # Whoever opens the session now opens it for reading: its folder must not go under its hands.
            held.callback(WriterLock.take(owner.entry.path).release)
        kept = _kept(owners)
        held.callback(kept.close)
        try:
            lines = worktrees.loss_of(place, kept).lines
        except OSError as error:
            raise WorkspaceError(
                f"{place.path} cannot be looked at ({error.strerror or error}); nothing was removed.",
                "Look at the list again.",
                kind="changed",
            ) from error
        if id_of(lines) != lose_id:
            raise WorkspaceError(
                f"What is in {place.path} is not what was confirmed; nothing was removed.",
                "Look at what would be lost, then confirm that.",
                kind="changed",
            )
        size = worktrees.size_of(place, SIZE_S)[0]
        worktrees.remove(place.path, lines, kept)
    return FolderRemoved(path=clean(str(place.path)), bytes=size, lost=[clean(line) for line in lines])


def clean(text: str) -> str:
    """Names of files need not be text; what crosses is."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def id_of(lines: list[str]) -> str:
    """Short, the same for the same lines alone; "" for none."""
    if not lines:
        return ""
    return hashlib.sha256("\0".join(lines).encode("utf-8", "surrogateescape")).hexdigest()[:12]


# --- whose it is -------------------------------------------------------------------------------------------------


def _owners(places: list[Place]) -> dict[str, list[Owner]]:
    """Folder's name → the sessions that work in it, those that are not in the trash first."""
    found: dict[str, list[Owner]] = {place.path.name: [] for place in places}
    where: tuple[tuple[Path, Literal["there", "trash"]], ...] = (
        (paths.sessions_dir(), "there"),
        (paths.trash_dir(), "trash"),
    )
    for folder, name in where:
        for entry in list_sessions(folder):
            for place in places:
                if _works_in(entry, place):
                    found[place.path.name].append(Owner(entry, name))
    for place in places:
        elsewhere = Path(str(place.info.get("session_file") or paths.sessions_dir()))
        known = {owner.entry.path.resolve() for owner in found[place.path.name]}
        if elsewhere.is_file() and elsewhere.resolve() not in known:
            entry = entry_of(elsewhere)
            if _works_in(entry, place):
                found[place.path.name].insert(0, Owner(entry, "there"))
    return found


def _works_in(entry: SessionEntry, place: Place) -> bool:
    if entry.problem and not entry.workspace:
        # It cannot be read: by its name, as a session that may be mended needs its folder.
        slug = str(place.info.get("session") or "")
        stem = entry.path.name.removesuffix(paths.SESSION_SUFFIX)
        return bool(slug) and (stem == slug or stem.startswith(f"{slug}-"))
    return any(
        place.path == path or place.path in path.parents
        for key in ("worktree", "path")
        if (path := Path(str(entry.workspace.get(key) or "/")))
    )


def _kept(owners: list[Owner]) -> Kept:
    """What the nodes of these sessions hold: of the one that the session stands at and of the newest."""
    for owner in owners:
        store = str(owner.entry.workspace.get("store") or "")
        if not store or owner.entry.problem:
            continue
        try:
            with SessionReader(owner.entry.path) as session:
                states = [session.state(session.cursor)]
                states += [header.state for header in reversed(session.headers()) if header.state][:1]
        except SessionError:
            continue
        return Kept(Path(store), [one for one in dict.fromkeys(states) if one not in ("", NOT_CAPTURED)])
    return Kept(paths.stores_dir(), [])


# --- in words ----------------------------------------------------------------------------------------------------


def _ready(copy: ReadyCopy) -> SessionFolder:
    return SessionFolder(
        path=str(copy.path),
        name=copy.path.name,
        session="ready",
        repository=clean(str(copy.source)),
        looked=True,
        bytes=copy.bytes,
        note="The next session on this repository takes it and so begins sooner. Without it that session copies the files first.",
    )


def _facts(place: Place, owners: list[Owner]) -> SessionFolder:
    owner = owners[0] if owners else None
    return SessionFolder(
        path=str(place.path),
        name=place.path.name,
        session=owner.where if owner else "none",
        title=owner.entry.title if owner else "",
        session_file=str(owner.entry.path) if owner else "",
        repository=clean(str(place.source or "")),
        branch=clean(place.branch),
        there=place.there,
        in_use=_in_use(place, owners),
        problem=_link_problem(place),
    )


def _link_problem(place: Place) -> str:
    return "It is a link to another place: nothing there is touched." if place.is_link else ""


def _in_use(place: Place, owners: list[Owner]) -> str:
    lease = leases.read(place.path)
    if lease is not None:
        return f"A session works in it (process {lease.get('pid')})."
    for owner in owners:
        holder = read_holder(owner.entry.path) if writer_lives(owner.entry.path) else None
        if holder is not None:
            return f"Its session is open (process {holder.pid})."
    return ""


def _looked(place: Place, owners: list[Owner]) -> SessionFolder:
    folder = _facts(place, owners)
    folder.looked = True
    kept = _kept(owners)
    try:
        loss = worktrees.loss_of(place, kept)
    except (OSError, WorkspaceError) as error:
        folder.problem = _no_look(error)
        return folder
    finally:
        kept.close()
    folder.lose = [clean(line) for line in loss.lines[:MAX_NAMED]]
    folder.lose_more = len(loss.lines) - len(folder.lose)
    folder.lose_id = id_of(loss.lines)
    folder.kept = loss.kept
    folder.note = " ".join(_notes(place, owners, loss))
    return folder


def _no_look(error: Exception) -> str:
    return f"It cannot be looked at ({error})."


def _notes(place: Place, owners: list[Owner], loss: Loss) -> Iterator[str]:
    if not place.there:
        yield "The folder is gone already; only its registration in the repository is left."
        return
    if owners and loss.kept:
        yield "The session's nodes keep their files."
        if loss.lines:
            yield "What is listed came after the last node, or is kept by none."
    if owners and owners[0].where == "there":
        yield "When its session is opened again, the folder can be made anew with the files of its last step."
    elif owners:
        yield "Its session is in the trash: when it is had back and opened, the folder can be made anew with the files of its last step."
    if place.branch:
        yield "Its branches stay in the repository."
