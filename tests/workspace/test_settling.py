"""What a loss of power leaves of a finished restore, and what the next start makes of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from worldline.core.errors import WorkspaceError
from worldline.workspace import after_power, settle
from worldline.workspace.durable import boot_id, is_hollow
from worldline.workspace.engine import Workspace

_GO = """
import os, sys
from pathlib import Path
from worldline.workspace.engine import Workspace
ws = Workspace(Path(sys.argv[1]), Path(sys.argv[2]), free_floor=0, watch=False)
plan = ws.plan(sys.argv[3], last=sys.argv[4])
if sys.argv[5] == "half":
    def die(*_):
        os._exit(9)
    from worldline.workspace import apply
    apply.Restorer._verify = die
assert ws.apply(plan, on_done=lambda _: None).done
os._exit(9)
"""
"""A jump whose process ends at once, without a close."""


def _jump(work: Path, store: Path, there: str, here: str, how: str = "whole") -> None:
    done = subprocess.run(
        [sys.executable, "-c", _GO, str(work), str(store), there, here, how],
        env=dict(os.environ),
        check=False,
    )
    assert done.returncode == 9


def _switch_off(store: Path) -> None:
    """The records are of an earlier run of the machine."""
    records = [*store.glob("settling/*/journal"), *store.glob("restore/journal")]
    assert records
    for record in records:
        record.write_text(record.read_text().replace(boot_id(), "earlier"))


def _empty(path: Path, data: bytes = b"") -> None:
    """As a loss of power leaves a file: its times are those of the last write."""
    status = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.fixture
def jumped(work: Path, tmp_path: Path) -> tuple[Path, Path, str, str]:
    """A workspace and its store after a jump from the second state to the first."""
    store = tmp_path / "s"
    ws = Workspace(work, store, free_floor=0, watch=False)
    for name in "abcd":
        (work / name).write_text(f"first {name} " * 2000)
    first = ws.capture(None).state
    for name in "abcd":
        (work / name).write_text(f"second {name} " * 3000)
    second = ws.capture(first).state
    ws.close()
    _jump(work, store, first, second)
    return work, store, first, second


def test_lost_content_is_written_again(jumped: tuple[Path, Path, str, str]) -> None:
    work, store, first, _ = jumped
    whole = (work / "b").read_bytes()
    _switch_off(store)
    _empty(work / "a")
    _empty(work / "b", whole[:4096] + bytes(len(whole) - 4096))
    _empty(work / "c", whole[:0] + b"mine, as long ago")  # no loss of power makes this
    (work / "d").write_text("")  # emptied since
    with_power = Workspace(work, store, free_floor=0, watch=False)
    report = with_power.recover(first)
    assert report is not None and report.finished and "written again: 2." in report.note
    assert (work / "a").read_text() == "first a " * 2000
    assert (work / "b").read_bytes() == whole
    assert (work / "c").read_text() == "mine, as long ago" and (work / "d").read_text() == ""
    assert not list(work.glob(".worldline*"))
    with_power.close()
    assert not list(store.glob("settling/*"))


def test_without_a_loss_of_power_nothing_is_touched(jumped: tuple[Path, Path, str, str]) -> None:
    work, store, first, _ = jumped
    _empty(work / "a")
    ws = Workspace(work, store, free_floor=0, watch=False)
    assert ws.recover(first) is None and (work / "a").read_text() == ""
    ws.close()


def test_a_damaged_record_does_not_stop_anything(jumped: tuple[Path, Path, str, str], caplog: Any) -> None:
    work, store, first, _ = jumped
    next(store.glob("settling/*/journal")).write_text("{")
    ws = Workspace(work, store, free_floor=0, watch=False)
    assert ws.recover(first) is None
    assert ws.capture(first).state == first
    ws.close()


@pytest.mark.parametrize("power", [False, True])
def test_half_a_jump_to_where_the_cursor_stands_is_undone(work: Path, tmp_path: Path, power: bool) -> None:
    """The files differ from the cursor's node by what the person did; a jump there is cut off in the middle. That the
    cursor stands there says nothing about the files."""
    store = tmp_path / "s"
    ws = Workspace(work, store, free_floor=0, watch=False)
    (work / "a").write_text("node")
    (work / "b").write_text("node")
    node = ws.capture(None).state
    (work / "a").write_text("mine")
    mine = ws.capture(node).state
    ws.close()
    _jump(work, store, node, mine, "half")
    assert (work / "a").read_text() == "node"
    if power:
        _switch_off(store)
        _empty(work / "a")
    ws = Workspace(work, store, free_floor=0, watch=False)
    report = ws.recover(node)
    assert report is not None and not report.finished and (work / "a").read_text() == "mine"
    ws.close()


def test_closing_leaves_nothing_to_settle(jumped: tuple[Path, Path, str, str]) -> None:
    work, store, first, second = jumped
    ws = Workspace(work, store, free_floor=0, watch=False)
    assert ws.apply(ws.plan(second, last=first)).done
    ws.close()
    assert not list(store.glob("settling/*")) and not (store / "restore").exists()


@pytest.mark.parametrize(
    ("data", "hollow"),
    [
        (b"", True),
        (b"x" * 5000, False),
        (b"x" * 4096, True),
        (bytes(5000), True),
        (bytes(4096) + b"x" * 904, True),
        (b"x" * 4096 + bytes(904), True),
        (b"x" * 5000 + b"\0", False),
        (b"y" + b"x" * 4999, False),
    ],
)
def test_what_a_loss_of_power_looks_like(data: bytes, hollow: bool) -> None:
    assert is_hollow(data, b"x" * 5000) is hollow


def test_a_pipe_in_the_place_of_a_file_holds_up_no_record(jumped: tuple[Path, Path, str, str]) -> None:
    work, store, *_ = jumped
    first = next(path for path in sorted(work.iterdir()) if path.is_file())
    first.unlink()
    os.mkfifo(first)
    assert list(store.glob("settling/*"))

    ws = Workspace(work, store, free_floor=0)
    assert ws.capture(None).state
    ws.close()

    assert not list(store.glob("settling/*"))


@pytest.mark.parametrize("left", [b"", bytes(100)])
def test_an_object_that_lost_its_content_is_written_again(work: Path, tmp_path: Path, left: bytes) -> None:
    """It has the name of what is about to be written: taken for that, the state could not be read."""
    store = tmp_path / "s"
    (work / "a").write_text("one")
    ws = Workspace(work, store, free_floor=0, watch=False)
    first = ws.capture(None).state
    (work / "a").write_text("two")
    second = ws.capture(first).state
    ws.close()
    lost = [path for path in store.glob("objects/??/*") if path.is_file()]
    (work / "a").write_text("one")
    for path in lost:
        path.chmod(0o600)
        path.write_bytes(left)
    (store / "boot").write_text("earlier")

    ws = Workspace(work, store, free_floor=0, watch=False)
    again = ws.capture(None).state
    assert len(list(store.glob("objects/??/*"))) < len(lost) and again != second
    assert ws.read_file(again, "a") == b"one"
    ws.close()


@pytest.mark.parametrize("packed", [False, True])
def test_of_a_commit_that_lost_a_file_with_the_power_all_is_copied_again(
    work: Path, sh: Callable[..., str], tmp_path: Path, packed: bool
) -> None:
    """Its trees are there: they were read, or lie in a pack. What they name is not, and git may have it no more tomorrow."""
    sh("git init -q . && mkdir d && echo one > d/a && git add . && git commit -qm one && echo mine > d/a")
    store = tmp_path / "s"
    ws = Workspace(work, store, free_floor=0, watch=False)
    first = ws.capture(None).state
    ws.close()
    if packed:
        for number in range(50):
            (work / f"n{number}").write_text(str(number))
        sh("git add n* && git commit -qm many")
        ws = Workspace(work, store, free_floor=0, watch=False)
        ws.capture(first)
        ws.close()
    blob = sh("git rev-parse HEAD:d/a").strip()
    lost = store / "objects" / blob[:2] / blob[2:]
    lost.chmod(0o600)
    lost.write_bytes(b"")
    (store / "boot").write_text("earlier")

    for _ in range(2):  # also for the process after the one that has found it
        sh("echo more >> more && git add more && git commit -qm more")
        ws = Workspace(work, store, free_floor=0, watch=False)
        state = ws.capture(first).state
        assert ws.missing({state}) == {}
        lost.unlink()
        ws.close()
    ws = Workspace(work, store, free_floor=0, watch=False)
    ws.prune({ws.capture(None).state})
    assert not (store / "gaps").exists() and not ws.store.has_gaps
    ws.close()


def test_objects_are_looked_at_once_after_a_start_of_the_machine(
    work: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    store = tmp_path / "s"
    seen: list[bytes] = []
    real = after_power._latest
    monkeypatch.setattr(after_power, "_latest", lambda objects: (seen.append(b"looked"), real(objects))[1])
    for _ in range(3):
        ws = Workspace(work, store, free_floor=0, watch=False)
        assert ws.capture(None).state
        ws.close()
    assert seen == [b"looked"]
    (store / "boot").write_text("earlier")
    ws = Workspace(work, store, free_floor=0, watch=False)
    ws.recover()
    ws.close()
    assert len(seen) == 2


@pytest.mark.parametrize("how", ["saved", "gone", "saved twice"])
def test_what_is_saved_as_lost_content_is_written_again_stays(
    jumped: tuple[Path, Path, str, str], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    work, store, first, _ = jumped
    _switch_off(store)
    _empty(work / "a")
    _empty(work / "b")

    def save(text: str) -> None:
        (work / "temp").write_text(text)
        (work / "temp").rename(work / "a")

    real, steps = settle.exchange, [0]

    def step(old: str, old_fd: int, new: str, new_fd: int) -> bool:
        if new == "a":
            steps[0] += 1
            if steps[0] == 1:
                save("mine")
            elif how == "saved twice" and steps[0] == 2:
                save("mine, newer")
            if how == "gone":
                (work / "a").unlink()
        return real(old, old_fd, new, new_fd)

    monkeypatch.setattr(settle, "exchange", step)
    ws = Workspace(work, store, free_floor=0, watch=False)
    report = ws.recover(first)
    ws.close()
    assert report is not None and "written again: 1." in report.note
    assert (work / "b").read_text() == "first b " * 2000
    if how == "gone":
        assert not (work / "a").exists()
    else:
        assert (work / "a").read_text() == ("mine" if how == "saved" else "mine, newer")
    assert not list(work.glob(".worldline*"))
    if how == "saved twice":
        assert (work / "a.during-jump-1").read_text() == "mine"


def test_nothing_is_pruned_while_a_jump_is_to_be_taken_back(work: Path, tmp_path: Path) -> None:
    store = tmp_path / "s"
    ws = Workspace(work, store, free_floor=0, watch=False)
    (work / "a").write_text("first")
    first = ws.capture(None).state
    (work / "a").write_text("second")
    second = ws.capture(first).state
    ws.close()
    _jump(work, store, first, second, "half")
    ws = Workspace(work, store, free_floor=0, watch=False)
    with pytest.raises(WorkspaceError, match="has not been finished or undone yet"):
        ws.prune({first})
    assert ws.recover(second) is not None and (work / "a").read_text() == "second"
    assert ws.prune({second}).states_removed == 1
    ws.close()
