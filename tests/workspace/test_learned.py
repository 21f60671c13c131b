"""What a restore has read back is not looked at again, and whatever happens to it afterwards is seen all the same."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from worldline.workspace.engine import Workspace
from worldline.workspace.folders import Dir
from worldline.workspace.model import RestoreReport

from .conftest import run_sh
from .steps import step

_FILES = ["a", "d/b", "d/c", "e/f/g"]


def _write(work: Path, text: str) -> None:
    for path in _FILES:
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(f"{path} {text}")


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Workspace, list[str]]:
    """A workspace at the second of two states that differ in the content of all files."""
    work = tmp_path / "work"
    work.mkdir()
    workspace = Workspace(work, tmp_path / "store", free_floor=0)
    states: list[str] = []
    for text in ("one", "two"):
        _write(work, text)
        states.append(workspace.capture(states[-1] if states else None).state)
    return workspace, states


def _jump(
    workspace: Workspace, to: str, last: str, done: Callable[[RestoreReport], None] | None = None
) -> None:
    report = workspace.apply(workspace.plan(to, last=last), on_done=done)
    assert report.done, report.note


def _truth(workspace: Workspace, folder: Path) -> bytes:
    whole = Workspace(workspace.work, folder, free_floor=0, watch=False)
    try:
        return whole.state(whole.capture(None).state).files
    finally:
        whole.close()


def test_files_that_were_read_back_are_not_looked_at_again(pair: tuple[Workspace, list[str]]) -> None:
    workspace, (one, two) = pair
    _jump(workspace, one, two)
    assert workspace.stirred
    assert workspace.capture(one).state == one
    assert workspace._capturer.context.dirty == {}
    assert not workspace.stirred
    _jump(workspace, two, one)
    (workspace.work / "d" / "b").write_text("mine")
    state = workspace.capture(two)
    assert state.paths == ["d/b"]
    assert workspace._capturer.context.dirty == {"d/": {"b"}}
    workspace.close()


@pytest.mark.parametrize("path", _FILES)
@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_text(path.read_text().swapcase()),  # as long as it was
        lambda path: path.chmod(0o755),
        lambda path: path.unlink(),
        lambda path: (path.unlink(), path.symlink_to("elsewhere")),
        lambda path: (path.unlink(), path.mkdir(), (path / "inner").write_text("x")),
        lambda path: path.rename(path.with_name("other")),
        lambda path: path.with_name("second").hardlink_to(path),
        lambda path: path.parent.rename(path.parent.with_name("moved")) if path.parent.name in "def" else path.touch(),
    ],
)  # fmt: skip
def test_a_change_after_it_was_read_back_is_captured(
    pair: tuple[Workspace, list[str]], tmp_path: Path, path: str, change: Callable[[Path], object]
) -> None:
    workspace, (one, two) = pair
    _jump(workspace, one, two, lambda _: change(workspace.work / path) and None)
    state = workspace.capture(one).state
    assert workspace.state(state).files == _truth(workspace, tmp_path / "whole")
    workspace.close()


def test_a_restore_that_is_taken_back_teaches_nothing(
    pair: tuple[Workspace, list[str]], tmp_path: Path
) -> None:
    workspace, (one, two) = pair

    def fail(_: RestoreReport) -> None:
        raise OSError("the cursor cannot be moved")

    assert not workspace.apply(workspace.plan(one, last=two), on_done=fail).done
    assert workspace.capture(two).state == two
    assert workspace.state(two).files == _truth(workspace, tmp_path / "whole")
    workspace.close()


def test_what_may_change_in_the_moment_after_the_question_is_read_again(
    pair: tuple[Workspace, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel is asked in the very moment of the change; the walk comes later, as by a large repository. An edit between
    them that leaves the same times is told of the next time, and must not be taken for what was read back."""
    workspace, (one, two) = pair
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now)
    _jump(workspace, one, two)
    repos = workspace._capturer.repos
    refresh = repos.refresh

    def slow(top: Dir) -> bool:
        nonlocal now
        now += 10**10
        return refresh(top)

    monkeypatch.setattr(repos, "refresh", slow)
    assert workspace.capture(one).state == one
    sig = workspace._capturer.sig_of("a")  # folders that were just made are looked into
    assert sig is not None and sig[1] == -1
    monkeypatch.setattr(repos, "refresh", refresh)
    _jump(workspace, two, one)
    now = time.time_ns() + 10**10  # asked long after it
    assert workspace.capture(two).state == two
    sig = workspace._capturer.sig_of("a")
    assert sig is not None and sig[1] > 0
    workspace.close()


@pytest.mark.parametrize("watch", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_to_and_fro_with_changes_between_gives_the_state_of_a_whole_walk(
    tmp_path: Path, seed: int, watch: bool
) -> None:
    rng = random.Random(seed)
    work = tmp_path / "work"
    work.mkdir()
    run_sh("git init -q .", work)
    _write(work, "start")
    workspace = Workspace(work, tmp_path / "store", free_floor=0, watch=watch)
    states = [workspace.capture(None).state]
    for round_ in range(20):
        for _ in range(rng.randrange(3)):
            step(rng, work)
        for path in rng.sample(_FILES, rng.randrange(3)):
            if os.path.lexists(work / path) and (work / path).is_file():
                (work / path).write_text(f"{path} {rng.randrange(10)}")
        last = workspace.capture(states[-1]).state
        assert workspace.state(last).files == _truth(workspace, tmp_path / f"whole{round_}"), round_
        states.append(last)
        to = rng.choice(states)
        plan = workspace.plan(to, last=last, default_choice="restore")
        if workspace.apply(plan).done and rng.random() < 0.5:
            states.append(workspace.capture(to).state)
            assert workspace.state(states[-1]).files == _truth(workspace, tmp_path / f"after{round_}"), round_
    workspace.close()
