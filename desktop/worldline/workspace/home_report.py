"""What bringing work home would do, or has done."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

How = Literal["changes", "commit", "branch"]
Choice = Literal["ours", "theirs"]


@dataclass(slots=True)
class HomeEntry:
    path: str
    action: Literal["create", "overwrite", "delete", "conflict", "keep_mine", "not_captured"]
    reason: str = ""
    choice: str = ""


@dataclass(slots=True)
class HomeReport:
    """What would be done (`dry_run`) or was done."""

    path: str
    """The folder that is meant: shown, and used."""
    how: How
    entries: list[HomeEntry] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    """Paths that need a choice before anything is done."""
    done: bool = False
    branch: str = ""
    """The branch that the result is on."""
    commit: str = ""
    base: str = ""
    """The commit both sides have in common."""
    safety: str = ""
    """State of the person's folder before, in its own store; "" = it was not touched."""
    note: str = ""
