"""A stranger's machine: a repository full of unfinished work, the command line in processes of its own, a server that is not ours."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests_support import Done, call_worldline, git, run_worldline

from .plain_server import PlainServer


@pytest.fixture
def server() -> Iterator[PlainServer]:
    with PlainServer() as running:
        yield running


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Staged, unstaged and untracked work, a link, a script, an ignored secret, a name that needs care."""
    folder = tmp_path / "pro ject é"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("alpha\n")
    (folder / "tool.sh").write_text("#!/bin/sh\necho hi\n")
    (folder / "tool.sh").chmod(0o755)
    (folder / "link").symlink_to("a.txt")
    (folder / ".gitignore").write_text(".env\n")
    (folder / "new\nline").write_text("odd\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    (folder / "a.txt").write_text("staged\n")
    git(folder, "add", "a.txt")
    (folder / "a.txt").write_text("unstaged\n")
    (folder / "untracked.txt").write_text("mine\n")
    (folder / ".env").write_text("PASSWORD=1\n")
    return folder


@pytest.fixture
def cli() -> Callable[..., Done]:
    def call(*arguments: str | Path, expect: int = 0, timeout: float = 600) -> Done:
        done = run_worldline(*arguments, timeout=timeout)
        assert done.code == expect, done.out + done.err
        assert "Traceback" not in done.err and "Warning" not in done.err, done.err
        return done

    return call


@pytest.fixture
def here() -> Callable[..., Done]:
    """The same commands without a process of their own: to look at what others did, a second cheaper each."""

    return call_worldline


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a command and go on; whatever is left of it is killed at the end."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str | Path) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [sys.executable, "-m", "worldline", *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ,
        )  # fmt: skip
        started.append(child)
        return child

    yield begin
    for child in started:
        if child.poll() is None:
            child.kill()
        child.communicate()
