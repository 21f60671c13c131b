"""A short run of the campaign; the long one is `python -m tests.crash workspace`."""

from __future__ import annotations

import pytest

from .workspace_campaign import run


@pytest.mark.slow
def test_kills_lose_nothing() -> None:
    result = run(20, seed=7)
    assert result["failures"] == [] and result["kills"] == 20 and result["undone"] > 0
