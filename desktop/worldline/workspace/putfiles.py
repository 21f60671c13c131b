"""Put single files onto disk with the guarantees of a restore: a copy of what is there first, everything or nothing,
each file only if it is still what was seen, journaled. HEAD and the staging area are not touched."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pygit2

from worldline.core.errors import WorkspaceError
from worldline.workspace.apply import Restorer
from worldline.workspace.model import NOT_CAPTURED, PlanItem, ProgressCall, RestorePlan, RestoreReport
from worldline.workspace.objects import MODE_DIR, MODE_EXEC, MODE_LINK
from worldline.workspace.states import State
from worldline.workspace.treediff import Leaf

if TYPE_CHECKING:
    from worldline.workspace.engine import Workspace

_FILES = "put files back"


def saved(workspace: Workspace, last: str = "") -> State:
    """The state of the disk now, as a copy to return to. Raises `WorkspaceError` (`not_captured`): without a copy
    nothing may be written."""
    result = workspace.capture(last if last and last != NOT_CAPTURED else None, "before files were taken")
    if result.state == NOT_CAPTURED:
        raise WorkspaceError(
            f"What is on disk now cannot be saved ({result.error}), so nothing is written.",
            "Remove the cause and try again.",
            kind="not_captured",
        )
    return workspace.state(result.state)


def journal_of(workspace: Workspace) -> Path:
    return workspace.store.path / "restore"


def leaf_of(state: State, path: str) -> Leaf | None:
    entry = state.store.lookup(state.files, path)
    return None if entry is None or entry.mode == MODE_DIR else Leaf(entry.mode, entry.oid)


def put_files(
    workspace: Workspace,
    now: State,
    wanted: Mapping[str, Leaf | None],
    *,
    progress: ProgressCall | None = None,
    on_done: Callable[[RestoreReport], None] | None = None,
) -> RestoreReport:
    """Write, replace or delete (None) the files of `wanted`; their content is in the store of the workspace.

    `now`: what `saved` gave. On a failure, or if `on_done` raises, all is as before.
    """
    items = [item for path, leaf in sorted(wanted.items()) if (item := _item(now, path, leaf)) is not None]
    token = hashlib.sha256(
        f"{_FILES} {now.id} {[(i.path, i.blob, i.mode) for i in items]}".encode("utf-8", "replace")
    )
    # Target = safety: an interruption is always undone, there is no node to arrive at.
    plan = RestorePlan(now.id, now.id, False, items, token.hexdigest())
    target = replace(now, files=_with(now, wanted), roots=[])
    restorer = Restorer(workspace.work, journal_of(workspace), plan, now, target, {}, progress)
    return restorer.run(None, on_done)


def _item(now: State, path: str, leaf: Leaf | None) -> PlanItem | None:
    there = leaf_of(now, path)
    if there == leaf:
        return None
    item = PlanItem(
        path, "create", expect=there.oid.hex() if there else "", expect_mode=_mode(now, path, there)
    )
    if leaf is None:
        item.action = "delete"
        return item
    item.blob, item.mode = leaf.oid.hex(), _mode(now, path, leaf)
    if there is not None:
        item.action = "overwrite"
        if there.oid == leaf.oid and MODE_LINK not in (there.mode, leaf.mode):
            item.action = "chmod"
    return item


def _mode(now: State, path: str, leaf: Leaf | None) -> int:
    if leaf is None:
        return 0
    if leaf.mode == MODE_LINK:
        return stat.S_IFLNK | 0o777
    return stat.S_IFREG | now.permission(path, leaf.mode == MODE_EXEC)


def _with(now: State, wanted: Mapping[str, Leaf | None]) -> bytes:
    repo = now.store.repo
    index = pygit2.Index()
    index.read_tree(repo[pygit2.Oid(raw=now.files)].peel(pygit2.Tree))
    for path, leaf in wanted.items():
        if leaf is not None:
            index.add(pygit2.IndexEntry(path, pygit2.Oid(raw=leaf.oid), pygit2.enums.FileMode(leaf.mode)))
        elif leaf_of(now, path) is not None:
            index.remove(path)
    return bytes(index.write_tree(repo).raw)
