"""The workspace of one session: capture, plan, restore, recover. Blocking; used from one thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import pygit2

from worldline.core.errors import WorkspaceError
from worldline.protocol.model import FileChange, FileDiff
from worldline.workspace import apply as applying
from worldline.workspace import (
    changes,
    ending,
    file_diff,
    memory,
    nested_code,
    nogc,
    patching,
    restore_plan,
    settle,
    storage,
)
from worldline.workspace.authorship import Step
from worldline.workspace.beforehand import check_not_busy
from worldline.workspace.capture import Capturer
from worldline.workspace.journal import Journal
from worldline.workspace.model import (
    NOT_CAPTURED,
    CaptureResult,
    Omitted,
    ProgressCall,
    RecoveryReport,
    RestorePlan,
    RestoreReport,
)
from worldline.workspace.objects import MODE_DIR
from worldline.workspace.planning import Planner
from worldline.workspace.remarks import gaps_of, notes_of, tell_changes
from worldline.workspace.safefs import SafeTree
from worldline.workspace.sources import Ref
from worldline.workspace.spares import Spares
from worldline.workspace.states import State
from worldline.workspace.storage import PruneReport
from worldline.workspace.store import FREE_FLOOR, Store

log = logging.getLogger(__name__)

MAX_FILE_BYTES = 50 << 20


class Workspace:
    """Contract: `work_path` is where the agent works, `store_path` the store of its states (made when missing, outside
    of `work_path`). Nothing is written to `work_path` except by `apply` and `recover`."""

    def __init__(
        self, work_path: Path, store_path: Path, *, ignored_patterns: tuple[str, ...] = (".env*",),
        max_file_bytes: int = MAX_FILE_BYTES, free_floor: int = FREE_FLOOR, watch: bool = True,
    ) -> None:  # fmt: skip
        self.work = Path(work_path).absolute()
        if not self.work.is_dir():
            raise WorkspaceError(f"{self.work} is not a folder.", "It was moved or deleted.", kind="missing")
        self.store = Store(Path(store_path).absolute(), free_floor=free_floor)
        self._capturer = Capturer(self.work, self.store, tuple(ignored_patterns), max_file_bytes)
        self._watching = watch
        self._journal_folder = self.store.path / "restore"
        self._settler = settle.Settler(self.work, self.store.path)
        self._spares = Spares(self.store.path, self._settler.remove_later)

    # --- capture ----------------------------------------------------------------------------------------------

    def capture(
        self, parent: str | None, label: str = "", progress: ProgressCall | None = None
    ) -> CaptureResult:
        """The state of the disk now. `parent`: the state before it; an equal state is given back as the parent's id.

        Never raises for what is on disk: a failure gives `NOT_CAPTURED` with the reason. `Cancelled` passes through.
        """
        try:
            self._begin()
            if self._watching:
                self._capturer.watch()
            return self._capture(parent, label, progress)[0]
        except (OSError, WorkspaceError, pygit2.GitError, RecursionError) as error:
            log.warning("capture of %s failed: %s", self.work, error)
            self._capturer.forget()
            return CaptureResult(NOT_CAPTURED, False, error=str(error) or type(error).__name__)

    def _begin(self) -> None:
        """Be the one writer, with no restore pending."""
        first = not self.store.is_locked
        self.store.lock()
        self._refuse_unfinished()
        if first:
            self._capturer.remember()
            self._settler.add()  # who captures will go back

    def _refuse_unfinished(self) -> None:
        if Journal.is_there(self._journal_folder):
            raise WorkspaceError(
                "A restore was interrupted and has not been finished or undone yet.",
                "Open the session again.",
            )

    @nogc.paused()
    def _capture(
        self, parent: str | None, label: str, progress: ProgressCall | None, safety: bool = False
    ) -> tuple[CaptureResult, State]:
        self.store.check_space()
        late = self._look_again()
        before = State.load(self.store, parent) if parent and parent != NOT_CAPTURED else None
        try:
            state = self._capturer.take(label, progress)
            same = before is not None and state.same_as(before)
            if same and before is not None and [r.git for r in state.roots] != [r.git for r in before.roots]:
                # Most commands of git change something in there that means nothing; what it would run does not. Where the
                # repository may go next, all does: what is stashed, say, is nowhere else.
                self.store.flush()
                same = not safety and not nested_code.changed(before, state)
            if same and before is not None:
                state = before
            else:
                state.save(before.id if before is not None else None)
            # Also when it is the same: later states refer to what the walk has added.
            self.store.flush()
        except BaseException:
            self._capturer.forget()
            raise
        omitted = [*(Omitted(p, r) for p, r in state.omitted.items()), *gaps_of(state)]
        result = CaptureResult(state.id, not same, omitted=omitted)
        main = state.main
        if main is not None:
            result.head = main.head
            result.branch = main.ref.removeprefix("refs/heads/")
        known = {(note.path, note.reason) for note in notes_of(before)} if before is not None else set()
        result.notes = [*late, *(note for note in notes_of(state) if (note.path, note.reason) not in known)]
        if before is not None and not same and not safety:
            tell_changes(self.store, before, state, result)
        return result, state

    def _look_again(self) -> list[Omitted]:
        """See `Spares.look_again`. Before a walk, so that its state has what was saved."""
        if not self._spares.is_unsure:
            return []
        tree = SafeTree(self.work)
        try:
            saved = self._spares.look_again(tree, self.store)
        finally:
            tree.close()
        return [Omitted(path, "was written to a file that a jump had just replaced") for path in saved]

    # --- restore ----------------------------------------------------------------------------------------------

    @nogc.paused()
    def plan(
        self, target: str, *, last: str, users: set[str] | None = None, choices: dict[str, str] | None = None,
        default_choice: Literal["keep", "restore"] = "keep", progress: ProgressCall | None = None,
        unsure: Mapping[str, str] | None = None, meanwhile: str = "",
    ) -> RestorePlan:  # fmt: skip
        """What going to `target` would do. Captures the safety state first. `unsure`: those of `users` of which it is not
        known whether it was the person, with the words that say so; `meanwhile`: the same words for what differs from
        `last`, "" = that is the person's. Raises `WorkspaceError`: `missing_state`,
        `not_captured` (nothing may be restored without a copy of what is there), `repo_busy`, `locked`."""
        self._begin()
        if target == NOT_CAPTURED:
            raise WorkspaceError(
                "The files of this step were not captured.",
                "Only the conversation can go back to it; choose a node before or after it to restore files.",
                kind="not_captured",
            )
        wanted = State.load(self.store, target)
        known = last if last and last != NOT_CAPTURED else None
        try:
            result, now = self._capture(known, "before a jump", progress, safety=True)
        except (OSError, pygit2.GitError) as error:
            raise WorkspaceError(
                f"What is on disk now cannot be saved ({error}), so nothing is put back.",
                "Remove the cause and try again.",
                kind="not_captured",
            ) from error
        before = State.load(self.store, known) if known else now
        check_not_busy(now, before, wanted)
        tree = SafeTree(self.work)
        try:
            planner = Planner(
                now, wanted, before, users or set(), choices or {}, default_choice, tree, unsure or {}, meanwhile,
            )  # fmt: skip
            return restore_plan.make(planner, last=last, safety_changed=result.changed, ignored=self._ignored)
        finally:
            tree.close()

    def _ignored(self) -> list[str]:
        return self._capturer.ignored_paths(limit=2000)

    @nogc.paused()
    def apply(
        self, plan: RestorePlan, *, new_branch: str | None = None, home: str = "", progress: ProgressCall | None = None,
        on_done: Callable[[RestoreReport], None] | None = None,
    ) -> RestoreReport:  # fmt: skip
        """Carry out a plan. `new_branch` (short name) is made at the target's commit and HEAD put on it; or `home`, an
        existing branch that is still at that commit ("Return to <branch>").

        `on_done` is called when everything is verified and can still be undone: move the cursor there; if it raises,
        all files are put back. Without it a loss of power in the moments after this returns leaves either all of the
        restore or nothing of it; `close` makes sure. Files that changed since the plan are left and listed in `failed`.
        """
        self._begin()
        now, target = State.load(self.store, plan.safety), State.load(self.store, plan.target)
        restorer = applying.Restorer(
            self.work, self._journal_folder, plan, now, target, dict(self._capturer.repos.roots), progress,
            self._capturer.sig_of, self._capturer.learned, self._spares, self._settler.blanks,
        )  # fmt: skip
        try:
            return restorer.run(new_branch, on_done, home)
        finally:
            self._settler.add()

    def recover(self, cursor_state: str = "") -> RecoveryReport | None:
        """Finish or undo a restore that was interrupted; None when there is none. `cursor_state`: the state of the
        session's cursor, if it is the target the restore had been taken note of and is finished.

        Raises `WorkspaceError` (`locked`, `not_taken_back`): then all is still there for the next start to go on from."""
        self.store.lock()
        try:
            journal = Journal.load(self._journal_folder)
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise ending.not_yet(problem) from problem
        if journal is None and not self._settler.folder.exists():
            return None
        report: RecoveryReport | None = None
        tree = SafeTree(self.work)
        try:
            # First: what an undo puts back must be what was there, not what the power left of it.
            mended = settle.mend(self.store, tree, journal.staging if journal is not None else "")
            if journal is not None:
                report = ending.after_interruption(journal, tree, self.store, cursor_state)
                mended += settle.mend(self.store, tree)
        except OSError as problem:
            raise ending.not_yet(problem) from problem
        finally:
            tree.close()
            self._capturer.forget()
        if mended:
            note = f"Files of a jump that a loss of power had emptied were written again: {len(mended)}."
            report = report or RecoveryReport(True, "", "")
            report.note = f"{report.note} {note}".strip()
        self._settler.add()
        return report

    # --- reading ----------------------------------------------------------------------------------------------

    def state(self, state: str) -> State:
        """Raises `WorkspaceError` (kind `missing_state`)."""
        return State.load(self.store, state)

    def read_file(self, state: str, path: str) -> bytes:
        """Content of a file in a state. Raises `WorkspaceError` (kind `missing_file`)."""
        entry = self.store.lookup(self.state(state).files, path)
        if entry is None or entry.mode == MODE_DIR:
            raise WorkspaceError(f"{path} is not in that state.", "Choose another node.", kind="missing_file")
        return self.store.read(entry.oid)

    def changes(
        self, a: Ref, b: Ref, *, path_states: Sequence[Step] = (), disk_author: str = "user",
        progress: ProgressCall | None = None,
    ) -> list[FileChange]:  # fmt: skip
        """See `changes.changes`. `a` and `b` are state ids or `DISK`."""
        return changes.changes(
            self, a, b, path_states=path_states, disk_author=disk_author, progress=progress
        )

    def file_diff(
        self, a: Ref, b: Ref, path: str, *, context: int = 3, ignore_space: bool = False,
        max_rows: int = 200_000, path_states: Sequence[Step] = (), old_states: Sequence[Step] = (),
        disk_author: str = "user", progress: ProgressCall | None = None,
    ) -> FileDiff:  # fmt: skip
        """See `file_diff.file_diff`."""
        return file_diff.file_diff(
            self, a, b, path, context=context, ignore_space=ignore_space, max_rows=max_rows,
            path_states=path_states, old_states=old_states, disk_author=disk_author, progress=progress,
        )  # fmt: skip

    def patch(self, a: Ref, b: Ref, *, progress: ProgressCall | None = None) -> str:
        """See `patching.patch`."""
        return patching.patch(self, a, b, progress=progress)

    def stored_states(self) -> set[str]:
        """All states the store holds, also those that nothing refers to."""
        return storage.states(self.store)

    def prune(self, keep: set[str], progress: ProgressCall | None = None) -> PruneReport:
        """Remove all states but `keep` (every state that a shown node has). Raises `WorkspaceError`; then nothing was
        removed."""
        self.store.lock()  # before anything is let go that another process may need
        self._refuse_unfinished()  # what takes it back may need any state
        memory.drop(self.store.path)
        self._look_again()
        self._spares.clear()
        self._settler.settle()  # its records need states that may go
        report = storage.prune(self.store, keep - {"", NOT_CAPTURED}, progress)
        self._capturer.forget()
        return report

    def prunable(self, keep: set[str]) -> int:
        """About how many bytes pruning to these states would give back."""
        return storage.prunable(self.store, keep - {"", NOT_CAPTURED})

    def missing(self, states: set[str]) -> dict[str, str]:
        """States that cannot be restored whole, and why."""
        return storage.missing(self.store, states - {"", NOT_CAPTURED})

    @property
    def stirred(self) -> bool:
        """See `Capturer.stirred`."""
        return self._capturer.stirred

    def watch(self) -> None:
        """Let the kernel tell what changes (Linux), so that a capture costs only that. On from the first capture."""
        self._capturer.watch()

    def unwatch(self) -> None:
        self._watching = False
        self._capturer.unwatch()

    def close(self) -> None:
        self._capturer.close()
        if self.store.is_locked:
            self._settler.close()
            try:
                self._look_again()
                self._spares.clear()
            except OSError as error:
                log.warning("what was written to replaced files could not be saved: %s", error)
            self._capturer.save()
        self.store.close()
