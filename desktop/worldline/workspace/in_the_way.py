"""What lies in the workspace and in no state, where a plan would put something.

It stays, unless it is the very thing that would be put there, or the person says that it may be moved aside, whole.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property

from worldline.workspace.chosen import chosen_for
from worldline.workspace.filesig import read_file
from worldline.workspace.model import PlanItem
from worldline.workspace.objects import BLOB
from worldline.workspace.safefs import SafeTree, content_id, short_name, split
from worldline.workspace.states import State
from worldline.workspace.treediff import leaf_at

MAX_FORCED = 1 << 30
"""Larger files that are in the way are never moved aside."""
_OTHER_PERMISSIONS = "is ignored now; its content is that of the node, its permissions are others"


class InTheWay:
    """Looks for it, for one plan. Nothing is written but copies of what is to be moved aside, to the store."""

    def __init__(
        self, now: State, choices: Mapping[str, str], tree: SafeTree, going: AbstractSet[str]
    ) -> None:
        """`going`: repositories inside that go with their files."""
        self.now, self.choices, self.tree, self._going = now, choices, tree, going
        self.store = now.store
        self.aside: list[PlanItem] = []
        """Copies of files that are in no state and have to make room."""
        self._folders: dict[str, bool] = {}
        """Whether a path above an item is free or a real folder."""

    def blocks(self, item: PlanItem) -> bool:
        """Whether something that the state of now does not hold lies at a path to be created, so that nothing is created.
        Says in the item what becomes of it."""
        try:
            status = self.tree.lstat(item.path)
        except PermissionError:
            item.action, item.reason = "keep_foreign", "it lies in a folder that cannot be read; it stays"
            return True
        if status is None:
            return False
        if stat.S_ISDIR(status.st_mode):
            if stat.S_ISDIR(item.mode):  # it was ignored meanwhile, or becomes empty
                if status.st_mode != item.mode:
                    item.action, item.expect_mode = "chmod", status.st_mode
                return True
            inside = [path for path in self._on_disk(item.path) if not self._goes(path)]
            if not inside:
                if self.store.lookup(self.now.files, item.path) is None:
                    # Ignored and empty: nothing in it could be lost.
                    item.action, item.expect_mode = "overwrite", status.st_mode
                return False
            item.action, item.reason = "keep_foreign", f"a folder with {inside[0]} is in its place"
            return True
        same = stat.S_IFMT(status.st_mode) == stat.S_IFMT(item.mode) and self._has(item.path, item.blob)
        chosen = chosen_for(self.choices, item.path)
        if same and (status.st_mode == item.mode or not stat.S_ISREG(item.mode)):
            item.action = "create"  # already as the node has it, only not captured now
            return True
        if same:
            if chosen == "restore":
                item.action, item.choice, item.reason = "chmod", "restore", _OTHER_PERMISSIONS
                item.expect, item.expect_mode = item.blob, status.st_mode
            else:  # no state holds these permissions, so that nothing could bring them back
                item.action, item.reason = "keep_foreign", f"{_OTHER_PERMISSIONS}; they stay"
            return True
        reason = self.now.omitted.get(item.path, "is ignored now and was not captured")
        if chosen == "restore" and self._force(item, status):
            item.reason = f"it {reason} and was put aside as {self._aside(item.path)}"
            return False
        item.action, item.reason = "keep_foreign", f"{reason}; it stays"
        return True

    def _goes(self, path: str) -> bool:
        """Whether what is there has a copy and goes: it is in the state of now, or in the git folder of a repository that goes
        with its files. (Where one of these stays, the plan sees it later.)"""
        if leaf_at(self.store, self.now.files, path) is not None:
            return True
        folder, git, _ = f"{path}/".partition("/.git/")
        return bool(git) and folder in self._going

    def _has(self, path: str, blob: str) -> bool:
        """Whether that is the content of what is at `path`; of what cannot be read nobody knows."""
        try:
            with self.tree.at(path) as (fd, name):
                return content_id(name, fd)[0] == blob
        except PermissionError:
            return False

    def is_occupied(self, folder: str) -> bool:
        """Whether a folder that is empty for the state of now holds something all the same, or may do so."""
        try:
            with os.scandir(self.tree.folder(folder)) as entries:
                names = {entry.name for entry in entries}
        except PermissionError:
            return True
        # Of a repository that is copied it is decided elsewhere whether it goes.
        return bool(names - {".git"} if folder in self._copied else names)

    @cached_property
    def _copied(self) -> set[str]:
        return {root.path for root in self.now.roots if not root.trouble}

    def _force(self, item: PlanItem, status: os.stat_result) -> bool:
        """The person wants the node's file although what lies there is in no state: it moves aside, whole. The copy is
        in the store too, so that the restore can be undone and replaces only what was seen."""
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FORCED:
            return False
        got = None
        with contextlib.suppress(PermissionError), self.tree.at(item.path) as (fd, name):
            got = read_file(name, fd, MAX_FORCED)
        if got is None:
            return False
        oid = self.store.put(BLOB, got[0]).hex()
        self.aside.append(
            PlanItem(
                self._aside(item.path), "create", f"what was at {item.path}", blob=oid, mode=got[1].st_mode
            )
        )
        item.action, item.choice = "overwrite", "restore"
        item.expect, item.expect_mode = oid, got[1].st_mode
        return True

    def _aside(self, path: str) -> str:
        """A free name beside it."""
        folder, name = split(path)
        begin = f"{folder}/{short_name(name)}" if folder else short_name(name)
        number = 1
        while self.tree.lstat(f"{begin}.before-jump-{number}") is not None:
            number += 1
        return f"{begin}.before-jump-{number}"

    def _on_disk(self, folder: str) -> Iterator[str]:
        """Files below a folder, and folders with nothing in them, or in which nobody can look."""
        try:
            with os.scandir(self.tree.folder(folder)) as entries:
                found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        except PermissionError:
            return
        for name, is_dir in found:
            path = f"{folder}/{name}"
            inner = list(self._on_disk(path)) if is_dir else []
            yield from inner or [path]

    def is_passable(self, folder: str) -> bool:
        known = self._folders.get(folder)
        if known is None:
            try:
                status = self.tree.lstat(folder)
                known = status is None or stat.S_ISDIR(status.st_mode)
            except PermissionError:
                known = False
            self._folders[folder] = known
        return known
