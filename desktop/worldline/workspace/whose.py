"""Which paths somebody changed in some steps, whatever their number: what a node lists of them is cut at a limit."""

from __future__ import annotations

from collections.abc import Iterable

from worldline.core.errors import WorkspaceError
from worldline.workspace.states import State
from worldline.workspace.store import Store
from worldline.workspace.treediff import diff


def changed_paths(store: Store, steps: Iterable[tuple[str, str]]) -> set[str]:
    """Every file, link and empty folder that differs between the two states of a step, permissions included. A step
    whose states were pruned says nothing."""
    found: set[str] = set()
    for before, after in steps:
        if before == after:
            continue
        try:
            old, new = State.load(store, before), State.load(store, after)
        except WorkspaceError as error:
            if error.kind != "missing_state":
                raise
            continue
        found.update(row.path for row in diff(store, old.files, new.files))
        if old.perms_tree != new.perms_tree:
            paths = old.perms.keys() | new.perms.keys()
            found.update(path for path in paths if old.perms.get(path) != new.perms.get(path))
    return found
