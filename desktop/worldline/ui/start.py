"""Start of the window process."""

from __future__ import annotations


def run(argv: list[str]) -> int:
    """Open the window on what `argv` names and run it until it is closed."""
    raise SystemExit(f"the window is not built yet: {argv}")
