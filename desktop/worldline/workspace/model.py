"""What the workspace engine takes and gives. All calls block: the engine runs them on its one workspace thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

ProgressCall = Callable[[str, int, int], None]
"""(what, done, total); total 0 = unknown. May raise `Cancelled` to stop the operation."""

NOT_CAPTURED = "!"
"""Stands for a state id where a capture failed. Never replaced by another state."""


class Cancelled(Exception):
    """The person stopped a long operation; nothing was changed, or what was changed has been put back."""


@dataclass(slots=True, frozen=True)
class Omitted:
    """A path that a state does not hold, and why, in words for people."""

    path: str
    reason: str


@dataclass(slots=True)
class CaptureResult:
    state: str
    """Id of the state (a commit in the store), or `NOT_CAPTURED`."""
    changed: bool
    """Differs from `parent`."""
    files: int = 0
    added: int = 0
    removed: int = 0
    """Lines; binary files count 0."""
    paths: list[str] = field(default_factory=list)
    """Changed paths, at most 1,000."""
    runs_later: list[str] = field(default_factory=list)
    """Of the changed paths those that run when the person does something later, nested repositories included."""
    omitted: list[Omitted] = field(default_factory=list)
    error: str = ""
    """Why nothing could be captured."""
    head: str = ""
    """HEAD commit of the workspace's repository, "" = none."""
    branch: str = ""
    """Checked-out branch (short name), "" = detached or no repository."""
    notes: list[Omitted] = field(default_factory=list)
    """Worth saying, though captured, and not to be said of the parent as well: names that differ only by case, repositories
    whose history is not copied."""
    seen: frozenset[str] = frozenset()
    """Paths that were left out by the capture before this one as well."""


Action = Literal[
    "create", "overwrite", "delete", "chmod", "keep_mine", "keep_foreign", "not_captured", "conflict"
]

KEPT: tuple[Action, ...] = ("keep_mine", "keep_foreign", "conflict")
"""What is there stays, although the target has something else."""


@dataclass(slots=True)
class PlanItem:
    path: str
    action: Action
    reason: str = ""
    choice: Literal["", "keep", "restore"] = ""
    blob: str = ""
    mode: int = 0
    expect: str = ""
    """Blob id that is on disk now and may be replaced; "" = nothing is there. Compared again just before the write."""
    expect_mode: int = 0
    unsure: bool = False
    """It is kept as the person's, and may be of a command that ran in the background."""


@dataclass(slots=True)
class RestorePlan:
    target: str
    safety: str
    """State of what is on disk now; it is captured before anything is planned."""
    safety_changed: bool
    """The disk differs from the last recorded state: there are edits that no node has yet."""
    items: list[PlanItem]
    token: str
    """Names what the plan does and the disk contents that it does it to. Who is told to have changed a file, and what else
    is on disk, may become known otherwise meanwhile without making it another plan."""
    head: str = ""
    branch_from: str = ""
    """Commit on which the fork's branch is made; "" = no repository or unborn HEAD."""
    unborn: bool = False
    """There was no commit yet at the target, and there is one now: HEAD can only go on a branch that has none."""
    last: str = ""
    """The state that "changed by you since" was judged by."""
    notes: list[str] = field(default_factory=list)
    """What the person should know about this plan as a whole."""
    drop_git: list[str] = field(default_factory=list)
    """Nested repositories that the target does not have: their git folder goes with their files. A copy of it is in the
    safety state."""

    @property
    def touched(self) -> list[PlanItem]:
        """Items that change something on disk."""
        return [item for item in self.items if item.action in ("create", "overwrite", "delete", "chmod")]


@dataclass(slots=True)
class RestoreReport:
    done: bool
    items: list[PlanItem]
    verified: int = 0
    of: int = 0
    branch: str = ""
    failed: list[Omitted] = field(default_factory=list)
    rolled_back: bool = False
    note: str = ""


@dataclass(slots=True)
class RecoveryReport:
    """What the journal of an interrupted restore made of it at the next start."""

    finished: bool
    target: str
    note: str


class _Disk:
    def __repr__(self) -> str:
        return "DISK"


DISK = _Disk()
"""In place of a state id: what is on disk now."""
