"""What is looked at before a restore touches anything."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

from worldline.core.errors import WorkspaceError
from worldline.workspace.model import PlanItem
from worldline.workspace.safefs import SafeTree, split
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
