"""Permissions of the folders in which a restore works: those that their owner may not write to (0o555) are made
writable meanwhile, and those that have to be made again get what they had."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Mapping

from worldline.workspace.model import PlanItem
from worldline.workspace.safefs import SafeTree, split

WRITABLE = 0o300
"""Write and search, for the owner."""


def perms_of_folders(
    tree: SafeTree,
    items: Iterable[PlanItem],
    more: Iterable[str] = (),
    usual: int = -1,
    *,
    all_usual: bool = False,
) -> dict[str, int]:
    """Folders in which something is about to be made, replaced or deleted: path → permissions, where they forbid it or
    are not the usual ones. Only those of ours: the others stay what they are, and the restore fails on them as a whole.
    `all_usual`: the safety state has just told that all folders with something captured in them have the usual ones."""
    asked: set[str] = set()
    found: dict[str, int] = {}
    me = os.geteuid()

    def look(path: str) -> None:
        while path and path not in asked:
            asked.add(path)
            status = tree.lstat(path)
            if status is not None and stat.S_ISDIR(status.st_mode) and status.st_uid == me:
                perm = stat.S_IMODE(status.st_mode)
                if perm & WRITABLE != WRITABLE or (usual >= 0 and perm != usual):
                    found[path] = perm
            path = split(path)[0]

    for item in items:
        if item.action == "chmod" or (all_usual and item.expect):
            continue
        # A folder that is moved away itself needs it too: that changes what `..` in it means.
        look(item.path if stat.S_ISDIR(item.expect_mode) else split(item.path)[0])
    for path in more:
        look(path)
    return found


def unlock(tree: SafeTree, perms: Mapping[str, int]) -> None:
    """Make them writable, outer ones first. Raises OSError."""
    for path in sorted(perms, key=lambda p: p.count("/")):
        if perms[path] & WRITABLE != WRITABLE:
            _change(tree, path, (perms[path],), perms[path] | WRITABLE)


def lock_again(tree: SafeTree, perms: Mapping[str, int], made_with: int = -1) -> None:
    """Give them their permissions back, inner ones first; those that somebody gave others, or that are gone, stay so.
    `made_with`: permissions of folders that had to be made again."""
    tree.drop()
    for path in sorted(perms, key=lambda p: -p.count("/")):
        with contextlib.suppress(OSError):
            _change(tree, path, (perms[path] | WRITABLE, made_with), perms[path])
    tree.drop()


def _change(tree: SafeTree, path: str, expect: tuple[int, ...], mode: int) -> None:
    parent, name = split(path)
    # Opened as a place only: one that its owner cannot read can be changed by them all the same.
    place = getattr(os, "O_PATH", 0)
    fd = os.open(name, place | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=tree.folder(parent))
    try:
        perm = stat.S_IMODE(os.fstat(fd).st_mode)
        if perm not in expect or perm == mode:
            return
        if place:
            # The link leads to what is open, whatever its name is by now.
            os.chmod(f"/proc/self/fd/{fd}", mode)  # noqa: PTH101
        else:
            os.fchmod(fd, mode)
    finally:
        os.close(fd)
