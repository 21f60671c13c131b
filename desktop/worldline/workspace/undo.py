"""Taking back the files of a restore."""

from __future__ import annotations

import contextlib
import os
import stat

from worldline.workspace import aside, gitagain
from worldline.workspace.durable import is_hollow
from worldline.workspace.filesig import read_file
from worldline.workspace.journal import Journal, old_name, remove_staging
from worldline.workspace.model import PlanItem
from worldline.workspace.safefs import NO_FOLDER, SafeTree, content_id, exchange, rename_new, split
from worldline.workspace.store import Store

_OLD = old_name(0)[1:]
_GONE = ".gone"
"""Ends the names of what was taken out of its place again."""


class Undo:
    """Puts the files of a journal back. Can be killed and started again at any point."""

    def __init__(self, journal: Journal, tree: SafeTree, store: Store) -> None:
        self._journal = journal
        self._tree = tree
        self._store = store
        self._hollow = journal.power_lost
        """Files may have lost content that was written and not synced."""
        self.lost: list[str] = []
        """Paths that somebody changed in the meantime; they were left as they are."""
        self.saved: dict[str, str] = {}
        """What somebody wrote in the meantime and could not stay where it was: see `aside.save`."""

    def run(self) -> None:
        tree, journal = self._tree, self._journal
        try:
            staging = os.dup(tree.folder(journal.staging))
        except FileNotFoundError:
            return
        try:
            for number in reversed(range(len(journal.items))):
                item = journal.items[number]
                if item.action == "create" and not self._is_waiting(staging, number, item):
                    self._take_away(staging, number, item)
            self._remove_made_folders()
            for number, item in enumerate(journal.items):
                if item.action in ("overwrite", "delete"):
                    self._put_back(staging, number, item)
            self.lost += gitagain.put_back(
                journal, tree
            )  # what was put in the place of a repository has gone by now
            # The rest is in the safety state or in the target.
            self.saved = aside.save(
                tree, staging, journal.items, self._store, {}, half_written=True, power_lost=self._hollow
            )
        finally:
            os.close(staging)
        remove_staging(tree, journal.staging)

    def note(self) -> str:
        """For people; "" = nobody else changed anything."""
        left = ", ".join(sorted(self.lost)[:20])
        told = f"Changed in the meantime and left alone: {left}." if left else ""
        return f"{told} {aside.note_of(self.saved)}".strip()

    def modes(self) -> None:
        """Permissions last: those of a folder may forbid what is undone in it."""
        for item in self._journal.items:
            if item.action == "chmod":
                self._mode_back(item)

    def _is_ours(self, fd: int, name: str, item: PlanItem) -> bool:
        oid, mode = content_id(name, fd)
        if stat.S_IFMT(mode) != stat.S_IFMT(item.mode):
            return False
        return oid == item.blob or self._lost_content(fd, name, item.blob, mode)

    def _lost_content(self, fd: int, name: str, blob: str, mode: int) -> bool:
        """Whether the file was written with the content of `blob` and a loss of power took it."""
        if not (self._hollow and blob and stat.S_ISREG(mode)):
            return False
        got = read_file(name, fd, 1 << 40)
        return got is not None and is_hollow(got[0], self._store.read(bytes.fromhex(blob)))

    def _refill(self, fd: int, name: str, item: PlanItem) -> None:
        """Make a staged file what was replaced. Killed in between, it is still one that lost content."""
        data = self._store.read(bytes.fromhex(item.expect))
        os.chmod(name, 0o600, dir_fd=fd)
        out = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(out, view) :]
            os.fchmod(out, stat.S_IMODE(item.expect_mode))
            os.fsync(out)
        finally:
            os.close(out)

    def _is_waiting(self, staging: int, number: int, item: PlanItem) -> bool:
        """Whether it was never put in its place: what lies there is somebody else's, also where it is the same."""
        try:
            waits = os.stat(str(number), dir_fd=staging, follow_symlinks=False)
        except FileNotFoundError:
            return False
        there = self._tree.lstat(item.path)
        # Put there by a second name, which is how it is done where a rename could replace something, and killed then.
        return there is None or not os.path.samestat(waits, there)

    def _take_away(self, staging: int, number: int, item: PlanItem) -> None:
        folder, name = split(item.path)
        gone = f"{number}{_GONE}"
        with contextlib.suppress(OSError):  # it was never made, or somebody has put something else there
            fd = self._tree.folder(folder)
            if stat.S_ISDIR(item.mode):
                os.rmdir(name, dir_fd=fd)
                return
            with contextlib.suppress(FileNotFoundError):
                if not self._is_ours(fd, name, item):
                    return
                self._move_away(staging, gone, name, fd)
            # Somebody may have put another there between the look and the step, also if the end came before this look.
            if not self._is_ours(staging, gone, item):
                rename_new(gone, staging, name, fd)

    def _move_away(self, staging: int, gone: str, name: str, fd: int) -> None:
        """Move what is at a place into the staging folder, where it stays until `aside` has looked at it."""
        number = 0
        while True:
            try:
                rename_new(name, fd, gone if not number else f"{gone}.{number}", staging)
            except FileExistsError:
                number += 1
            else:
                return

    def _remove_made_folders(self) -> None:
        """Folders that exist only because of what was created in them; an occupied one stays."""
        folders: set[str] = set()
        for item in self._journal.items:
            if item.action == "create":
                folder = split(item.path)[0]
                while folder and folder not in folders:
                    folders.add(folder)
                    folder = split(folder)[0]
        keep = set(self._journal.there)
        self._tree.drop()
        for folder in sorted(folders - keep, key=len, reverse=True):
            parent, name = split(folder)
            with contextlib.suppress(OSError):
                os.rmdir(name, dir_fd=self._tree.folder(parent))
        self._tree.drop()

    def _put_back(self, staging: int, number: int, item: PlanItem) -> None:
        if item.action == "delete" and stat.S_ISDIR(item.expect_mode):
            with contextlib.suppress(OSError):
                self._tree.make_folder(item.path, self._journal.folder_perm)
            return
        theirs = ""
        for staged in (old_name(number), str(number)):
            try:
                oid, mode = content_id(staged, staging)
            except FileNotFoundError:
                continue
            same_kind = stat.S_IFMT(mode) == stat.S_IFMT(item.expect_mode)
            if same_kind and oid != item.expect and self._lost_content(staging, staged, item.expect, mode):
                self._refill(staging, staged, item)
                oid, mode = item.expect, item.expect_mode
            if same_kind and oid == item.expect:
                self._return(staging, staged, mode, item)
                return
            if not self._is_unused(staging, staged, item):
                theirs = staged
        if theirs:
            self._return_theirs(staging, theirs, item)

    def _return(self, staging: int, staged: str, mode: int, item: PlanItem) -> None:
        folder, name = split(item.path)
        try:
            self._tree.make_folder(folder, self._journal.folder_perm)
            fd = self._tree.folder(folder)
        except OSError as error:
            if error.errno not in NO_FOLDER:
                raise
            self.lost.append(item.path)  # somebody put a file in the place of its folder: that stays
            return
        try:
            there = content_id(name, fd)
            if there == (item.expect, mode):
                return
            if not self._is_ours(fd, name, item):
                self.lost.append(item.path)
                return
            if not self._swap(staging, staged, name, fd, item):
                # Somebody put another there between the look and the step: that one stays.
                self.lost.append(item.path)
        except FileNotFoundError:
            try:
                rename_new(staged, staging, name, fd)
            except FileExistsError:  # made between the look and the step: that one stays
                self.lost.append(item.path)

    def _swap(self, staging: int, staged: str, name: str, fd: int, item: PlanItem) -> bool:
        """Put a staged file in the place of ours. False: it was not ours any more by then, and is there again."""
        if exchange(staged, staging, name, fd):
            if self._is_ours(staging, staged, item):
                return True
            exchange(staged, staging, name, fd)
            return False
        gone = f"{staged.partition('.')[0]}{_GONE}"
        self._move_away(staging, gone, name, fd)
        # Anything else that was put there meanwhile stays; what is not ours gets a name beside it (see `aside`).
        ours = self._is_ours(staging, gone, item)
        with contextlib.suppress(FileExistsError):
            rename_new(staged if ours else gone, staging, name, fd)
        return ours

    def _is_unused(self, staging: int, staged: str, item: PlanItem) -> bool:
        """Whether a staged file is what was to be put down, whole or as far as it was written."""
        if self._is_ours(staging, staged, item):
            return True
        if not item.blob:
            return False
        try:
            got = read_file(staged, staging, 1 << 40)
        except OSError:  # no file
            return False
        return got is not None and self._store.read(bytes.fromhex(item.blob)).startswith(got[0])

    def _return_theirs(self, staging: int, staged: str, item: PlanItem) -> None:
        """Somebody changed the file between the last look at it and the step that took it away, and the end came before
        the next look. It comes back, where nothing but what we put there is in its place."""
        folder, name = split(item.path)
        try:
            if staged.endswith(_OLD):
                self._tree.make_folder(folder, self._journal.folder_perm)
            fd = self._tree.folder(folder)
            if self._is_ours(fd, name, item):
                self._swap(staging, staged, name, fd, item)
        except FileNotFoundError:
            if staged.endswith(_OLD):
                rename_new(staged, staging, name, fd)
        except OSError:
            return  # they have put something else there since

    def _mode_back(self, item: PlanItem) -> None:
        folder, name = split(item.path)
        try:
            fd = self._tree.folder(folder)
            status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if status.st_mode == item.mode:
                os.chmod(name, stat.S_IMODE(item.expect_mode), dir_fd=fd)
        except OSError:
            return
