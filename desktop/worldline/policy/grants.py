"""What the person allowed for longer than one call: kept with the session or the branch, or written as a rule.

A grant is `{"digest", "rule", "at"}`: exactly this call, and what its rule names. One of a branch bears a seal beside that.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from worldline.core.access import AccessRequest
from worldline.policy.approvals import Scope
from worldline.policy.judging import Confinement, Question, host_of
from worldline.policy.openings import grants_of
from worldline.policy.rules import RuleSet, parse_rule
from worldline.policy.sandbox.model import Grant
from worldline.policy.seal import Seal

_LABELS: tuple[Confinement, ...] = ("none", "partial", "complete")
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

    def of_branch(self, grants: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Those that a person gave on this machine, in this session."""
        return grants if self._seal is None else [grant for grant in grants if self._seal.holds(grant)]

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
            given = all(alone.path("Read", path).decision == "allow" for path in request.reads)
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
        }
        if scope == "branch":
            request.grants.append(grant if self._seal is None else self._seal.put(grant))
        elif scope == "session":
            self.session.append(grant)
        elif scope == "always" and question.rule:
            rules.rules.append(parse_rule(question.rule, "allow", "project"))
            if self._save_rule is not None:
                self._save_rule(question.rule)
        if request.target and scope == "once":
            kind, _, target = request.target.partition(":")
            self.once.append(question.rule or f"{kind.capitalize()}({target})")
