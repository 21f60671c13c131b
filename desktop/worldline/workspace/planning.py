"""Which files a restore would touch, and which it leaves because they are the person's or were never recorded.

Judged only by what the states hold: the disk's own ignore files are not read here, so a restore that changes them
cannot change what it deletes.
"""

from __future__ import annotations

import fnmatch
import stat
from collections.abc import Mapping
from functools import cached_property

from worldline.workspace.chosen import chosen_for
from worldline.workspace.in_the_way import InTheWay
from worldline.workspace.indexfile import INTENT_TO_ADD
from worldline.workspace.model import KEPT, PlanItem
from worldline.workspace.objects import MODE_DIR, MODE_EXEC, MODE_LINK
from worldline.workspace.safefs import SafeTree, split
from worldline.workspace.states import State, read_index, repositories_to_go
from worldline.workspace.treediff import Difference, Leaf, diff, leaf_at


class Planner:
    """Makes the items of one plan. `tree`: the workspace, which is only asked what lies where."""

    def __init__(
        self,
        now: State,
        target: State,
        last: State,
        users: set[str],
        choices: dict[str, str],
        default_choice: str,
        tree: SafeTree,
        unsure: Mapping[str, str],
        meanwhile: str,
    ) -> None:
        self.now, self.target, self.last = now, target, last
        self.users, self.choices, self.default_choice = users, choices, default_choice
        self.unsure, self.meanwhile = unsure, meanwhile
        self.store = now.store
        self._going = {root.path for root in repositories_to_go(now, target, last)}
        self.in_the_way = InTheWay(now, choices, tree, self._going)
        self._same_as_last = last.files == now.files
        self.only_mine = last.files == target.files and last.perms_tree == target.perms_tree
        """The node differs from the disk only by what the person did: a jump there can mean nothing else."""

    def items(self) -> list[PlanItem]:
        found = [self._item(difference) for difference in diff(self.store, self.now.files, self.target.files)]
        items = {item.path: item for item in found if item is not None and not self._gets_filled(item)}
        for path in sorted(self.now.perms.keys() | self.target.perms.keys()):
            if path not in items and (item := self._mode_item(path)) is not None:
                items[path] = item
        self._unblock(items)
        for path, reason in sorted({**self.target.omitted, **self.now.omitted}.items()):
            if path not in items:
                items[path] = PlanItem(path, "not_captured", f"{reason}; it stays as it is")
        self.store.flush()
        return sorted([*items.values(), *self.in_the_way.aside], key=lambda item: item.path)

    def _gets_filled(self, item: PlanItem) -> bool:
        """An empty folder that the target has with something in it is not deleted."""
        if item.action != "delete" or not stat.S_ISDIR(item.expect_mode):
            return False
        entry = self.store.lookup(self.target.files, item.path)
        return entry is not None and entry.mode == MODE_DIR

    # --- whose is it ------------------------------------------------------------------------------------------

    @cached_property
    def _staged(self) -> dict[str, Leaf]:
        main = self.now.main
        entries = read_index(self.store, main.index) if main is not None and main.index else []
        # What git was only told of has an empty content there that nobody staged.
        return {
            entry.path: Leaf(entry.mode, entry.oid)
            for entry in entries
            if entry.stage == 0 and not entry.flags & INTENT_TO_ADD
        }

    @cached_property
    def _head_tree(self) -> bytes:
        main = self.now.main
        if main is None or not main.kept or not main.head:
            return b""
        entry = self.store.subtree(main.kept, f"t-{main.head}")
        return entry.oid if entry is not None else b""

    def _is_gits(self, path: str, now: Leaf | None, before: Leaf | None) -> bool:
        """What is on disk is what git put there: HEAD's or the staged content, executable or not as it is there."""
        if now is None:
            # A branch without the file was checked out; a file that was just removed is the person's doing.
            moved = self.last.main is not None and self.now.main is not None
            moved = moved and self.last.main.head != self.now.main.head  # type: ignore[union-attr]
            return moved and before is not None and path not in self._staged and path in self.last.tracked
        if self._staged.get(path) == now:
            return True
        entry = self.store.lookup(self._head_tree, path) if self._head_tree else None
        return entry is not None and (entry.mode, entry.oid) == now

    def _is_mine(self, path: str, now: Leaf | None, before: Leaf | None) -> bool:
        chmodded = now is not None and before is not None and self._is_chmodded(path)
        if not (chmodded or now != before or path in self.users):
            return False
        # Git gives no unusual permissions.
        return (chmodded and path in self.now.perms) or not self._is_gits(path, now, before)

    def _is_chmodded(self, path: str) -> bool:
        """Whether its permissions are others than they were last, and not only whether it can be run."""
        if self.last.perms_tree == self.now.perms_tree:
            return False
        return self.last.perms.get(path) != self.now.perms.get(path)

    def _choice(self, path: str, recorded: bool) -> str:
        chosen = chosen_for(self.choices, path)
        choice = chosen or self.default_choice
        if choice == "keep" and not chosen and self.only_mine and recorded:
            return "restore"
        return "restore" if choice == "restore" else "keep"

    # --- one path ---------------------------------------------------------------------------------------------

    def _full_mode(self, state: State, path: str, leaf: Leaf | None) -> int:
        if leaf is None:
            return 0
        if leaf.mode == MODE_DIR:
            return stat.S_IFDIR | state.permission(path, False, folder=True)
        if leaf.mode == MODE_LINK:
            return stat.S_IFLNK | 0o777
        return stat.S_IFREG | state.permission(path, leaf.mode == MODE_EXEC)

    def _item(self, difference: Difference) -> PlanItem | None:
        path, now, wanted = difference
        item = PlanItem(
            path, "create", blob=_hex(wanted), mode=self._full_mode(self.target, path, wanted),
            expect=_hex(now), expect_mode=self._full_mode(self.now, path, now),
        )  # fmt: skip
        if wanted is None:
            item.action = "delete"
            if not self._known_absent(path):
                item.action, item.reason = "keep_foreign", "it was ignored or not captured at that node"
                return item
            if (
                stat.S_ISDIR(item.expect_mode)
                and not self._gets_filled(item)
                and self.in_the_way.is_occupied(path)
            ):
                item.action, item.reason = "keep_foreign", "something that is not captured is in it"
                return item
        elif now is None:
            if self.in_the_way.blocks(item):
                return None if item.action == "create" else item
        elif (
            now.mode != MODE_DIR
            and now.oid == wanted.oid
            and stat.S_IFMT(item.mode) == stat.S_IFMT(item.expect_mode)
        ):
            item.action = "chmod"
        elif now.mode == MODE_DIR and wanted.mode != MODE_DIR and self.in_the_way.blocks(item):
            return item  # empty but for what no state holds
        elif now.mode != MODE_DIR or path not in self._going:  # a repository without files goes as a whole
            item.action = "overwrite"
        before = now if self._same_as_last else leaf_at(self.store, self.last.files, path)
        if self._is_mine(path, now, before):
            self._keep_mine(item, now, wanted, before)
        return item

    def _keep_mine(self, item: PlanItem, now: Leaf | None, wanted: Leaf | None, before: Leaf | None) -> None:
        deed = "deleted" if now is None else "made" if before is None else "changed"
        doubt = self._doubt(item.path, now != before or (now is not None and self._is_chmodded(item.path)))
        item.unsure = bool(doubt)
        what = f"it was {deed} {doubt}" if doubt else f"you {deed} it"
        since = "" if doubt else " since"
        choice = self._choice(item.path, before is not None)
        if choice == "restore":
            item.choice = "restore"
            item.reason = (
                f"{what}; what is there is kept in the node before the jump"
                if doubt
                else f"{what} since; your version is kept in the node before the jump"
            )
            return
        item.choice = "keep"
        item.action = "keep_mine" if before == wanted else "conflict"
        item.reason = (
            f"{what}{since}" if item.action == "keep_mine" else f"{what}, and it differs at that node"
        )

    def _doubt(self, path: str, changed_since: bool) -> str:
        """The words that say who may have changed it; "" = it was the person, if it was not all the person."""
        if changed_since and not self.meanwhile:
            return ""
        if path in self.users and path not in self.unsure:
            return ""
        return self.unsure.get(path, "") or self.meanwhile

    def _known_absent(self, path: str) -> bool:
        """The target would hold the file if it had existed; only then its absence is worth a deletion."""
        if self.target.would_hold(path):
            return True
        name = split(path)[1]
        chosen = any(fnmatch.fnmatchcase(name, pattern) for pattern in self.target.meta["chosen"])
        return (
            chosen and path not in self.target.omitted and not self.target.rules.ignored(split(path)[0], True)
        )

    def _mode_item(self, path: str) -> PlanItem | None:
        now, wanted = self.store.lookup(self.now.files, path), self.store.lookup(self.target.files, path)
        if now is None or wanted is None or now.mode != wanted.mode or now.mode == MODE_LINK:
            return None
        folder = now.mode == MODE_DIR
        kind = stat.S_IFDIR if folder else stat.S_IFREG
        executable = now.mode == MODE_EXEC
        old = self.now.permission(path, executable, folder)
        new = self.target.permission(path, executable, folder)
        if old == new:
            return None
        oid = "" if folder else now.oid.hex()
        item = PlanItem(path, "chmod", blob=oid, mode=kind | new, expect=oid, expect_mode=kind | old)
        since = self.last.permission(path, executable, folder) != old
        if (path in self.users or since) and self._choice(path, True) != "restore":
            doubt = self._doubt(path, since)
            item.action, item.choice, item.unsure = "keep_mine", "keep", bool(doubt)
            item.reason = (
                f"its permissions were changed {doubt}" if doubt else "you changed its permissions since"
            )
        return item

    def _unblock(self, items: dict[str, PlanItem]) -> None:
        """A file that stays where the target has a folder, or the other way round, holds up what would come there."""
        kept = {path: item for path, item in items.items() if item.action in KEPT and item.expect_mode}
        stays = {path for path, item in kept.items() if item.expect}
        for path, item in items.items():
            if item.action not in ("create", "overwrite"):
                continue
            # Above a file that is there are only folders.
            parent = split(path)[0] if item.action == "create" else ""
            while parent:
                if parent in stays or (parent not in items and not self.in_the_way.is_passable(parent)):
                    item.action, item.reason = "keep_foreign", f"{parent} stays and is in its way"
                    break
                parent = split(parent)[0]
            inside = [other for other in kept if other.startswith(path + "/")] if kept else []
            if not inside or stat.S_ISDIR(item.mode):
                continue
            if stays.isdisjoint(inside):  # empty folders, which the safety state holds
                for other in inside:
                    items[other].action, items[other].reason = "delete", f"{path} comes in its place"
            else:
                item.action, item.reason = "keep_foreign", "files inside a folder of that name stay"


def _hex(leaf: Leaf | None) -> str:
    return "" if leaf is None or leaf.mode == MODE_DIR else leaf.oid.hex()
