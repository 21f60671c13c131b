"""A short run of the campaign; the long one is `python -m tests.crash jumps --kills 5000`."""

from __future__ import annotations

import pytest

from .jump_campaign import run


@pytest.mark.slow
def test_jumps_put_back_all_of_a_folder() -> None:
    result = run(12, seed=7)
    assert result["failures"] == [] and result["what came of them"]["jumps"] > 12
