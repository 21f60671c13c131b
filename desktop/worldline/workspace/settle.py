"""The time between a restore and the moment its files are on the disk for good.

A restore does not wait for its files to be written: until they are, a record of what they must be stays in the store,
and their content is there as well. A thread has them written once it is quiet; if the power goes before that, the next
start finds the record and gives every file that lost its content the right one.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import stat
import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from worldline.core.errors import WorkspaceError
from worldline.workspace import aside
from worldline.workspace.blanks import Blanks
from worldline.workspace.durable import is_hollow, sync_filesystem, sync_open
from worldline.workspace.filesig import read_file
from worldline.workspace.folders import STAGING
from worldline.workspace.journal import Journal, remove_staging
from worldline.workspace.model import PlanItem
from worldline.workspace.objects import make_folders
from worldline.workspace.safefs import SafeTree, content_id, exchange, split
from worldline.workspace.spares import remove_folder
from worldline.workspace.staging import write_file
from worldline.workspace.store import Store

log = logging.getLogger(__name__)

FOLDER = "settling"
_CALM = 1.0
"""Seconds without a restore before the disk is made to write."""
_FEW = 100
"""Up to so many files are synced one by one; for more the whole file system is."""
_AGAIN = "again"
_MANY = 8
"""Folders to be removed that may wait for the disk to be quiet."""


def _records(folder: Path) -> list[Journal]:
    """Newest first."""
    found = []
    try:
        names = sorted(folder.iterdir(), reverse=True)
    except FileNotFoundError:
        return []
    for record in names:
        journal = Journal.read(record)
        if journal is None:  # half removed, or damaged: it only helps after a loss of power
            shutil.rmtree(record, ignore_errors=True)
        else:
            found.append(journal)
    return found


def _written(journal: Journal) -> Iterator[PlanItem]:
    """Files that the restore put down; links and folders have no content of their own to lose."""
    for item in journal.items:
        if item.action in ("create", "overwrite") and stat.S_ISREG(item.mode):
            yield item


class Settler:
    """Has the files of finished restores written. The thread only opens and syncs files."""

    def __init__(self, work: Path, store_path: Path) -> None:
        self._work = work
        self.folder = store_path / FOLDER
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._due = 0.0
        """When it has been quiet for long enough."""
        self._thread: threading.Thread | None = None
        self._unneeded: deque[Path] = deque()
        self._objects: Path | None = store_path / "objects"
        """None: the folders in it have been made."""
        self.blanks = Blanks(store_path)

    def remove_later(self, folder: Path) -> None:
        """Remove a folder of ours that nobody needs any more: what that takes is not to be waited for. The next start
        removes what is left of it."""
        self._unneeded.append(folder)
        if len(self._unneeded) > _MANY:
            with contextlib.suppress(IndexError):
                remove_folder(self._unneeded.popleft())

    def add(self) -> None:
        """There is a new record, or there will be some. The thread is not woken while it waits for quiet: whoever goes to and fro would wait
        for it to run each time."""
        self._due = time.monotonic() + _CALM
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="settle-workspace", daemon=True)
            self._thread.start()
        self._wake.set()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            while not self._stop.is_set() and (left := self._due - time.monotonic()) > 0:
                self._stop.wait(left)
            if self._stop.is_set():
                return
            self._wake.clear()
            self.settle()
            try:
                self.blanks.refill()
                if self._objects is not None:
                    objects, self._objects = self._objects, None
                    make_folders(objects)
            except OSError as error:  # a capture and a restore do without
                log.info("nothing can be made for the next restore or capture: %s", error)

    def settle(self) -> None:
        """Do it now. What cannot be written stays on record."""
        with self._lock:
            for journal in _records(self.folder):
                try:
                    _sync(journal, self._work)
                    journal.remove()
                except OSError as error:
                    log.warning("the files of a restore could not be synced: %s", error)
                    return
            with contextlib.suppress(IndexError):  # the other thread may take them too
                while True:
                    remove_folder(self._unneeded.popleft())

    def close(self) -> None:
        if self._thread is not None:
            self._stop.set()
            self._wake.set()
            self._thread.join()
            self._thread = None
        self.settle()
        self.blanks.clear()


def _sync(journal: Journal, work: Path) -> None:
    items = list(_written(journal))
    if len(items) > _FEW:
        sync_filesystem(work)
        return
    tree = SafeTree(work)
    fds: list[int] = []
    try:
        for item in items:
            with contextlib.suppress(OSError):  # gone, moved, or not readable any more
                folder, name = split(item.path)
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                fd = os.open(name, flags, dir_fd=tree.folder(folder))
                fds.append(fd)
                if not stat.S_ISREG(os.fstat(fd).st_mode):  # a pipe came in its place: nothing to be lost
                    os.close(fds.pop())
        sync_open(fds)
        if not fds:  # what it did was to names alone
            os.fsync(tree.root_fd)
    finally:
        for fd in fds:
            os.close(fd)
        tree.close()


def mend(store: Store, tree: SafeTree, pending: str = "") -> list[str]:
    """After a loss of power: give the files of finished restores the content that they lost. Returns their paths.
    `pending`: the staging folder of a restore that is not finished; it is left alone.

    A file is only touched when it is as a loss of power leaves it (too short, or with empty pages) and was not changed
    since the restore. Can be killed and repeated.
    """
    mended: list[str] = []
    seen: set[str] = set()
    for journal in _records(store.path / FOLDER):
        if (
            journal.staging == pending
        ):  # on record by an older version, which gave the same plan the same name
            continue
        remove_staging(tree, journal.staging)
        if not journal.power_lost:
            continue
        until = int(journal.folder.name.partition("-")[0])
        for item in _written(journal):
            try:
                is_lost = item.path not in seen and _lost_content(tree, store, item, until)
                if is_lost and _write_again(tree, journal.staging, store, item, until):
                    mended.append(item.path)
            except FileNotFoundError as error:  # it was moved away in that moment
                log.info("%s was not written again: %s", item.path, error)
            except WorkspaceError as error:
                # The store lacks it as well; what is there must be opened all the same.
                log.warning("%s may have lost its content with the power: %s", item.path, error)
            seen.add(item.path)
        remove_staging(tree, journal.staging)
    return mended


def _lost_content(tree: SafeTree, store: Store, item: PlanItem, until: int) -> bool:
    try:
        with tree.at(item.path) as (fd, name):
            return _is_lost(store, item, until, name, fd)
    except OSError:
        return False


def _is_lost(store: Store, item: PlanItem, until: int, name: str, dir_fd: int) -> bool:
    """Raises OSError."""
    got = read_file(name, dir_fd, 1 << 40)
    if got is None or got[1].st_mtime_ns > until:
        return False
    return is_hollow(got[0], store.read(bytes.fromhex(item.blob)))


def _write_again(tree: SafeTree, staging: str, store: Store, item: PlanItem, until: int) -> bool:
    """False: somebody was there first, and what they put there stays."""
    assert staging.startswith(STAGING)
    with contextlib.suppress(FileExistsError):
        os.mkdir(staging, 0o700, dir_fd=tree.root_fd)
    beside = os.dup(tree.folder(staging))
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(_AGAIN, dir_fd=beside)
        write_file(_AGAIN, beside, store.read(bytes.fromhex(item.blob)), stat.S_IMODE(item.mode), sync=True)
        with tree.at(item.path) as (fd, name):
            if not exchange(_AGAIN, beside, name, fd):
                # No such step here: between a last look and the next one nothing can be done about it.
                lost = _is_lost(store, item, until, name, fd)
                if lost:
                    os.rename(_AGAIN, name, src_dir_fd=beside, dst_dir_fd=fd)
                return lost
            if _is_lost(store, item, until, _AGAIN, beside):
                os.unlink(_AGAIN, dir_fd=beside)
                return True
            exchange(_AGAIN, beside, name, fd)
            if content_id(_AGAIN, beside)[0] != item.blob:  # saved again, and that is the newest
                exchange(_AGAIN, beside, name, fd)
                aside.give_back(tree, beside, _AGAIN, item.path)
                return False
            os.unlink(_AGAIN, dir_fd=beside)
            return False
    finally:
        os.close(beside)
