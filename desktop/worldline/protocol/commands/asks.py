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
    """None = those that hold now."""


class RuleVerdict(Message):
    decision: Literal["allow", "ask", "deny"]
    parts: list[dict[str, str]]
    """What the rules say of each: [{"part", "decision", "rule", "why", "decided"}]; `decided` is "yes" for the one that settled
    it."""
    why: str = ""
    """Why the decision is what it is. Beside the rules the mode and the sandbox have a say."""


class GrantInfo(Message):
    """Something that the person allowed for longer than one call."""

    id: str
    scope: Literal["branch", "session"]
    tool: str = ""
    what: str = ""
    """The call that it was given for."""
    reach: str
    """How far it goes, as a part of a sentence."""
    at: int
    """ms since 1970."""


class Grants(Message):
    """Those that hold at the cursor, the newest first. What is allowed always is a rule, see `Settings.rules`."""

    grants: list[GrantInfo] = []


class RemoveGrant(Message):
    """Take a grant back, in every branch that has it. The next call is asked about again; what runs already keeps what was
    open to it."""

    id: str


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
