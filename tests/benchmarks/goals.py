"""The table of a benchmark: what was measured, its goal, whether it is reached."""

from __future__ import annotations

import sys
from collections.abc import Iterable


def report(rows: Iterable[tuple[str, float, float]]) -> int:
    """Print (name, value, goal) rows, a smaller value being better; the exit code: 1 when a goal is missed."""
    missed = 0
    for name, value, goal in rows:
        missed += value > goal
        verdict = "ok" if value <= goal else "MISSED"
        sys.stdout.write(f"{name:44} {value:8.2f}   goal {goal:6.2f}  {verdict}\n")
    return 1 if missed else 0
