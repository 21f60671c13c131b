"""Rules of the house that a machine can check: layers, module size."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "desktop" / "worldline"
MAX_LINES = 420


def test_modules_stay_small_enough_to_hold_in_the_head() -> None:
    long = {
        str(path.relative_to(PACKAGE)): count
        for path in PACKAGE.rglob("*.py")
        if (count := len(path.read_text("utf-8").splitlines())) > MAX_LINES
    }
    assert long == {}


def test_layers_hold() -> None:
    # A process of its own: it sets up logging, which switches off every logger that exists by then.
    ask = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run(
        [sys.executable, "-c", ask],
        cwd=PACKAGE.parent.parent,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
