"""Rules of the person and the project: parsed, matched, decided.

`Bash(git push:*)`, `Bash(npm run test *)`, `Bash(npm publish)` (exact), `Net(*.example.org:443)`, `Write(~/.toolrc)`,
`Write(/opt/x/**)`, `Read(…)`, `Socket(/run/x.sock)`, `Unsandboxed(docker compose:*)`, `Tool(server__name)`, in the lists
`deny`, `ask` and `allow`. Order: deny, ask, allow; how special a rule is never matters. A command line is judged by
each simple command in it: one is enough to deny or ask, all are needed to allow. No rule widens the sandbox.
"""

from __future__ import annotations

import fnmatch
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from worldline.policy.programs import HARMLESS, STEERING
from worldline.policy.rule import Decision, Rule
from worldline.policy.secrets import names_secret
from worldline.policy.shell import ParsedLine, SimpleCommand, has_glob, parse
from worldline.policy.starts import SHELLS, STARTS_FILE, shell_text
from worldline.policy.where import meant, meant_names, split_pattern
from worldline.policy.wrappers import RIGHTS

KINDS = ("Bash", "Net", "Write", "Read", "Socket", "Unsandboxed", "Tool")

_PATH_KINDS: dict[str, Literal["Write", "Read", "Socket"]] = {
    "write": "Write",
    "read": "Read",
    "socket": "Socket",
}
_RULE = re.compile(r"(\w+)(?:\((.*)\))?", re.DOTALL)
PROTECTED = (".git", ".worldline")
"""Folders of the workspace that no rule opens for writing by tools: what is in them runs or steers something."""


@dataclass(slots=True)
class Judgement:
    """What the rules say, and what in the line decided it."""

    decision: Decision
    rule: Rule | None = None
    why: str = ""
    part: tuple[int, int] | None = None
    by_default: bool = False
    """No rule spoke; the mode decides."""
    strict: bool = False
    """Must be asked whatever the mode allows by itself."""


@dataclass(slots=True)
class RuleSet:
    """All rules that hold for a call. `root` is the workspace, for relative patterns.

    `twin` is the person's folder of which the workspace is a worktree. They think of one project that lies in two places:
    what they deny, or want to be asked about, in one of them (by a relative pattern or by its whole path) holds for the
    same place in the other. What they allow does not: a worktree may be written to anyway, and a rule that opens a path
    of it must not open their own folder, which no state of the session holds, nor the other way round.
    """

    rules: list[Rule] = field(default_factory=list)
    root: Path = field(default_factory=Path.cwd)
    twin: Path | None = None

    def of(self, kind: str, decision: Decision) -> list[Rule]:
        return [rule for rule in self.rules if rule.kind == kind and rule.decision == decision]

    def command(self, line: str, kind: str = "Bash") -> Judgement:
        """Judge a command line. Without a rule that speaks: ask, `by_default`."""
        parsed = parse(line)
        doubt: Judgement | None = None
        for rule in self.of(kind, "deny"):
            for command in (*parsed.commands, *parsed.behind):
                if not _could_be(rule, command):
                    continue
                part = (command.start, command.end)
                if rule.is_command(command):
                    return Judgement("deny", rule, f"the rule {rule.text} denies it", part)
                doubt = doubt or Judgement(
                    "ask", rule, f"it may be what {rule.text} denies", part, strict=True
                )
        for rule in self.of(kind, "ask"):
            for command in (*parsed.commands, *parsed.behind):
                if _could_be(rule, command):
                    return Judgement(
                        "ask", rule, f"the rule {rule.text} asks", (command.start, command.end), strict=True
                    )
        return doubt or self._all_allowed(line, parsed, kind)

    def _all_allowed(self, line: str, parsed: ParsedLine, kind: str) -> Judgement:
        allow = self.of(kind, "allow")
        if not allow:
            return Judgement("ask", None, "no rule allows it", by_default=True)
        exact = next(
            (rule for rule in allow if rule.pattern.strip() == line.strip() and "*" not in line), None
        )
        if exact is not None and not (parsed.problem or parsed.substitution or parsed.evaluates):
            return Judgement("allow", exact, f"the rule {exact.text} allows exactly this")
        if parsed.problem:
            return Judgement("ask", None, f"the line could not be parsed: {parsed.problem}", by_default=True)
        if parsed.substitution:
            return Judgement("ask", None, "a substitution runs a command inside another", by_default=True)
        if parsed.evaluates:
            return Judgement("ask", None, "an expression in it may run a command", by_default=True)
        if not parsed.commands:
            return Judgement("ask", None, "nothing in it is a plain command", by_default=True)
        used: Rule | None = None
        for command in parsed.commands:
            part = (command.start, command.end)
            problem = self._never_allowed(command)
            if problem:
                return Judgement("ask", None, problem, part, by_default=True)
            if _only_starts(command, self.root):
                continue
            used = next((rule for rule in allow if rule.allows_command(command)), None)
            if used is None:
                return Judgement("ask", None, f"no rule allows `{command.text[:80]}`", part, by_default=True)
        if used is None:
            return Judgement("ask", None, "nothing in it is a plain command", by_default=True)
        return Judgement("allow", used, f"the rule {used.text} allows it")

    def _never_allowed(self, command: SimpleCommand) -> str:
        for name in command.assigns:
            if STEERING.fullmatch(name):
                return f"{name}= changes what the command does"
        if not command.fixed:
            return "part of it is known only when it runs"
        if command.via and any(word in RIGHTS for word in command.via.split()):
            return "it asks for other rights"
        if command.program and command.program != "[" and has_glob(command.program):
            return "the program is known only when it runs"
        if any(names_secret(word, self.root) for word in command.words[1:] if word):
            return "it names a place of keys, passwords or histories"
        for target in command.writes:
            if target is None:
                return "it writes to a file that is known only when it runs"
            if target not in ("/dev/null", "/dev/stderr", "/dev/stdout") and not self._inside(target):
                return f"it writes to {target}"
        return ""

    def _inside(self, target: str) -> bool:
        path = Path(os.path.normpath(self.root / Path(target).expanduser()))
        return path.is_relative_to(self.root) and not protected(path, self.root)

    def path(self, kind: Literal["Write", "Read", "Socket"], path: Path) -> Judgement:
        """Judge a path (absolute, symlinks resolved)."""
        decisions: tuple[Decision, ...] = ("deny", "ask", "allow")
        for decision in decisions:
            for rule in self.of(kind, decision):
                if not self._match_path(rule.pattern, path, below=decision != "allow"):
                    continue
                if decision == "allow" and kind == "Write" and protected(path, self.root):
                    break
                why = f"the rule {rule.text} {'allows' if decision == 'allow' else 'denies' if decision == 'deny' else 'asks'}"
                return Judgement(decision, rule, why, strict=decision == "ask")
        if kind == "Write" and protected(path, self.root):
            return Judgement("ask", None, "the path is protected: it steers what runs later", strict=True)
        return Judgement("ask", None, "no rule allows it", by_default=True)

    def _match_path(self, pattern: str, path: Path, *, below: bool) -> bool:
        """`below`: what is said of a folder is said of all that lies in it, and of the same place in the `twin`."""
        if pattern in ("", "*", "**"):
            return True
        names = meant_names(pattern, self.root)
        same = [path, *((other,) if below and (other := self.other(path)) is not None else ())]
        places = [place for one in same for place in ((one, *one.parents) if below else (one,))]
        return any(meant(name).fullmatch(str(place)) for name in names for place in places)

    def other(self, path: Path) -> Path | None:
        """The same place in the person's folder, or in the worktree of it; None = it is in neither, or there is but one."""
        if self.twin is None:
            return None
        for here, there in ((self.root, self.twin), (self.twin, self.root)):
            if path.is_relative_to(here):
                return there / path.relative_to(here)
        return None

    def net(self, host: str, port: int) -> Judgement:
        decisions: tuple[Decision, ...] = ("deny", "ask", "allow")
        for decision in decisions:
            for rule in self.of("Net", decision):
                name, _, wanted = rule.pattern.rpartition(":")
                if not name or not re.fullmatch(r"\d+|\*", wanted):
                    name, wanted = rule.pattern, "*"
                # A dot at the end names the same host.
                if fnmatch.fnmatchcase(host.lower().rstrip("."), name.lower().rstrip(".")) and wanted in (
                    "*",
                    str(port),
                ):
                    return Judgement(decision, rule, f"the rule {rule.text}", strict=decision == "ask")
        return Judgement("ask", None, "no rule names this host", by_default=True)

    def opening(self, kind: str, target: str, command: str) -> Judgement:
        """What the rules say of something that another rule or a grant opens for a command (`sandbox.model.Grant`)."""
        match kind:
            case "unconfined":
                return self.command(command, "Unsandboxed")
            case "net":
                host, _, port = target.rpartition(":")
                return self.net(host, int(port) if port.isdecimal() else 0)
            case "write" | "read" | "socket":
                name = _PATH_KINDS[kind]
                judged = self.path(name, Path(target))
                inside = next(
                    (r for r in self.of(name, "deny") if self._lies_in(r.pattern, Path(target))), None
                )
                if inside is None or judged.decision == "deny":
                    return judged
                return Judgement("deny", inside, f"the rule {inside.text} denies what lies in it")
            case _:
                return Judgement("allow")

    def _lies_in(self, pattern: str, folder: Path) -> bool:
        """What the pattern names, here or in the `twin`, lies in this folder, which would be opened as a whole."""
        base = split_pattern(meant_names(pattern, self.root)[-1])[0]
        other = self.other(base)
        return base.is_relative_to(folder) or (other is not None and other.is_relative_to(folder))

    def tool(self, name: str) -> Judgement:
        decisions: tuple[Decision, ...] = ("deny", "ask", "allow")
        for decision in decisions:
            for rule in self.of("Tool", decision):
                if fnmatch.fnmatchcase(name, rule.pattern or "*"):
                    return Judgement(decision, rule, f"the rule {rule.text}", strict=decision == "ask")
        return Judgement("ask", None, "no rule names this tool", by_default=True)


def _could_be(rule: Rule, command: SimpleCommand) -> bool:
    return bool(command.words) and rule.matches_command(command)


def _only_starts(command: SimpleCommand, root: Path) -> bool:
    """Does nothing of its own: an assignment, `true`, `cd` into the workspace, or what only starts others (`bash -c`)."""
    if command.elsewhere:
        return False
    if not command.words or command.program in HARMLESS:
        return True
    if command.program == "cd" and len(command.words) == 2:
        target = command.words[1] or ""
        path = Path(os.path.normpath(root / target))
        return not target.startswith(("-", "~")) and path.is_relative_to(root) and not protected(path, root)
    # What it starts is judged by itself, as commands of their own.
    shell = command.program in SHELLS and STARTS_FILE.isdisjoint(command.words)
    return shell and shell_text(command.words) is not None


def protected(path: Path, root: Path) -> bool:
    """Inside one of the folders that no tool writes without asking, wherever it stands in the workspace."""
    if not path.is_relative_to(root):
        return False
    return any(part.lower() in PROTECTED for part in path.relative_to(root).parts)


def parse_rule(text: str, decision: Decision, where: str = "") -> Rule:
    """Raises ValueError with a sentence for the person."""
    match = _RULE.fullmatch(text.strip())
    if match is None or match[1] not in KINDS:
        raise ValueError(f"{text!r} is no rule; write like Bash(git push:*). Kinds: {', '.join(KINDS)}")
    pattern = (match[2] or "*").strip()
    if match[1] == "Net" and decision == "allow" and pattern.split(":")[0] in ("*", ""):
        raise ValueError(f"{text!r} would open every host; name hosts")
    return Rule(match[1], pattern, decision, text.strip(), where)


def parse_rules(config: Any, where: str) -> tuple[list[Rule], list[str]]:
    """Rules of a configuration `{"deny": […], "ask": […], "allow": […]}`, and what was wrong in it.

    An entry may be `{"rule", "match": […], "not_match": […]}`: the examples are checked, and a rule that fails them is
    left out (for allow) or kept with a warning (for deny and ask): a doubt never widens anything.
    """
    rules: list[Rule] = []
    problems: list[str] = []
    if config is None:
        return rules, problems
    if not isinstance(config, dict):
        return rules, [f"rules ({where}): must be an object with the lists deny, ask and allow"]
    decisions: tuple[Decision, ...] = ("deny", "ask", "allow")
    problems += [f"rules ({where}): there is no list {key!r}" for key in config if key not in decisions]
    for decision in decisions:
        entries = config.get(decision, [])
        for entry in entries if isinstance(entries, list) else [entries]:
            text = entry.get("rule") if isinstance(entry, dict) else entry
            try:
                if not isinstance(text, str):
                    raise ValueError(f"{decision}: a rule must be a text")
                rule = parse_rule(text, decision, where)
                _check_examples(rule, entry)
            except ValueError as error:
                problems.append(f"rules ({where}): {error}")
                if decision == "allow" or not isinstance(text, str) or _RULE.fullmatch(text.strip()) is None:
                    continue
                rule = Rule(text.split("(")[0], "*", decision, text, where)
                if rule.kind not in KINDS:
                    continue
                rule = parse_rule(text, decision, where)
            rules.append(rule)
    return rules, problems


def _check_examples(rule: Rule, entry: Any) -> None:
    if not isinstance(entry, dict) or rule.kind != "Bash":
        return
    alone = RuleSet([rule])
    for line in entry.get("match", []):
        if alone.command(str(line)).rule is None:
            raise ValueError(f"{rule.text} does not match its example {line!r}")
    for line in entry.get("not_match", []):
        if alone.command(str(line)).rule is not None:
            raise ValueError(f"{rule.text} matches {line!r}, which it should not")


def explain(rules: RuleSet, line: str) -> dict[str, Any]:
    """The decision about a line and what each part of it would get; `decided` marks the part that settled it. What is
    about the line as a whole (a substitution, say) is a part of its own."""
    whole = rules.command(line)
    parts: list[dict[str, str]] = []
    for command in parse(line).commands:
        text = line[command.start : command.end].strip() or command.text
        judged = rules.command(text)
        decided = whole.part == (command.start, command.end) or (
            whole.part is None and judged.decision == whole.decision and judged.why == whole.why
        )
        parts.append(_part(text, judged, decided and not any(p["decided"] for p in parts)))
    if not any(p["decided"] for p in parts):
        parts.append(_part(line, whole, True))
    return {"decision": whole.decision, "parts": parts}


def _part(text: str, judged: Judgement, decided: bool) -> dict[str, str]:
    return {
        "part": text, "decision": judged.decision, "rule": judged.rule.text if judged.rule else "", "why": judged.why,
        "decided": "yes" if decided else "",
    }  # fmt: skip
