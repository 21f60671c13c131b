"""Carrying out a restore plan: everything or nothing, and each file only if it is still what the plan saw."""

from __future__ import annotations

import base64
import errno
import hashlib
import logging
import os
import secrets
import stat
import time
from collections.abc import Callable
from pathlib import Path

from worldline.core.errors import WorkspaceError
from worldline.workspace import aside, gitagain, gitfiles, gitmove, staging
from worldline.workspace.beforehand import check_space, folders_there
from worldline.workspace.blanks import Blanks
from worldline.workspace.durable import on_one_disk, sync_path, write_durably
from worldline.workspace.ending import finish, undo_now
from worldline.workspace.filesig import FileSig
from worldline.workspace.journal import Journal, RootMove
from worldline.workspace.learned import Learned
from worldline.workspace.model import Cancelled, Omitted, ProgressCall, RestorePlan, RestoreReport
from worldline.workspace.repos import GitRoot
from worldline.workspace.safefs import SafeTree, is_same
from worldline.workspace.spares import Spares
from worldline.workspace.states import RootState, State, read_progress
from worldline.workspace.swapping import CHANGED, Swap
from worldline.workspace.unlocking import WRITABLE, lock_again, perms_of_folders, unlock

log = logging.getLogger(__name__)

_SOMEBODYS = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EBUSY)
"""What a file that was just put down cannot be read for when somebody moved it, or writes to it all the time."""


class Restorer:
    """One run of one plan."""

    def __init__(
        self, work: Path, folder: Path, plan: RestorePlan, now: State, target: State, roots: dict[str, GitRoot],
        progress: ProgressCall | None = None, seen: Callable[[str], FileSig | None] | None = None,
        learned: Learned | None = None,
        spares: Spares | None = None, blanks: Blanks | None = None,
    ) -> None:  # fmt: skip
        self._learned = learned
        """Told of each file that was read back."""
        self._spares = spares
        self.work, self.plan, self.now, self.target, self.roots = work, plan, now, target, roots
        self.store = target.store
        self.tree = SafeTree(work)
        self.items = plan.touched
        self.journal = Journal(
            folder,
            # Not that of the plan: going to and fro makes the same plan again, and what is still on record of the first
            # time would be taken for a part of the second.
            secrets.token_hex(8),
            plan.target,
            plan.safety,
            self.items,
            folder_perm=int(target.meta["dir_perm"]),
            blanks=blanks,
        )
        self.report = RestoreReport(False, plan.items, of=len(self.items))
        self.notes: list[str] = list(plan.notes)
        self._progress = progress
        self._one_disk = False
        """Workspace and journal lie on the same file system."""
        self._staging = -1
        self._there: set[int] = set()
        """Numbers of the items that lie in the staging folder from the beginning."""
        self._files = Swap(self.tree, self.items, target, seen or (lambda _: None))
        self._read_back: dict[str, tuple[str, os.stat_result]] = {}
        """Files that were put down, as they read: content and the stat data that belong to it."""
        self._found: dict[str, RootState] = {}
        """Repositories whose pointer is gone, as they are."""

    def run(
        self, new_branch: str | None, on_done: Callable[[RestoreReport], None] | None, home: str = ""
    ) -> RestoreReport:
        """Never leaves a half-done restore: on any failure everything is as before, and the report says so."""
        try:
            self._prepare(new_branch, home)
            self._files.made_closed = staging.write_all(
                self.items, self.store, self._staging, self._spares, self._there, self._progress
            )
            unlock(self.tree, self.journal.perms)
            self._swap()
            self._files.permissions(folders=False)
            self._verify()
            self._move_roots()
            self._permissions()
            self._verify_folders()
            self.report.done = True
            self.report.failed += self._files.failed()
            # Only where HEAD is on it: of some repositories only files are put back.
            if home != gitmove.DETACHED and any(not m.path and m.head_before for m in self.journal.roots):
                self.report.branch = home or new_branch or ""
            self.report.note = " ".join(self.notes)
            if on_done is not None:
                self.journal.mark("verified", durably=True)
                on_done(self.report)
            self._note_committed(final=on_done is not None)
        except (OSError, WorkspaceError, Cancelled) as error:
            self._roll_back(error)
            if isinstance(error, Cancelled):
                raise
        except BaseException:
            self._roll_back(None)
            raise
        else:
            self._finish()
        finally:
            self.journal.drop()
            if self._staging >= 0:
                os.close(self._staging)
            self.tree.close()
        return self.report

    def _note_committed(self, *, final: bool) -> None:
        """`final`: the session's cursor has moved, so that there is no way back; a recovery sees it by the cursor too."""
        try:
            self.journal.mark("committed", durably=self._only_mark(final))
        except OSError as error:
            if not final:
                raise
            log.warning("the end of a restore could not be written down: %s", error)

    def _only_mark(self, final: bool) -> bool:
        """Whether the mark must be on the disk before what was replaced is let go.

        Without a cursor (`final`) nothing but the mark says that the restore is a fact. On one file system that is enough as
        it is: changes of names are written down in their order, so that after a loss of power either the mark is there, or
        what comes after it is not either and the staging folder still holds all that an undo needs. On two, the one may
        have let go what the other has no mark for. Where the cursor stays at the same state, it cannot tell.
        """
        return self.plan.target == self.plan.safety or not (final or self._one_disk)

    def _finish(self) -> None:
        """What is left when the restore is a fact: a failure here must not take it back."""
        try:
            saved = finish(
                self.journal, self.tree, self.store, self._spares, self._staging, self._files.replaced
            )
            self._say(aside.note_of(saved))
        except (OSError, WorkspaceError) as error:
            log.warning("what a restore replaced could not be removed: %s", error)
            self._say(f"Some of what was replaced still lies in {self.journal.staging} ({error}).")

    def _say(self, more: str) -> None:
        self.report.note = f"{self.report.note} {more}".strip()

    # --- before anything is touched -----------------------------------------------------------------------------

    def _prepare(self, new_branch: str | None, home: str) -> None:
        check_space(self.store, self.work, self.items)
        # From here on whatever is on disk or will be there can be written again, whatever happens.
        self.store.sync()
        self._one_disk = on_one_disk(self.tree.root_fd, self.store.path)
        self.journal.there = folders_there(self.tree, self.items)
        now_roots = {root.path: root for root in self.now.roots}
        self.journal.gone_git = list(self.plan.drop_git)
        # What somebody else's state says of git may name any repository, and programs that git would run.
        bundled = self.store.is_bundled(self.plan.target)
        if bundled and self.target.roots:
            self.notes.append("This step came in a bundle: its files are put back, git stays as it is.")
        for wanted in () if bundled else self.target.roots:
            root, now = self.roots.get(wanted.path), now_roots.get(wanted.path)
            if root is None and gitagain.can_remake(self.work, wanted, self.tree, self.journal):
                gitagain.note(self.work, self.journal, wanted)
                if not wanted.pointer or gitagain.comes_along(self.work, wanted, self.journal):
                    continue
                root, now = gitagain.root_of(self.work, wanted)
                self.roots[wanted.path], self._found[wanted.path] = root, now
            if root is None or now is None:
                where = wanted.path or "the folder"
                self.notes.append(
                    f"The repository in {where} is gone; its files are put back, its history cannot be."
                )
                continue
            if not (new_branch or home or root.trouble) and now.same_git(wanted):
                continue
            move, notes = gitmove.plan_move(root, now, wanted, new_branch, home)
            self.notes += notes
            if move.head_before:
                self._save_index(move, len(self.journal.roots), now, wanted)
                after = read_progress(self.store, wanted.progress)
                move.progress_after = {n: base64.b64encode(d).decode("ascii") for n, d in after.items()}
                move.progress_moves = move.progress_after != move.progress_before
            self.journal.roots.append(move)
        git = [*self.journal.made_git, *self.journal.gone_git]
        usual = self.journal.folder_perm
        all_usual = (
            not self.now.perms_tree and self.now.meta["dir_perm"] == usual and usual & WRITABLE == WRITABLE
        )
        self.journal.perms = perms_of_folders(self.tree, self.items, git, usual, all_usual=all_usual)
        self.journal.begin()
        # In our own store, and so before it is written down what happens in the workspace.
        spare = self._spares.choose(self.items) if self._spares is not None else ""
        self.journal.save()
        if not self._one_disk:
            # Its name must be on the disk before any name in the workspace changes; on one disk that follows of itself.
            sync_path(self.journal.folder)
            sync_path(self.journal.folder.parent)
        self._make_staging(spare)

    def _make_staging(self, spare: str) -> None:
        if self._spares is not None:
            self._staging, self._there = self._spares.become(self.tree, self.journal.staging, spare)
        if self._staging < 0:
            os.mkdir(self.journal.staging, 0o700, dir_fd=self.tree.root_fd)
            self._staging = os.dup(self.tree.folder(self.journal.staging))
        self._files.staging = self._staging

    def _save_index(self, move: RootMove, number: int, now: RootState, wanted: RootState) -> None:
        if now.index == wanted.index or not wanted.index:
            return
        self.journal.make_folder()
        copy = self.journal.folder / f"index-{number}"
        try:
            write_durably(copy, gitfiles.read(Path(move.gitdir), "index"))
        except FileNotFoundError:
            move.index_was_there = False
        move.index_before = str(copy)

    # --- the swap -----------------------------------------------------------------------------------------------

    def _swap(self) -> None:
        self._files.delete()
        for path in gitagain.drop(self.journal, self.now, self.tree, self._staging):
            self.notes = [note for note in self.notes if not note.startswith(f"{path}: ")]
            self.report.failed.append(Omitted(f"{path}/.git", CHANGED))
        self._files.remove_folders(self.journal.gone_git)
        self._files.put()

    def _permissions(self) -> None:
        """Last of all: those of a folder may forbid what is done in it."""
        changed = self._files.permissions(folders=True)
        closed = {path: perm for path, perm in self.journal.perms.items() if path not in changed}
        if closed or self._files.made_closed:
            lock_again(self.tree, closed | self._files.made_closed)

    # --- repositories, proof, end -------------------------------------------------------------------------------

    def _move_roots(self) -> None:
        for gone in self.target.roots:
            if gone.path in self.journal.made_git:
                gitagain.remake(
                    self.work, self.journal, gone, self.target, self.tree, self._staging, self._stat_of
                )
        now_roots = {root.path: root for root in self.now.roots} | self._found
        wanted = {root.path: root for root in self.target.roots}
        for move in self.journal.roots:
            root = self.roots[move.path]
            if move.index_before:
                data = gitmove.index_bytes(root, self.target, wanted[move.path], self._stat_of)
                gitmove.index_file(move).write_bytes(data)
                move.index_after = hashlib.sha1(data, usedforsecurity=False).hexdigest()
        if any(move.index_after for move in self.journal.roots):
            self.journal.save()
        for move in self.journal.roots:
            path = move.path
            gitmove.carry_out(
                self.roots[path],
                move,
                self.target,
                wanted[path],
                now_roots[path],
                self.journal.token,
                self.notes.append,
            )

    def _stat_of(self, path: str, oid: bytes) -> os.stat_result | None:
        """See `gitmove.StatOf`."""
        now = self.tree.lstat(path)
        if now is None or stat.S_ISDIR(now.st_mode):
            return None
        put = self._read_back.get(path)
        if put is not None:
            return now if put[0] == oid.hex() and _is_as_read(now, put[1]) else None
        sig = self._files.seen(path)
        return now if sig is not None and sig[5] == oid and is_same(now, sig) else None

    def _verify(self) -> None:
        """Read back the files that were put down. One that differs was changed since by somebody: theirs stays."""
        self.tree.drop()
        if self._learned is not None:
            self._learned.begin()
        for number, item in enumerate(self.items):
            if number in self._files.skipped or (item.action != "delete" and stat.S_ISDIR(item.mode)):
                continue
            if item.action == "delete":
                status = self.tree.lstat(item.path)
                self._settle(number, status is None or stat.S_ISDIR(status.st_mode))
                continue
            before_ns = time.time_ns()
            try:
                oid, status = self.tree.content(item.path)
            except OSError as error:
                if error.errno not in _SOMEBODYS:
                    raise WorkspaceError(
                        f"{item.path} does not read back as it was written.", "Check the disk."
                    ) from error
                self._settle(number, good=False)
                continue
            mode = status.st_mode
            good = oid == item.blob and (
                mode == item.mode or (stat.S_ISLNK(item.mode) and stat.S_ISLNK(mode))
            )
            self._settle(number, good)
            if good and oid:
                self._read_back[item.path] = (oid, status)
                if self._learned is not None:
                    self._learned.add(item.path, status, bytes.fromhex(oid), before_ns)

    def _verify_folders(self) -> None:
        """Folders have their permissions only now."""
        for number, item in enumerate(self.items):
            if item.action != "delete" and stat.S_ISDIR(item.mode) and number not in self._files.skipped:
                status = self.tree.lstat(item.path)
                self._settle(number, status is not None and status.st_mode == item.mode)

    def _settle(self, number: int, good: bool) -> None:
        if good:
            self.report.verified += 1
        else:
            self._files.skipped[number] = CHANGED

    def _roll_back(self, error: Exception | None) -> None:
        if not self.report.done:
            self.report.failed += self._files.failed()
        self.report.done = False
        if self._spares is not None:
            self._spares.clear()
        back = undo_now(self.journal, self.tree, self.store)
        if error is not None:
            self.report.rolled_back = True
            self.report.failed.append(Omitted(getattr(error, "filename", None) or "", str(error)))
            self.report.note = f"Nothing was changed: {error}"
            self._say(back.note())


def _is_as_read(now: os.stat_result, then: os.stat_result) -> bool:
    return (now.st_mtime_ns, now.st_ctime_ns, now.st_size, now.st_ino) == (
        then.st_mtime_ns,
        then.st_ctime_ns,
        then.st_size,
        then.st_ino,
    )
