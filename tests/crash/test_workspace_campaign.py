"""A short run of the campaign; the long one is `python -m tests.crash workspace`."""

from __future__ import annotations

import pytest

from .workspace_campaign import run


@pytest.mark.slow
def test_kills_lose_nothing() -> None:
    result = run(12, seed=7)
    assert result["failures"] == [] and result["kills"] == 12 and result["undone"] > 0
