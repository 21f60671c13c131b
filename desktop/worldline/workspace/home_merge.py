"""Merging what a node changed into the person's files, three-way for each file.

Nothing is written but objects to the store: what each path becomes is given back, and the report says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import pygit2

from worldline.workspace.chosen import chosen_for
from worldline.workspace.committed_form import Form, NotConvertible, form_of
from worldline.workspace.home_changes import Brought, Change, Objects, is_pointer
from worldline.workspace.home_git import can_be_committed
from worldline.workspace.home_report import Choice, HomeEntry, HomeReport
from worldline.workspace.merge3 import merge_content
from worldline.workspace.model import ProgressCall
from worldline.workspace.objects import BLOB, MODE_FILE, MODE_LINK
from worldline.workspace.store import Store
from worldline.workspace.treediff import Leaf


@dataclass(slots=True)
class Side:
    """What is merged into: the files on disk, or those of a commit."""

    leaf: Callable[[str], Leaf | None]
    committed: bool
    """Content is as in a commit (line ends converted), not as on disk."""


class HomeMerge:
    """Merges for one report. `ours`, `theirs`: the person's repository and that of the session, None = there is none.
    `store`: takes what is made here, and is one of those that `objects` reads."""

    def __init__(
        self,
        report: HomeReport,
        objects: Objects,
        store: Store,
        *,
        ours: pygit2.Repository | None,
        theirs: pygit2.Repository | None,
        choices: Mapping[str, Choice],
        progress: ProgressCall | None,
    ) -> None:
        self.report, self.objects, self.store = report, objects, store
        self._ours, self._theirs = ours, theirs
        self.choices, self.progress = choices, progress

    def merge(self, brought: Brought, side: Side, *, theirs_win: bool = False) -> dict[str, Leaf | None]:
        """What each path becomes; also fills the entries and conflicts of the report."""
        wanted: dict[str, Leaf | None] = {}
        wanted_actions = ("create", "overwrite", "delete")
        known = {entry.path: entry for entry in self.report.entries}
        for number, change in enumerate(brought.changes):
            if self.progress is not None and number % 20 == 0:
                self.progress("bring home", number, len(brought.changes))
            entry, leaf = self._one(change, side, theirs_win)
            if entry is None:
                continue
            if entry.action == "conflict" and change.path not in self.report.conflicts:
                self.report.conflicts.append(change.path)
            if entry.action in wanted_actions:
                wanted[change.path] = leaf
            row = known.get(change.path)
            if row is None:
                self.report.entries.append(entry)
            elif entry.action == "not_captured" and row.action in wanted_actions:
                row.reason = f"written, but not in the commit: {entry.reason.partition(':')[0]}"
            elif entry.action in ("conflict", "keep_mine"):  # what holds for the commit holds for the file
                row.action, row.reason, row.choice = entry.action, entry.reason, entry.choice
        self.store.flush()
        return wanted

    def _one(self, change: Change, side: Side, theirs_win: bool) -> tuple[HomeEntry | None, Leaf | None]:
        path, ours = change.path, side.leaf(change.path)
        ours_data = self._data(ours)
        form = self._form(path) if side.committed else Form()
        if side.committed and not can_be_committed(path):
            return HomeEntry(
                path, "not_captured", "git takes no file of this name: bring it as uncommitted changes"
            ), None
        if form.filter:
            # Its program is not run: what it hides (git-crypt) or keeps elsewhere would be committed as it is.
            return HomeEntry(
                path,
                "not_captured",
                f"it is kept by a filter ({form.filter}): bring it as uncommitted changes",
            ), None
        if side.committed and ours_data is not None and is_pointer(ours_data):
            return HomeEntry(
                path, "not_captured", "it is kept by a filter (Git LFS): bring it as uncommitted changes"
            ), None
        try:
            theirs = self._as_side(change.theirs, ours_data, form)
            bases = [
                base if base == change.committed else self._as_side(base, ours_data, form)
                for base in change.bases
            ]
        except NotConvertible as error:
            return HomeEntry(path, "not_captured", f"{error}: bring it as uncommitted changes"), None
        if ours == theirs or theirs in bases[:1]:
            return None, None
        if ours == bases[0]:
            return self._taken(path, ours, theirs, ""), theirs
        merged = self._merged(bases[:1], ours, theirs)
        if merged is None and ours in bases:
            return self._taken(path, ours, theirs, ""), theirs
        merged = merged or self._merged(bases[1:], ours, theirs)
        if merged is not None:
            if merged == ours:
                return None, None
            return self._taken(path, ours, merged, "merged with what is there"), merged
        choice = "theirs" if theirs_win else chosen_for(self.choices, path)
        if choice == "theirs":
            return self._taken(path, ours, theirs, "taken from the node", choice), theirs
        if choice == "ours":
            return HomeEntry(path, "keep_mine", "yours is kept", choice), None
        return HomeEntry(path, "conflict", _why(ours, theirs)), None

    def _form(self, path: str) -> Form:
        """Which filter either side names; the rest as it is where the file comes from."""
        theirs, ours = form_of(self._theirs, path), form_of(self._ours, path)
        return (ours if self._theirs is None else theirs)._replace(filter=ours.filter or theirs.filter)

    def _taken(
        self, path: str, ours: Leaf | None, theirs: Leaf | None, reason: str, choice: str = ""
    ) -> HomeEntry:
        action: Literal["create", "overwrite", "delete"] = (
            "create" if ours is None else "delete" if theirs is None else "overwrite"
        )
        return HomeEntry(path, action, reason, choice)

    def _data(self, leaf: Leaf | None) -> bytes | None:
        return None if leaf is None else self.objects.read(leaf.oid)

    def _store(self, mode: int, data: bytes) -> Leaf:
        return Leaf(mode, self.store.put(BLOB, data))

    def _as_side(self, leaf: Leaf | None, ours: bytes | None, form: Form) -> Leaf | None:
        if leaf is None:
            return None
        data = self.objects.read(leaf.oid)
        return self._store(leaf.mode, data if leaf.mode == MODE_LINK else form.apply(data, ours))

    def _merged(self, bases: list[Leaf | None], ours: Leaf | None, theirs: Leaf | None) -> Leaf | None:
        if ours is None or theirs is None or MODE_LINK in (ours.mode, theirs.mode):
            return None
        self.store.flush()
        ours_data, theirs_data = self.objects.read(ours.oid), self.objects.read(theirs.oid)
        for base in bases:
            if base is None or base.mode == MODE_LINK:
                continue
            merged = merge_content(self.objects.repo, self.objects.read(base.oid), ours_data, theirs_data)
            if merged is not None:
                mode = theirs.mode if ours.mode == base.mode else ours.mode
                return self._store(mode, merged)
        if ours.oid == theirs.oid:
            return Leaf(max(ours.mode, theirs.mode, MODE_FILE), ours.oid)
        return None


def _why(ours: Leaf | None, theirs: Leaf | None) -> str:
    if ours is None:
        return "deleted by you, changed at the node"
    if theirs is None:
        return "changed by you, deleted at the node"
    return "changed by you and at the node in the same place"
