"""Rules of the settings that were changed in one place while they may have changed in another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

LISTS = ("deny", "ask", "allow")
HERE = "here"
"""The list of what runs without asking in this folder alone."""
PROJECT = "project"
FIRM = "firm"
"""What is denied or asked about in this folder alone. It is not written in the window, and counts all the same."""


def merged(
    known: Mapping[str, Sequence[str]], wanted: Mapping[str, Sequence[str]], current: Mapping[str, Any]
) -> dict[str, list[str]]:
    """`current` with the changes from `known` to `wanted`. The order is the wanted one; what `current` has besides comes
    behind it."""
    result: dict[str, list[str]] = {}
    for key, rules in wanted.items():
        there = [str(rule) for rule in current.get(key) or []]
        before = known.get(key) or []
        result[key] = [*rules, *(rule for rule in there if rule not in before and rule not in rules)]
    return result


def apart(result: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with the person's own rules as their rules. The engine's are all that count, in one: written back as
    the person's own, what was allowed in one folder would be allowed in all, and what was taken away would be back."""
    values = dict(result.get("values") or {})
    rules = result.get("rules") or {}
    if rules:
        values["permissions"] = {**rules.get("own", {})}
        if result.get("folder"):
            values["permissions"][HERE] = list(rules.get("here", {}).get("allow", []))
            values["permissions"][FIRM] = {k: list(rules.get("here", {}).get(k, [])) for k in ("deny", "ask")}
        values["permissions"][PROJECT] = rules.get("project", {})
    return values


def to_save(rules: Mapping[str, Sequence[str]], folder: str) -> dict[str, Any]:
    """The changes of settings that make these the rules."""
    changes: dict[str, Any] = {"permissions": {key: list(rules[key]) for key in LISTS if key in rules}}
    if folder and HERE in rules:
        changes["projects"] = {folder: {"permissions": {"allow": list(rules[HERE])}}}
    return changes


def for_trial(
    rules: Mapping[str, Sequence[str]], *others: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """All rules that would count, in one: those that are written, and those from elsewhere."""
    found = {
        key: [*rules.get(key, []), *(r for other in others for r in other.get(key, []))] for key in LISTS
    }
    found["allow"] += rules.get(HERE, [])
    return found
