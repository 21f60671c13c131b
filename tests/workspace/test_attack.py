"""Random sequences of all kinds of operations that restores were found to stumble over."""

from __future__ import annotations

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
@pytest.mark.parametrize("isolated", [False, True])
def test_more_random_operations(seed: int, isolated: bool) -> None:
    _attack(seed, 60, isolated)


def _attack(seed: int, steps: int, isolated: bool) -> None:
    base = Path(tempfile.mkdtemp(prefix="worldline-attack-"))
    try:
        play(base, seed, steps, isolated=isolated)
    finally:
        remove_tree(base)
