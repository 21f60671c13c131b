"""What the person allowed for longer than one call: kept with the session or the branch, or written as a rule.

A grant is `{"digest", "rule", "at", "tool", "what"}`: exactly this call, and what its rule names; when it was given, and what
for. One of a branch bears a seal beside that.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from worldline.core.access import AccessRequest
from worldline.core.jsontext import dumps
from worldline.core.secrets import mask
from worldline.policy.approvals import Scope
from worldline.policy.judging import Confinement, Question, host_of
from worldline.policy.openings import grants_of
from worldline.policy.rules import RuleSet, parse_rule
from worldline.policy.sandbox.model import Grant
from worldline.policy.seal import Seal

_LABELS: tuple[Confinement, ...] = ("none", "partial", "complete")
_MOST_WORDS = 2000
_OPENING = ("Write(", "Read(", "Net(", "Socket(", "Unsandboxed(")


class GrantBook:
    """Of one session. Used on the engine's loop only."""

    def __init__(self, save_rule: Callable[[str], None] | None, seal: Seal | None) -> None:
        """`seal`: of grants that are kept with a branch; None = whatever is there counts (nothing is read from a file)."""
        self._save_rule = save_rule
        self._seal = seal
        self.session: list[dict[str, Any]] = []
        self.once: list[str] = []
        """Openings granted for one call (rules like `Write(/opt/x)`), until they are taken."""
        self.given: list[tuple[str, dict[str, Any]]] = []
        """Those for a branch that may not be stored with it yet: (node of the call, grant)."""
        self.taken_back: set[str] = set()
        """Keys of grants of branches that hold no more. They stand in the nodes, which nothing changes."""

    def of_branch(self, grants: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Those that a person gave on this machine, in this session, and did not take back."""
        kept = [grant for grant in grants if self._seal is None or self._seal.holds(grant)]
        return [grant for grant in kept if key_of(grant) not in self.taken_back]

    def take_back(self, key: str) -> None:
        """It holds no more, in no branch. What runs already keeps what was open to it."""
        self.session = [grant for grant in self.session if key_of(grant) != key]
        self.taken_back.add(key)

    def openings(self, rules: RuleSet, branch: list[dict[str, Any]]) -> list[str]:
        """Rules that open something in the sandbox and hold now: for session, branch and the next call."""
        kept = [grant.get("rule", "") for grant in (*self.session, *self.of_branch(branch))]
        always = [rule.text for rule in rules.rules if rule.decision == "allow"]
        return [rule for rule in dict.fromkeys([*always, *kept, *self.once]) if rule.startswith(_OPENING)]

    def opened(self, rules: RuleSet, branch: list[dict[str, Any]], command: str, root: Path) -> list[Grant]:
        """What is open for this command, which takes what was granted for one call. A rule that denies or asks beats each
        rule and grant that opens; only what was granted for this one call was asked about already."""
        found = self._open(rules, branch, command, root)
        self.once.clear()
        return found

    def outside(self, rules: RuleSet, branch: list[dict[str, Any]], command: str, root: Path) -> bool:
        """Whether this command would run without the sandbox by a rule."""
        return any(
            grant.kind == "unconfined" and grant.rule not in self.once
            for grant in self._open(rules, branch, command, root)
        )

    def _open(self, rules: RuleSet, branch: list[dict[str, Any]], command: str, root: Path) -> list[Grant]:
        rules, given = replace(rules, root=root.resolve()), set(self.once)
        return [
            grant
            for grant in grants_of(self.openings(rules, branch), command, root)
            if (judged := rules.opening(grant.kind, grant.target, command)).decision != "deny"
            and (judged.rule is None or not judged.strict or grant.rule in given)
        ]

    def covers(self, request: AccessRequest, digest: str, sandbox: Confinement) -> str:
        """Why it was granted before, "" = it was not."""
        grants = [*self.session, *self.of_branch(request.grants)]
        # What was allowed inside the sandbox was not allowed without it.
        held = _LABELS[: _LABELS.index(sandbox) + 1] if request.command else ()
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
            # The name of a link in the workspace stands beside where it leads.
            given = all(
                path.is_relative_to(alone.root) or alone.path("Read", path).decision == "allow"
                for path in request.reads
            )
            return "granted before" if given else ""
        if request.url:
            place = host_of(request.url)
            known = place is not None and alone.net(*place).decision == "allow"
            return "granted before" if known else ""
        return (
            "granted before" if not request.command and alone.tool(request.tool).decision == "allow" else ""
        )

    def keep(
        self, rules: RuleSet, request: AccessRequest, question: Question, scope: Scope, digest: str
    ) -> None:
        """`digest` says under which confinement, where it is a command."""
        grant = {
            "digest": digest,
            "rule": "" if request.command else question.rule,
            "at": time.time_ns() // 1_000_000,
            "tool": request.tool,
            "what": mask(request.command or request.target or request.summary or request.tool)[0][
                :_MOST_WORDS
            ],
        }
        if scope == "branch":
            grant = grant if self._seal is None else self._seal.put(grant)
            request.grants.append(grant)
            self.given.append((request.node, grant))
        elif scope == "session":
            self.session.append(grant)
        elif scope == "always" and question.rule:
            rules.rules.append(parse_rule(question.rule, "allow", "project"))
            if self._save_rule is not None:
                self._save_rule(question.rule)
        if request.target and scope == "once":
            kind, _, target = request.target.partition(":")
            self.once.append(question.rule or f"{kind.capitalize()}({target})")


def key_of(grant: dict[str, Any]) -> str:
    """Names a grant: by what it allows and when it was given."""
    said = [str(grant.get(name, "")) for name in ("digest", "rule", "at")]
    return hashlib.blake2b(dumps(said), digest_size=8).hexdigest()


def reach(tool: str, rule: str, *, command: bool) -> str:
    """How far such a grant goes, for the person, whatever the one call says."""
    kind, _, inside = rule.partition("(")
    what = inside.removesuffix(")")
    if command:
        return "exactly this command, in this folder and confined no less than now"
    match kind:
        case "Tool":
            return f"every call of {tool}, with any arguments"
        case "Net":
            return f"every request to {what}, of tools and commands, whatever is sent"
        case "Write":
            return f"every change of {what}, by tools and commands; of a folder, all that is in it"
        case "Read":
            return f"reading {what} at any time, by tools and commands; of a folder, all that is in it"
        case "Socket":
            return f"every use of {what} by commands"
        case _:
            return f"exactly this call of {tool}, with the same arguments"
