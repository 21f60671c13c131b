"""What a restore is about to do, written down before it does it.

Until everything is verified, whatever is replaced or deleted lies in a staging folder in the workspace, moved there by
rename. Undoing therefore needs neither disk space nor the store, and gives back the very files (times and links too).
Only where a loss of power took their content is it written again from the store.

What is durable when: the states and the journal before the first file is touched; the mark that decides between undoing
and finishing before the cursor moves, and never after anything that is thrown away (on one file system names are written down
in their order, on two it is synced; see `Restorer._only_mark`); the new files some time later, and until then `settle` keeps a
record.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worldline.workspace.blanks import NAME, Begun, Blanks
from worldline.workspace.durable import boot_id, sync_path, write_durably
from worldline.workspace.folders import STAGING
from worldline.workspace.model import PlanItem
from worldline.workspace.safefs import NO_LINKS, SafeTree

log = logging.getLogger(__name__)

_MARKS = ("verified", "committed")


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

    def row(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


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
    boot: str = field(default_factory=boot_id)
    there: list[str] = field(default_factory=list)
    """Folders of files to be created that were there before: an undo must not remove them."""
    folder_perm: int = 0o755
    roots: list[RootMove] = field(default_factory=list)
    made_git: list[str] = field(default_factory=list)
    """Folders that were no repository any more and become one again: `.git` is made in them."""
    gone_git: list[str] = field(default_factory=list)
    """Folders whose `.git` is moved away."""
    pointers: dict[str, str] = field(default_factory=dict)
    """Blob id of the `.git` file, where it is one, by folder."""
    configs: dict[str, list[str]] = field(default_factory=dict)
    """By folder: the configuration of the git folder that its `.git` file leads to, as it is and as it is to be (base64)."""
    perms: dict[str, int] = field(default_factory=dict)
    """Folders in which the restore works, with the permissions they had, where these are not the usual ones."""

    blanks: Blanks | None = None
    """Where a file for it may come from."""
    _begun: Begun | None = None

    @property
    def staging(self) -> str:
        return STAGING + self.token

    def begin(self) -> None:
        """Let the disk begin with what `save` will have on it. Nothing in here is changed in between. Raises OSError."""
        self._begun = self.blanks.begin(self._data()) if self.blanks is not None else None

    def save(self) -> None:
        """Have it on the disk, under its name. Raises OSError."""
        if self._begun is None:
            self.begin()
        begun, self._begun = self._begun, None
        if begun is not None:
            begun.finish(str(self.folder))
            return
        self.make_folder()
        write_durably(self.folder / NAME, self._data())

    def drop(self) -> None:
        """Leave what was begun."""
        begun, self._begun = self._begun, None
        if begun is not None:
            begun.drop()

    def _data(self) -> bytes:
        value: dict[str, Any] = {
            "token": self.token, "target": self.target, "safety": self.safety, "boot": self.boot, "there": self.there,
            "folder_perm": self.folder_perm, "items": [_row(item) for item in self.items],
            "roots": [root.row() for root in self.roots], "made_git": self.made_git, "gone_git": self.gone_git,
            "pointers": self.pointers, "configs": self.configs, "perms": self.perms,
        }  # fmt: skip
        return json.dumps(value, ensure_ascii=True).encode("ascii")

    def make_folder(self) -> None:
        """For what is put there before the journal itself."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    @staticmethod
    def is_there(folder: Path) -> bool:
        """Whether a restore is pending."""
        return os.path.lexists(f"{folder}/{NAME}")

    @classmethod
    def load(cls, folder: Path) -> Journal | None:
        try:
            value = json.loads((folder / NAME).read_bytes())
        except FileNotFoundError:
            return None
        items = [_item(row) for row in value.pop("items")]
        roots = [RootMove(**root) for root in value.pop("roots")]
        journal = cls(folder=folder, items=items, roots=roots, **value)
        for phase in _MARKS:
            if (folder / phase).exists():
                journal.phase = phase
        return journal

    @classmethod
    def read(cls, folder: Path) -> Journal | None:
        """`load` of one that is only of use after a kill, and must not hinder anything. None also for one that is damaged."""
        try:
            return cls.load(folder)
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("the record %s of a restore cannot be read: %s", folder, error)
            return None

    @property
    def power_lost(self) -> bool:
        """The machine was switched off since: what was not synced may be gone."""
        return not self.boot or self.boot != boot_id()

    def mark(self, phase: str, *, durably: bool) -> None:
        """Enter a phase: a name, which is there or not, whatever happens. As a second one of the journal it costs no
        file that would have to be made and removed."""
        place = f"{self.folder}/{phase}"
        try:
            os.link(f"{self.folder}/{NAME}", place)
        except FileExistsError:
            pass  # marked already, by a run that was killed: the mark is all that counts
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        if durably:
            sync_path(Path(place))
        self.phase = phase

    def back_to_writing(self) -> None:
        """It will be undone, whatever it had come to."""
        for phase in _MARKS:
            (self.folder / phase).unlink(missing_ok=True)
        self.phase = "writing"

    def retire(self, records: Path) -> None:
        """Nothing is pending any more; what was put down stays on record (see `settle`)."""
        record = f"{records}/{time.time_ns():020}-{self.token}"
        try:
            try:
                os.rename(self.folder, record)  # noqa: PTH104 - texts
            except FileNotFoundError:
                records.mkdir(mode=0o700, exist_ok=True)
                self.folder.rename(record)
        except OSError:
            self.remove()

    def remove(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            (self.folder / NAME).unlink()  # first: without it nothing is pending
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
