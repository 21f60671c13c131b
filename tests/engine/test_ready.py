"""A copy that is kept ready: made in quiet times by a process of its own, never beside work, and taken by the next session."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests_support import PATIENCE_S, git
from worldline.core import paths
from worldline.engine import ready
from worldline.engine.ready import ReadyDesk
from worldline.protocol.commands import SetSettings, Stop
from worldline.workspace import isolate_make, isolate_ready


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A repository that a copy is kept of."""
    folder = tmp_path / "large"
    folder.mkdir()
    for number in range(isolate_make.LEAST_FILES):
        (folder / f"f{number}").write_text(f"{number}\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    return folder


HELD = """
import os, sys, time
os.nice = lambda by: 0
if "worldline.workspace.isolate_make" in sys.orig_argv:
    from worldline.workspace import isolate_ready
    put = isolate_ready.put_ready
    hold = os.environ["HOLD_COPY"]
    def late(*words):
        while os.path.exists(hold):
            open(hold + ".there", "w").close()
            time.sleep(0.01)
        return put(*words)
    isolate_ready.put_ready = late
"""
"""In the process that makes it: it has its turn as everybody has, and is found at work however late one comes."""


@pytest.fixture(autouse=True)
def hold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A copy is made at once; as long as the returned file is there, its process does not
    come to its end."""
    monkeypatch.setattr(ready, "QUIET_S", 0.05)
    monkeypatch.setattr(ready, "shutil", SimpleNamespace(which=lambda _: None))
    (tmp_path / "held").mkdir()
    (tmp_path / "held" / "sitecustomize.py").write_text(HELD)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "held"), os.environ["PYTHONPATH"]]))
    monkeypatch.setenv("HOLD_COPY", str(tmp_path / "hold"))
    return tmp_path / "hold"


async def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.005)


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def at_work(desk: ReadyDesk, hold: Path) -> int:
    """The process that has nearly made it, and is held there."""
    await until(hold.with_name("hold.there").exists)
    assert desk.process is not None
    return desk.process.pid


async def test_the_next_session_takes_it(bench: Any, large: Path) -> None:
    first = await bench(workspace=large)
    assert not isolate_ready.found()
    first.actor.greeted()
    await until(lambda: first.actor.ready.made)
    (copy,) = isolate_ready.found()
    assert copy.source == large and git(large, "worktree", "list").count("\n") == 1
    inode = (copy.path / "files").stat().st_ino
    second = await bench(workspace=large)
    assert second.root.stat().st_ino == inode and not isolate_ready.found()
    assert git(second.root, "status", "--porcelain") == "" and len(list(second.root.iterdir())) == 1_001
    # The window of that session has another one made, after what the first has no use for is tidied up.
    second.actor.greeted()
    await until(isolate_ready.found)
    assert len(isolate_ready.found()) == 1


@pytest.mark.parametrize("how", ["command", "run", "end"])
async def test_it_is_never_made_beside_work(bench: Any, large: Path, how: str, hold: Path) -> None:
    hold.touch()
    b = await bench(workspace=large)
    b.actor.greeted()
    desk = b.actor.ready
    pid = await at_work(desk, hold)
    if how == "command":
        # Asking for something that only reads disturbs nothing.
        await b.actor.handle("storage", Stop())
        assert desk.process is not None and desk.process.pid == pid
        desk.noticed("jump")
    elif how == "run":
        desk._busy = lambda: True
    else:
        await b.actor.close()
        assert gone(pid)
    await until(lambda: gone(pid))
    assert desk.made == 0 and not isolate_ready.found()
    if how == "end":
        return
    hold.unlink()
    desk._busy = lambda: False
    await until(lambda: desk.made)
    assert len(isolate_ready.found()) == 1
    assert len(list(paths.ready_dir().iterdir())) == 1, "what was left half made is removed"


async def test_a_window_that_is_made_anew_has_no_second_one_made(bench: Any, large: Path, hold: Path) -> None:
    hold.touch()
    b = await bench(workspace=large)
    b.actor.greeted()
    pid = await at_work(b.actor.ready, hold)
    task = b.actor.ready._task
    b.actor.greeted()
    assert b.actor.ready._task is task
    await b.actor.ready.close()
    assert gone(pid) and task is not None and task.done()


async def test_nothing_begins_while_a_run_goes_on(bench: Any, large: Path) -> None:
    b = await bench(workspace=large)
    asked = 0

    def busy() -> bool:
        nonlocal asked
        asked += 1
        return asked < 4

    b.actor.ready._busy = busy
    b.actor.greeted()
    await until(lambda: b.actor.ready.process is not None or asked > 4)
    assert asked >= 4


async def test_who_does_not_want_it_has_none(bench: Any, large: Path) -> None:
    b = await bench(workspace=large)
    b.actor.greeted()
    await until(lambda: b.actor.ready.made)
    assert len(isolate_ready.found()) == 1
    await b.actor.handle("set_settings", SetSettings(values={"ready_copy": False}))
    await until(lambda: b.actor.ready.made == 2)
    assert not list(paths.ready_dir().iterdir())
    c = await bench(workspace=large)
    c.actor.greeted()
    task = c.actor.ready._task
    assert task is not None
    await asyncio.wait_for(task, PATIENCE_S)
    assert c.actor.ready.made == 0 and not list(paths.ready_dir().iterdir())


@pytest.mark.parametrize("how", ["in place", "no window", "reading"])
async def test_sessions_without_need_of_it(bench: Any, large: Path, how: str) -> None:
    b = await bench(workspace=large, in_place=how == "in place" or None)
    if how == "reading":
        b.actor.shared.info.read_only = True
    if how != "no window":
        b.actor.greeted()
    assert b.actor.ready._task is None


@pytest.mark.parametrize("in_place", [True, None])
async def test_what_a_killed_maker_has_left_goes_when_a_session_is_opened(
    bench: Any, large: Path, repo: Path, hold: Path, in_place: bool | None
) -> None:
    hold.touch()
    command = [sys.executable, "-m", "worldline.workspace.isolate_make", str(large)]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE) as killed,
        subprocess.Popen(command, stdin=subprocess.PIPE) as other,
    ):
        await until(lambda: len(list(paths.ready_dir().glob(".owned-*/files/f999"))) == 2)
        killed.kill()
        killed.wait(PATIENCE_S)
        b = await bench(workspace=repo, in_place=in_place)
        b.actor.greeted()
        await until(lambda: b.actor.ready.made)
        # The one that is at work keeps what it has.
        (left,) = paths.ready_dir().iterdir()
        assert f"~{other.pid}~" in left.name and not isolate_ready.is_left()
        hold.unlink()
        assert other.wait(PATIENCE_S) == 0
    assert len(isolate_ready.found()) == 1


async def test_a_small_repository_is_left_alone(bench: Any, repo: Path) -> None:
    b = await bench(workspace=repo)
    b.actor.greeted()
    await until(lambda: b.actor.ready.made)
    assert not list(paths.ready_dir().iterdir())


def test_the_process_ends_with_the_one_that_started_it(large: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-m", "worldline.workspace.isolate_make", str(large)], stdin=subprocess.DEVNULL, check=False,
        timeout=PATIENCE_S,
    )  # fmt: skip
    assert made.returncode == 1 and not isolate_ready.found()
    isolate_ready.finish()
    assert not list(paths.ready_dir().iterdir())


def test_the_process_comes_to_its_end_in_order(large: Path) -> None:
    command = [sys.executable, "-m", "worldline.workspace.isolate_make", str(large)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.wait(PATIENCE_S) == 0
        assert process.stderr is not None and process.stderr.read() == b""
    assert len(isolate_ready.found()) == 1
