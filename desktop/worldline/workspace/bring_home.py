"""Bring what a node has to the person's branch: as uncommitted changes, as one commit, or as a branch to merge.

Three-way for each file. Nothing of the person's is overwritten: what both sides changed in the same place is a conflict
that only they can decide. A failure leaves both sides as they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pygit2

from worldline.core.errors import WorkspaceError
from worldline.workspace import home_git
from worldline.workspace.chosen import chosen_for
from worldline.workspace.home_changes import Brought, Objects, changes_since
from worldline.workspace.home_index import Staging
from worldline.workspace.home_merge import HomeMerge, Side
from worldline.workspace.home_report import Choice, HomeEntry, HomeReport, How
from worldline.workspace.model import NOT_CAPTURED, ProgressCall, RestoreReport
from worldline.workspace.putfiles import journal_of, leaf_of, obstacles, put_files, saved
from worldline.workspace.states import State
from worldline.workspace.treediff import Leaf

if TYPE_CHECKING:
    from worldline.workspace.engine import Workspace


def bring_home(
    source: Workspace,
    home: Workspace,
    state: str,
    *,
    how: How,
    start: str = "",
    message: str = "",
    branch: str = "",
    dry_run: bool = True,
    choices: Mapping[str, Choice] | None = None,
    progress: ProgressCall | None = None,
) -> HomeReport:
    """`source`: the session's workspace, `state`: the node's state there. `home`: the person's folder with a store of
    its own (or `source` itself for a session that works in place). `start`: the session's first state.

    `branch`: for "branch" the name of the new one. Raises `WorkspaceError`: `not_captured`, `no_repository`, `repo_busy`,
    `detached`, `branch_exists`, `bad_branch`; nothing was changed then.
    """
    if state == NOT_CAPTURED:
        raise WorkspaceError(
            "The files of this step were not captured.",
            "Choose a node before or after it.",
            kind="not_captured",
        )
    return _Bringing(source, home, state, how, start, dict(choices or {}), progress).run(
        message, branch, dry_run
    )


class _Bringing:
    def __init__(
        self,
        source: Workspace,
        home: Workspace,
        state: str,
        how: How,
        start: str,
        choices: dict[str, Choice],
        progress: ProgressCall | None,
    ) -> None:
        self.source, self.home, self.how, self.choices, self.progress = source, home, how, choices, progress
        self.node = source.state(state)
        self.start = source.state(start) if start and start != NOT_CAPTURED else None
        self.repo = home_git.open_repository(home.work)
        self.objects = Objects(self._merge_repository())
        self.report = HomeReport(str(home.work), how)
        self._merging = HomeMerge(
            self.report, self.objects, home.store, ours=self.repo, theirs=home_git.open_repository(source.work),
            choices=choices, progress=progress,
        )  # fmt: skip
        self.staging: Staging | None = None

    def _merge_repository(self) -> pygit2.Repository:
        """Reads everything, writes to the store of the person's folder: their repository gets nothing before it is
        decided."""
        merging = pygit2.Repository(str(self.home.store.path))
        for folder in {self.source.store.path, *home_git.object_folders(self.repo)} - {self.home.store.path}:
            objects = folder if folder.name == "objects" else Path(folder) / "objects"
            merging.odb.add_disk_alternate(str(objects))
        return merging

    def run(self, message: str, branch: str, dry_run: bool) -> HomeReport:
        # One that was killed half-way is taken back first.
        self.home.recover()
        repo, report = self.repo, self.report
        if repo is None and self.how != "changes":
            raise WorkspaceError(
                f"{self.home.work} is not a git repository.",
                "Bring it as changes of files.",
                kind="no_repository",
            )
        if repo is not None and self.how != "branch":
            try:
                self.staging = Staging(Path(repo.path), self.objects)
            except WorkspaceError:
                if self.how == "commit":
                    raise  # files can be brought without
        head = home_git.head(repo)
        node_head = self.node.main.head if self.node.main is not None else ""
        if self.how == "branch":
            report.base = node_head or head.commit
        else:
            report.base = home_git.common_commit(repo, head.commit, node_head)
        base_tree = home_git.tree_of(repo, report.base)
        if not base_tree and self.start is None:
            raise WorkspaceError(
                "Nothing is known that both sides have in common.", "Create a patch instead.", kind="no_base"
            )
        began = self.start.main.head if self.start is not None and self.start.main is not None else ""
        brought = changes_since(
            self.objects, base_tree, self.node, self.start,
            committed_since=began not in ("", report.base),
            began_tree=home_git.tree_of(repo, began) if home_git.is_after(repo, report.base, began) else None,
        )  # fmt: skip
        for path, why in brought.skipped:
            report.entries.append(HomeEntry(path, "not_captured", why))
        if self.how == "branch":
            self._branch(brought, base_tree, message, branch, dry_run)
        elif self.how == "commit":
            self._commit(brought, head, message, dry_run)
        else:
            now = saved(self.home)
            report.safety = now.id
            wanted = self._merging.merge(brought, self._disk(now))
            wanted = self._shown(now, wanted)
            self._check_places(now, wanted)
            self._finish_changes(now, wanted, dry_run)
        report.entries.sort(key=lambda e: e.path)
        return report

    # -- what a sparse checkout keeps off the disk

    def _disk(self, now: State) -> Side:
        """What is on disk, or would be there without a sparse checkout."""

        def leaf(path: str) -> Leaf | None:
            there = leaf_of(now, path)
            is_hidden = there is None and self._is_hidden(path)
            return self.staging.leaf(path) if is_hidden and self.staging is not None else there

        return Side(leaf, False)

    def _is_hidden(self, path: str) -> bool:
        return self.staging is not None and self.staging.is_hidden(path)

    def _shown(self, now: State, wanted: dict[str, Leaf | None]) -> dict[str, Leaf | None]:
        """As uncommitted changes such files must be put on disk; that one is deleted cannot be said so."""
        shown = dict(wanted)
        for entry in self.report.entries:
            if entry.path in wanted and self._is_hidden(entry.path) and leaf_of(now, entry.path) is None:
                if wanted[entry.path] is None:
                    entry.action, entry.reason = "not_captured", _HIDDEN_GONE
                    del shown[entry.path]
                else:
                    entry.action, entry.reason = "create", _HIDDEN_SHOWN
        return shown

    # -- where it would come to lie

    def _check_places(self, now: State, wanted: dict[str, Leaf | None]) -> None:
        """What is in no state is not replaced: whoever wants the node's moves it away."""
        entries = {entry.path: entry for entry in self.report.entries}
        for path, why in obstacles(self.home.work, now, wanted).items():
            del wanted[path]
            entry = entries[path]
            if not why:
                entry.reason = "it is there already"
            elif chosen_for(self.choices, path) == "ours":
                entry.action, entry.reason, entry.choice = "keep_mine", why, "ours"
            else:
                entry.action, entry.reason = "conflict", f"{why}; keep it, or move it away first"
                self.report.conflicts.append(path)

    # -- the three ways

    def _blocked(self, dry_run: bool) -> bool:
        report = self.report
        if report.conflicts:
            count = len(report.conflicts)
            report.note = (
                "1 file was changed on both sides in the same place; choose which one is meant."
                if count == 1
                else f"{count} files were changed on both sides in the same place; choose for each."
            )
            return True
        return dry_run

    def _finish_changes(self, now: State, wanted: dict[str, Leaf | None], dry_run: bool) -> None:
        if self._blocked(dry_run):
            return
        done = put_files(
            self.home, now, wanted, source=self.node, progress=self.progress, on_done=_all_or_nothing
        )
        self._take_over(done, "The changes are in your folder, not committed.")

    def _take_over(self, done: RestoreReport, note: str) -> None:
        report = self.report
        report.done = done.done and not done.failed
        report.note = note if report.done else done.note or "Nothing was changed."

    def _commit(self, brought: Brought, head: home_git.Head, message: str, dry_run: bool) -> None:
        repo, report = self.repo, self.report
        assert repo is not None
        home_git.check_ready(repo, head)
        report.branch = head.branch
        now = saved(self.home)
        report.safety = now.id
        head_tree = home_git.tree_of(repo, head.commit)
        on_disk = self._merging.merge(brought, self._disk(now))
        committed = self._merging.merge(
            brought, Side(lambda p: self.objects.leaf(head_tree, p) if head_tree else None, True)
        )
        mine = {entry.path for entry in report.entries if entry.action == "keep_mine"}
        on_disk = {
            path: leaf
            for path, leaf in on_disk.items()
            if path not in mine and (leaf_of(now, path) or not self._is_hidden(path))
        }
        self._check_places(now, on_disk)
        kept = {entry.path for entry in report.entries if entry.action == "keep_mine"}
        committed = {path: leaf for path, leaf in committed.items() if path not in kept}
        self._staged(head_tree, committed)
        known = {entry.path: entry for entry in report.entries}
        for path in committed.keys() - on_disk.keys():
            if self._is_hidden(path) and path not in report.conflicts:
                known[path].reason = _HIDDEN_COMMITTED
        for path in report.conflicts:
            known[path].action = "conflict"
        if self._blocked(dry_run):
            return
        if not committed:
            report.note = (
                "There is nothing to commit: what is different is kept as it is on your side."
                if any(entry.choice == "ours" for entry in report.entries)
                else "There is nothing to commit: your branch has all of it."
            )
            return
        text = message or "Work of an agent session"
        plan = home_git.CommitPlan(repo, self.objects, head, committed, text, journal_of(self.home))

        def commit(written: RestoreReport) -> None:
            _all_or_nothing(written)
            report.commit = plan.run()

        done = put_files(self.home, now, on_disk, source=self.node, progress=self.progress, on_done=commit)
        self._take_over(done, f"One commit on {head.branch}.")
        if not report.done:
            report.commit = ""

    def _staged(self, head_tree: bytes, committed: dict[str, Leaf | None]) -> None:
        """Something else is staged for a file of the commit: the commit would carry it away unseen."""
        assert self.staging is not None
        for path in committed:
            base = self.objects.leaf(head_tree, path) if head_tree else None
            if self.staging.leaf(path) not in (base, committed[path]):
                self.report.conflicts.append(path) if path not in self.report.conflicts else None
                for entry in self.report.entries:
                    if entry.path == path:
                        entry.reason = "you have staged another version of it; commit or unstage it first"

    def _branch(self, brought: Brought, base_tree: bytes, message: str, branch: str, dry_run: bool) -> None:
        repo, report = self.repo, self.report
        assert repo is not None
        name = home_git.free_branch(repo, branch)
        side = Side(lambda p: self.objects.leaf(base_tree, p) if base_tree else None, True)
        wanted = self._merging.merge(brought, side, theirs_win=True)
        report.branch = name
        if self._blocked(dry_run):
            return
        parent = home_git.Head(report.base, "")
        text = message or "Work of an agent session"
        plan = home_git.CommitPlan(repo, self.objects, parent, wanted, text, journal_of(self.home))
        report.commit = plan.make() if wanted else report.base
        if not report.commit:
            report.note = "There is nothing to put on a branch."
            return
        home_git.make_branch(repo, name, report.commit)
        report.done = True
        report.note = f"Branch {name} is made; merge it when you like."


def _all_or_nothing(written: RestoreReport) -> None:
    """A file that was edited while this ran would be left out silently; raising puts all files back."""
    if written.failed:
        names = ", ".join(failure.path for failure in written.failed[:5])
        raise WorkspaceError(f"{names} changed while this ran.", "Look at the preview again.", kind="moved")


_HIDDEN_SHOWN = "left out by your sparse checkout; it is put on disk"
_HIDDEN_GONE = "left out by your sparse checkout: bring it as a commit"
_HIDDEN_COMMITTED = "left out by your sparse checkout; it is only in the commit"
