"""The order of the steps of a restore that safety rests on, and what a cut between two of them leaves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from worldline.core.errors import WorkspaceError
from worldline.workspace import apply as applying
from worldline.workspace import blanks, undo
from worldline.workspace.blanks import Blanks
from worldline.workspace.engine import Workspace
from worldline.workspace.folders import STAGING


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What was synced, renamed and made, in order, by the last two parts of its path."""
    found: list[tuple[str, str]] = []

    def named(path: Any) -> str:
        return "/".join(Path(os.fsdecode(path)).parts[-2:])

    def watch(owner: Any, attribute: str, word: str, describe: Callable[..., str]) -> None:
        real = getattr(owner, attribute)

        def run(*args: Any, **options: Any) -> Any:
            done = real(*args, **options)
            found.append((word, describe(*args)))
            return done

        monkeypatch.setattr(owner, attribute, run)

    for owner, attribute in ((os, "fsync"), (blanks, "_sync")):
        watch(owner, attribute, "sync", lambda fd: named(f"/proc/self/fd/{fd}").replace(*_as_it_is(fd)))
    watch(os, "rename", "rename", lambda old, new: f"{named(old)} > {named(new)}")
    watch(os, "mkdir", "make", lambda path, *_: named(path))
    watch(os, "link", "mark", lambda old, new: named(new))
    return found


def _as_it_is(fd: int) -> tuple[str, str]:
    place = f"/proc/self/fd/{fd}"
    return "/".join(Path(place).parts[-2:]), "/".join(Path(os.readlink(place)).parts[-2:])


def _two(work: Path, ws: Workspace) -> tuple[str, str]:
    for name in "abc":
        (work / name).write_text(f"first {name} " * 50)
    first = ws.capture(None).state
    for name in "abc":
        (work / name).write_text(f"second {name} " * 60)
    second = ws.capture(first).state
    ws.store.sync()
    return first, second


def _first(found: list[tuple[str, str]], word: str, part: str) -> int:
    return next(n for n, (what, name) in enumerate(found) if what == word and part in name)


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="names of open files are read there"
)


@needs_proc
@pytest.mark.parametrize("made_before", [True, False])
def test_one_disk_needs_one_sync_before_anything_is_touched(
    work: Path, open_workspace: Any, events: list[tuple[str, str]], made_before: bool
) -> None:
    ws = open_workspace(watch=False)
    first, second = _two(work, ws)
    if made_before:
        ws._settler.blanks.refill()
    plan = ws.plan(first, last=second)
    events.clear()

    assert ws.apply(plan).done

    syncs = [name for what, name in events if what == "sync"]
    assert len(syncs) == 1 and syncs[0].startswith("0/journal" if made_before else "restore/journal")
    named = _first(events, "rename", "blanks/0 >") if made_before else _first(events, "sync", "restore/")
    assert _first(events, "sync", "") <= named < _first(events, "make", STAGING)
    # What was replaced is let go when the restore is marked as a fact, not before.
    assert _first(events, "mark", "restore/committed") < _first(events, "rename", "> spares/")


@needs_proc
def test_on_two_disks_names_are_synced_too(
    work: Path, open_workspace: Any, events: list[tuple[str, str]], monkeypatch: Any
) -> None:
    """Changes of names have no order there: a workspace that is changed and no journal, or what was replaced gone and no
    mark, is what a loss of power would leave."""
    ws = open_workspace(watch=False)
    first, second = _two(work, ws)
    monkeypatch.setattr(applying, "on_one_disk", lambda *_: False)
    plan = ws.plan(first, last=second)
    events.clear()

    assert ws.apply(plan).done

    touched = _first(events, "make", STAGING)
    assert _first(events, "sync", "store/restore") < touched
    assert [name for what, name in events[:touched] if what == "sync" and name.endswith("/store")]
    marked = _first(events, "sync", "restore/committed")
    assert _first(events, "mark", "restore/committed") < marked < _first(events, "rename", "> spares/")


@needs_proc
def test_a_cursor_moves_after_the_mark_is_on_the_disk(
    work: Path, open_workspace: Any, events: list[tuple[str, str]]
) -> None:
    ws = open_workspace(watch=False)
    first, second = _two(work, ws)
    plan = ws.plan(first, last=second)

    assert ws.apply(plan, on_done=lambda _: events.append(("cursor", ""))).done

    assert _first(events, "sync", "restore/verified") < _first(events, "cursor", "")


_CUT = """
import os, sys
from pathlib import Path
from worldline.workspace import staging, swapping
from worldline.workspace.engine import Workspace
work, store, there, here, step = sys.argv[1:]
ws = Workspace(Path(work), Path(store), free_floor=0, watch=False)
plan = ws.plan(there, last=here)
real = {"exchange": swapping.exchange, "rename_new": swapping.rename_new}

def cut(name):
    def run(*args):
        (Path(work) / args[2 if name == "exchange" else 0]).write_text("mine, just now")
        real[name](*args)
        os._exit(9)
    return run

if step == "staging":
    def half(name, folder, data, perm):
        real_write(name, folder, data[: len(data) // 2], perm)
        os._exit(9)
    real_write = staging.write_file
    staging.write_file = half
else:
    setattr(swapping, step, cut(step))
ws.apply(plan)
os._exit(0)
"""


def _cut(work: Path, store: Path, there: str, here: str, step: str) -> None:
    done = subprocess.run([sys.executable, "-c", _CUT, work, store, there, here, step], check=False)
    assert done.returncode == 9


def _recovered(work: Path, store: Path, cursor: str) -> dict[str, str]:
    ws = Workspace(work, store, free_floor=0, watch=False)
    report = ws.recover(cursor)
    assert report is not None and not report.finished
    ws.close()
    assert not list(work.glob(f"{STAGING}*"))
    return {path.name: path.read_text() for path in work.iterdir()}


@pytest.mark.parametrize("step", ["exchange", "rename_new"])
def test_an_edit_between_the_last_look_and_the_step_comes_back(work: Path, tmp_path: Path, step: str) -> None:
    """The step takes it away, and the program is killed before the next look finds that out."""
    store = tmp_path / "s"
    ws = Workspace(work, store, free_floor=0, watch=False)
    (work / "a").write_text("first")
    first = ws.capture(None).state
    (work / "a").write_text("second")
    (work / "b").write_text("second")
    second = ws.capture(first).state
    ws.close()

    _cut(work, store, first, second, step)  # `a` is overwritten, `b` deleted

    edited = "a" if step == "exchange" else "b"
    assert _recovered(work, store, second) == {"a": "second", "b": "second", edited: "mine, just now"}


def test_half_a_staged_file_is_nobodys_edit(work: Path, tmp_path: Path) -> None:
    """After the end the person made the file by hand what it was about to become: it stays so."""
    store = tmp_path / "s"
    ws = Workspace(work, store, free_floor=0, watch=False)
    (work / "a").write_text("first " * 2000)
    first = ws.capture(None).state
    (work / "a").write_text("second " * 2000)
    second = ws.capture(first).state
    ws.close()

    _cut(work, store, first, second, "staging")
    (work / "a").write_text("first " * 2000)

    assert _recovered(work, store, second) == {"a": "first " * 2000}


def _write(made: Blanks, folder: Path, data: bytes) -> bool:
    begun = made.begin(data)
    if begun is not None:
        begun.finish(str(folder))
    return begun is not None


def test_blanks(tmp_path: Path) -> None:
    made = Blanks(tmp_path)
    assert not _write(made, tmp_path / "a", b"{}")  # there is none yet
    made.refill()
    waiting = len(list((tmp_path / blanks.FOLDER).iterdir()))
    for name in ("a", "a", "empty", "full"):  # a folder that is not there, that has one, and others
        if name in ("empty", "full"):
            (tmp_path / name).mkdir()
        if name == "full":
            (tmp_path / name / "index-0").write_bytes(b"")
        assert _write(made, tmp_path / name, name.encode())
        assert (tmp_path / name / blanks.NAME).read_bytes().strip() == name.encode()
    assert (tmp_path / "full" / "index-0").exists()
    assert not _write(made, tmp_path / "b", bytes(blanks.SIZE + 1)) and not (tmp_path / "b").exists()
    assert len(list((tmp_path / blanks.FOLDER).iterdir())) == waiting - 4
    made.refill()
    assert len(list((tmp_path / blanks.FOLDER).iterdir())) == waiting

    # Of those of another process nobody knows whether they are on the disk.
    assert not _write(Blanks(tmp_path), tmp_path / "b", b"{}")
    # Somebody has removed them.
    shutil.rmtree(tmp_path / blanks.FOLDER)
    (tmp_path / blanks.FOLDER).mkdir()
    assert not _write(made, tmp_path / "b", b"{}")
    made.clear()
    assert not (tmp_path / blanks.FOLDER).exists()


def test_blanks_of_a_process_that_was_killed_go(work: Path, tmp_path: Path) -> None:
    store = tmp_path / "s"
    ws = Workspace(work, store, free_floor=0, watch=False)
    ws.close()
    (store / blanks.FOLDER).mkdir()
    (store / blanks.FOLDER / "0").write_bytes(b"old")
    ws = Workspace(work, store, free_floor=0, watch=False)
    assert ws.capture(None).state
    assert not (store / blanks.FOLDER).exists()
    ws.close()


_THIRD = """
import os, sys
from pathlib import Path
from worldline.workspace import apply
from worldline.workspace.engine import Workspace
work, store, first, second = sys.argv[1:]
ws = Workspace(Path(work), Path(store), free_floor=0, watch=False)
assert ws.apply(ws.plan(first, last=second)).done
assert ws.apply(ws.plan(second, last=first)).done
apply.Restorer._verify = lambda *_: os._exit(9)
ws.apply(ws.plan(first, last=second))
os._exit(0)
"""


def test_the_same_jump_again_that_is_cut_off_is_taken_back(work: Path, tmp_path: Path) -> None:
    """The first one is still on record, for its files may not be on the disk yet: nothing of the third is taken for it."""
    store = tmp_path / "s"
    ws = Workspace(work, store, free_floor=0, watch=False)
    first, second = _two(work, ws)
    (work / "d").write_text("second alone")
    second = ws.capture(second).state
    ws.close()
    before = {path.name: path.read_text() for path in work.iterdir()}

    done = subprocess.run([sys.executable, "-c", _THIRD, work, store, first, second], check=False)

    assert done.returncode == 9 and len(list(store.glob("settling/*"))) == 2
    assert not (work / "d").exists()
    assert _recovered(work, store, second) == before


def test_what_is_put_there_while_a_jump_is_taken_back_stays(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "f").write_text("one\n")
    workspace = Workspace(work, tmp_path / "store")
    first = workspace.capture(None).state
    (work / "f").write_text("two\n")
    last = workspace.capture(first).state

    def fail(report: object) -> None:
        raise WorkspaceError("no")

    swap = undo.exchange

    def late(old: str, old_fd: int, new: str, new_fd: int) -> bool:
        if new == "f" and (work / "f").read_text() == "one\n":
            (tmp_path / "theirs").write_text("theirs\n")
            (tmp_path / "theirs").rename(work / "f")
        return swap(old, old_fd, new, new_fd)

    monkeypatch.setattr(undo, "exchange", late)
    report = workspace.apply(workspace.plan(first, last=last), on_done=fail)
    assert not report.done and (work / "f").read_text() == "theirs\n"
    workspace.close()
