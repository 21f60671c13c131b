"""Rules of the house that a machine can check: layers, module size."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "desktop" / "worldline"
MAX_LINES = 420


def test_modules_stay_small_enough_to_hold_in_the_head() -> None:
    long = {
        str(path.relative_to(PACKAGE)): count
        for path in PACKAGE.rglob("*.py")
        if (count := len(path.read_text("utf-8").splitlines())) > MAX_LINES and path.name != "commands.py"
    }
    assert long == {}


def test_layers_hold() -> None:
    from importlinter.cli import lint_imports

    assert lint_imports(config_filename=str(PACKAGE.parent.parent / "pyproject.toml"), no_cache=True) == 0
