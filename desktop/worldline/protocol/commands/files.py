"""Files of the workspace: what changed between two states, and bringing changes elsewhere."""

from __future__ import annotations

from typing import Literal

from worldline.protocol.model import FileChange, PlanEntry
from worldline.protocol.wire import Message


class DiffFor(Message):
    """`a` and `b` are node uids, or "parent" / "base" (the session's first state) for `a`, "disk" for `b`."""

    a: str
    b: str
    path: str = ""
    context: int = 3
    ignore_space: bool = False
    max_rows: int = 200_000
    page: int = 0
    """Rows in one answer of `file_diff`; 0 = all of them."""
    first_row: int = 0
    """Where this page begins. Pages after the first are refused (`bad_input`) when something else was compared meanwhile."""


class Changes(Message):
    a: str
    b: str
    files: list[FileChange]
    added: int
    removed: int
    note: str = ""
    counted: bool = True
    """False: there are so many files that their lines are counted only when they are asked for (`line_counts`)."""


class LineCounts(Message):
    """Lines of the changed files of a comparison: path → added, removed; files that are not named have none. Asking for
    another comparison gives up counting for this one."""

    a: str
    b: str
    files: dict[str, tuple[int, int]]


class NodeLines(Message):
    """See `lines_counted`: all that are known by now."""

    nodes: dict[str, tuple[int, int]]


class Patch(Message):
    a: str
    b: str


class PatchText(Message):
    text: str


class TakeFile(Message):
    """Take a file (or one hunk of it, by index) from another node onto disk; what is there is saved first."""

    node: str
    path: str
    hunks: list[int] | None = None
    against: str = ""
    """Hunks: the other side of the diff that was shown; "disk" or "" = the files on disk."""
    context: int = 3
    """Hunks: with how many lines of context they were shown."""
    undo: bool = False
    """Hunks: the diff that was shown goes from `node` to `against`, and they are taken back."""
    other: str = ""
    """Renamed file: its other name."""
    remove: str = ""
    """A path to take away in the same step: the other name of a renamed file, or `path` where `node` has no such file."""


class BringHome(Message):
    node: str
    how: Literal["changes", "commit", "branch"]
    message: str = ""
    branch: str = ""
    dry_run: bool = True
    choices: dict[str, Literal["ours", "theirs"]] = {}


class BringHomeResult(Message):
    entries: list[PlanEntry]
    conflicts: list[str] = []
    done: bool = False
    branch: str = ""
    commit: str = ""
    note: str = ""


class Complete(Message):
    """Paths for `@file` completion."""

    prefix: str
    limit: int = 50


class Completions(Message):
    paths: list[str]
