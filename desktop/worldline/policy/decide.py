"""The decision about a call: mode, rules, grants, and the person where it takes one.

The strictest wins: a deny rule, then an ask rule, then grants and allow rules, then what the mode lets pass by itself.
Edits inside the workspace pass in the modes ask and work, since they can be undone; commands pass unasked only under a
complete sandbox in mode work; everything that reaches outside is asked about.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from worldline.core.access import AccessAnswer, AccessRequest
from worldline.policy.answers import denied_by_rule, file_diff, nobody_there, plan_mode, refused
from worldline.policy.approvals import ApprovalDesk, digest_of
from worldline.policy.closed import Closed, closed_to_commands, names_closed, second_name
from worldline.policy.copies import copy_first
from worldline.policy.grants import GrantBook, reach
from worldline.policy.judging import Confinement, Judge, Question
from worldline.policy.rules import Judgement, RuleSet
from worldline.policy.sandbox.model import Grant
from worldline.policy.seal import Seal
from worldline.policy.shell import parse
from worldline.policy.wording import marks
from worldline.protocol.model import Approval, Mode

Unattended = Literal["", "deny", "allow", "rules"]
_TITLES = {
    "execute": "Allow this command?",
    "write": "Allow this change?",
    "read": "Allow reading outside the workspace?",
    "network": "Allow this network request?",
    "ask": "Allow this access?",
}


class PolicyGate:
    """A `Policy`. `mode` and `sandbox` may be set between calls; everything runs on the engine's loop."""

    def __init__(
        self,
        rules: RuleSet,
        desk: ApprovalDesk,
        *,
        mode: Mode = "ask",
        sandbox: Confinement = "none",
        unattended: Unattended = "",
        save_rule: Callable[[str], None] | None = None,
        seal: Seal | None = None,
    ) -> None:
        """`seal`: of grants that are kept with a branch; None = whatever is there counts (nothing is read from a file)."""
        self.rules = rules
        self.desk = desk
        self.mode = mode
        self.sandbox = sandbox
        self.unattended = unattended
        """What stands for the person where nobody is there; "" = somebody is."""
        self.grants = GrantBook(save_rule, seal)
        self.copies: Callable[[], list[Path]] = list
        """Where else the files of the workspace lie, see `closed_to_commands`."""

    async def decide(self, request: AccessRequest) -> AccessAnswer:
        """See `core.access.Policy`."""
        if self._only_reads(request):
            return AccessAnswer(plan_mode(request))
        question = await self._question(request, self.rules)
        judgement = question.judgement
        if judgement.decision == "deny":
            return AccessAnswer(denied_by_rule(judgement))
        if judgement.decision == "allow":
            return AccessAnswer(why=judgement.why)
        digest = digest_of(request.tool, request.input, request.command, str(request.cwd or ""))
        if not judgement.strict and (granted := self.grants.covers(request, digest, self.sandbox)):
            return AccessAnswer(why=granted)
        if self.unattended == "allow":
            return AccessAnswer(why="allowed for this run as a whole")
        if self.unattended:
            return AccessAnswer(nobody_there(judgement))
        under = self.sandbox
        approval = await asyncio.to_thread(self._approval, request, question, digest)
        approval.copy_first = await asyncio.to_thread(copy_first, request)
        verdict = await self.desk.ask(approval)
        if not verdict.allowed:
            return AccessAnswer(refused(request, verdict), by_person=verdict.why == "answered")
        exactly = f"{digest} {under}" if request.command else digest
        self.grants.keep(self.rules, request, question, verdict.scope, exactly)
        return AccessAnswer(edited_input=verdict.edited_input, why=f"approved ({verdict.scope})")

    def may_not_read(self, path: Path, asked: Path) -> bool:
        """A rule keeps the file closed, though it lies in `asked`, which may be searched."""
        own = self.rules.path("Read", path)
        if own.decision == "deny" or (own.strict and not self.rules.path("Read", asked).strict):
            return True
        reading = self.rules.of("Read", "deny") or self.rules.of("Read", "ask")
        return bool(reading) and second_name(path, self.rules) is not None

    def opened(self, branch_grants: list[dict[str, Any]], command: str, root: Path) -> list[Grant]:
        """What is open for this command, see `GrantBook.opened`."""
        return self.grants.opened(self.rules, branch_grants, command, root)

    async def would(self, request: AccessRequest, rules: RuleSet) -> Question:
        """What would be decided by these rules, grants and the person left aside. Nobody is asked."""
        if self._only_reads(request):
            return Question(Judgement("deny", None, "plan mode only reads"))
        return await self._question(request, rules)

    def _only_reads(self, request: AccessRequest) -> bool:
        return self.mode == "plan" and request.access in ("write", "execute")

    async def _question(self, request: AccessRequest, rules: RuleSet) -> Question:
        for line in (request.command, request.target.partition(":")[2]):
            if line:  # kept for the judge: the parser is a program, which may take its time
                await asyncio.to_thread(parse, line)
        return (await self._judge(request, rules)).judge(request)

    async def _judge(self, request: AccessRequest, rules: RuleSet) -> Judge:
        if rules.root != request.root.resolve():
            rules = replace(rules, root=request.root.resolve())
        if self.unattended == "deny":
            rules = replace(rules, rules=[rule for rule in rules.rules if rule.decision != "allow"])
        judge = Judge(rules, self.mode, self.sandbox)
        if not (rules.of("Read", "deny") or rules.of("Read", "ask") or rules.of("Write", "deny")):
            return judge
        kind, _, target = request.target.partition(":")
        if request.access == "read" or kind == "read":
            reads = [Path(target)] if kind == "read" else request.reads
            said = [await asyncio.to_thread(second_name, path, rules) for path in reads]
            judge.named = next((judgement for judgement in said if judgement is not None), None)
        if request.command:
            cwd = request.cwd or rules.root
            judge.closed = await asyncio.to_thread(closed_to_commands, rules, self.copies())
            judge.named = await asyncio.to_thread(names_closed, request.command, rules, cwd)
            judge.walled = not self.grants.outside(rules, request.grants, request.command, rules.root)
        return judge

    def closed(self, root: Path) -> Closed:
        """What commands in this workspace must not see. Blocking, any thread."""
        return closed_to_commands(replace(self.rules, root=root.resolve()), self.copies())

    def _approval(self, request: AccessRequest, question: Question, digest: str) -> Approval:
        path = request.writes[0] if request.writes else None
        part = question.judgement.part
        underlined = marks(request.command) if request.command else []
        if part and not any(mark[:2] == part for mark in underlined):
            underlined = sorted([*underlined, (part[0], part[1], "this part is why it is asked")])
        return Approval(
            id="",
            digest=digest,
            node=request.node,
            tool=request.tool,
            title=_TITLES[request.access],
            command=request.command or request.url or request.target,
            marks=underlined,
            diff=file_diff(request, path) if path is not None and request.after is not None else None,
            why=question.judgement.why,
            effect=question.effect,
            agent_says=request.agent_says,
            scopes=[scope for scope in question.scopes if scope != "always" or question.rule],
            rule=question.rule if "always" in question.scopes else "",
            reach=reach(request.tool, question.rule, command=bool(request.command))
            if len(question.scopes) > 1
            else "",
            editable=request.access in ("execute", "write"),
            input=request.input,
            asked=time.time_ns() // 1_000_000,
            destructive=question.destructive,
            mid_call=not request.call_id,
        )
