"""Whatever is written while a jump is at work is on the disk and in the next state, at whichever step it comes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from worldline.core.errors import WorkspaceError
from worldline.workspace import apply, learned, reading, scan, swapping, undo
from worldline.workspace.engine import Workspace
from worldline.workspace.folders import STAGING
from worldline.workspace.model import RestoreReport
from worldline.workspace.safefs import SafeTree
from worldline.workspace.watch import Watcher

from .conftest import TwoStates, run_sh

_ONE = "git init -q; echo one one >f; git add f; git commit -qm 1"
_TWO = "git init -q; echo one one >f; echo k >k; git add .; git commit -qm 1"
_MINE = "mine, just now"


class Place:
    """A workspace at the second of two states: `f` differs, `gone` is only in the first, `made` only in the second."""

    def __init__(self, tmp_path: Path, *, watch: bool = True) -> None:
        self.work = tmp_path / "work"
        self.work.mkdir()
        self.store = tmp_path / "store"
        self.ws = Workspace(self.work, self.store, free_floor=0, watch=watch)
        (self.work / "d").mkdir()
        self.write("f", "one one one one")
        self.write("d/gone", "gone gone gone ")
        self.first = self.ws.capture(None).state
        self.write("f", "two two two two")
        (self.work / "d/gone").unlink()
        self.write("d/made", "made made made ")
        self.second = self.ws.capture(self.first).state

    def write(self, path: str, text: str) -> None:
        (self.work / path).write_text(text)

    def save(self, path: str, text: str) -> None:
        """As editors do: beside it, then over it."""
        (self.work / "temp~").write_text(text)
        (self.work / "temp~").rename(self.work / path)

    def jump(self, done: Callable[[RestoreReport], None] | None = None) -> RestoreReport:
        return self.ws.apply(self.ws.plan(self.first, last=self.second), on_done=done)

    def found(self, text: str = _MINE) -> list[str]:
        """Where the text is, on the disk and in the state of now alike."""
        state = self.ws.capture(None).state
        paths = [p for p in self.work.rglob("*") if p.is_file() and text in p.read_text()]
        names = sorted(str(path.relative_to(self.work)) for path in paths)
        assert all(text in self.ws.read_file(state, name).decode() for name in names)
        assert not list(self.work.glob(f"{STAGING}*"))
        return names


@pytest.fixture(params=[True, False], ids=["watched", "walked"])
def place(request: Any, tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path, watch=request.param)
    yield made
    made.ws.close()


def _once(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, act: Callable[..., Any], *, after: bool
) -> None:
    """Do something once, before or after a step. `act` gets what the step does."""
    real, left = getattr(owner, name), [1]

    def step(*args: Any, **more: Any) -> Any:
        first = bool(left) and act(*args) is not False if not after else False
        if first:
            left.clear()
        result = real(*args, **more)
        if after and left and act(*args) is not False:
            left.clear()
        return result

    monkeypatch.setattr(owner, name, step)


@pytest.mark.parametrize("path", ["f", "d/made"])
@pytest.mark.parametrize("moment", ["looked", "done", "jumped"])
def test_what_is_written_to_a_file_that_was_open_is_saved_beside_it(
    place: Place, monkeypatch: pytest.MonkeyPatch, path: str, moment: str
) -> None:
    held = os.open(place.work / path, os.O_WRONLY)
    write = lambda *_: os.pwrite(held, f"{_MINE}!".encode(), 0) and None  # noqa: E731 - as long as what is in it
    if moment == "looked":
        _once(monkeypatch, apply.Restorer, "_verify", write, after=False)
    report = place.jump(write if moment == "done" else None)
    if moment == "jumped":
        write()
    os.close(held)
    assert report.done, report.note
    beside = f"{path}.during-jump-1"
    if moment != "jumped":
        assert beside in report.note
        assert place.found() == [beside]
        return
    result = place.ws.capture(place.first)
    assert [note.path for note in result.notes] == [beside]
    assert place.found() == [beside]
    place.ws.close()
    assert (place.work / beside).read_text() == f"{_MINE}!"


def test_what_is_written_to_a_file_that_was_open_is_saved_when_the_workspace_is_closed(place: Place) -> None:
    with (place.work / "f").open("r+") as held:
        assert place.jump().done
        held.write(_MINE)
    place.ws.close()
    assert (place.work / "f.during-jump-1").read_text().startswith(_MINE)


def test_what_was_saved_is_not_a_spare(place: Place) -> None:
    with (place.work / "f").open("r+") as held:
        assert place.jump(lambda _: held.write(_MINE) and held.flush()).done
    assert place.ws.apply(place.ws.plan(place.second, last=place.first)).done
    assert (place.work / "f").read_text() == "two two two two"
    assert place.found() == ["f.during-jump-1"]


@pytest.mark.parametrize("newest", ["saved", "written", "moved"])
def test_two_edits_around_one_exchange_are_both_there(
    place: Place, monkeypatch: pytest.MonkeyPatch, newest: str
) -> None:
    """One between the look and the step, and one before the step is taken back."""

    def first(_old: str, _fd: int, new: str, _new_fd: int) -> Any:
        return place.save("f", "mine, before") and None if new == "f" else False

    def second(*_: Any) -> Any:
        if newest == "moved":
            (place.work / "f").rename(place.work / "f~")
        place.save("f", _MINE) if newest != "written" else place.write("f", _MINE)

    _once(monkeypatch, swapping, "exchange", first, after=False)
    _once(monkeypatch, swapping.Swap, "_give_back", second, after=False)
    report = place.jump()
    assert [left.path for left in report.failed] == ["f"]
    assert (place.work / "f").read_text() == _MINE
    assert place.found() == ["f"]
    assert place.found("mine, before") == ["f.during-jump-1"] and "f.during-jump-1" in report.note


def test_two_edits_around_a_deletion_are_both_there(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def first(old: str, *_: Any) -> Any:
        return place.save("d/made", "mine, before") and None if old == "made" else False

    def second(old: str, *_: Any) -> Any:
        return place.write("d/made", _MINE) and None if old == "made" else False

    _once(monkeypatch, swapping, "rename_new", second, after=True)
    _once(monkeypatch, swapping, "rename_new", first, after=False)
    report = place.jump()
    assert [left.path for left in report.failed] == ["d/made"]
    assert place.found() == ["d/made"]
    assert place.found("mine, before") == ["d/made.during-jump-1"]


def _fail(_: RestoreReport) -> None:
    raise WorkspaceError("no")


@pytest.mark.parametrize("step", ["_is_ours", "rename_new"])
def test_what_is_put_over_a_made_file_while_the_jump_is_taken_back_stays(
    place: Place, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def put(*args: Any) -> Any:
        return place.save("d/gone", _MINE) and None if "gone" in args else False

    owner = undo.Undo if step == "_is_ours" else undo
    _once(monkeypatch, owner, step, put, after=step == "_is_ours")
    assert not place.jump(_fail).done
    assert place.found() == ["d/gone"]
    assert (place.work / "f").read_text() == "two two two two"


@pytest.mark.parametrize("path", ["f", "d/gone"])
def test_what_is_written_to_an_open_file_that_is_taken_away_again_is_saved(
    place: Place, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    held: list[int] = []

    def hold(_: RestoreReport) -> None:
        held.append(os.open(place.work / path, os.O_WRONLY))
        _fail(_)

    _once(
        monkeypatch,
        undo.aside,
        "save",
        lambda *_: os.pwrite(held[0], _MINE.encode(), 0) and None,
        after=False,
    )
    report = place.jump(hold)
    assert not report.done and f"{path}.during-jump-1" in report.note
    assert place.found() == [f"{path}.during-jump-1"]


def test_without_an_exchange_what_is_put_there_while_a_jump_is_taken_back_stays(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(swapping, "exchange", lambda *_: False)
    monkeypatch.setattr(undo, "exchange", lambda *_: place.save("f", _MINE) and None)
    assert not place.jump(_fail).done
    assert place.found() == ["f"]


def test_what_is_made_anew_as_a_jump_is_taken_back_stays(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def delete(report: RestoreReport) -> None:
        (place.work / "f").unlink()
        _fail(report)

    def make(*args: Any) -> Any:
        return place.write("f", _MINE) and None if "f" in args else False

    _once(monkeypatch, undo, "rename_new", make, after=False)
    assert not place.jump(delete).done
    assert place.found() == ["f"]


_CUT = """
import os, sys
from pathlib import Path
from worldline.workspace import ending
from worldline.workspace.engine import Workspace
work, store, there, here = sys.argv[1:]
ws = Workspace(Path(work), Path(store), free_floor=0, watch=False)
held = [os.open(Path(work) / name, os.O_WRONLY) for name in ("f", "d/made")]
def cut(*_, **__):
    for fd in held:
        os.pwrite(fd, b"mine, just now", 0)
    os._exit(9)
ending.aside.save = cut
ws.apply(ws.plan(there, last=here))
"""


def test_what_was_written_before_a_kill_is_saved_by_the_next_start(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.ws.close()
    done = subprocess.run(
        [sys.executable, "-c", _CUT, place.work, place.store, place.first, place.second], check=False
    )
    assert done.returncode == 9
    place.ws = Workspace(place.work, place.store, free_floor=0)
    report = place.ws.recover(place.first)
    assert report is not None and report.finished
    assert "d/made.during-jump-1, f.during-jump-1" in report.note
    assert place.found() == ["d/made.during-jump-1", "f.during-jump-1"]
    place.ws.close()


def test_an_edit_that_was_captured_after_the_plan_is_not_taken_for_what_the_plan_saw(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = place.ws.plan(place.first, last=place.second)
    place.save("f", _MINE)
    Clock(monkeypatch).forward()  # so that its times prove what is in it
    place.found()
    report = place.ws.apply(plan)
    assert [left.path for left in report.failed] == ["f"]
    assert place.found() == ["f"]


# --- what a jump has read back, and the captures after it -------------------------------------------------------


_MOMENTS: dict[str, tuple[Any, str, bool]] = {
    "before it is read back": (SafeTree, "content", False),
    "after it is read back": (SafeTree, "content", True),
    "before that is learned": (learned.Learned, "add", False),
    "after that is learned": (learned.Learned, "add", True),
    "after all are read back": (apply.Restorer, "_verify", True),
    "before it is over": (apply.Restorer, "_finish", False),
    "after it is over": (apply.Restorer, "_finish", True),
    "before the next capture asks": (learned.Learned, "known", False),
    "as the next capture asks": (Watcher, "drain", False),
    "after the next capture has asked": (Watcher, "drain", True),
    "before it is written down": (learned.Learned, "put", False),
    "after it is written down": (learned.Learned, "put", True),
    "after the walk": (scan.Walk, "run", True),
}


@pytest.mark.parametrize("moment", _MOMENTS)
@pytest.mark.parametrize("how", ["write", "save"])
def test_an_edit_at_any_moment_is_in_the_next_state_or_the_one_after(
    place: Place, monkeypatch: pytest.MonkeyPatch, moment: str, how: str
) -> None:
    owner, name, after = _MOMENTS[moment]
    text = f"{_MINE}!"  # as long as what is there
    edited: list[str] = []

    def edit(*_: Any) -> Any:
        if (place.work / "f").read_text() == "two two two two":
            return False  # the jump has not come to it yet
        edited.append(moment)
        return getattr(place, how)("f", text)

    _once(monkeypatch, owner, name, edit, after=after)
    report = place.jump()
    place.ws.capture(place.first if report.done else place.second)
    assert edited or (owner is Watcher and not place.ws._watching)
    if edited:
        assert place.found() == ["f"]


class Clock:
    """A clock that can be put forward, in place of sleeping."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._real, self._more = time.time_ns, 0
        monkeypatch.setattr(time, "time_ns", lambda: self._real() + self._more)

    def forward(self, *_: Any) -> None:
        self._more += 10**9


def test_content_that_takes_long_to_store_is_not_older_for_that(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write in the moment after the reading may leave the times that were read."""
    place.write("f", _MINE)
    _once(monkeypatch, reading, "object_id", Clock(monkeypatch).forward, after=True)
    place.ws.capture(place.second)
    sig = place.ws._capturer.sig_of("f")
    assert sig is not None and sig[1] == -1


@pytest.mark.parametrize("step", [(SafeTree, "content"), (Watcher, "drain")])
def test_what_was_read_back_is_not_older_than_the_last_that_was_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: tuple[Any, str]
) -> None:
    place = Place(tmp_path)
    clock = Clock(monkeypatch)

    def late(*args: Any) -> Any:
        if "two" in (place.work / "f").read_text() or (step[0] is SafeTree and args[1] != "f"):
            return False  # not yet
        return clock.forward()

    _once(monkeypatch, *step, late, after=True)
    if step[0] is SafeTree:  # told apart from what the capture makes of it
        monkeypatch.setattr(learned.Learned, "_aged", lambda _, sig, *__: sig)
    assert place.jump().done
    place.ws.capture(place.first)
    sig = place.ws._capturer.sig_of("f")
    assert sig is not None and sig[1] == -1
    place.ws.close()


@pytest.mark.parametrize("deed", ["saved", "written", "removed", "chmod", "folder"])
def test_an_edit_before_the_files_are_read_back_stays_and_the_rest_is_done(
    place: Place, monkeypatch: pytest.MonkeyPatch, deed: str
) -> None:
    def edit(*_: Any) -> None:
        if deed == "saved":
            place.save("f", _MINE)
        elif deed == "written":
            place.write("f", _MINE)
        elif deed == "chmod":
            (place.work / "f").chmod(0o600)
        else:
            (place.work / "f").unlink()
            if deed == "folder":
                (place.work / "f").mkdir()

    _once(monkeypatch, apply.Restorer, "_verify", edit, after=False)
    report = place.jump()
    assert report.done and [left.path for left in report.failed] == ["f"], report.note
    assert "your version is kept" in report.failed[0].reason
    assert (place.work / "d/gone").read_text() == "gone gone gone " and not (place.work / "d/made").exists()
    if deed in ("saved", "written"):
        assert place.found() == ["f"]


def test_git_sees_an_edit_that_comes_as_a_jump_is_verified(
    two_states: TwoStates, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The staging area of the target must not say of such a file that it is as it was staged."""
    ws, first, second = two_states(_ONE, "echo two two >f; git add f")
    _once(
        monkeypatch,
        apply.Restorer,
        "_move_roots",
        lambda *_: (work / "f").write_text("own own\n"),
        after=False,
    )
    assert ws.apply(ws.plan(first, last=second)).done
    os.utime(work / ".git/index", (time.time() + 60,) * 2)  # git trusts what it says of older files
    assert run_sh("git status --short", work) == " M f\n"


@pytest.mark.parametrize("deed", ["echo own >own; git add own", "git switch -q -c other"])
def test_what_is_done_with_git_while_the_files_are_put_back_is_not_undone(
    two_states: TwoStates, work: Path, monkeypatch: pytest.MonkeyPatch, deed: str
) -> None:
    ws, first, second = two_states(_ONE, "echo two two >f; git add f")
    seen = "git ls-files -s; git symbolic-ref HEAD"
    found: list[str] = []

    def act(*_: Any) -> None:
        run_sh(deed, work)
        found.append(run_sh(seen, work))

    _once(monkeypatch, apply.Restorer, "_swap", act, after=True)
    report = ws.apply(ws.plan(first, last=second), new_branch="worldline/t/1")
    assert report.rolled_back and "another git command" in report.note and "Jump again." in report.note
    assert run_sh(seen, work) == found[0] and (work / "f").read_text() == "two two\n"


def test_a_look_of_git_while_the_files_are_put_back_is_in_nobodys_way(
    two_states: TwoStates, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws, first, second = two_states(_TWO, "echo two two >f; git add f; touch -d '1 hour ago' k")
    _once(monkeypatch, apply.Restorer, "_swap", lambda *_: run_sh("git status", work) and None, after=True)
    assert ws.apply(ws.plan(first, last=second), new_branch="worldline/t/1").done
    assert run_sh("git status --short", work) == ""


def test_what_was_staged_comes_back_though_git_has_looked_since(
    two_states: TwoStates, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look writes the times of files into the staging area: it is still the one that the jump wrote."""
    ws, first, second = two_states(_TWO, "echo staged >f; git add f; echo two two >f")
    seen = "git ls-files -s; cat f"
    before = run_sh(seen, work)

    def fail(_: RestoreReport) -> None:
        written = (work / ".git/index").read_bytes()
        run_sh("touch -d '1 hour ago' k; git status", work)
        assert (work / ".git/index").read_bytes() != written
        raise OSError("the cursor cannot be moved")

    assert ws.apply(ws.plan(first, last=second), on_done=fail).rolled_back
    assert run_sh(seen, work) == before
