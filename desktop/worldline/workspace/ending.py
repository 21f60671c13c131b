"""The two ends of a restore: it is a fact and is tidied up, or it is taken back."""

from __future__ import annotations

import os
from collections.abc import Mapping

from worldline.core.errors import WorkspaceError
from worldline.workspace import aside, gitagain, gitlock, gitmove, home_note
from worldline.workspace.filesig import FileSig
from worldline.workspace.journal import Journal, remove_staging
from worldline.workspace.model import RecoveryReport
from worldline.workspace.safefs import SafeTree
from worldline.workspace.settle import FOLDER
from worldline.workspace.spares import Spares
from worldline.workspace.store import Store
from worldline.workspace.undo import Undo
from worldline.workspace.unlocking import lock_again, perms_of_folders, unlock


def finish(
    journal: Journal,
    tree: SafeTree,
    store: Store,
    spares: Spares | None = None,
    staging: int = -1,
    replaced: Mapping[str, FileSig] | None = None,
) -> dict[str, str]:
    """The rest of a restore that is verified: what was replaced is let go, what was put down stays on record until it
    is on the disk. `replaced`: see `Swap.replaced`. Returns what `aside.save` does."""
    gitagain.unmark(tree.root, journal)
    tree.drop()
    known = replaced or {}
    saved = _save(journal, tree, store, staging, known)
    known = {name: sig for name, sig in known.items() if name not in saved}
    if spares is None or not spares.keep(tree, journal, staging, known):
        remove_staging(tree, journal.staging)
    for move in journal.roots:
        if move.index_after or move.head_after:  # else no lock was taken
            gitlock.clean_locks(move, journal.token)
    journal.retire(store.path / FOLDER)
    return saved


def _save(
    journal: Journal, tree: SafeTree, store: Store, staging: int, replaced: Mapping[str, FileSig]
) -> dict[str, str]:
    opened = -1
    if staging < 0:
        try:
            staging = opened = os.dup(tree.folder(journal.staging))
        except FileNotFoundError:
            return {}
    try:
        return aside.save(tree, staging, journal.items, store, replaced, power_lost=journal.power_lost)
    finally:
        if opened >= 0:
            os.close(opened)


def undo(journal: Journal, tree: SafeTree, store: Store) -> Undo:
    """Put everything back as it was before the restore. Returns what became of what somebody changed in the meantime."""
    journal.back_to_writing()
    tree.drop()
    closed = perms_of_folders(tree, journal.items, [*journal.made_git, *journal.gone_git])
    unlock(tree, closed)
    gitagain.unmake(tree.root, journal, tree)
    for move in reversed(journal.roots):
        gitmove.take_back(move, journal.token)
    back = Undo(journal, tree, store)
    back.run()
    lock_again(tree, closed)
    back.modes()
    lock_again(tree, journal.perms, journal.folder_perm)
    home_note.take_back(journal.folder)  # it may have to wait for a lock, and nothing else for it
    journal.remove()
    return back


def undo_now(journal: Journal, tree: SafeTree, store: Store) -> Undo:
    """`undo`, where somebody waits for it. Raises `WorkspaceError` (`not_taken_back`): the journal stays, and the next
    start goes on from there."""
    try:
        return undo(journal, tree, store)
    except (OSError, WorkspaceError) as problem:
        raise WorkspaceError(
            f"What was begun could not be taken back yet ({problem}).",
            "Remove the cause, then open the session again: it is taken back then. Nothing is lost.",
            kind="not_taken_back",
        ) from problem


def not_yet(problem: Exception) -> WorkspaceError:
    """Why an interrupted restore was neither finished nor taken back."""
    return WorkspaceError(
        f"A jump that was interrupted could not be finished or taken back yet ({problem}).",
        "Remove the cause, then open the session again. Nothing is lost.",
        kind="not_taken_back",
    )


def after_interruption(journal: Journal, tree: SafeTree, store: Store, cursor_state: str) -> RecoveryReport:
    """Finish or undo a restore that was interrupted. `cursor_state`: the state of the session's cursor; where it is the
    target, the restore had been taken note of."""
    known = journal.phase == "verified" and cursor_state == journal.target != journal.safety
    known = known or home_note.is_made(journal.folder, tree.root)
    if journal.phase == "committed" or known:
        saved = aside.note_of(finish(journal, tree, store))
        note = f"A jump that was interrupted has been finished. {saved}".strip()
        return RecoveryReport(True, journal.target, note)
    back = undo(journal, tree, store)
    note = "A jump was interrupted; the files are as they were before it."
    return RecoveryReport(False, journal.target, f"{note} {back.note()}".strip())
