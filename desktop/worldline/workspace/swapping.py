"""Putting the files of a restore in their places by rename, each only if it is still what the plan saw.

What is replaced or deleted goes to the staging folder, whole: nothing is thrown away here.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Iterable, Sequence

from worldline.workspace import staging
from worldline.workspace.filesig import FileSig, renamed_signature
from worldline.workspace.journal import old_name
from worldline.workspace.model import Omitted, PlanItem
from worldline.workspace.safefs import (
    SafeTree,
    content_id,
    content_of,
    exchange,
    is_occupied,
    make_dir,
    rename_new,
    split,
    unchanged,
)
from worldline.workspace.states import State
from worldline.workspace.unlocking import WRITABLE

_CANNOT_EXIST = (errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ)
"""This file system can never hold such a name: the file is reported and the rest goes on."""


CHANGED = "it was changed while the restore ran; your version is kept"


class Moved(Exception):
    """The file is no longer what the plan saw."""


class Swap:
    """The items of one restore."""

    def __init__(
        self,
        tree: SafeTree,
        items: Sequence[PlanItem],
        target: State,
        seen: Callable[[str], FileSig | None],
    ) -> None:
        self._tree, self._items, self._target, self.seen = tree, items, target, seen
        self.staging = -1
        """The staging folder, open."""
        self.skipped: dict[int, str] = {}
        """Numbers of items that were left as they are, and why."""
        self.replaced: dict[str, FileSig] = {}
        """Names in the staging folder of what was there before, and what was seen of it there."""
        self.made_closed: dict[str, int] = {}
        """Folders that were made and get permissions at the end that forbid writing."""

    def failed(self) -> list[Omitted]:
        return [Omitted(self._items[number].path, reason) for number, reason in self.skipped.items()]

    def delete(self) -> None:
        for number, item in reversed(list(enumerate(self._items))):
            if item.action == "delete" and not stat.S_ISDIR(item.expect_mode):
                self._guarded(number, item, self._delete)

    def put(self) -> None:
        for number, item in enumerate(self._items):
            if item.action == "create":
                self._guarded(number, item, self._create)
            elif item.action == "overwrite":
                self._guarded(number, item, self._overwrite)

    def permissions(self, *, folders: bool) -> set[str]:
        """Those of files, or of folders. Returns the paths that have those of the target now."""
        # A folder that stays and loses what was in it has been given those of the target already.
        changed = {i.path for i in self._items if i.action == "create" and stat.S_ISDIR(i.mode)}
        for number, item in reversed(list(enumerate(self._items))):
            if item.action == "chmod" and stat.S_ISDIR(item.mode) is folders:
                changed.add(item.path)
                self._guarded(number, item, self._chmod)
        return changed

    def remove_folders(self, more: Iterable[str]) -> None:
        """Remove folders that the target does not have and nothing is left in; also those of `more`."""
        folders: set[str] = set()
        gone = [item for item in self._items if item.action == "delete"]
        emptied = (i.path if stat.S_ISDIR(i.expect_mode) else split(i.path)[0] for i in gone)
        for folder in (*more, *emptied):
            while folder and folder not in folders:
                folders.add(folder)
                folder = split(folder)[0]
        if not folders:
            return
        self._tree.drop()
        store = self._target.store
        for folder in sorted(folders, key=lambda f: f.count("/"), reverse=True):
            entry = store.lookup(self._target.files, folder)
            if entry is not None and entry.mode == 0o040000:
                continue
            parent, name = split(folder)
            with contextlib.suppress(OSError):
                os.rmdir(name, dir_fd=self._tree.folder(parent))
        self._tree.drop()

    # --- one item ---------------------------------------------------------------------------------------------

    def _seen(self, item: PlanItem) -> FileSig | None:
        """What the last walk saw at the path, if that is what the plan saw: there may have been a walk since."""
        sig = self.seen(item.path)
        return sig if sig is not None and sig[5].hex() == item.expect else None

    def _guarded(self, number: int, item: PlanItem, act: Callable[[int, PlanItem], None]) -> None:
        try:
            act(number, item)
        except Moved:
            self.skipped[number] = CHANGED
        except FileExistsError:
            self.skipped[number] = "something was put there while the restore ran; it is kept"
        except OSError as error:
            if error.errno not in _CANNOT_EXIST:
                raise
            self.skipped[number] = f"this file system cannot hold it ({error.strerror})"

    def _glance(self, name: str, fd: int, item: PlanItem, sig: FileSig | None) -> None:
        """`_check` of what is about to be exchanged, and is checked again then: stat data that cannot tell two changes of
        the same moment apart is enough here. What slips through comes back at once, and after a kill by `Undo`."""
        if item.expect and sig is not None:
            now = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if (now.st_mtime_ns, now.st_size, now.st_ino, now.st_mode) == (sig[0], *sig[2:5]) and (
                sig[1] < 0 or sig[1] == now.st_ctime_ns
            ):
                return
        self._check(name, fd, item, None)

    def _check(
        self, name: str, fd: int, item: PlanItem, sig: FileSig | None, *, moved: bool = False
    ) -> FileSig:
        """Raises `Moved` unless what is at `name` is what the plan saw there. The safety capture has read it once; its
        content is read again where stat data does not prove that it is the same file unchanged. Returns what is known of
        it, whatever its name is."""
        if item.expect and sig is not None and unchanged(name, fd, sig, moved=moved):
            return sig
        before_ns = time.time_ns()
        oid, status = content_of(name, fd)
        mode = status.st_mode
        if oid != item.expect or stat.S_IFMT(mode) != stat.S_IFMT(item.expect_mode):
            raise Moved
        if stat.S_ISDIR(mode) and is_occupied(name, fd):
            raise Moved
        return renamed_signature(status, bytes.fromhex(oid), before_ns)

    def _delete(self, number: int, item: PlanItem) -> None:
        try:
            with self._tree.at(item.path) as (fd, name):
                sig = self._seen(item)
                self._check(name, fd, item, sig)
                self._move_away(name, fd, number, item, sig)
        except (FileNotFoundError, NotADirectoryError):
            return  # gone already, which is what was wanted

    def _create(self, number: int, item: PlanItem) -> None:
        folder, name = split(item.path)
        parts = folder.split("/") if folder else []
        for depth in range(1, len(parts) + 1):
            part = "/".join(parts[:depth])
            if self._tree.lstat(part) is None:
                perm = self._target.permission(part, False, folder=True)
                self._tree.make_folder(part, perm | WRITABLE)
                if perm & WRITABLE != WRITABLE:
                    self.made_closed[part] = perm
        fd = self._tree.folder(folder)
        if stat.S_ISDIR(item.mode):
            try:
                make_dir(name, fd, stat.S_IMODE(item.mode))
            except FileExistsError:
                self._chmod(number, item)  # something ignored in it has kept it
            return
        rename_new(str(number), self.staging, name, fd)

    def _overwrite(self, number: int, item: PlanItem) -> None:
        folder, name = split(item.path)
        fd = self._tree.folder(folder)
        staged = str(number)
        try:
            sig = self._seen(item)
            self._glance(name, fd, item, sig)
            if exchange(staged, self.staging, name, fd):
                try:
                    self.replaced[staged] = self._check(staged, self.staging, item, sig, moved=True)
                except Moved:
                    self._give_back(staged, name, fd, item)
                    raise
                return
            self._move_away(name, fd, number, item, sig)
            rename_new(staged, self.staging, name, fd)
        except FileNotFoundError as error:
            raise Moved from error

    def _move_away(self, name: str, fd: int, number: int, item: PlanItem, sig: FileSig | None) -> None:
        old = old_name(number)
        rename_new(name, fd, old, self.staging)
        try:
            self.replaced[old] = self._check(old, self.staging, item, sig, moved=True)
        except Moved:
            # Where something else is there by now, that stays, and what lies here gets a name beside it (see `aside`).
            rename_new(old, self.staging, name, fd)
            raise

    def _give_back(self, staged: str, name: str, fd: int, item: PlanItem) -> None:
        """Take back an exchange. What somebody made of our file in that moment is the newest: then that stays, and the other
        one gets a name beside it (see `aside`)."""
        try:
            exchange(staged, self.staging, name, fd)
        except FileNotFoundError:
            rename_new(staged, self.staging, name, fd)
            return
        if content_id(staged, self.staging)[0] != item.blob:
            exchange(staged, self.staging, name, fd)

    def _chmod(self, number: int, item: PlanItem) -> None:
        with self._tree.at(item.path) as (fd, name):
            status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if stat.S_IFMT(status.st_mode) != stat.S_IFMT(item.mode):
                raise Moved
            if not stat.S_ISREG(item.mode) or status.st_nlink == 1:
                os.chmod(name, stat.S_IMODE(item.mode), dir_fd=fd)
                return
        # Its other names are files of their own in the states, or in none: they keep their permissions.
        staged, data = str(number), self._target.store.read(bytes.fromhex(item.blob))
        staging.write_file(staged, self.staging, data, stat.S_IMODE(item.mode))
        os.utime(staged, ns=(status.st_atime_ns, status.st_mtime_ns), dir_fd=self.staging)
        self._overwrite(number, item)
