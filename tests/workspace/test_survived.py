"""What fails at an odd place leaves a workspace that can be opened, and is told."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from workspace.conftest import REPO, Sides, run_sh
from worldline.core.errors import WorkspaceError
from worldline.workspace import gitlock
from worldline.workspace.engine import Workspace
from worldline.workspace.home_git import CommitPlan
from worldline.workspace.journal import RootMove
from worldline.workspace.model import RestoreReport
from worldline.workspace.removal import remove_tree
from worldline.workspace.store import Store

TwoStates = Callable[[str, str], tuple[Workspace, str, str]]
Shell = Callable[..., str]


class Stopped(Exception):
    """Raised where the session would take note of a jump: it is taken back."""


def taken_back(ws: Workspace, target: str, last: str, meanwhile: Callable[[], object]) -> None:
    def done(_: RestoreReport) -> None:
        meanwhile()
        raise Stopped

    with pytest.raises(Stopped):
        ws.apply(ws.plan(target, last=last, default_choice="restore"), on_done=done)


class TestTakingBack:
    def test_where_somebody_put_a_file_in_the_place_of_a_folder(
        self, two_states: TwoStates, work: Path
    ) -> None:
        ws, first, second = two_states("echo f >f", "mkdir d; echo a >d/a; echo g >f")
        taken_back(ws, first, second, lambda: (work / "d").write_text("mine"))
        assert (work / "d").read_text() == "mine" and (work / "f").read_text() == "g\n"
        assert ws.capture(second).changed and ws.recover() is None

    def test_where_they_put_one_in_the_place_of_a_repository(
        self, two_states: TwoStates, work: Path, sh: Shell
    ) -> None:
        make = "git init -q inner; echo a >inner/a; git -C inner add a; git -C inner commit -qm one"
        ws, first, second = two_states("echo f >f", f"{make}; echo g >f")

        def meanwhile() -> None:
            assert not (work / "inner").exists()
            (work / "inner").write_text("mine")

        taken_back(ws, first, second, meanwhile)
        assert (work / "inner").read_text() == "mine" and (work / "f").read_text() == "g\n"
        assert ws.capture(second).changed and ws.recover() is None

    def test_where_head_was_taken_away(self, two_states: TwoStates, work: Path, sh: Shell) -> None:
        ws, first, second = two_states(
            f"{REPO}echo 1 >f; git add f; git commit -qm 1",
            "git checkout -qb two; echo 2 >f; git commit -qam 2",
        )
        taken_back(ws, first, second, lambda: (work / ".git/HEAD").rename(work / ".git/away"))
        assert (work / "f").read_text() == "2\n" and ws.recover() is None
        (work / ".git/away").rename(work / ".git/HEAD")
        assert not ws.capture(second).error

    def test_what_was_left_alone_is_told(self, two_states: TwoStates, work: Path) -> None:
        ws, first, second = two_states("echo a >a; echo f >f", "echo b >a; echo g >f")

        def done(_: RestoreReport) -> None:
            (work / "a").write_text("mine")
            raise WorkspaceError("It was not to be.")

        report = ws.apply(ws.plan(first, last=second, default_choice="restore"), on_done=done)
        assert report.rolled_back and (work / "f").read_text() == "g\n" and (work / "a").read_text() == "mine"
        assert "left alone: a." in report.note

    def test_what_was_staged_for_a_commit_when_another_git_is_at_work(
        self, sides: Sides, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The branch moves at the last moment, and the staging area is locked by then: the next start puts it back."""
        state = sides.node("echo more >> f; echo new > new")
        before = sides.everything()
        lock = sides.mine / ".git/index.lock"

        def beaten(plan: CommitPlan, commit: str) -> None:
            lock.touch()
            raise WorkspaceError("The branch was moved meanwhile.", kind="moved")

        monkeypatch.setattr(CommitPlan, "_move", beaten)
        monkeypatch.setattr(gitlock, "LOCK_WAIT", 0.0)
        with pytest.raises(WorkspaceError) as refused:
            sides.bring(state, "commit", message="work")
        assert refused.value.kind == "not_taken_back"
        lock.unlink()
        sides.home.recover()
        assert sides.everything() == before


class TestLocks:
    def test_an_empty_one_of_somebody_else_is_not_removed(self, tmp_path: Path) -> None:
        """Git makes its lock empty, and writes then."""
        for name in ("HEAD.lock", "index.lock"):
            (tmp_path / name).touch()
        gitlock.clean_locks(RootMove("", str(tmp_path), index_after="0" * 40), "token")
        gitlock.clean_locks(RootMove("", str(tmp_path), head_after="ref: refs/heads/x\n"), "token")
        assert (tmp_path / "HEAD.lock").exists() and (tmp_path / "index.lock").exists()

    def test_a_branch_whose_name_is_no_text_can_be_gone_back_to(
        self, two_states: TwoStates, sh: Shell
    ) -> None:
        ws, first, second = two_states(
            f"{REPO}echo 1 >f; git add f; git commit -qm 1; git checkout -qb $'caf\\xe9'; echo 2 >f; git commit -qam 2",
            "git checkout -q main; echo x >g",
        )
        report = ws.apply(ws.plan(first, last=second, default_choice="restore"))
        assert report.done and sh("git symbolic-ref HEAD") == "refs/heads/caf\udce9\n"
        assert not ws.capture(first).changed

    def test_a_store_that_could_not_be_looked_at_is_not_written_to(self, tmp_path: Path) -> None:
        Store(tmp_path / "s").close()
        unreadable = tmp_path / "s" / "boot"
        unreadable.mkdir()
        store = Store(tmp_path / "s")
        for _ in range(2):
            with pytest.raises(WorkspaceError) as refused:
                store.lock()
            assert refused.value.kind == "unreadable" and not store.is_locked
        unreadable.rmdir()
        store.lock()
        store.close()


class TestNextStart:
    """What keeps an interrupted jump from being ended is said, and is no defect of ours."""

    @pytest.fixture
    def interrupted(self, two_states: TwoStates, work: Path, tmp_path: Path) -> Path:
        """The store of a workspace in which a jump was killed."""
        ws, first, second = two_states("echo f >f", "echo g >f; echo h >h")
        store = tmp_path / "left"
        with pytest.raises(Stopped):
            ws.apply(
                ws.plan(first, last=second, default_choice="restore"),
                on_done=lambda _: copied(tmp_path, store),
            )
        ws.close()
        staged = json.loads((store / "restore/journal").read_bytes())
        assert staged["items"]
        return store

    def test_a_disk_that_fails(
        self, interrupted: Path, work: Path, open_workspace: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch
    ) -> None:  # fmt: skip
        from worldline.workspace.undo import Undo

        def fails(self: Undo) -> None:
            raise OSError(5, "the disk fails")

        ws = open_workspace(work, interrupted)
        with monkeypatch.context() as patched:
            patched.setattr(Undo, "run", fails)
            with pytest.raises(WorkspaceError) as refused:
                ws.recover()
            assert refused.value.kind == "not_taken_back" and "the disk fails" in refused.value.message
        report = ws.recover()
        assert report is not None and not report.finished and ws.recover() is None

    def test_a_journal_that_cannot_be_read(
        self, interrupted: Path, work: Path, open_workspace: Callable[..., Workspace]
    ) -> None:
        (interrupted / "restore/journal").write_bytes(b"{")
        with pytest.raises(WorkspaceError) as refused:
            open_workspace(work, interrupted).recover()
        assert refused.value.kind == "not_taken_back" and (interrupted / "restore/journal").exists()


def copied(tmp_path: Path, store: Path) -> None:
    shutil.copytree(tmp_path / "store", store)
    raise Stopped


class TestRecords:
    """Of finished jumps, until their files are on the disk."""

    def test_one_that_cannot_be_removed_stays(self, two_states: TwoStates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
        ws, first, second = two_states("echo a >a", "echo b >a")
        assert ws.apply(ws.plan(first, last=second, default_choice="restore")).done
        from worldline.workspace.journal import Journal

        def fails(self: Journal) -> None:
            raise OSError(5, "the disk fails")

        with monkeypatch.context() as patched:
            patched.setattr(Journal, "remove", fails)
            ws._settler.settle()
        assert list((tmp_path / "store/settling").iterdir())
        ws._settler.settle()
        assert not list((tmp_path / "store/settling").iterdir())

    def test_what_the_store_lacks_as_well_does_not_keep_it_closed(
        self, two_states: TwoStates, work: Path, tmp_path: Path, open_workspace: Callable[..., Workspace]
    ) -> None:
        ws, first, second = two_states("seq 2000 >a; seq 3000 >b", "echo b >a; echo c >b")
        assert ws.apply(ws.plan(first, last=second, default_choice="restore")).done
        whole = (work / "b").read_text()
        left = tmp_path / "left"
        shutil.copytree(tmp_path / "store", left)
        ws.close()
        # The power was lost, with what was in both files and one of the objects.
        (record,) = (left / "settling").iterdir()
        noted = json.loads((record / "journal").read_bytes())
        (record / "journal").write_text(json.dumps({**noted, "boot": "an earlier one"}))
        for name in ("a", "b"):
            (work / name).write_bytes(b"")
            os.utime(work / name, (1, 1))
        blob = next(row[2] for row in noted["items"] if row[0] == "a")
        (left / "objects" / blob[:2] / blob[2:]).unlink()
        report = open_workspace(work, left).recover()
        assert report is not None and report.note.endswith("written again: 1.")
        assert (work / "b").read_text() == whole and (work / "a").read_bytes() == b""


def test_folders_that_lie_too_deep_to_be_named_are_removed(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    fd = os.open(top, os.O_RDONLY)
    for _ in range(30):
        os.mkdir("d" * 200, dir_fd=fd)
        inner = os.open("d" * 200, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(fd)
    remove_tree(top)
    assert not top.exists()


def test_why_a_file_cannot_be_committed_is_said_where_it_can_be_put_on_disk(sides: Sides) -> None:
    """The person has committed a change in the same place, and taken it back on disk."""
    run_sh("sed -i 's/^5$/mine/' f && git commit -qam mine && sed -i 's/^mine$/5/' f", sides.mine)
    state = sides.node("sed -i 's/^5$/theirs/' f")
    report = sides.bring(state, "commit", dry_run=True)
    assert report.conflicts == ["f"]
    (entry,) = report.entries
    assert (entry.action, entry.reason) == ("conflict", "changed by you and at the node in the same place")
    before = sides.everything()
    kept = sides.bring(state, "commit", choices={"f": "ours"})
    assert [(e.action, e.choice) for e in kept.entries] == [("keep_mine", "ours")]
    assert sides.everything() == before
    assert sides.bring(state, "commit", choices={"f": "theirs"}).done
    assert (
        "theirs" in run_sh("git show HEAD:f", sides.mine)
        and run_sh("git status --porcelain", sides.mine) == ""
    )
