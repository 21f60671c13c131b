"""Going to and fro takes back the very files that were replaced, and nothing of that can be told from the outside."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from worldline.core.errors import WorkspaceError
from worldline.workspace import spares, staging
from worldline.workspace.engine import Workspace
from worldline.workspace.settle import Settler

from .conftest import snapshot


def _two(work: Path, ws: Workspace, count: int = 5) -> tuple[str, str]:
    """Two states that differ in `count` files, seen long enough after the changes to be sure of them."""
    for number in range(count):
        (work / f"f{number}").write_text(f"one {number}")
    first = ws.capture(None).state
    time.sleep(0.05)  # past the time in which another change could leave the same times
    ws.capture(first)
    for number in range(count):
        (work / f"f{number}").write_text(f"two {number}")
    time.sleep(0.05)
    return first, ws.capture(first).state


def _go(ws: Workspace, there: str, here: str) -> None:
    report = ws.apply(ws.plan(there, last=here))
    assert report.done and not report.failed, report.note


def _spares(ws: Workspace) -> list[str]:
    names = (path.name for path in (ws.store.path / "spares").glob("*/*"))
    return sorted(name for name in names if name != "journal")


def test_the_same_files_come_back(work: Path, open_workspace: Any) -> None:
    ws = open_workspace()
    first, second = _two(work, ws)
    inodes = {path.name: path.stat().st_ino for path in work.glob("f?")}
    _go(ws, first, second)
    assert len(_spares(ws)) == 5 and not list(work.glob(".worldline*"))
    before = time.time_ns()
    time.sleep(0.05)
    _go(ws, second, first)
    for path in work.glob("f?"):
        assert path.read_text() == f"two {path.name[1:]}" and path.stat().st_ino == inodes[path.name]
        assert path.stat().st_mtime_ns > before  # its content changed: builds must see that


def test_a_spare_that_was_written_to_is_not_used(work: Path, open_workspace: Any) -> None:
    ws = open_workspace()
    first, second = _two(work, ws)
    held = (work / "f1").open("r+")  # a program that has the file open
    _go(ws, first, second)
    held.write("HELD")
    held.close()
    _go(ws, second, first)
    assert (work / "f1").read_text() == "two 1"


def test_a_spare_with_a_second_name_is_not_used(work: Path, tmp_path: Path, open_workspace: Any) -> None:
    ws = open_workspace()
    first, second = _two(work, ws)
    os.link(work / "f2", tmp_path / "elsewhere")
    known = ws.capture(second).state
    time.sleep(0.05)
    ws.capture(known)
    _go(ws, first, second)
    times = (tmp_path / "elsewhere").stat().st_mtime_ns
    _go(ws, second, first)
    assert (work / "f2").stat().st_ino != (tmp_path / "elsewhere").stat().st_ino
    assert (tmp_path / "elsewhere").stat().st_mtime_ns == times
    assert (tmp_path / "elsewhere").read_text() == (work / "f2").read_text() == "two 2"


def test_permissions_are_those_of_the_node(work: Path, open_workspace: Any) -> None:
    ws = open_workspace()
    first, second = _two(work, ws)
    _go(ws, first, second)
    for path in work.glob("f?"):  # the contents of the second state, but as programs
        path.write_text(path.read_text().replace("one", "two"))
        path.chmod(0o755)
    third = ws.capture(first).state
    _go(ws, first, third)
    _go(ws, third, first)
    assert {path.stat().st_mode & 0o777 for path in work.glob("f?")} == {0o755}
    _go(ws, second, third)
    assert {path.stat().st_mode & 0o777 for path in work.glob("f?")} == {0o644}


def test_spares_go_with_the_workspace_and_with_pruning(work: Path, tmp_path: Path) -> None:
    ws = Workspace(work, tmp_path / "s", free_floor=0)
    first, second = _two(work, ws)
    _go(ws, first, second)
    ws.prune({first})
    assert not _spares(ws)
    now = ws.capture(first).state
    (work / "f0").write_text("three")
    time.sleep(0.05)
    third = ws.capture(now).state
    _go(ws, now, third)
    ws.close()
    assert not (tmp_path / "s" / "spares").exists()


def test_the_store_on_another_disk(work: Path, tmp_path: Path, open_workspace: Any, monkeypatch: Any) -> None:
    """Files cannot be moved to the store: they are removed as ever."""
    elsewhere = Path("/dev/shm") / f"worldline-test-{os.getpid()}"
    if not elsewhere.parent.is_dir() or elsewhere.parent.stat().st_dev == work.stat().st_dev:
        elsewhere = tmp_path / "same"
    try:
        ws = open_workspace(store=elsewhere)
        first, second = _two(work, ws)
        _go(ws, first, second)
        _go(ws, second, first)
        assert (work / "f3").read_text() == "two 3" and not list(work.glob(".worldline*"))
        ws.close()
    finally:
        shutil.rmtree(elsewhere, ignore_errors=True)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are counted there")
def test_going_to_and_fro_keeps_no_folder_open_and_always_finds_the_spares(
    work: Path, open_workspace: Any
) -> None:
    ws = open_workspace()
    first, second = _two(work, ws)
    for _ in range(4):
        _go(ws, first, second)
        _go(ws, second, first)
    inodes = {path.stat().st_ino for path in work.glob("f?")}
    opened = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(6):
        time.sleep(0.05)  # what was put down a moment ago is not trusted as a spare
        ws.capture(second)
        _go(ws, first, second)
        time.sleep(0.05)
        ws.capture(first)
        _go(ws, second, first)
    assert len(list(Path("/proc/self/fd").iterdir())) <= opened + 3
    assert {path.stat().st_ino for path in work.glob("f?")} == inodes


def test_going_to_and_fro_at_once_takes_the_same_files(work: Path, open_workspace: Any) -> None:
    """They were changed so shortly before they were seen that their times prove nothing: their content does."""
    ws = open_workspace()
    first, second = _two(work, ws)
    _go(ws, first, second)
    inodes = {path.name: path.stat().st_ino for path in work.glob("f?")}
    _go(ws, second, first)
    _go(ws, first, second)
    assert inodes == {path.name: path.stat().st_ino for path in work.glob("f?")}


def test_a_fresh_spare_that_was_written_to_is_not_used(work: Path, open_workspace: Any) -> None:
    ws = open_workspace()
    first, second = _two(work, ws)
    _go(ws, first, second)
    held = (work / "f1").open("r+")
    _go(ws, second, first)
    held.write("HELD!")  # as long as what is in it
    held.close()
    _go(ws, first, second)
    assert (work / "f1").read_text() == "one 1"


def test_the_last_batches_stay_and_older_ones_go(work: Path, open_workspace: Any) -> None:
    ws = open_workspace()
    states: list[str] = []
    for turn in range(8):
        for number in range(3):
            (work / f"f{number}").write_text(f"turn {turn} {number}")
        states.append(ws.capture(states[-1] if states else None).state)
    for here, there in itertools.pairwise(reversed(states)):  # nowhere twice
        _go(ws, there, here)
    ws._settler.settle()
    assert len(list((ws.store.path / "spares").iterdir())) == 3


def test_going_back_at_once_moves_no_file_and_makes_no_folder(
    work: Path, open_workspace: Any, monkeypatch: Any
) -> None:
    ws = open_workspace(watch=False)
    first, second = _two(work, ws)
    _go(ws, first, second)
    made: list[str] = []
    monkeypatch.setattr(staging, "write_file", lambda name, *_: made.append(name))
    monkeypatch.setattr(spares, "rename_new", lambda name, *_: made.append(name))
    monkeypatch.setattr(Settler, "remove_later", lambda _, folder: made.append(str(folder)))
    for _ in range(3):
        _go(ws, second, first)
        _go(ws, first, second)
    assert made == [] and len(list((ws.store.path / "spares").iterdir())) == 1
    assert [path.read_text() for path in sorted(work.glob("f?"))] == [f"one {n}" for n in range(5)]


@pytest.mark.parametrize("other", ["fewer", "more", "link", "deleted"])
def test_what_is_replaced_together_but_not_wanted_together(
    work: Path, open_workspace: Any, other: str
) -> None:
    """A batch becomes the staging folder only if nothing else lies in it; its files are used one by one then."""
    ws = open_workspace(watch=False)
    for number in range(4):
        (work / f"f{number}").write_text(f"one {number}")
    (work / "link").symlink_to("f0")
    (work / "gone").write_text("gone")
    first = ws.capture(None).state
    for number in range(4):
        (work / f"f{number}").write_text(f"two {number}")
    if other == "link":
        (work / "link").unlink()
        (work / "link").symlink_to("f1")
    if other == "deleted":
        (work / "gone").unlink()
    second = ws.capture(first).state
    wanted = snapshot(work)
    _go(ws, first, second)
    target, here = second, first
    if other == "fewer":  # one of the files is what the target has
        (work / "f1").write_text("two 1")
        here = ws.capture(first).state
    if other == "more":
        (work / "new").write_text("new")
        here = ws.capture(first).state
    _go(ws, target, here)
    assert snapshot(work) == wanted
    _go(ws, first, second)
    assert (work / "f2").read_text() == "one 2" and (work / "gone").read_text() == "gone"
    assert (work / "link").readlink() == Path("f0") and not list(work.glob(".worldline*"))


_KILLED = """
import os, sys
from pathlib import Path
from worldline.workspace.engine import Workspace
work, store, there, here, looked = Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]
ws = Workspace(work, store, free_floor=0)
held = (work / "f1").open("r+")
assert ws.apply(ws.plan(there, last=here), on_done=lambda _: None).done
if looked == "looked":
    assert ws.capture(there).state == there
else:
    held.write("HELD")
    held.flush()
os._exit(9)
"""


@pytest.mark.parametrize("looked", ["looked", "written"])
def test_what_was_written_to_replaced_files_before_a_kill_is_saved(
    work: Path, tmp_path: Path, looked: str
) -> None:
    store = tmp_path / "s"
    ws = Workspace(work, store, free_floor=0)
    first, second = _two(work, ws)
    ws.close()
    command = [sys.executable, "-c", _KILLED, str(work), str(store), first, second, looked]
    assert subprocess.run(command, env=dict(os.environ), check=False).returncode == 9
    again = Workspace(work, store, free_floor=0)
    assert again.recover(first) is None
    result = again.capture(first)
    if looked == "looked":
        assert result.state == first and not result.notes
    else:
        assert [note.path for note in result.notes] == ["f1.during-jump-1"]
        assert again.read_file(result.state, "f1.during-jump-1") == b"HELD1"
    _go(again, second, result.state)
    _go(again, first, second)
    again.close()
    assert not (store / "spares").exists()


def test_another_process_leaves_them_alone(work: Path, tmp_path: Path, open_workspace: Any) -> None:
    ws = open_workspace()
    first, second = _two(work, ws)
    with (work / "f1").open("r+") as held:
        _go(ws, first, second)
        other = Workspace(work, tmp_path / "store", free_floor=0)
        with pytest.raises(WorkspaceError) as refused:
            other.prune({first})
        other.close()
        assert refused.value.kind == "locked" and len(_spares(ws)) == 5
        held.write("HELD")
    assert [note.path for note in ws.capture(first).notes] == ["f1.during-jump-1"]
