"""Put single files onto disk with the guarantees of a restore: a copy of what is there first, everything or nothing,
each file only if it is still what was seen, journaled. HEAD and the staging area are not touched."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from worldline.core.errors import WorkspaceError
from worldline.workspace.apply import Restorer
from worldline.workspace.model import NOT_CAPTURED, PlanItem, ProgressCall, RestorePlan, RestoreReport
from worldline.workspace.objects import MODE_DIR, MODE_EXEC, MODE_FILE, MODE_LINK
from worldline.workspace.safefs import SafeTree, content_id
from worldline.workspace.states import State
from worldline.workspace.treediff import Leaf
from worldline.workspace.trees import edited_tree

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


def obstacles(work: Path, now: State, wanted: Mapping[str, Leaf | None]) -> dict[str, str]:
    """Which files of `wanted` cannot be put down, and why: something that no state holds, or a folder, has their place. Why is
    "" where it is the very same file."""
    found: dict[str, str] = {}
    gone = {path for path, leaf in wanted.items() if leaf is None}
    tree = SafeTree(work)
    try:
        for path, leaf in wanted.items():
            if leaf is not None and leaf_of(now, path) is None:
                try:
                    reason = _in_the_way(tree, path, leaf, gone)
                except PermissionError:
                    reason = "something that cannot be read is in its place in your folder"
                if reason is not None:
                    found[path] = reason
    finally:
        tree.close()
    return found


def _in_the_way(tree: SafeTree, path: str, leaf: Leaf, gone: Collection[str]) -> str | None:
    parts = path.split("/")
    for depth in range(1, len(parts)):
        above = "/".join(parts[:depth])
        status = tree.lstat(above)
        if status is None or above in gone:
            return None
        if not stat.S_ISDIR(status.st_mode):
            return f"{above} is in its place in your folder"
    status = tree.lstat(path)
    if status is None:
        return None
    if stat.S_ISDIR(status.st_mode):
        stays = any(inner not in gone for inner in _files_in(tree.root / path, path))
        return "a folder of that name is in its place in your folder" if stays else None
    with tree.at(path) as (folder, name):
        oid, mode = content_id(name, folder)
    kind = MODE_LINK if stat.S_ISLNK(mode) else MODE_EXEC if mode & 0o100 else MODE_FILE
    return (
        ""
        if (kind, oid) == (leaf.mode, leaf.oid.hex())
        else "a file that is not captured is in its place in your folder"
    )


def _files_in(folder: Path, path: str) -> Iterator[str]:
    for place, _, names in os.walk(folder):
        here = os.path.relpath(place, folder)
        prefix = f"{path}/" if here == "." else f"{path}/{here}/"
        yield from (prefix + name for name in names)


def put_files(
    workspace: Workspace,
    now: State,
    wanted: Mapping[str, Leaf | None],
    *,
    source: State | None = None,
    progress: ProgressCall | None = None,
    on_done: Callable[[RestoreReport], None] | None = None,
) -> RestoreReport:
    """Write, replace or delete (None) the files of `wanted`; their content is in the store of the workspace.

    `now`: what `saved` gave. `source`: the state that they are from; a file that is not there now gets its permissions. On
    a failure, or if `on_done` raises, all is as before.
    """
    items = [
        item for path, leaf in sorted(wanted.items()) if (item := _item(now, path, leaf, source)) is not None
    ]
    token = hashlib.sha256(
        f"{_FILES} {now.id} {[(i.path, i.blob, i.mode) for i in items]}".encode("utf-8", "replace")
    )
    # Target = safety: an interruption is always undone, there is no node to arrive at.
    plan = RestorePlan(now.id, now.id, False, items, token.hexdigest())
    target = replace(now, files=edited_tree(now.store, now.files, wanted), roots=[])
    now.store.flush()
    restorer = Restorer(workspace.work, journal_of(workspace), plan, now, target, {}, progress)
    return restorer.run(None, on_done)


def _item(now: State, path: str, leaf: Leaf | None, source: State | None) -> PlanItem | None:
    there = leaf_of(now, path)
    if there == leaf:
        return None
    item = PlanItem(
        path, "create", expect=there.oid.hex() if there else "", expect_mode=_mode(now, path, there)
    )
    if leaf is None:
        item.action = "delete"
        return item
    known = source if source is not None and there is None else now
    item.blob, item.mode = leaf.oid.hex(), _mode(known, path, leaf)
    if there is not None:
        item.action = "overwrite"
        if there.oid == leaf.oid and MODE_LINK not in (there.mode, leaf.mode):
            item.action = "chmod"
    return item


def _mode(state: State, path: str, leaf: Leaf | None) -> int:
    if leaf is None:
        return 0
    if leaf.mode == MODE_LINK:
        return stat.S_IFLNK | 0o777
    is_exec = leaf.mode == MODE_EXEC
    perm = state.permission(path, is_exec)
    if bool(perm & 0o100) is not is_exec:  # unusual ones, known of the file as it was
        perm = perm | (perm & 0o444) >> 2 | 0o100 if is_exec else perm & ~0o111
    return stat.S_IFREG | perm
