"""The two ends of a restore: it is a fact and is tidied up, or it is taken back."""

from __future__ import annotations

from collections.abc import Sequence

from worldline.core.errors import WorkspaceError
from worldline.workspace import gitagain, gitmove
from worldline.workspace.filesig import FileSig
from worldline.workspace.journal import Journal, remove_staging
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
    replaced: Sequence[tuple[str, FileSig | None]] = (),
) -> None:
    """The rest of a restore that is verified: what was replaced is let go, what was put down stays on record until it
    is on the disk."""
    gitagain.unmark(tree.root, journal)
    tree.drop()
    if spares is None or not spares.keep(tree, journal.staging, staging, replaced):
        remove_staging(tree, journal.staging)
    for move in journal.roots:
        if move.index_after or move.head_after:  # else no lock was taken
            gitmove.clean_locks(move, journal.token)
    journal.retire(store.path / FOLDER)


def undo(journal: Journal, tree: SafeTree, store: Store) -> list[str]:
    """Put everything back as it was before the restore. Returns paths that somebody changed in the meantime."""
    journal.back_to_writing()
    tree.drop()
    closed = perms_of_folders(tree, journal.items, [*journal.made_git, *journal.gone_git])
    unlock(tree, closed)
    gitagain.unmake(tree.root, journal, tree)
    for move in reversed(journal.roots):
        gitmove.take_back(move, journal.token)
    gitagain.put_back(journal, tree)
    back = Undo(journal, tree, store)
    back.run()
    lock_again(tree, closed)
    back.modes()
    lock_again(tree, journal.perms, journal.folder_perm)
    journal.remove()
    return back.lost


def undo_now(journal: Journal, tree: SafeTree, store: Store) -> None:
    """`undo`, where somebody waits for it. Raises `WorkspaceError` (`not_taken_back`): the journal stays, and the next
    start goes on from there."""
    try:
        undo(journal, tree, store)
    except (OSError, WorkspaceError) as problem:
        raise WorkspaceError(
            f"What was begun could not be taken back yet ({problem}).",
            "Remove the cause, then open the session again: it is taken back then. Nothing is lost.",
            kind="not_taken_back",
        ) from problem
