"""What a restore is about to do, written down before it does it.

Until everything is verified, whatever is replaced or deleted lies in a staging folder in the workspace, moved there by
rename. Undoing therefore needs neither disk space nor the store, and gives back the very files (times and links too).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from worldline.workspace.folders import STAGING
from worldline.workspace.model import PlanItem
from worldline.workspace.safefs import SafeTree, content_id, exchange, rename_new, split

_NAME = "journal"


def write_durably(path: Path, data: bytes) -> None:
    temp = path.with_name(path.name + ".tmp")
    with temp.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temp.replace(path)


def _row(item: PlanItem) -> list[Any]:
    return [item.path, item.action, item.blob, item.mode, item.expect, item.expect_mode]


def _item(row: list[Any]) -> PlanItem:
    path, action, blob, mode, expect, expect_mode = row
    return PlanItem(path, action, blob=blob, mode=mode, expect=expect, expect_mode=expect_mode)


@dataclass(slots=True)
class RootMove:
    """What is about to happen to one repository, and what was there before."""

    path: str
    gitdir: str
    index_before: str = ""
    """File in the journal folder with the staging area as it was, "" = not touched."""
    index_after: str = ""
    """SHA-1 of the bytes that we write."""
    index_was_there: bool = True
    head_before: str = ""
    head_after: str = ""
    """Text of HEAD; "" = not touched."""
    branch_made: str = ""
    """Full name of a branch that is made, "" = none."""
    branch_at: str = ""
    progress_before: dict[str, str] = field(default_factory=dict)
    """Base64 by name."""
    progress_after: dict[str, str] = field(default_factory=dict)
    progress_moves: bool = False


@dataclass
class Journal:
    """One restore. `folder` lies in the store; the file in it is replaced as a whole."""

    folder: Path
    token: str
    target: str
    safety: str
    items: list[PlanItem]
    phase: str = "writing"
    """`writing`: undo it. `verified`: done; whether the session knows of it is for its cursor to say. `committed`: only
    cleaning is left."""
    folder_perm: int = 0o755
    roots: list[RootMove] = field(default_factory=list)
    made_git: list[str] = field(default_factory=list)
    """Folders that were no repository any more and become one again: `.git` is made in them."""
    gone_git: list[str] = field(default_factory=list)
    """Folders whose `.git` is moved away."""
    pointers: dict[str, str] = field(default_factory=dict)
    """Blob id of the `.git` file, where it is one, by folder."""
    perms: dict[str, int] = field(default_factory=dict)
    """Folders in which the restore works, with the permissions they had, where these are not the usual ones."""

    @property
    def staging(self) -> str:
        return STAGING + self.token

    def save(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        value: dict[str, Any] = {
            "token": self.token, "target": self.target, "safety": self.safety, "phase": self.phase,
            "folder_perm": self.folder_perm, "items": [_row(item) for item in self.items],
            "roots": [asdict(root) for root in self.roots], "made_git": self.made_git, "gone_git": self.gone_git,
            "pointers": self.pointers, "perms": self.perms,
        }  # fmt: skip
        write_durably(self.folder / _NAME, json.dumps(value, ensure_ascii=True).encode("ascii"))

    @classmethod
    def load(cls, folder: Path) -> Journal | None:
        try:
            value = json.loads((folder / _NAME).read_bytes())
        except FileNotFoundError:
            return None
        items = [_item(row) for row in value.pop("items")]
        roots = [RootMove(**root) for root in value.pop("roots")]
        return cls(folder=folder, items=items, roots=roots, **value)

    def remove(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            (self.folder / _NAME).unlink()  # first: without it nothing is pending
        shutil.rmtree(self.folder, ignore_errors=True)


def remove_staging(tree: SafeTree, name: str) -> None:
    """Delete what was replaced. Only ever called when nothing in it is needed any more."""
    tree.drop()
    try:
        fd = tree.folder(name)
    except OSError:
        return
    for entry in os.listdir(fd):  # noqa: PTH208 - an open folder has no path
        try:
            os.unlink(entry, dir_fd=fd)
        except OSError:
            shutil.rmtree(entry, ignore_errors=True, dir_fd=fd)
    tree.drop()
    with contextlib.suppress(OSError):
        os.rmdir(name, dir_fd=tree.root_fd)


def old_name(number: int) -> str:
    return f"{number}.old"


class Undo:
    """Puts the files of a journal back. Can be killed and started again at any point."""

    def __init__(self, journal: Journal, tree: SafeTree) -> None:
        self._journal = journal
        self._tree = tree
        self.lost: list[str] = []
        """Paths that somebody changed in the meantime; they were left as they are."""

    def run(self) -> None:
        tree, journal = self._tree, self._journal
        try:
            staging = os.dup(tree.folder(journal.staging))
        except FileNotFoundError:
            return
        try:
            for number in reversed(range(len(journal.items))):
                item = journal.items[number]
                if item.action == "create":
                    self._take_away(item)
            self._remove_made_folders()
            for number, item in enumerate(journal.items):
                if item.action in ("overwrite", "delete"):
                    self._put_back(staging, number, item)
        finally:
            os.close(staging)
        remove_staging(tree, journal.staging)  # whatever was not put back is in the safety state as well

    def modes(self) -> None:
        """Permissions last: those of a folder may forbid what is undone in it."""
        for item in self._journal.items:
            if item.action == "chmod":
                self._mode_back(item)

    def _is_ours(self, fd: int, name: str, item: PlanItem) -> bool:
        oid, mode = content_id(name, fd)
        return oid == item.blob and stat.S_IFMT(mode) == stat.S_IFMT(item.mode)

    def _take_away(self, item: PlanItem) -> None:
        folder, name = split(item.path)
        try:
            fd = self._tree.folder(folder)
            if stat.S_ISDIR(item.mode):
                os.rmdir(name, dir_fd=fd)
            elif self._is_ours(fd, name, item):
                os.unlink(name, dir_fd=fd)
        except OSError:
            return  # it was never made, or somebody has put something else there

    def _remove_made_folders(self) -> None:
        """Folders that exist only because of what was created in them; an occupied one stays."""
        folders: set[str] = set()
        for item in self._journal.items:
            if item.action == "create":
                folder = split(item.path)[0]
                while folder and folder not in folders:
                    folders.add(folder)
                    folder = split(folder)[0]
        keep = set(self._journal_folders())
        self._tree.drop()
        for folder in sorted(folders - keep, key=len, reverse=True):
            parent, name = split(folder)
            with contextlib.suppress(OSError):
                os.rmdir(name, dir_fd=self._tree.folder(parent))
        self._tree.drop()

    def _journal_folders(self) -> list[str]:
        """Folders that were there before (noted at the start of the restore)."""
        try:
            text = (self._journal.folder / "folders").read_bytes()
        except FileNotFoundError:
            return []
        return [os.fsdecode(part) for part in text.split(b"\0") if part]

    def _put_back(self, staging: int, number: int, item: PlanItem) -> None:
        folder, name = split(item.path)
        if item.action == "delete" and stat.S_ISDIR(item.expect_mode):
            with contextlib.suppress(OSError):
                self._tree.make_folder(item.path, self._journal.folder_perm)
            return
        for staged in (old_name(number), str(number)):
            try:
                oid, mode = content_id(staged, staging)
            except FileNotFoundError:
                continue
            if oid != item.expect or stat.S_IFMT(mode) != stat.S_IFMT(item.expect_mode):
                continue
            self._tree.make_folder(folder, self._journal.folder_perm)
            fd = self._tree.folder(folder)
            try:
                there = content_id(name, fd)
                if there == (item.expect, mode):
                    return
                if not self._is_ours(fd, name, item):
                    self.lost.append(item.path)
                    return
                if not exchange(staged, staging, name, fd):
                    os.rename(staged, name, src_dir_fd=staging, dst_dir_fd=fd)
            except FileNotFoundError:
                rename_new(staged, staging, name, fd)
            return

    def _mode_back(self, item: PlanItem) -> None:
        folder, name = split(item.path)
        try:
            fd = self._tree.folder(folder)
            status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if status.st_mode == item.mode:
                os.chmod(name, stat.S_IMODE(item.expect_mode), dir_fd=fd)
        except OSError:
            return
