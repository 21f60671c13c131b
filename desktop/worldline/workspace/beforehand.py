"""What is looked at before a restore touches anything."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

from worldline.core.errors import WorkspaceError
from worldline.workspace.model import PlanItem
from worldline.workspace.objects import EMPTY_TREE
from worldline.workspace.safefs import SafeTree, split
from worldline.workspace.states import RootState, State, read_progress
from worldline.workspace.store import Store


def check_space(store: Store, work: Path, items: Sequence[PlanItem]) -> None:
    """Old and new content lie side by side for a moment. Raises `WorkspaceError` (kind `disk_full`)."""
    needed = sum(
        store.size_of(bytes.fromhex(item.blob))
        for item in items
        if item.action in ("create", "overwrite") and item.blob
    )
    free = shutil.disk_usage(work).free
    if free < needed:
        raise WorkspaceError(
            f"The files of that node need {needed >> 10} KB, and only {free >> 10} KB are free.",
            "Free some disk space, then jump again.",
            kind="disk_full",
        )


def folders_there(tree: SafeTree, items: Sequence[PlanItem]) -> list[str]:
    """Folders of files to be created that are there already: an undo must not remove them."""
    there: set[str] = set()
    asked: set[str] = set()
    for item in items:
        folder = split(item.path)[0]
        while item.action == "create" and folder and folder not in asked:
            asked.add(folder)
            status = tree.lstat(folder)
            if status is not None and stat.S_ISDIR(status.st_mode):
                there.add(folder)
            folder = split(folder)[0]
    return sorted(there)


def _operation(root: RootState | None) -> tuple[str, bytes]:
    return (root.operation, root.progress) if root is not None else ("", b"")


def check_not_busy(now: State, last: State, target: State) -> None:
    """Raises `WorkspaceError` (kind `repo_busy`) while a rebase of the person is stopped half-way: moving HEAD away would
    break it. A rebase that the agent began on its own branch may be left. Where all files are gone, and the folder is to be
    again what it was last, in the same rebase, nothing moves away."""
    operation, progress = _operation(now.main)
    if operation != "rebase":
        return
    if now.files == EMPTY_TREE and last.id == target.id and _operation(target.main) == (operation, progress):
        return
    ours = _operation(last.main) == (operation, progress) and not _operation(target.main)[0]
    head_name = b""
    if now.main is not None:
        files = read_progress(now.store, now.main.progress)
        head_name = files.get("rebase-merge/head-name") or files.get("rebase-apply/head-name") or b""
    if ours and head_name.startswith(b"refs/heads/worldline/"):
        return
    raise WorkspaceError(
        "A rebase is in progress in this folder; nothing was touched.",
        "Finish it with `git rebase --continue` or give it up with `git rebase --abort`, then jump again.",
        kind="repo_busy",
    )
