"""Going to another node, files included, and setting attempts side by side."""

from __future__ import annotations

from typing import Any, Literal

from worldline.core.usage import Usage
from worldline.protocol.model import EffectInfo, FileChange, JumpPlan, JumpResult
from worldline.protocol.wire import Message


class JumpPlanFor(Message):
    node: str
    choices: dict[str, Literal["keep", "restore"]] = {}
    default_choice: Literal["keep", "restore"] = "keep"


class Jump(Message):
    node: str
    plan: str = ""
    """Id of the plan that the person saw; "" = go if nothing needs a confirmation, else the plan is returned."""
    choices: dict[str, Literal["keep", "restore"]] = {}
    default_choice: Literal["keep", "restore"] = "keep"
    processes: Literal["stop", "leave"] = "stop"
    summary: Literal["none", "auto"] | str = "none"
    """Branch summary of the branch that is left: none, auto, or instructions."""
    fork: bool = True


class JumpAnswer(Message):
    """Either the jump was made (`result`) or the plan must be shown first (`plan`)."""

    result: JumpResult | None = None
    plan: JumpPlan | None = None


class CompareFor(Message):
    nodes: list[str]


class Attempt(Message):
    """One column of Compare."""

    leaf: str
    title: str
    outcome: str
    stop_reason: str
    steps: int
    files: list[FileChange]
    added: int
    removed: int
    checks: list[dict[str, Any]] = []
    """[{"command", "exit_code", "passed", "failed", "node"}] of commands recognised as checks; the last run wins."""
    usage: Usage = Usage()
    seconds: float = 0
    retries: int = 0
    fallbacks: int = 0
    effects: list[EffectInfo] = []
    note: str = ""
    path: list[str] = []
    """uids from the common ancestor (excluded) to the leaf."""


class Compare(Message):
    ancestor: str
    goal: str
    attempts: list[Attempt]


class ReturnHome(Message):
    """HEAD of the person's own folder goes back to their branch."""

    files: Literal["keep", "back"] = "keep"
    """keep: the files and what is staged stay as they lie here; back: as they were when HEAD left that branch."""
