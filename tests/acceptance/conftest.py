from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from worldline.context.checker import check
from worldline.rehearsal.server import RehearsalServer

from .driver import Driver, scenario, shell

MODES = ("isolated", "in place")
FULL = os.environ.get("WORLDLINE_ACCEPTANCE") == "full"
"""Every case in both modes (`python -m tests.acceptance`); else each in one, in turns."""


@pytest.fixture(scope="session")
def server() -> Iterator[RehearsalServer]:
    with RehearsalServer(scenario(), checker=check) as running:
        yield running
    assert running.defects == []


StartSession = Callable[..., Driver]


@pytest.fixture
def begin(server: RehearsalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StartSession:
    """Make a repository with a shell script and open a session on it."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "rehearsal")
    os.environ.pop("ANTHROPIC_BASE_URL", None)

    def make(setup: str, mode: str = "in place", name: str = "project") -> Driver:
        source = tmp_path / name
        source.mkdir(exist_ok=True)
        shell(setup, source)
        driver = Driver(source, tmp_path / f"{name}.worldline", server.base_url, mode == "in place")
        driver.start()
        return driver

    return make
