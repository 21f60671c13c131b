"""Where a repository is asked for again between two captures, and what is noticed of a git folder that changes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from worldline.workspace.repos import GitRoot

from .conftest import run_sh


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    run_sh("git init -q -b main && echo 1 > a && git add a && git commit -qm one", folder)
    return folder


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths of the repositories that were looked at as a whole."""
    paths: list[str] = []
    real = GitRoot.find.__func__  # type: ignore[attr-defined]

    def find(cls: type[GitRoot], work: Path, path: str) -> GitRoot | None:
        paths.append(path)
        found: GitRoot | None = real(cls, work, path)
        return found

    monkeypatch.setattr(GitRoot, "find", classmethod(find))
    return paths


def _settled(ws: Any) -> str:
    """After a capture that has seen everything long enough after its last change to be sure of it."""
    time.sleep(0.05)  # past the time in which another change could leave the same times
    state: str = ws.capture(None).state
    return state


def test_a_repository_that_stays_is_not_looked_at_again(
    work: Path, open_workspace: Callable[..., Any], asked: list[str]
) -> None:
    run_sh("git init -q n && git -C n commit -q --allow-empty -m n", work)
    ws = open_workspace()
    state = _settled(ws)
    asked.clear()
    (work / "new").write_text("new")
    assert ws.capture(state).changed
    assert set(asked) == {"n"}  # inside the workspace a command can have planted something
    asked.clear()
    run_sh("git config worldline.test 1", work)
    ws.capture(state)
    assert "" in asked


def test_a_worktree_is_asked_for_when_its_pointer_changes(
    work: Path, tmp_path: Path, open_workspace: Callable[..., Any], asked: list[str]
) -> None:
    run_sh(f"git worktree add -q {tmp_path}/wt && git branch other", work)
    ws = open_workspace(tmp_path / "wt")
    state = _settled(ws)
    asked.clear()
    ws.capture(state)
    assert asked == []
    run_sh(f"git worktree add -q {tmp_path}/wt2 other && cp {tmp_path}/wt2/.git {tmp_path}/wt/.git", work)
    assert ws.capture(state).branch == "other"


def test_a_file_that_another_repository_in_its_place_tracks_is_captured(
    work: Path, tmp_path: Path, open_workspace: Callable[..., Any]
) -> None:
    """Though it is ignored, and nothing happened in its folder."""
    run_sh("mkdir logs && echo l > logs/x.log && echo '*.log' > .gitignore", work)
    ws = open_workspace()
    state = _settled(ws)
    assert "logs/x.log" not in ws.state(state).tracked
    run_sh(
        f"rm -rf .git && git init -q --separate-git-dir {tmp_path}/elsewhere . && git add -f logs/x.log", work
    )
    assert ws.read_file(ws.capture(state).state, "logs/x.log") == b"l\n"


def test_a_head_that_becomes_a_link_is_noticed(work: Path, open_workspace: Callable[..., Any]) -> None:
    ws = open_workspace()
    first = ws.capture(None)
    assert first.omitted == []
    run_sh("rm .git/HEAD && ln -s refs/heads/main .git/HEAD", work)
    second = ws.capture(first.state)
    assert any("HEAD is a link" in gap.reason for gap in second.omitted)
    run_sh("rm .git/HEAD && echo 'ref: refs/heads/main' > .git/HEAD", work)
    third = ws.capture(second.state)
    assert third.omitted == [] and third.branch == "main"


def test_a_pipe_planted_into_a_known_repository_is_noticed(
    work: Path, open_workspace: Callable[..., Any]
) -> None:
    run_sh("git init -q n && git -C n commit -q --allow-empty -m n", work)
    ws = open_workspace()
    first = ws.capture(None)
    run_sh("mkfifo n/.git/refs/heads/pipe", work)
    second = ws.capture(first.state)
    assert any("is no file" in gap.reason for gap in second.omitted)
    run_sh("rm n/.git/refs/heads/pipe", work)
    third = ws.capture(second.state)
    assert not any("is no file" in gap.reason for gap in third.omitted)
