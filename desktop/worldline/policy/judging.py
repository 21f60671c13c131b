"""What the rules and the mode say of a call, and what the person would be asked about it. Whoever asks, and what was granted
before, is no matter of this module."""

from __future__ import annotations

import urllib.parse
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from worldline.core.access import AccessRequest
from worldline.policy.approvals import Scope
from worldline.policy.closed import Closed
from worldline.policy.pushing import push_outside, pushes_of, uses_lfs
from worldline.policy.rules import Judgement, RuleSet
from worldline.policy.secrets import secret_place
from worldline.policy.shell import has_glob, parse
from worldline.policy.wording import effect, kind_of, remember
from worldline.protocol.model import Mode

Confinement = Literal["complete", "partial", "none"]
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


@dataclass(slots=True)
class Question:
    """What would be asked, filled in by the judge of each kind of access."""

    judgement: Judgement
    effect: str = ""
    scopes: tuple[Scope, ...] = ("once",)
    rule: str = ""
    destructive: bool = False


@dataclass(slots=True)
class Judge:
    """`rules` are those that count for this call; `mode` and `sandbox` as they are now. `closed` is what rules keep from being
    read, of a call that runs a command; `named` what they say of a file that it names, or reads by another name."""

    rules: RuleSet
    mode: Mode
    sandbox: Confinement
    closed: Closed = field(default_factory=Closed)
    named: Judgement | None = None
    walled: bool = True
    """Under a sandbox it would run in it: no rule opens that for this command."""

    def judge(self, request: AccessRequest) -> Question:
        by_name = self.rules.tool(request.tool)
        if by_name.rule is not None and by_name.decision != "allow":
            return Question(by_name)
        match request.access:
            case "read":
                return self._judge_read(request)
            case "write":
                return self._judge_write(request)
            case "execute" if request.command:
                return self._judge_command(request)
            case "network" if request.url:
                return self._judge_net(request.url)
            case "ask" if request.target:
                return self._judge_target(request)
            case "ask":
                return Question(Judgement("allow", None, "asks or notes something"))
            case _:
                offered = f"Tool({request.tool})"
                return Question(by_name, "What it does is decided by a program outside.", ALL_SCOPES, offered)

    def _judge_read(self, request: AccessRequest) -> Question:
        for path in request.reads:
            judgement = self.rules.path("Read", path)
            if judgement.decision == "deny" or judgement.strict:
                return Question(judgement)
            if self.named is not None:
                return Question(self.named)
            if secret_place(path):
                why = f"{path} holds keys, passwords or a history"
                return Question(
                    Judgement("ask", None, why, strict=True),
                    "What is read goes to the provider of the model.",
                )
            roots = [self.rules.root, *(root.resolve() for root in request.read_roots)]
            if judgement.decision != "allow" and not any(path.is_relative_to(root) for root in roots):
                why = f"{path} is outside the workspace"
                return Question(
                    Judgement("ask", None, why, by_default=True),
                    "What is read goes to the provider of the model.",
                    *_lasting("Read", path),
                )
        return Question(Judgement("allow", None, "reads inside the workspace"))

    def _judge_write(self, request: AccessRequest) -> Question:
        worst = Judgement("allow", None, "changes inside the workspace can be undone")
        question = Question(worst)
        for path in request.writes:
            judgement = self.rules.path("Write", path)
            if judgement.decision == "deny":
                return Question(judgement)
            inside = path.is_relative_to(self.rules.root)
            if judgement.strict:
                says = (
                    "Can be undone, but it may run or steer something before."
                    if inside
                    else "Cannot be undone."
                )
                question = Question(judgement, says)
            elif judgement.decision == "ask" and not inside:
                why = f"{path} is outside the workspace"
                question = Question(
                    Judgement("ask", None, why, by_default=True),
                    "Changes a file outside the workspace; going back in the tree does not undo it.",
                    *_lasting("Write", path),
                )
        return question

    def _judge_command(self, request: AccessRequest) -> Question:
        judgement = self.rules.command(request.command)
        if judgement.decision != "deny":
            judgement = self._not_closed(request, judgement)
        kind, says = effect(request.command)
        scopes, rule = remember(request.command)
        question = Question(
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
            if judgement.rule is not None and judgement.rule.kind == "Read":
                # A rule that allows the command says nothing of what it may read.
                question.scopes = tuple(scope for scope in question.scopes if scope != "always")
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

    def _not_closed(self, request: AccessRequest, judgement: Judgement) -> Judgement:
        """With what rules say of reading, and of the whole workspace. The sandbox keeps that for every command; where it does not, only a person can say
        whether this one reads what it should not."""
        if not (self.closed.rules or self.closed.open):
            return judgement
        in_sandbox = self.sandbox == "complete" and self.walled
        git = any(command.program == "git" for command in parse(request.command).commands)
        if self.named is not None and (not in_sandbox or git):  # git has what was committed, under any roof
            return self.named
        if judgement.decision == "ask" and judgement.strict:
            return judgement
        if not in_sandbox:
            if not self.closed.rules:  # writing is kept from tools alone, and said so
                return judgement
            rule = self.closed.rules[0]
            return Judgement(
                "ask", rule, f"nothing keeps this command from reading what {rule.text} is about"
            )
        if self.closed.open:
            rule, why = self.closed.open[0]
            return Judgement("ask", rule, f"{rule.text} cannot be kept for commands: {why}")
        return judgement

    def _judge_net(self, url: str) -> Question:
        place = host_of(url)
        if place is None:
            return Question(Judgement("deny", None, f"{url[:200]} does not name one host and its port"))
        host, port = place
        judgement = self.rules.net(host, port)
        if judgement.decision == "ask" and judgement.by_default:
            judgement = replace(judgement, why=f"it contacts {host}")
        says = "Sends the address to that server. What is sent cannot be taken back."
        scopes = ("once",) if judgement.strict else ALL_SCOPES
        return Question(judgement, says, scopes, f"Net({host}:{port})")

    def _judge_target(self, request: AccessRequest) -> Question:
        kind, _, target = request.target.partition(":")
        if kind in ("write", "read", "socket") and has_glob(target):
            return Question(Judgement("deny", None, f"{target[:200]} does not name one place"))
        why = (
            f"the agent asks for it: {request.agent_says[:300]}"
            if request.agent_says
            else "the agent asks for it"
        )
        if kind == "net":
            question = self._judge_net(f"https://{target}" if "://" not in target else target)
        elif kind in ("write", "read"):
            paths = [Path(target)]
            part = replace(request, writes=paths, reads=paths)
            question = self._judge_write(part) if kind == "write" else self._judge_read(part)
        elif kind == "socket":
            docker = "docker" in target or "containerd" in target or "podman" in target
            question = Question(
                self.rules.path("Socket", Path(target)),
                "Talks to a service of this machine, which can do what it may. Cannot be undone.",
                ("once",) if docker else ALL_SCOPES,
                "" if docker else f"Socket({target})",
                True,
            )
        else:
            says = "Runs without any confinement: everything you may do, it may do."
            question = Question(Judgement("ask", strict=True), says, ("once",), "", True)
            if (judged := self.rules.command(target, "Unsandboxed")).decision == "deny":
                return Question(judged)
            if any(kind_of(command)[0] == "rights" for command in parse(target).commands):
                return Question(Judgement("deny", None, "rights of another user are never given"))
        own = question.judgement
        if own.decision == "ask":
            # What is known of it is said before what the agent says.
            known = f"{own.why}; " if own.why and not own.by_default else ""
            question.judgement = replace(own, why=known + why)
        return question


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


def host_of(url: str) -> tuple[str, int] | None:
    """Host and port; None for an address that names none, or many."""
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return None
    host = parts.hostname or ""
    return None if not host or has_glob(host) or not host.isprintable() or " " in host else (host, port)
