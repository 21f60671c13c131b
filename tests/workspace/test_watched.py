"""A capture that looks only at the names the kernel reported gives the state that a walk over everything gives."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from worldline.workspace.engine import Workspace
from worldline.workspace.folders import STAGING, is_staging
from worldline.workspace.model import NOT_CAPTURED
from worldline.workspace.watch import Watcher

from .conftest import run_sh
from .ready import settle
from .steps import step


@pytest.mark.parametrize("seed", range(6))
def test_watched_captures_equal_whole_walks(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    work = tmp_path / "work"
    work.mkdir()
    run_sh("git init -q . && mkdir d && echo 1 > a && echo 2 > d/b && git add -A && git commit -qm one", work)
    watched = Workspace(work, tmp_path / "watched", free_floor=0)
    state = watched.capture(None).state
    for round_ in range(25):
        for _ in range(rng.randrange(1, 8)):
            step(rng, work)
        if rng.random() < 0.15:  # what was learned from events must not fool a walk without them
            watched.unwatch()
            state = watched.capture(state).state
            watched.watch()
        state = watched.capture(state).state
        whole = Workspace(work, tmp_path / f"whole{round_}", free_floor=0, watch=False)
        truth = whole.state(whole.capture(None).state)
        seen = watched.state(state)
        assert (seen.files, seen.perms_tree, seen.omitted) == (
            truth.files,
            truth.perms_tree,
            truth.omitted,
        ), round_
        whole.close()
    watched.close()


def test_a_folder_put_in_anothers_place_while_events_were_lost_is_watched(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "kept").mkdir(parents=True)
    (work / "other").mkdir()
    (work / "kept" / "file").write_text("one")
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    workspace = Workspace(work, tmp_path / "store", free_floor=0)
    state = workspace.capture(None).state
    assert workspace.capture(state).state == state
    watcher = workspace._capturer._watcher
    assert watcher is not None
    with watcher._lock:  # nobody empties the queue
        (work / "other" / "busy").touch()
        for number in range(limit // 2 + 100):
            # Equal events that follow each other are told once.
            (work / "other" / "busy").chmod(0o600 if number % 2 else 0o644)
            (work / "kept").chmod(0o755)
        shutil.rmtree(work / "kept")
        (work / "kept").mkdir()
        (work / "kept" / "file").write_text("one")
    state = workspace.capture(state).state
    (work / "kept" / "file").write_text("another")
    seen = workspace.capture(state).state
    assert workspace.read_file(seen, "kept/file") == b"another"
    workspace.close()


def test_only_the_reported_names_are_looked_at(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for number in range(200):
        (work / f"f{number}").write_text("x")
    workspace = Workspace(work, tmp_path / "store", free_floor=0)
    state = workspace.capture(None).state
    workspace.capture(state)
    (work / "f7").write_text("y")
    asked: list[str] = []
    real = os.stat

    def stat(path: object, *args: object, **options: object) -> os.stat_result:
        asked.append(str(path))
        return real(path, *args, **options)  # type: ignore[call-overload,no-any-return]

    os.stat = stat  # type: ignore[assignment]
    try:
        assert workspace.capture(state).paths == ["f7"]
    finally:
        os.stat = real
    assert "f7" in asked and "f8" not in asked
    workspace.close()


def test_the_staging_folder_of_a_jump_is_no_change(work: Path) -> None:
    watcher = Watcher(work, is_staging)
    watcher.watch("")
    watcher.drain()
    (work / f"{STAGING}{1:016}").mkdir()
    (work / f"{STAGING}{1:016}").rmdir()
    assert watcher.drain() == {}
    (work / "other").mkdir()
    assert watcher.drain() == {"": None}
    watcher.close()


@pytest.mark.parametrize("seed", range(4))
def test_trees_made_from_the_last_ones_are_those_made_anew(
    work: Path, tmp_path: Path, open_workspace: Callable[..., Workspace], seed: int
) -> None:
    rng = random.Random(seed)
    # A name that ends like another entry, one that is no UTF-8, and one folder whose name sorts behind a file's.
    names = ["a", "A100644 a", "a-b", "la\udce4in", *(f"f{n}" for n in range(20))]
    folders = ["", "a.d/", "d/", "d/e/", "d/e/sub/"]
    for folder in folders:
        (work / folder).mkdir(exist_ok=True)
        for name in names:
            (work / folder / name).write_text("same")
    ws = open_workspace()
    state = ws.capture(None).state
    for turn in range(12):
        for _ in range(rng.choice([1, 2, 5, 40])):
            path = work / rng.choice(folders) / rng.choice(names)
            kind = rng.randrange(8)
            if kind == 0 and not path.is_symlink():
                path.chmod(rng.choice([0o644, 0o755, 0o600]))
            elif kind == 1:
                path.unlink()
                path.symlink_to(rng.choice(["same", "elsewhere"]))
            elif kind == 2:
                path.parent.chmod(rng.choice([0o755, 0o700]))
            else:
                path.unlink()
                path.write_text(rng.choice(["same", f"{seed} {turn} {rng.random()}"]))
        state = ws.capture(state).state
        anew = open_workspace(store=tmp_path / f"store-{turn}")
        fresh = anew.state(anew.capture(None).state)
        assert ws.state(state).files == fresh.files and ws.state(state).perms == fresh.perms


def test_a_name_that_ends_like_another_entry_is_not_taken_for_it(
    work: Path, open_workspace: Callable[..., Workspace]
) -> None:
    for name in ("A100644 a", "a"):
        (work / name).write_text("same")
    ws = open_workspace()
    state = ws.capture(None).state
    (work / "a").write_text("another")
    state = ws.capture(state).state
    assert ws.read_file(state, "a") == b"another" and ws.read_file(state, "A100644 a") == b"same"


def test_a_folder_is_looked_into_once_nothing_is_mounted_on_it_any_more(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = work / "outer" / "inner"
    inner.mkdir(parents=True)
    (inner / "file").write_text("under it")
    (inner.parent / "beside").write_text("x")
    workspace = Workspace(work, tmp_path / "store", free_floor=0)
    number, real = inner.stat().st_ino, os.fstat

    def fstat(fd: int) -> object:
        status = real(fd)
        if status.st_ino != number:
            return status
        values = {name: getattr(status, name) for name in dir(status) if name.startswith("st_")}
        return SimpleNamespace(**{**values, "st_dev": status.st_dev + 1})

    with monkeypatch.context() as mounted:
        mounted.setattr(os, "fstat", fstat)
        state = workspace.capture(None).state
        state = workspace.capture(state).state
        assert "another file system" in workspace.state(state).omitted["outer/inner"]
    # Nothing tells of that.
    seen = workspace.capture(state).state
    assert workspace.read_file(seen, "outer/inner/file") == b"under it"
    workspace.close()


def test_a_folder_that_went_and_came_again_is_watched(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "file").write_text("one")
    workspace = Workspace(work, tmp_path / "store", free_floor=0)
    state = workspace.capture(None).state
    work.rename(tmp_path / "elsewhere")
    assert workspace.capture(state).state == NOT_CAPTURED
    work.mkdir()
    (work / "file").write_text("two")
    state = workspace.capture(state).state
    (work / "other").write_text("three")
    seen = workspace.capture(state)
    assert seen.paths == ["other"] and workspace.read_file(seen.state, "other") == b"three"
    workspace.close()


@pytest.mark.parametrize("deep", ["", "in/"])
def test_a_folder_that_was_a_link_for_a_while_is_watched(tmp_path: Path, deep: str) -> None:
    work, away = tmp_path / "work", tmp_path / "away"
    for folder in (work, away):
        (folder / "d" / deep).mkdir(parents=True)
        (folder / "d" / deep / "f").write_text("one")
    settle()
    ws = Workspace(work, tmp_path / "s", free_floor=0)
    state = ws.capture(None).state
    (work / "d").rename(tmp_path / "kept")
    (work / "d").symlink_to(away / "d")
    state = ws.capture(state).state
    (work / "d").unlink()
    (tmp_path / "kept").rename(work / "d")
    state = ws.capture(state).state
    state = ws.capture(state).state
    (work / "d" / deep / "f").write_text("two")
    changed = ws.capture(state)
    ws.close()
    assert changed.paths == [f"d/{deep}f"]
