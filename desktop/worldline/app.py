"""The window process: parses its own options and opens the window. Never imports the engine."""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Open the app; `argv` without the program name. Returns the exit code."""
    from worldline.ui.start import run

    return run(list(argv))
