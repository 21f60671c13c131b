"""A session whose folder is gone gets it anew, with the files of its last step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from worldline.agent.capture import last_good_state
from worldline.core import paths
from worldline.core.errors import SessionError, WorkspaceError
from worldline.core.jsontext import dumps
from worldline.session.document import SessionDocument

_FILES = "files"
"""As with a session that came in a bundle: the folder of worktrees holds it, no repository is around it."""


def gone(path: Path, folder: Path) -> SessionError:
    """Why the session cannot be opened, and the way out."""
    return SessionError(
        f"The folder of this session, {folder}, is not there.",
        f"Put it back, or let it be made anew with the files of the last step: `worldline remake-folder {path}`.",
        kind="workspace_gone",
    )


def remake(doc: SessionDocument, place: dict[str, Any], to: Path | None) -> tuple[dict[str, Any], str]:
    """Make the folder: at `to`, or where it was; where that cannot be written, in the data folder. Returns what the session says
    of its workspace now, which is stored, and a sentence for the person. Raises SessionError, WorkspaceError; a folder
    that exists is never touched."""
    from worldline.workspace import anew, guard, worktrees

    guard.platform()
    if doc.read_only:
        raise SessionError(
            f"The folder cannot be made anew: {doc.info()['read_only_why']}",
            "Close the session there first.",
            kind="read_only",
        )
    store, slug = Path(str(place.get("store", ""))), str(place.get("slug", ""))
    state = last_good_state(doc, doc.cursor) if len(doc.tree) else ""
    if not state or not slug or store.parent.resolve() != paths.stores_dir().resolve() or not store.is_dir():
        # The store of a file that came from elsewhere is none of ours: nothing is written from it.
        raise SessionError(
            "There is nothing that the folder could be made from: no step of this session has its files here.",
            "The conversation can be read and exported.",
            kind="missing_state",
        )
    old = Path(str(place["path"]))
    folder = to.expanduser().absolute() if to is not None else old
    moved = ""
    if to is None and not anew.may_be_made(old):
        folder = _free(slug)
        moved = f" {old} cannot be written."
    origin = None
    if place.get("mode") == "isolated":
        base = (str(place.get("base_commit", "")), str(place.get("base_branch", "")))
        origin = anew.Origin(Path(str(place["root"])), slug, *base, was_at=old)
    made = anew.make(folder, store, state, origin, slug)
    now = _place_now(place, folder, linked=made.linked)
    if now != place:
        doc.set_meta("workspace", dumps(now).decode())
    if folder.parent.parent == paths.worktrees_dir():
        worktrees.note_session(folder.parent, doc.path)
    count = "1 file" if made.files == 1 else f"{made.files} files"
    said = f"The folder {folder} was made anew with the files of the last step ({count})."
    return now, " ".join([said + moved, *made.notes])


def _place_now(place: dict[str, Any], folder: Path, *, linked: bool) -> dict[str, Any]:
    if linked:
        # Only a worktree in the data folder has a lease beside it.
        worktree = str(folder) if folder.parent == paths.worktrees_dir() else ""
        return {**place, "path": str(folder), "worktree": worktree}
    is_git = any((around / ".git").exists() for around in (folder, *folder.parents))
    plain = {} if is_git else {"is_git": False, "branch": "", "base_branch": "", "base_commit": ""}
    return {**place, **plain, "mode": "in_place", "path": str(folder), "root": str(folder), "worktree": ""}


def _free(slug: str) -> Path:
    for number in range(1, 1000):
        top = paths.worktrees_dir() / (f"{slug}-{number}" if number > 1 else slug)
        try:
            top.mkdir(mode=0o700)
        except FileExistsError:
            continue
        return top / _FILES
    raise WorkspaceError(
        f"There are too many folders of {slug} in {paths.worktrees_dir()}.", "Name a place with --to."
    )
