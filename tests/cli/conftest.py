"""The command line in processes of its own, against a scripted model over real HTTP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

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


@dataclass
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def server() -> Iterator[RehearsalServer]:
    with RehearsalServer(parse(SCRIPT), checker=check) as running:
        yield running
    assert running.defects == []


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with one commit and work that is not committed."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n")
    (folder / "mine.txt").write_text("committed\n")
    for command in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    (folder / "mine.txt").write_text("my own work\n")
    (folder / "untracked.txt").write_text("not added\n")
    return folder


@pytest.fixture
def cli() -> Callable[..., Done]:
    def call(*arguments: str | Path, expect: int | None = 0, timeout: float = 60) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "worldline", *map(str, arguments)],
            capture_output=True, text=True, timeout=timeout, env=os.environ,
        )  # fmt: skip
        assert expect is None or done.returncode == expect, done.stdout + done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    return call
