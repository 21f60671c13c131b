from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolbench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    root = tmp_path / "ws"
    root.mkdir()
    return Bench(root)


@pytest.fixture
def make_bench(tmp_path: Path) -> Callable[..., Bench]:
    def make(**more: Any) -> Bench:
        root = tmp_path / "ws"
        root.mkdir(exist_ok=True)
        return Bench(root, **more)

    return make
