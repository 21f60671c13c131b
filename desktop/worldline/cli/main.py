"""The command line: `worldline run|inspect|view|jump|diff|import|export|verify|recover|effects`."""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Run one command; `argv` without the program name. Returns the exit code (0, 1, 2 or 130)."""
    raise SystemExit(f"the command line is not built yet: {list(argv)}")
