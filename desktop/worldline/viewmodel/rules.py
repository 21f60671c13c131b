"""Rules of the settings that were changed in one place while they may have changed in another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


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
