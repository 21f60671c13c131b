"""The decision about a call: mode, rules, grants, and the person where it takes one.

The strictest wins: a deny rule, then an ask rule, then grants and allow rules, then what the mode lets pass by itself.
Edits inside the workspace pass in the modes ask and work, since they can be undone; commands pass unasked only under a
complete sandbox in mode work; everything that reaches outside is asked about.
"""

from __future__ import annotations

import asyncio
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from worldline.core.access import AccessAnswer, AccessRequest
from worldline.policy.answers import denied_by_rule, file_diff, nobody_there, plan_mode, refused
from worldline.policy.approvals import ApprovalDesk, Scope, digest_of
from worldline.policy.copies import copy_first
from worldline.policy.openings import grants_of
from worldline.policy.pushing import push_outside, pushes_of, uses_lfs
from worldline.policy.rules import Judgement, RuleSet, parse_rule
from worldline.policy.sandbox.model import Grant
from worldline.policy.seal import Seal
from worldline.policy.secrets import secret_place
from worldline.policy.shell import has_glob, parse
from worldline.policy.wording import effect, kind_of, marks, remember
from worldline.protocol.model import Approval, Mode

Confinement = Literal["complete", "partial", "none"]
Unattended = Literal["", "deny", "allow", "rules"]
_LABELS: tuple[Confinement, ...] = ("none", "partial", "complete")
ALL_SCOPES: tuple[Scope, ...] = ("once", "branch", "session", "always")
_LASTING = {
    "publish": "it publishes, which cannot be taken back",
    "remote": "it changes something on another machine",
}
"""Kinds of commands that the sandbox would refuse, so that the person is asked before. They are why, whatever the mode: that
no rule allows them is the lesser reason."""
_PUSHES = "it publishes to {places}; what others fetch from there cannot be taken back"
_PUSHES_SOMEWHERE = "it publishes to a remote whose address is not known here; what others fetch from there cannot be taken back"
_ASKED_WHEN: dict[str, frozenset[str]] = {
    "complete": frozenset(_LASTING),
    "partial": frozenset({*_LASTING, "unknown", "code", "service", "rights"}),
}
"""Kinds of commands that are asked about in mode work, by what confines them."""
_WITH_KEYS = "It runs outside the sandbox, with your keys and stored passwords, as exactly this push to {url}; hooks do not run."
_WITHOUT_LFS = "Files that this repository keeps with Git LFS are not uploaded by it: that is the work of a hook. Run git lfs push yourself, before others fetch."
_TITLES = {
    "execute": "Allow this command?",
    "write": "Allow this change?",
    "read": "Allow reading outside the workspace?",
    "network": "Allow this network request?",
    "ask": "Allow this access?",
}


@dataclass(slots=True)
class _Question:
    """What would be asked, filled in by the judge of each kind of access."""

    judgement: Judgement
    effect: str = ""
    scopes: tuple[Scope, ...] = ("once",)
    rule: str = ""
    destructive: bool = False


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
        self._seal = seal
        self.desk = desk
        self.mode = mode
        self.sandbox = sandbox
        self.unattended = unattended
        """What stands for the person where nobody is there; "" = somebody is."""
        self.session_grants: list[dict[str, Any]] = []
        self.once: list[str] = []
        """Openings granted for one call (rules like `Write(/opt/x)`), until `spend_once`."""
        self._save_rule = save_rule

    async def decide(self, request: AccessRequest) -> AccessAnswer:
        """See `core.access.Policy`."""
        if self.mode == "plan" and request.access in ("write", "execute"):
            return AccessAnswer(plan_mode(request))
        for line in (request.command, request.target.partition(":")[2]):
            if line:  # kept for the judge: the parser is a program, which may take its time
                await asyncio.to_thread(parse, line)
        question = self._judge(request)
        judgement = question.judgement
        if judgement.decision == "deny":
            return AccessAnswer(denied_by_rule(judgement))
        if judgement.decision == "allow":
            return AccessAnswer(why=judgement.why)
        digest = digest_of(request.tool, request.input, request.command, str(request.cwd or ""))
        if not judgement.strict and (granted := self._granted(request, digest)):
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
        self._keep_grant(request, question, verdict.scope, f"{digest} {under}" if request.command else digest)
        return AccessAnswer(edited_input=verdict.edited_input, why=f"approved ({verdict.scope})")

    def openings(self, branch_grants: list[dict[str, Any]]) -> list[str]:
        """Rules that open something in the sandbox and hold now: for session, branch and the next call."""
        kept = [grant.get("rule", "") for grant in (*self.session_grants, *self._sealed(branch_grants))]
        always = [rule.text for rule in self.rules.rules if rule.decision == "allow"]
        opening = ("Write(", "Read(", "Net(", "Socket(", "Unsandboxed(")
        return [rule for rule in dict.fromkeys([*always, *kept, *self.once]) if rule.startswith(opening)]

    def may_not_read(self, path: Path, asked: Path) -> bool:
        """A rule keeps the file closed, though it lies in `asked`, which may be searched."""
        own = self.rules.path("Read", path)
        return own.decision == "deny" or (own.strict and not self.rules.path("Read", asked).strict)

    def opened(self, branch_grants: list[dict[str, Any]], command: str, root: Path) -> list[Grant]:
        """What is open for this command, which takes what was granted for one call. A rule that denies or asks beats each
        rule and grant that opens; only what was granted for this one call was asked about already."""
        rules, given = replace(self.rules, root=root.resolve()), set(self.once)
        grants = grants_of(self.openings(branch_grants), command, root)
        self.spend_once()
        return [
            grant
            for grant in grants
            if (judged := rules.opening(grant.kind, grant.target, command)).decision != "deny"
            and (judged.rule is None or not judged.strict or grant.rule in given)
        ]

    def spend_once(self) -> None:
        """The call for which something was opened has run."""
        self.once.clear()

    # --- judging -----------------------------------------------------------------------------------------------------

    def _judge(self, request: AccessRequest) -> _Question:
        rules = self.rules
        if rules.root != request.root.resolve():
            rules = replace(rules, root=request.root.resolve())
        if self.unattended == "deny":
            rules = replace(rules, rules=[rule for rule in rules.rules if rule.decision != "allow"])
        by_name = rules.tool(request.tool)
        if by_name.rule is not None and by_name.decision != "allow":
            return _Question(by_name)
        match request.access:
            case "read":
                return self._judge_read(request, rules)
            case "write":
                return self._judge_write(request, rules)
            case "execute" if request.command:
                return self._judge_command(request, rules)
            case "network" if request.url:
                return self._judge_net(request.url, rules)
            case "ask" if request.target:
                return self._judge_target(request, rules)
            case "ask":
                return _Question(Judgement("allow", None, "asks or notes something"))
            case _:
                offered = f"Tool({request.tool})"
                return _Question(
                    by_name, "What it does is decided by a program outside.", ALL_SCOPES, offered
                )

    def _judge_read(self, request: AccessRequest, rules: RuleSet) -> _Question:
        for path in request.reads:
            judgement = rules.path("Read", path)
            if judgement.decision == "deny" or judgement.strict:
                return _Question(judgement)
            if secret_place(path):
                why = f"{path} holds keys, passwords or a history"
                return _Question(
                    Judgement("ask", None, why, strict=True),
                    "What is read goes to the provider of the model.",
                )
            roots = [rules.root, *(root.resolve() for root in request.read_roots)]
            if judgement.decision != "allow" and not any(path.is_relative_to(root) for root in roots):
                why = f"{path} is outside the workspace"
                return _Question(
                    Judgement("ask", None, why, by_default=True),
                    "What is read goes to the provider of the model.",
                    *_lasting("Read", path),
                )
        return _Question(Judgement("allow", None, "reads inside the workspace"))

    def _judge_write(self, request: AccessRequest, rules: RuleSet) -> _Question:
        worst = Judgement("allow", None, "changes inside the workspace can be undone")
        question = _Question(worst)
        for path in request.writes:
            judgement = rules.path("Write", path)
            if judgement.decision == "deny":
                return _Question(judgement)
            inside = path.is_relative_to(rules.root)
            if judgement.strict:
                says = (
                    "Can be undone, but it may run or steer something before."
                    if inside
                    else "Cannot be undone."
                )
                question = _Question(judgement, says)
            elif judgement.decision == "ask" and not inside:
                why = f"{path} is outside the workspace"
                question = _Question(
                    Judgement("ask", None, why, by_default=True),
                    "Changes a file outside the workspace; going back in the tree does not undo it.",
                    *_lasting("Write", path),
                )
        return question

    def _judge_command(self, request: AccessRequest, rules: RuleSet) -> _Question:
        judgement = rules.command(request.command)
        kind, says = effect(request.command)
        scopes, rule = remember(request.command)
        question = _Question(
            judgement,
            says,
            tuple(scopes),
            rule,
            kind in ("deletes", "publish", "remote", "rights", "service"),
        )
        if (
            kind == "remote"
            and self.sandbox == "complete"
            and (push := push_outside(request.command, request.root))
        ):
            lfs = f" {_WITHOUT_LFS}" if uses_lfs(request.root) else ""
            question.effect = f"{says} {_WITH_KEYS.format(url=push.place)}{lfs}"
        if kind == "code" and self.sandbox == "complete":
            question.effect = "Runs code in the sandbox. What it changes in the workspace can be undone."
        if judgement.decision != "ask" or not judgement.by_default:
            question.scopes = ("once",) if judgement.strict else question.scopes
            if judgement.decision == "ask" and kind == "remote" and (lasting := _why_lasting(kind, request)):
                question.judgement = replace(judgement, why=f"{judgement.why}; {lasting}")
            return question
        asked = _ASKED_WHEN.get(self.sandbox)
        if self.mode == "work" and asked is not None and kind not in asked:
            question.judgement = Judgement("allow", None, "runs in the sandbox")
            return question
        if lasting := _why_lasting(kind, request):
            judgement = replace(judgement, why=lasting, part=None)
        if self.sandbox == "none" and (self.mode != "work" or not lasting):
            judgement = replace(judgement, why=f"{judgement.why}; commands are not confined on this machine")
        question.judgement = judgement
        return question

    def _judge_net(self, url: str, rules: RuleSet) -> _Question:
        place = _host_of(url)
        if place is None:
            return _Question(Judgement("deny", None, f"{url[:200]} does not name one host and its port"))
        host, port = place
        judgement = rules.net(host, port)
        if judgement.decision == "ask" and judgement.by_default:
            judgement = replace(judgement, why=f"it contacts {host}")
        says = "Sends the address to that server. What is sent cannot be taken back."
        scopes = ("once",) if judgement.strict else ALL_SCOPES
        return _Question(judgement, says, scopes, f"Net({host}:{port})")

    def _judge_target(self, request: AccessRequest, rules: RuleSet) -> _Question:
        kind, _, target = request.target.partition(":")
        if kind in ("write", "read", "socket") and has_glob(target):
            return _Question(Judgement("deny", None, f"{target[:200]} does not name one place"))
        why = (
            f"the agent asks for it: {request.agent_says[:300]}"
            if request.agent_says
            else "the agent asks for it"
        )
        if kind == "net":
            question = self._judge_net(f"https://{target}" if "://" not in target else target, rules)
        elif kind in ("write", "read"):
            paths = [Path(target)]
            part = replace(request, writes=paths, reads=paths)
            question = self._judge_write(part, rules) if kind == "write" else self._judge_read(part, rules)
        elif kind == "socket":
            docker = "docker" in target or "containerd" in target or "podman" in target
            question = _Question(
                rules.path("Socket", Path(target)),
                "Talks to a service of this machine, which can do what it may. Cannot be undone.",
                ("once",) if docker else ALL_SCOPES,
                "" if docker else f"Socket({target})",
                True,
            )
        else:
            says = "Runs without any confinement: everything you may do, it may do."
            question = _Question(Judgement("ask", strict=True), says, ("once",), "", True)
            if (judged := rules.command(target, "Unsandboxed")).decision == "deny":
                return _Question(judged)
            if any(kind_of(command)[0] == "rights" for command in parse(target).commands):
                return _Question(Judgement("deny", None, "rights of another user are never given"))
        own = question.judgement
        if own.decision == "ask":
            # What is known of it is said before what the agent says.
            known = f"{own.why}; " if own.why and not own.by_default else ""
            question.judgement = replace(own, why=known + why)
        return question

    # --- asking ------------------------------------------------------------------------------------------------------

    def _approval(self, request: AccessRequest, question: _Question, digest: str) -> Approval:
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
            editable=request.access in ("execute", "write"),
            input=request.input,
            asked=time.time_ns() // 1_000_000,
            destructive=question.destructive,
            mid_call=not request.call_id,
        )

    def _granted(self, request: AccessRequest, digest: str) -> str:
        grants = [*self.session_grants, *self._sealed(request.grants)]
        # What was allowed inside the sandbox was not allowed without it.
        held = _LABELS[: _LABELS.index(self.sandbox) + 1] if request.command else ()
        exactly = {f"{digest} {label}" for label in held} or {digest}
        if any(grant.get("digest") in exactly for grant in grants):
            return "granted before, for exactly this"
        rules = [parse_rule(grant["rule"], "allow", "grant") for grant in grants if grant.get("rule")]
        if not rules or request.target:
            return ""
        alone = RuleSet(rules, request.root.resolve())
        if request.access == "write" and request.writes:
            given = all(
                path.is_relative_to(alone.root) or alone.path("Write", path).decision == "allow"
                for path in request.writes
            )
            return "granted before" if given else ""
        if request.access == "read" and request.reads:
            given = all(alone.path("Read", path).decision == "allow" for path in request.reads)
            return "granted before" if given else ""
        if request.url:
            place = _host_of(request.url)
            known = place is not None and alone.net(*place).decision == "allow"
            return "granted before" if known else ""
        return (
            "granted before" if not request.command and alone.tool(request.tool).decision == "allow" else ""
        )

    def _sealed(self, grants: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Those that a person gave on this machine, in this session."""
        return grants if self._seal is None else [grant for grant in grants if self._seal.holds(grant)]

    def _keep_grant(self, request: AccessRequest, question: _Question, scope: Scope, digest: str) -> None:
        grant = {
            "digest": digest,
            "rule": "" if request.command else question.rule,
            "at": time.time_ns() // 1_000_000,
        }
        if scope == "branch":
            request.grants.append(grant if self._seal is None else self._seal.put(grant))
        elif scope == "session":
            self.session_grants.append(grant)
        elif scope == "always" and question.rule:
            self.rules.rules.append(parse_rule(question.rule, "allow", "project"))
            if self._save_rule is not None:
                self._save_rule(question.rule)
        if request.target and scope == "once":
            kind, _, target = request.target.partition(":")
            self.once.append(question.rule or f"{kind.capitalize()}({target})")


def _lasting(kind: str, path: Path) -> tuple[tuple[Scope, ...], str]:
    """How long a grant for a path may last, and its rule. A name with a wildcard in it would be a rule for others."""
    return (("once",), "") if has_glob(str(path)) else (ALL_SCOPES, f"{kind}({path})")


def _why_lasting(kind: str, request: AccessRequest) -> str:
    """Why a command of this kind is asked about in every mode; "" = it is no such kind."""
    pushes = pushes_of(request.command, request.root) if kind == "remote" else []
    places = [push.place for push in pushes]
    if places and all(places):
        return _PUSHES.format(places=", ".join(dict.fromkeys(places)))
    return _PUSHES_SOMEWHERE if places else _LASTING.get(kind, "")


def _host_of(url: str) -> tuple[str, int] | None:
    """Host and port; None for an address that names none, or many."""
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return None
    host = parts.hostname or ""
    return None if not host or has_glob(host) or not host.isprintable() or " " in host else (host, port)
