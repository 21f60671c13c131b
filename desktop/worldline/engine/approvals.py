"""Calls that need the person's word: the policy of one session, its queue of approvals, the rules of its settings."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from worldline.core import paths
from worldline.core.access import AccessAnswer, AccessRequest, CommandRunner
from worldline.core.secrets import mask_value
from worldline.engine.confinement import SandboxDesk
from worldline.engine.effects import EffectList
from worldline.engine.grants import GrantDesk
from worldline.engine.places import copies_elsewhere, folder_of_person
from worldline.engine.recovery import waits_for_the_person
from worldline.engine.settings import lists_of
from worldline.engine.shared import Shared
from worldline.engine.waiting_rows import show_row
from worldline.policy.approvals import DEFAULT_TIMEOUT_S, ApprovalDesk
from worldline.policy.decide import PolicyGate
from worldline.policy.rule import Rule
from worldline.policy.rules import RuleSet, explain, parse_rules
from worldline.policy.sandbox.confine import NOT_RUN
from worldline.policy.seal import Seal
from worldline.policy.wording import effect
from worldline.protocol import commands as c
from worldline.protocol.events import ApprovalAsked, ApprovalGone
from worldline.protocol.model import Approval, Mode
from worldline.tools.process_table import ProcessTable

logger = logging.getLogger(__name__)

_RISKY = frozenset({"publish", "remote", "rights", "service", "net"})
"""Kinds of commands whose effects no state can take back, where nothing confined them."""
_READS_KEPT = (
    "What your rules keep from being read is hidden from commands as far as it is there when they start. "
    "What of it was committed can still be read from the history of the repository."
)
_READS_OTHER_NAMES = (
    "Some of these files have other names (hard links) outside the workspace, which are not hidden."
)
_READS_NOT_KEPT = "Nothing hides here what your rules keep from being read, so every command is asked about."
_WRITES_KEPT = (
    "What your rules keep from being written is read-only for commands as far as it is there when they start."
)
_WRITES_NOT_KEPT = (
    "What your rules keep from being written is kept from tools alone here; commands can write it."
)
Unattended = Literal["", "deny", "allow", "rules"]


class Approvals:
    """Implements `core.access.Policy` around the gate: what was allowed and is risky is on the record before it runs."""

    def __init__(self, shared: Shared, effects: EffectList, *, attended: bool, approve: str) -> None:
        self._shared = shared
        self._effects = effects
        unattended: Unattended = (
            "" if attended else "allow" if approve == "allow" else "rules" if approve == "rules" else "deny"
        )
        self._desk = ApprovalDesk(self._asked, self._gone, timeout_s=self._timeout())
        rules, self.problems = self._rules()
        self.gate = PolicyGate(
            rules, self._desk, unattended=unattended, save_rule=self._save_rule,
            seal=Seal(paths.grants_key_file(), shared.slug),
        )  # fmt: skip
        self.gate.copies = lambda: copies_elsewhere(shared.root)
        self.grants = GrantDesk(shared, self.gate.grants)
        self.sandbox = SandboxDesk(shared, self.gate, effects)
        self.sandbox.on_problem = self.describe
        self._sandbox_why = "The sandbox is being checked."
        self._outside: list[str] = []
        self._states: list[tuple[str, str, str]] = []
        """(approval, state of the session before it was asked, node that it belongs to)"""

    @property
    def policy(self) -> Approvals:
        return self

    def begin_run(self, mode: Mode) -> None:
        self.gate.mode = mode
        self.sandbox.begin_run()

    @contextmanager
    def all_allowed(self) -> Iterator[None]:
        """While the demo plays its own script, nothing is asked."""
        before, self.gate.unattended = self.gate.unattended, "allow"
        try:
            yield
        finally:
            self.gate.unattended = before

    def describe(self) -> None:
        """Take over changed settings, and say how far commands are confined."""
        self.gate.rules, self.problems = self._rules()
        self._desk.set_timeout(self._timeout())
        for problem in self.problems:
            logger.warning(problem)
        outside = f"Not confined: the MCP servers {', '.join(self._outside)}." if self._outside else ""
        said = [self._sandbox_why, outside, self._closed_words()]
        self._shared.status.set(
            sandbox=self.gate.sandbox if self.sandbox.checked.is_set() else "unknown",
            sandbox_why=" ".join(filter(None, said)),
            sandbox_problem=f"{self.sandbox.problem} {NOT_RUN}" if self.sandbox.problem else "",
        )

    def _closed_words(self) -> str:
        """What rules about paths mean for commands here; "" as long as that is not known."""
        if not self.sandbox.checked.is_set():
            return ""
        rules = self.gate.rules
        whole = self.gate.sandbox == "complete"
        said: list[str] = []
        if rules.of("Read", "deny") or rules.of("Read", "ask"):
            said.append(_READS_KEPT if whole else _READS_NOT_KEPT)
            said += [_READS_OTHER_NAMES] if whole and self.sandbox.other_names else []
        if rules.of("Write", "deny"):
            said.append(_WRITES_KEPT if whole else _WRITES_NOT_KEPT)
        return " ".join(said)

    def say_outside(self, servers: list[str]) -> None:
        """Programs of the session that run outside the sandbox belong into its status."""
        if servers != self._outside:
            self._outside = servers
            self.describe()

    async def check_sandbox(self) -> None:
        """Find out what this machine enforces. Until it is known nothing is claimed, and commands are asked about."""
        self._sandbox_why = await self.sandbox.check()
        self.describe()

    def runner(self, table: ProcessTable, node: str, grants: list[dict[str, Any]]) -> CommandRunner:
        return self.sandbox.runner(table, node, grants)

    async def ready(self) -> None:
        """The first command waits for the check, which takes a fraction of a second."""
        await self.sandbox.ready()

    # -- deciding ---------------------------------------------------------------------------------------------------

    async def decide(self, request: AccessRequest) -> AccessAnswer:
        if request.access == "execute":
            await self.ready()
        answer = await self.gate.decide(request)
        if self.sandbox.found_other_names():
            self.describe()
        if answer.error is None:
            self._note(request, answer)
            if request.command and answer.why.startswith(
                ("approved", "granted", "the rule", "allowed for this run")
            ):
                edited = (answer.edited_input or {}).get("command")
                self.sandbox.approved(edited if isinstance(edited, str) else request.command)
        return answer

    def _note(self, request: AccessRequest, answer: AccessAnswer) -> None:
        """An allowed step whose effects cannot be known is in the record before it runs."""
        if request.access == "execute" and request.command and self.gate.sandbox != "complete":
            kind, says = effect(request.command)
            if kind in _RISKY:
                self._effects.assume(request.node, kind, request.command, says, answer.why)

    def _timeout(self) -> float:
        return float(self._shared.settings.get("approval_timeout_s") or DEFAULT_TIMEOUT_S)

    def _rules(self) -> tuple[RuleSet, list[str]]:
        rules, problems = parse_rules(self._shared.settings.get("permissions"), "settings")
        return self._rule_set(rules), problems

    def _rule_set(self, rules: list[Rule]) -> RuleSet:
        return RuleSet(rules, self._shared.root.resolve(), folder_of_person(self._shared.info))

    def _save_rule(self, rule: str) -> None:
        """ "Always here": for this folder, in the person's own settings."""
        settings = self._shared.settings
        # Another window may have added rules since: the list is written whole.
        settings.reload()
        given = settings.for_folder(self._shared.info.root)
        allow = [*lists_of(given.get("permissions")).get("allow", []), rule]
        settings.change({"projects": {self._shared.info.root: {"permissions": {"allow": allow}}}})

    # -- the queue --------------------------------------------------------------------------------------------------

    def open(self) -> list[Approval]:
        return self._desk.pending()

    def nodes(self) -> set[str]:
        """The nodes of the calls that wait."""
        return {approval.node for approval in self._desk.pending()}

    def waiting(self) -> bool:
        return bool(self._desk.pending())

    def answer(self, p: c.AnswerApproval) -> None:
        approval = self._desk.check(p)
        data = {
            "tool": approval.tool, "command": approval.command, "digest": p.digest, "decision": p.decision,
            "scope": p.scope, "reason": p.reason, "edited": p.edited_input is not None,
        }  # fmt: skip
        # On the record before the call goes on: what cannot be recorded is not released.
        self._shared.doc.add_record("approval", mask_value(data)[0], node=approval.node)
        self._desk.answer(p)

    def _asked(self, approval: Approval) -> None:
        if not approval.mid_call:
            waits_for_the_person(self._shared, approval.node)
        status = self._shared.status
        # One that is asked beside another finds "waiting": that is not what the run goes back to.
        before = "running" if status.now.state == "waiting" else status.now.state
        self._states.append((approval.id, before, approval.node))
        self._shared.emit("approval_asked", ApprovalAsked(approval=approval))
        shown = approval.command or approval.title
        status.set(
            state="waiting", sentence=f"Waiting for you: {shown[:80]}", approvals=len(self._desk.pending())
        )
        show_row(self._shared, approval.node, waiting=True)

    def _gone(self, uid: str, why: Literal["answered", "timeout", "stopped"]) -> None:
        state, node = next(((s, n) for i, s, n in self._states if i == uid), ("", ""))
        self._states = [known for known in self._states if known[0] != uid]
        left = self._desk.pending()
        self._shared.emit("approval_gone", ApprovalGone(id=uid, why=why))
        changes: dict[str, Any] = {"approvals": len(left)}
        if not left and self._shared.status.now.state == "waiting":
            changes |= {"state": state or "running", "sentence": ""}
        self._shared.status.set(**changes)
        if not any(n == node for _, _, n in self._states):
            # As it is stored: a step that ended long ago waits too, while it is asked whether it may be countered.
            show_row(self._shared, node)

    # -- trying rules -----------------------------------------------------------------------------------------------

    async def test_rule(self, p: c.RuleTest) -> c.RuleVerdict:
        """What would become of a command: the decision of the gate, and what the rules say to its parts."""
        rules = self.gate.rules
        if p.rules is not None:
            parsed, problems = parse_rules(p.rules, "test")
            rules = self._rule_set(parsed)
            if problems:
                return c.RuleVerdict(
                    decision="ask",
                    parts=[
                        {"part": p.command, "decision": "ask", "rule": "", "why": why} for why in problems
                    ],
                )
        request = AccessRequest(
            call_id="", tool="bash", access="execute", input={"command": p.command}, root=self._shared.root,
            cwd=self._shared.root.resolve(), command=p.command,
        )  # fmt: skip
        parts = (await asyncio.to_thread(explain, rules, p.command))["parts"]
        judged = (await self.gate.would(request, rules)).judgement
        return c.RuleVerdict(decision=judged.decision, parts=parts, why=judged.why)
