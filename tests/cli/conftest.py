"""The command line, in this process and in ones of its own, against a scripted model over real HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests_support import Done, call_worldline, repository_with_own_work, run_worldline
from worldline.context.checker import check
from worldline.rehearsal.scenario import parse
from worldline.rehearsal.server import RehearsalServer

SCRIPT: dict[str, Any] = {
    "name": "cli",
    "rules": [
        {
            "when": {"prompt": "make the file"},
            "steps": [
                {"say": "I write it.", "call": {"name": "write", "input": {"path": "new.txt", "content": "one\n"}}},
                {"say": "And change another.", "call": [
                    {"name": "read", "input": {"path": "a.txt"}},
                    {"name": "edit", "input": {"path": "a.txt", "old": "alpha", "new": "beta"}},
                ]},
                {"say": "Done: new.txt is there."},
            ],
        },
        {
            "when": {"prompt": "other way"},
            "steps": [
                {"call": {"name": "write", "input": {"path": "other.txt", "content": "two\n"}}},
                {"say": "Done the other way."},
            ],
        },
        {
            "when": {"prompt": "push"},
            "steps": [
                {"call": {"name": "bash", "input": {"command": "touch ../outside-marker; echo ran"}}},
                {"say": "That is it."},
            ],
        },
        {
            "when": {"prompt": "sleep"},
            "steps": [
                {"say": "A while.", "call": {"name": "bash", "input": {"command": "echo begun; sleep 60"}}},
                {"say": "Awake."},
            ],
        },
        {"when": {"prompt": "broken"}, "fault": "unauthorized"},
        {"when": {"prompt": "for ever"}, "steps": [{"call": {"name": "bash", "input": {"command": "date +%N"}}}]},
    ],
    "default": {"say": "Nothing to do."},
}  # fmt: skip


@pytest.fixture
def server() -> Iterator[RehearsalServer]:
    with RehearsalServer(parse(SCRIPT), checker=check) as running:
        yield running
    assert running.defects == []


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return repository_with_own_work(tmp_path / "project")


@pytest.fixture
def cli() -> Callable[..., Done]:
    """A command in this process: what it loads is loaded once, which saves a second each."""
    return call_worldline


@pytest.fixture
def program() -> Callable[..., Done]:
    """The command as a program, in a process of its own."""

    def call(*arguments: str | Path, expect: int = 0, timeout: float = 600) -> Done:
        done = run_worldline(*arguments, timeout=timeout)
        assert done.code == expect, done.out + done.err
        return done

    return call
