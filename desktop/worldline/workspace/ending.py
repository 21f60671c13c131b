"""The two ends of a restore: it is a fact and is tidied up, or it is taken back."""

from __future__ import annotations

from worldline.workspace import gitagain, gitmove
from worldline.workspace.journal import Journal, Undo, remove_staging
from worldline.workspace.safefs import SafeTree
from worldline.workspace.unlocking import lock_again, perms_of_folders, unlock


def finish(journal: Journal, tree: SafeTree) -> None:
    """The rest of a restore that is verified: what was replaced is let go."""
    gitagain.unmark(tree.root, journal)
    remove_staging(tree, journal.staging)
    for move in journal.roots:
        gitmove.clean_locks(move, journal.token)
    journal.remove()


def undo(journal: Journal, tree: SafeTree) -> list[str]:
    """Put everything back as it was before the restore. Returns paths that somebody changed in the meantime."""
    tree.drop()
    closed = perms_of_folders(tree, journal.items, [*journal.made_git, *journal.gone_git])
    unlock(tree, closed)
    gitagain.unmake(tree.root, journal, tree)
    for move in reversed(journal.roots):
        gitmove.take_back(move, journal.token)
    gitagain.put_back(journal, tree)
    back = Undo(journal, tree)
    back.run()
    lock_again(tree, closed)
    back.modes()
    lock_again(tree, journal.perms, journal.folder_perm)
    journal.remove()
    return back.lost
