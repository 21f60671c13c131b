"""What the person decides: approvals, questions, rules, and what the allowed calls did outside."""

from __future__ import annotations

from typing import Any, Literal

from worldline.protocol.model import EffectInfo, ProcessInfo
from worldline.protocol.wire import Message


class AnswerApproval(Message):
    id: str
    digest: str
    decision: Literal["allow", "deny"]
    scope: Literal["once", "branch", "session", "always"] = "once"
    reason: str = ""
    edited_input: dict[str, Any] | None = None


class AnswerQuestion(Message):
    id: str
    choices: list[str] = []
    text: str = ""


class RuleTest(Message):
    command: str
    rules: dict[str, list[str]] | None = None


class RuleVerdict(Message):
    decision: Literal["allow", "ask", "deny"]
    parts: list[dict[str, str]]
    """[{"part", "decision", "rule", "why", "decided"}]; `decided` is "yes" for the one that settled it."""


class EffectsAt(Message):
    node: str = ""
    """"" = the cursor."""


class Effects(Message):
    cursor: str
    here: list[EffectInfo]
    elsewhere: list[EffectInfo]
    processes: list[ProcessInfo] = []


class UndoEffect(Message):
    id: int


class StopProcess(Message):
    id: str


class ShowPort(Message):
    """Make a server that the agent left running reachable for the person's browser, or take that back. A choice of the
    person: no tool of the agent leads here."""

    id: str
    """Of the process."""
    port: int
    """As it is inside."""
    show: bool = True


class PortShown(Message):
    url: str = ""
    """"" = taken back."""
