"""The objects of some states, to be carried to another machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pygit2

from worldline.core.errors import WorkspaceError
from worldline.workspace.objects import MODE_GITLINK, parse_tree
from worldline.workspace.storage import below, goes_along
from worldline.workspace.store import BUNDLED, make

_NAMES = {
    pygit2.enums.ObjectType.BLOB: "blob",
    pygit2.enums.ObjectType.TREE: "tree",
    pygit2.enums.ObjectType.COMMIT: "commit",
}
_TYPES = {name: kind for kind, name in _NAMES.items()}


def objects_of(store: Path, states: Iterable[str]) -> Iterator[tuple[str, str, bytes]]:
    """(id, type, data) of everything that the states need elsewhere, each once. Parents of a state are not followed: a
    state is whole by itself. Of git only the staging areas go along, whose names say what is tracked: no history, no
    configuration of a nested repository (which may hold passwords). Raises WorkspaceError when the store lacks one."""
    try:
        repository = pygit2.Repository(str(store))
    except pygit2.GitError as error:
        raise WorkspaceError(f"The store of this session, {store}, cannot be opened.", str(error)) from error
    odb = repository.odb
    seen: set[str] = set()
    todo: list[tuple[str, str]] = [(state, "state") for state in states]
    while todo:
        oid, place = todo.pop()
        if oid in seen:
            continue
        seen.add(oid)
        try:
            kind, data = odb.read(oid)
        except (KeyError, ValueError, pygit2.GitError) as error:
            what = "state" if place == "state" else "object"
            raise WorkspaceError(
                f"The {what} {oid[:12]} is missing in the store of this session.",
                "`worldline verify` says what still works.",
            ) from error
        name = _NAMES.get(pygit2.enums.ObjectType(kind))
        if name == "commit":
            todo.append((data.split(b"\n", 1)[0].removeprefix(b"tree ").decode(), "top"))
        elif name == "tree":
            todo += [
                (entry.oid.hex(), below(place, entry.name))
                for entry in parse_tree(data)
                if entry.mode != MODE_GITLINK and goes_along(place, entry.name)
            ]
        if name is not None:
            yield oid, name, data


def _check_names(tree: bytes) -> None:
    """Raise WorkspaceError for a tree that names what would lie outside of its folder, or what makes git run something."""
    try:
        entries = parse_tree(tree)
    except ValueError as error:
        raise WorkspaceError(f"The bundle is damaged: {error}.", "Ask for it again.") from error
    for entry in entries:
        if entry.name in ("", ".", "..") or "/" in entry.name or entry.name.lower() == ".git":
            raise WorkspaceError(
                f"The bundle holds a file named {entry.name!r}, which nobody's work does.",
                "It was made to write where it should not: do not open it.",
                kind="hostile",
            )


def take_objects(store: Path, objects: Iterable[tuple[str, str, bytes]], states: Iterable[str]) -> int:
    """Make the new store `store` with these objects and a ref for each state. Every object is hashed anew: raises
    WorkspaceError for one that is not what its name says. Returns how many there are."""
    make(store)
    repository = pygit2.Repository(str(store))
    count = 0
    for oid, name, data in objects:
        if name == "tree":
            _check_names(data)
        written = str(repository.odb.write(_TYPES[name], data))
        if written != oid:
            raise WorkspaceError(
                "The bundle is damaged: an object does not fit its name.", "Ask for it again."
            )
        count += 1
    for state in states:
        # A ref needs a real commit to stand on; the parents of a state may be elsewhere, its tree is here.
        try:
            repository.references.create(f"{BUNDLED}{state}", pygit2.Oid(hex=state), force=True)
        except (pygit2.GitError, ValueError) as error:
            raise WorkspaceError(
                f"The bundle is damaged: it lacks the state {state[:12]}.", "Ask for it again."
            ) from error
    return count
