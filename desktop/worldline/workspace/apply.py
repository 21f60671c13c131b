"""Carrying out a restore plan: everything or nothing, and each file only if it is still what the plan saw."""

from __future__ import annotations

import base64
import contextlib
import errno
import hashlib
import logging
import os
import stat
from collections.abc import Callable
from pathlib import Path

from worldline.core.errors import WorkspaceError
from worldline.workspace import gitagain, gitfiles, gitmove, staging
from worldline.workspace.beforehand import check_space, folders_there
from worldline.workspace.durable import write_durably
from worldline.workspace.ending import finish, undo_now
from worldline.workspace.filesig import FileSig
from worldline.workspace.journal import Journal, RootMove, old_name
from worldline.workspace.model import Cancelled, Omitted, PlanItem, ProgressCall, RestorePlan, RestoreReport
from worldline.workspace.repos import GitRoot
from worldline.workspace.safefs import (
    SafeTree,
    content_id,
    content_of,
    exchange,
    make_dir,
    rename_new,
    split,
    unchanged,
)
from worldline.workspace.spares import Spares
from worldline.workspace.states import RootState, State, read_progress
from worldline.workspace.unlocking import WRITABLE, lock_again, perms_of_folders, unlock

log = logging.getLogger(__name__)

_CANNOT_EXIST = (errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ)
"""This file system can never hold such a name: the file is reported and the rest goes on."""


class Moved(Exception):
    """The file is no longer what the plan saw."""


class Restorer:
    """One run of one plan."""

    def __init__(
        self, work: Path, folder: Path, plan: RestorePlan, now: State, target: State, roots: dict[str, GitRoot],
        progress: ProgressCall | None = None, seen: Callable[[str], FileSig | None] | None = None,
        learn: Callable[[os.stat_result, bytes], None] | None = None,
        spares: Spares | None = None,
    ) -> None:  # fmt: skip
        self._seen = seen or (lambda _: None)
        """What the capture of the safety state saw of a file."""
        self._learn = learn
        """Told of each file that was read back."""
        self._spares = spares
        self.work, self.plan, self.now, self.target, self.roots = work, plan, now, target, roots
        self.store = target.store
        self.tree = SafeTree(work)
        self.items = plan.touched
        self.journal = Journal(
            folder,
            plan.token[:16],
            plan.target,
            plan.safety,
            self.items,
            folder_perm=int(target.meta["dir_perm"]),
        )
        self.report = RestoreReport(False, plan.items, of=len(self.items))
        self.notes: list[str] = list(plan.notes)
        self._progress = progress
        self._staging = -1
        self._found: dict[str, RootState] = {}
        """Repositories whose pointer is gone, as they are."""
        self._skipped: set[int] = set()
        self._made_closed: dict[str, int] = {}
        """Folders that were made and get permissions at the end that forbid writing."""
        self._replaced: list[tuple[str, FileSig | None]] = []
        """Names in the staging folder of what was there before, and what the capture saw of it."""

    def run(
        self, new_branch: str | None, on_done: Callable[[RestoreReport], None] | None, home: str = ""
    ) -> RestoreReport:
        """Never leaves a half-done restore: on any failure everything is as before, and the report says so."""
        try:
            self._prepare(new_branch, home)
            self._made_closed = staging.write_all(
                self.items, self.store, self._staging, self._spares, self._progress
            )
            unlock(self.tree, self.journal.perms)
            self._swap()
            self._move_roots()
            self._permissions()
            self._verify()
            self.report.done = True
            self.report.branch = "" if home == gitmove.DETACHED else home or new_branch or ""
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
            if self._staging >= 0:
                os.close(self._staging)
            self.tree.close()
        return self.report

    def _note_committed(self, *, final: bool) -> None:
        """`final`: the session's cursor has moved, so that there is no way back; a recovery sees it by the cursor too."""
        try:
            # Where the cursor cannot tell (it stays at the same state), this alone does.
            self.journal.mark("committed", durably=not final or self.plan.target == self.plan.safety)
        except OSError as error:
            if not final:
                raise
            log.warning("the end of a restore could not be written down: %s", error)

    def _finish(self) -> None:
        """What is left when the restore is a fact: a failure here must not take it back."""
        try:
            finish(self.journal, self.tree, self.store, self._spares, self._replaced)
        except (OSError, WorkspaceError) as error:
            log.warning("what a restore replaced could not be removed: %s", error)
            self.report.note = f"{self.report.note} Some of what was replaced still lies in {self.journal.staging} ({error}).".strip()

    # --- before anything is touched -----------------------------------------------------------------------------

    def _prepare(self, new_branch: str | None, home: str) -> None:
        check_space(self.store, self.work, self.items)
        # From here on whatever is on disk or will be there can be written again, whatever happens.
        self.store.sync()
        self.journal.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.journal.there = folders_there(self.tree, self.items)
        now_roots = {root.path: root for root in self.now.roots}
        self.journal.gone_git = list(self.plan.drop_git)
        # What somebody else's state says of git may name any repository, and programs that git would run.
        bundled = self.store.is_bundled(self.plan.target)
        if bundled and self.target.roots:
            self.notes.append("This step came in a bundle: its files are put back, git stays as it is.")
        for wanted in () if bundled else self.target.roots:
            root, now = self.roots.get(wanted.path), now_roots.get(wanted.path)
            if root is None and gitagain.can_remake(self.work, wanted, self.tree):
                gitagain.note(self.journal, wanted)
                if not wanted.pointer:
                    continue
                root, now = gitagain.root_of(self.work, wanted)
                self.roots[wanted.path], self._found[wanted.path] = root, now
            if root is None or now is None:
                where = wanted.path or "the folder"
                self.notes.append(
                    f"The repository in {where} is gone; its files are put back, its history cannot be."
                )
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
        self.journal.perms = perms_of_folders(self.tree, self.items, git, self.journal.folder_perm)
        self.journal.save()
        os.mkdir(self.journal.staging, 0o700, dir_fd=self.tree.root_fd)
        self._staging = os.dup(self.tree.folder(self.journal.staging))

    def _save_index(self, move: RootMove, number: int, now: RootState, wanted: RootState) -> None:
        if now.index == wanted.index or not wanted.index:
            return
        copy = self.journal.folder / f"index-{number}"
        try:
            write_durably(copy, gitfiles.read(Path(move.gitdir), "index"))
        except FileNotFoundError:
            move.index_was_there = False
        move.index_before = str(copy)

    # --- the swap -----------------------------------------------------------------------------------------------

    def _swap(self) -> None:
        numbered = list(enumerate(self.items))
        for number, item in reversed(numbered):
            if item.action == "delete" and not stat.S_ISDIR(item.expect_mode):
                self._guarded(number, item, self._delete)
        gitagain.drop(self.journal, self.tree, self._staging)
        self._remove_empty_folders()
        for number, item in numbered:
            if item.action == "create":
                self._guarded(number, item, self._create)
            elif item.action == "overwrite":
                self._guarded(number, item, self._overwrite)

    def _permissions(self) -> None:
        """Last of all: those of a folder may forbid what is done in it."""
        # A folder that stays and loses what was in it has been given those of the target already.
        changed = {i.path for i in self.items if i.action == "create" and stat.S_ISDIR(i.mode)}
        for number, item in reversed(list(enumerate(self.items))):
            if item.action == "chmod":
                changed.add(item.path)
                self._guarded(number, item, self._chmod)
        closed = {path: perm for path, perm in self.journal.perms.items() if path not in changed}
        lock_again(self.tree, closed | self._made_closed)

    def _guarded(self, number: int, item: PlanItem, act: Callable[[int, PlanItem], None]) -> None:
        try:
            act(number, item)
        except Moved:
            self._skip(number, item, "it was changed while the restore ran; your version is kept")
        except FileExistsError:
            self._skip(number, item, "something was put there while the restore ran; it is kept")
        except OSError as error:
            if error.errno not in _CANNOT_EXIST:
                raise
            self._skip(number, item, f"this file system cannot hold it ({error.strerror})")

    def _skip(self, number: int, item: PlanItem, reason: str) -> None:
        self._skipped.add(number)
        self.report.failed.append(Omitted(item.path, reason))

    def _check(self, name: str, fd: int, item: PlanItem, sig: FileSig | None, *, moved: bool = False) -> None:
        """Raises `Moved` unless what is at `name` is what the plan saw there. The safety capture has read it once; its
        content is read again where stat data does not prove that it is the same file unchanged."""
        if item.expect and unchanged(name, fd, sig, moved=moved):
            return
        oid, mode = content_id(name, fd)
        if oid != item.expect or stat.S_IFMT(mode) != stat.S_IFMT(item.expect_mode):
            raise Moved
        if stat.S_ISDIR(mode) and _occupied(name, fd):
            raise Moved

    def _delete(self, number: int, item: PlanItem) -> None:
        try:
            with self.tree.at(item.path) as (fd, name):
                sig = self._seen(item.path)
                self._check(name, fd, item, sig)
                self._move_away(name, fd, number, item, sig)
        except (FileNotFoundError, NotADirectoryError):
            return  # gone already, which is what was wanted

    def _remove_empty_folders(self) -> None:
        """Folders that the target does not have and nothing is left in."""
        folders: set[str] = set(self.journal.gone_git)
        for item in self.items:
            if item.action == "delete":
                folder = item.path if stat.S_ISDIR(item.expect_mode) else split(item.path)[0]
                while folder and folder not in folders:
                    folders.add(folder)
                    folder = split(folder)[0]
        self.tree.drop()
        for folder in sorted(folders, key=lambda f: f.count("/"), reverse=True):
            entry = self.store.lookup(self.target.files, folder)
            if entry is not None and entry.mode == 0o040000:
                continue
            parent, name = split(folder)
            with contextlib.suppress(OSError):
                os.rmdir(name, dir_fd=self.tree.folder(parent))
        self.tree.drop()

    def _folder_perm(self, path: str) -> int:
        return self.target.permission(path, False, folder=True)

    def _create(self, number: int, item: PlanItem) -> None:
        folder, name = split(item.path)
        parts = folder.split("/") if folder else []
        for depth in range(1, len(parts) + 1):
            part = "/".join(parts[:depth])
            if self.tree.lstat(part) is None:
                perm = self._folder_perm(part)
                self.tree.make_folder(part, perm | WRITABLE)
                if perm & WRITABLE != WRITABLE:
                    self._made_closed[part] = perm
        fd = self.tree.folder(folder)
        if stat.S_ISDIR(item.mode):
            try:
                make_dir(name, fd, stat.S_IMODE(item.mode))
            except FileExistsError:
                self._chmod(number, item)  # something ignored in it has kept it
            return
        rename_new(str(number), self._staging, name, fd)

    def _overwrite(self, number: int, item: PlanItem) -> None:
        folder, name = split(item.path)
        fd = self.tree.folder(folder)
        staged = str(number)
        try:
            sig = self._seen(item.path)
            self._check(name, fd, item, sig)
            if exchange(staged, self._staging, name, fd):
                try:
                    self._check(staged, self._staging, item, sig, moved=True)
                except Moved:
                    exchange(staged, self._staging, name, fd)
                    raise
                self._replaced.append((staged, sig))
                return
            self._move_away(name, fd, number, item, sig)
            rename_new(staged, self._staging, name, fd)
        except FileNotFoundError as error:
            raise Moved from error

    def _move_away(self, name: str, fd: int, number: int, item: PlanItem, sig: FileSig | None) -> None:
        old = old_name(number)
        rename_new(name, fd, old, self._staging)
        try:
            self._check(old, self._staging, item, sig, moved=True)
        except Moved:
            rename_new(old, self._staging, name, fd)
            raise
        self._replaced.append((old, sig))

    def _chmod(self, number: int, item: PlanItem) -> None:
        with self.tree.at(item.path) as (fd, name):
            status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if stat.S_IFMT(status.st_mode) != stat.S_IFMT(item.mode):
                raise Moved
            if not stat.S_ISREG(item.mode) or status.st_nlink == 1:
                os.chmod(name, stat.S_IMODE(item.mode), dir_fd=fd)
                return
        # Its other names are files of their own in the states, or in none: they keep their permissions.
        staged, data = str(number), self.store.read(bytes.fromhex(item.blob))
        staging.write_file(staged, self._staging, data, stat.S_IMODE(item.mode))
        os.utime(staged, ns=(status.st_atime_ns, status.st_mtime_ns), dir_fd=self._staging)
        self._overwrite(number, item)

    # --- repositories, proof, end -------------------------------------------------------------------------------

    def _move_roots(self) -> None:
        for gone in self.target.roots:
            if gone.path in self.journal.made_git:
                gitagain.remake(self.work, self.journal, gone, self.target, self.tree, self._staging)
        now_roots = {root.path: root for root in self.now.roots} | self._found
        wanted = {root.path: root for root in self.target.roots}
        for move in self.journal.roots:
            root = self.roots[move.path]
            if move.index_before:
                data = gitmove.index_bytes(root, self.target, wanted[move.path])
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

    def _verify(self) -> None:
        """Read back what was written; a difference that is not the person's undoes everything."""
        self.tree.drop()
        for number, item in enumerate(self.items):
            if number in self._skipped:
                continue
            if item.action == "delete":
                status = self.tree.lstat(item.path)
                good = status is None or stat.S_ISDIR(status.st_mode)
            else:
                try:
                    with self.tree.at(item.path) as (fd, name):
                        oid, status = content_of(name, fd)
                except OSError:
                    oid, status = "", None
                mode = status.st_mode if status is not None else 0
                good = stat.S_ISDIR(item.mode) or oid == item.blob
                good = good and (mode == item.mode or (stat.S_ISLNK(item.mode) and stat.S_ISLNK(mode)))
                if good and oid and status is not None and self._learn is not None:
                    self._learn(status, bytes.fromhex(oid))
            if not good:
                raise WorkspaceError(f"{item.path} does not read back as it was written.", "Check the disk.")
            self.report.verified += 1

    def _roll_back(self, error: Exception | None) -> None:
        self.report.done = False
        if self._spares is not None:
            self._spares.clear()
        undo_now(self.journal, self.tree, self.store)
        if error is not None:
            self.report.rolled_back = True
            self.report.failed.append(Omitted(getattr(error, "filename", None) or "", str(error)))
            self.report.note = f"Nothing was changed: {error}"


def _occupied(name: str, dir_fd: int) -> bool:
    fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        return bool(os.listdir(fd))  # noqa: PTH208 - an open folder has no path
    finally:
        os.close(fd)
