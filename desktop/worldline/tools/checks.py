"""Recognise test runs, and what came out of them: Compare and the backtrack need to know which step can be trusted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_WORDS = (
    r"pytest|py\.test|tox|nox|nosetests|jest|vitest|mocha|ava|rspec|phpunit|ctest|bats|tap|deno\s+test|bun\s+test"
    r"|unittest|go\s+(?:test|vet)|cargo\s+(?:test|nextest|check|clippy)|dotnet\s+test|mix\s+test|swift\s+test|rake\s+test"
    r"|mypy|pyright|ruff(?:\s+check)?|flake8|pylint|eslint|tsc|golangci-lint|shellcheck|lint-imports"
    r"|(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?(?:test|t|lint|check|typecheck)\b[\w:-]*"
    r"|(?:make|just|task|gradle|\./gradlew|mvn|meson|ninja|bazel)\s+(?:-\S+\s+)*(?:test|check|lint|verify)\b"
)
_CHECK = re.compile(
    r"(?:^|[;&|(\n]|&&|\|\|)\s*(?:[A-Z_][A-Z0-9_]*=\S*\s+)*(?:(?:sudo|time|nice|env|timeout\s+\S+|xvfb-run)\s+)*"
    r"(?:(?:uv|poetry|pdm|hatch|rye|pipenv|npx|pnpm|bundle)\s+(?:run|exec)?\s*)?(?:\S*/)?(?:python[\d.]*\s+(?:-\S\s+)*-m\s+)?"
    rf"(?:\S*/)?(?P<tool>{_WORDS})(?=$|[\s;&|)])"
)
_COUNTS = re.compile(r"\b(\d+) (passed|failed|errors?|skipped|xfailed|xpassed)\b")
_UNITTEST = re.compile(r"^Ran (\d+) tests? in", re.MULTILINE)
_UNITTEST_BAD = re.compile(r"FAILED \((?:failures=(\d+))?(?:, )?(?:errors=(\d+))?")
_CARGO = re.compile(r"test result: \w+\. (\d+) passed; (\d+) failed")
_GO = re.compile(r"^(ok|FAIL|---\s+(?:PASS|FAIL):)\s", re.MULTILINE)
_MOCHA = re.compile(r"^\s+(\d+) (passing|failing)", re.MULTILINE)
_TAP = re.compile(r"^# (pass|fail)\s+(\d+)", re.MULTILINE)
_RSPEC = re.compile(r"(\d+) examples?, (\d+) failures?")
_FOUND = re.compile(r"Found (\d+) errors?")


@dataclass(frozen=True, slots=True)
class Check:
    """One run of a check. `passed` and `failed` are None when the output does not say."""

    tool: str
    command: str
    exit_code: int | None
    passed: int | None = None
    failed: int | None = None

    @property
    def ok(self) -> bool:
        return self.exit_code == 0 and not self.failed

    def to_json(self) -> dict[str, Any]:
        return {
            "tool": self.tool,
            "command": self.command,
            "exit_code": self.exit_code,
            "passed": self.passed,
            "failed": self.failed,
        }


def find_check(command: str) -> str:
    """Name of the check that a command line runs; "" if it runs none."""
    match = _CHECK.search(command)
    return " ".join(match["tool"].split()) if match else ""


def parse_check(command: str, output: str, exit_code: int | None) -> Check | None:
    """The check that `command` ran, with its counts as far as `output` tells them."""
    tool = find_check(command)
    if not tool:
        return None
    passed, failed = _counts(output)
    return Check(tool, command[:500], exit_code, passed, failed)


def _counts(output: str) -> tuple[int | None, int | None]:
    cargo = _CARGO.findall(output)
    if cargo:
        return sum(int(p) for p, _ in cargo), sum(int(f) for _, f in cargo)
    rspec = _RSPEC.findall(output)
    if rspec:
        total, bad = map(int, rspec[-1])
        return total - bad, bad
    ran = _UNITTEST.findall(output)
    if ran:
        broken = _UNITTEST_BAD.search(output)
        bad = sum(int(n or 0) for n in broken.groups()) if broken else 0
        return int(ran[-1]) - bad, bad
    for pattern, good in ((_MOCHA, "passing"), (_TAP, "pass")):
        found = pattern.findall(output)
        if found:
            pairs = [(a, b) if a.isdigit() else (b, a) for a, b in found]
            return (
                sum(int(n) for n, word in pairs if word == good),
                sum(int(n) for n, word in pairs if word != good),
            )
    summary = _last_summary(output)
    if summary:
        counts = {word.rstrip("s") if word.startswith("error") else word: int(n) for n, word in summary}
        known = {"passed", "failed"} & set(counts)
        passed = counts.get("passed", 0) + counts.get("xpassed", 0) if known else None
        return passed, counts.get("failed", 0) + counts.get("error", 0)
    go = _GO.findall(output)
    if go:
        return sum("PASS" in w or w == "ok" for w in go), sum("FAIL" in w for w in go)
    found_errors = _FOUND.findall(output)
    return (None, int(found_errors[-1])) if found_errors else (None, None)


def _last_summary(output: str) -> list[tuple[str, str]]:
    """Counts of the last line that has any (pytest, jest, vitest)."""
    for line in reversed(output.splitlines()[-200:]):
        if line.lstrip().startswith("Test Suites"):
            continue
        counts = _COUNTS.findall(line)
        if counts:
            return counts
    return []
