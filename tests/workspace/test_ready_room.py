"""Copies that are kept ready: how many there are, where, and when they go."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from worldline.core import paths
from worldline.core.errors import WorkspaceError
from worldline.workspace import isolate, isolate_make, isolate_ready

from .ready import make, same_both_ways, settle, waiting
from .test_engine import SETUP

Sh = Callable[..., str]


def test_small_and_large_ones_are_not_kept(work: Path, sh: Sh) -> None:
    sh(SETUP)
    few = make(work, least_files=isolate_make.LEAST_FILES)
    assert few.path is None and "fewer than 1,000" in few.why_not
    large = make(work, max_bytes=4096)
    assert large.path is None and "allowed" in large.why_not
    assert os.listdir(paths.ready_dir()) == []
    make(work)
    assert make(work, max_bytes=4096).path is None  # the one that is there goes as well
    assert os.listdir(paths.ready_dir()) == []


def test_the_oldest_make_room(work: Path, sh: Sh, tmp_path: Path) -> None:
    sh(SETUP)
    works = [work, tmp_path / "two", tmp_path / "three"]
    for other in works[1:]:
        shutil.copytree(work, other, symlinks=True)
    size = make(works[0]).bytes
    settle()
    make(works[1], max_bytes=2 * size)
    assert waiting() == [isolate_ready.place_of(one) for one in works[:2]]
    make(works[2], max_bytes=2 * size)
    assert waiting() == [isolate_ready.place_of(one) for one in works[1:]]


def test_it_goes_with_its_repository(work: Path, sh: Sh) -> None:
    sh(SETUP)
    make(work)
    isolate_ready.finish()
    assert len(waiting()) == 1
    shutil.rmtree(work / ".git")
    isolate_ready.finish()
    assert os.listdir(paths.ready_dir()) == []


def test_one_that_nobody_takes_goes(work: Path, sh: Sh) -> None:
    sh(SETUP)
    place = make(work).path
    assert place is not None
    old = time.time() - (isolate_ready.UNUSED_DAYS + 1) * 86_400
    os.utime(place / "manifest", (old, old))
    isolate_ready.finish()
    assert os.listdir(paths.ready_dir()) == []


def test_removing_one(work: Path, sh: Sh, tmp_path: Path) -> None:
    sh(SETUP)
    made = make(work)
    assert made.path is not None
    for wrong in (
        work,
        paths.ready_dir(),
        made.path / "files",
        paths.ready_dir() / "none",
        paths.ready_dir() / "..",
    ):
        with pytest.raises(WorkspaceError) as caught:
            isolate_ready.remove(wrong)
        assert caught.value.kind == "refused"
    assert isolate_ready.remove(made.path) == made.bytes > 0
    assert os.listdir(paths.ready_dir()) == []
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "p").write_text("p")
    made.path.symlink_to(tmp_path / "precious")
    isolate_ready.finish()
    assert not os.path.lexists(made.path) and (tmp_path / "precious" / "p").read_text() == "p"


def test_on_another_disk(work: Path, sh: Sh, monkeypatch: pytest.MonkeyPatch) -> None:
    shm = Path("/dev/shm")
    if not os.access(shm, os.W_OK) or shm.stat().st_dev == work.stat().st_dev:
        pytest.skip("there is no second disk here")
    sh(SETUP)
    with tempfile.TemporaryDirectory(prefix="worldline-ready-", dir=shm) as home:
        monkeypatch.setenv("WORLDLINE_HOME", home)
        make(work)
        same_both_ways(work)


def test_worktrees_on_another_disk_than_the_copies(work: Path, sh: Sh, tmp_path: Path) -> None:
    shm = Path("/dev/shm")
    if not os.access(shm, os.W_OK) or shm.stat().st_dev == work.stat().st_dev:
        pytest.skip("there is no second disk here")
    sh(SETUP)
    with tempfile.TemporaryDirectory(prefix="worldline-ready-", dir=shm) as elsewhere:
        paths.data_home()
        (paths.data_home() / "worktrees").symlink_to(elsewhere)
        make(work)
        assert isolate.prepare(work, "aaaaaaaa").path.is_dir() and waiting()  # made anew, the copy stays
