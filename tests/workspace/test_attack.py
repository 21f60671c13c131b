"""Random sequences of all kinds of operations that restores were found to stumble over."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from worldline.workspace.removal import remove_tree

from .attack import play


@pytest.mark.parametrize("seed", [3, 104, 113, 1030])
@pytest.mark.parametrize("isolated", [False, True])
def test_random_operations_of_every_kind(seed: int, isolated: bool) -> None:
    _attack(seed, 40, isolated)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5000, 5020))
def test_more_random_operations(seed: int) -> None:
    """Each in one of both ways to work, in turns; `WORLDLINE_CAMPAIGN=1` runs each in both."""
    for isolated in (False, True) if os.environ.get("WORLDLINE_CAMPAIGN") else (bool(seed % 2),):
        _attack(seed, 60, isolated)


def _attack(seed: int, steps: int, isolated: bool) -> None:
    base = Path(tempfile.mkdtemp(prefix="worldline-attack-"))
    try:
        play(base, seed, steps, isolated=isolated)
    finally:
        remove_tree(base)
