"""Odd repositories and odd wishes: forced files, sparse checkouts, other owners, rules of the person, small disks."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from worldline.core.errors import WorkspaceError
from worldline.workspace.engine import Workspace
from worldline.workspace.model import NOT_CAPTURED

from .conftest import REPO, TwoStates, run_sh, snapshot

Sh = Callable[..., str]
Open = Callable[..., Workspace]


def test_a_file_in_the_way_can_be_forced_and_nothing_is_lost(work: Path, two_states: TwoStates) -> None:
    ws, first, second = two_states(
        REPO + "echo 1 > cache.bin && git add . && git commit -qm i",
        "git rm -q cache.bin && echo '*.bin' > .gitignore && git add . && git commit -qm ignore && echo precious > cache.bin",
    )
    plan = ws.plan(first, last=second)
    assert next(i for i in plan.items if i.path == "cache.bin").action == "keep_foreign"
    plan = ws.plan(first, last=second, choices={"cache.bin": "restore"})
    report = ws.apply(plan, new_branch="worldline/s/1")
    assert report.done and report.verified == report.of
    assert (work / "cache.bin").read_text() == "1\n"
    assert (work / "cache.bin.before-jump-1").read_text() == "precious\n"


def test_forcing_is_undone_as_a_whole(work: Path, two_states: TwoStates) -> None:
    ws, first, second = two_states(
        REPO + "echo 1 > cache.bin && git add . && git commit -qm i",
        "git rm -q cache.bin && echo '*.bin' > .gitignore && git add . && git commit -qm x && echo precious > cache.bin",
    )
    before = snapshot(work)
    plan = ws.plan(first, last=second, choices={"cache.bin": "restore"})

    def refuse(_: object) -> None:
        raise OSError("the session could not be saved")

    report = ws.apply(plan, on_done=refuse)
    assert not report.done and snapshot(work) == before


def test_sparse_checkout(work: Path, sh: Sh, open_workspace: Open) -> None:
    sh(REPO + "mkdir in out && echo 1 > in/a && echo 1 > out/b && git add . && git commit -qm i")
    sh("git sparse-checkout set in")
    assert not (work / "out").exists()
    index = sh("git ls-files -s -v")
    ws = open_workspace()
    first = ws.capture(None).state
    sh("echo 2 > in/a && git add in && echo 3 > in/a")
    second = ws.capture(first).state
    report = ws.apply(ws.plan(first, last=second), new_branch="worldline/s/1")
    assert report.done and (work / "in/a").read_text() == "1\n" and not (work / "out").exists()
    assert sh("git ls-files -s -v") == index and sh("git status --porcelain") == ""


def test_rules_of_the_person(
    work: Path, two_states: TwoStates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").write_text("*.scratch\n")
    ws, first, second = two_states(
        REPO + f"git config core.excludesFile {tmp_path}/mine && echo 1 > a && git add . && git commit -qm i",
        "echo 2 > a && echo notes > x.scratch",
    )
    assert ws.store.lookup(ws.state(second).files, "x.scratch") is None
    report = ws.apply(ws.plan(first, last=second), new_branch="worldline/s/1")
    assert report.done and (work / "x.scratch").read_text() == "notes\n" and (work / "a").read_text() == "1\n"


def test_a_repository_of_somebody_else(work: Path, sh: Sh, open_workspace: Open) -> None:
    if os.geteuid():
        pytest.skip("only root can give files away")
    sh(REPO + "echo 1 > a && git add . && git commit -qm i")
    run_sh("chown -R 12345:12345 .", work)
    ws = open_workspace()
    result = ws.capture(None)
    assert result.state != NOT_CAPTURED, result.error
    (work / "a").write_text("2\n")
    second = ws.capture(result.state).state
    report = ws.apply(ws.plan(result.state, last=second))
    assert report.done and (work / "a").read_text() == "1\n"
    # Either everything is captured, or it is said that only files are.
    main = ws.state(result.state).main
    assert main is not None and (main.index or main.trouble)


def test_a_repository_made_inside_an_existing_folder_is_seen(two_states: TwoStates) -> None:
    ws, _, second = two_states(
        REPO + "mkdir d && echo 1 > d/x && git add . && git commit -qm i",
        "cd d && git init -q . && git add x && echo 2 > x",
    )
    assert [root.path for root in ws.state(second).roots] == ["", "d"]


def test_a_person_repository_is_never_removed(work: Path, sh: Sh, open_workspace: Open) -> None:
    sh(REPO + "echo 1 > a && git add . && git commit -qm i")
    ws = open_workspace()
    first = ws.capture(None).state
    sh("mkdir mine && cd mine && git init -q . && echo n > n && git add n && git commit -qm n")
    # Not recorded before: everything in it is the person's.
    report = ws.apply(ws.plan(first, last=first), new_branch="worldline/s/1")
    assert report.done and sh("git -C mine log --format=%s").strip() == "n"
    # Recorded by a turn of the agent meanwhile, but known to be the person's.
    second = ws.capture(first).state
    report = ws.apply(ws.plan(first, last=second, users={"mine/n"}), new_branch="worldline/s/2")
    assert report.done and sh("git -C mine log --format=%s").strip() == "n"


def test_a_small_disk_refuses_before_anything_is_touched(
    work: Path, two_states: TwoStates, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws, first, second = two_states(
        REPO + "head -c 100000 /dev/urandom > a && git add . && git commit -qm i", "echo 2 > a"
    )
    plan = ws.plan(first, last=second)
    before = snapshot(work)
    import shutil

    real = shutil.disk_usage(work)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: real._replace(free=1000))
    report = ws.apply(plan)
    assert not report.done and "are free" in report.note and snapshot(work) == before
    assert ws.recover() is None


@pytest.mark.parametrize("mode", [0o700, 0o555, 0o777])
def test_a_folder_that_was_empty_becomes_it_again_with_its_permissions(
    work: Path, tmp_path: Path, mode: int
) -> None:
    ws = Workspace(work, tmp_path / "s")
    (work / "d").mkdir()
    usual = (work / "d").stat().st_mode
    first = ws.capture(None).state
    (work / "d" / "f").write_text("x\n")
    (work / "d").chmod(mode)
    last = ws.capture(first).state

    there = ws.apply(ws.plan(first, last=last))
    assert there.done, there.note
    assert (work / "d").stat().st_mode == usual and not list((work / "d").iterdir())
    back = ws.apply(ws.plan(last, last=first))
    assert back.done and (work / "d").stat().st_mode & 0o777 == mode
    ws.close()


def test_a_file_system_without_hard_links(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """exFAT and some network drives; and no rename that keeps what is there."""
    from worldline.workspace import safefs

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refused)
    monkeypatch.setattr(safefs, "_renameat2", None)
    ws = Workspace(work, tmp_path / "s")
    run_sh("git init -q . && echo 1 > one && git add -A && git commit -qm all", work)
    first = ws.capture(None).state
    before = snapshot(work)
    run_sh("echo 2 > two && rm -f $(git ls-files | head -1) && git add -A && git commit -qm two", work)
    last = ws.capture(first).state
    after = snapshot(work)

    there = ws.apply(ws.plan(first, last=last), new_branch="worldline/s/2")
    assert there.done and not there.failed, there
    assert snapshot(work) == before and run_sh("git status --porcelain", work) == ""
    assert ws.apply(ws.plan(last, last=first), new_branch="worldline/s/3").done
    assert snapshot(work) == after and run_sh("git status --porcelain", work) == ""
    assert not list((work / ".git").glob("*.lock"))
    ws.close()


def test_what_cannot_be_taken_back_at_once_is_said_and_taken_back_later(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from worldline.workspace import apply, ending

    ws = Workspace(work, tmp_path / "s")
    first = ws.capture(None).state
    (work / "new").write_text("x\n")
    last = ws.capture(first).state
    after = snapshot(work)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(apply.Restorer, "_verify", full)
    monkeypatch.setattr(ending.Undo, "run", full)
    with pytest.raises(WorkspaceError) as caught:
        ws.apply(ws.plan(first, last=last))
    assert caught.value.kind == "not_taken_back" and "no room" in caught.value.message
    monkeypatch.undo()
    ws.close()

    ws = Workspace(work, tmp_path / "s")
    assert ws.recover() is not None
    assert snapshot(work) == after
    ws.close()


def test_a_folder_that_is_there_is_not_said_to_be_made(two_states: TwoStates, work: Path) -> None:
    """It is ignored by now, so that the state does not hold it; a jump that is taken back leaves it as it was."""
    ws, first, last = two_states(
        "git init -q && mkdir d e f && echo i > f/i",
        "printf 'd\\ne\\n' > .gitignore && chmod 700 e && rm f/i",
    )
    plan = ws.plan(first, last=last, default_choice="restore")
    assert {(i.path, i.action) for i in plan.touched} == {
        (".gitignore", "delete"),
        ("e", "chmod"),
        ("f/i", "create"),
    }

    def fail(_: object) -> None:
        raise WorkspaceError("The session could not be written.")

    assert ws.apply(plan, on_done=fail).rolled_back
    assert (work / "d").is_dir() and (work / "e").stat().st_mode & 0o777 == 0o700
    report = ws.apply(ws.plan(first, last=last, default_choice="restore"))
    assert report.done and report.verified == 3 and (work / "e").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    "inside", ["echo 'gitdir: /nowhere' > new/.git", "echo '*.o' > .git/info/exclude; touch new/x.o"]
)
def test_a_folder_that_stays_is_not_said_to_go(two_states: TwoStates, work: Path, inside: str) -> None:
    ws, first, last = two_states("git init -q && echo a > a", f"mkdir new gone && {inside}")
    plan = ws.plan(first, last=last, default_choice="restore")
    assert [(i.path, i.action) for i in plan.items if i.path in ("new", "gone")] == [
        ("gone", "delete"),
        ("new", "keep_foreign"),
    ]
    assert ws.apply(plan).done and (work / "new").is_dir() and not (work / "gone").exists()


def test_a_file_that_somebody_emptied_is_theirs_also_when_git_was_told_of_it(
    two_states: TwoStates, work: Path
) -> None:
    ws, first, last = two_states("git init -q && echo 1 > f", "echo 2 > f")
    run_sh("git add -N f && : > f", work)
    plan = ws.plan(first, last=last)
    assert [(i.path, i.action) for i in plan.items] == [("f", "conflict")]


def test_a_file_with_a_long_name_can_be_forced(work: Path, two_states: TwoStates) -> None:
    """There is no room behind it for what the copy would be called."""
    name = "é" * 120
    ws, first, second = two_states(
        f"echo node >{name}", f"echo '{name[:9]}*' >.gitignore; echo precious >{name}"
    )
    report = ws.apply(ws.plan(first, last=second, choices={name: "restore"}))
    assert report.done and not report.failed, report.note
    assert (work / name).read_text() == "node\n"
    (copy,) = work.glob("*.before-jump-1")
    assert copy.read_text() == "precious\n"
    forced = next(item for item in report.items if item.path == name)
    assert forced.reason.startswith("it is ignored now and was not captured and was put aside as é")


def test_what_only_begins_like_a_folder_of_ours_is_captured(work: Path, two_states: TwoStates) -> None:
    own = ".worldline-restore-notes"
    ws, first, second = two_states(
        f"mkdir {own} && echo 1 >{own}/a && echo 1 >{own}.txt", f"echo 22 >{own}/a"
    )
    assert ws.read_file(second, f"{own}/a") == b"22\n"
    (work / f"{own}.txt").write_text("333")  # told by the kernel alone
    third = ws.capture(second)
    assert third.paths == [f"{own}.txt"] and not third.omitted
    assert ws.apply(ws.plan(first, last=third.state)).done
    assert (work / own / "a").read_text() == "1\n" and (work / f"{own}.txt").read_text() == "1\n"


def test_what_a_jump_has_left_is_named(work: Path, open_workspace: Open) -> None:
    (work / ".worldline-restore-0123456789abcdef").mkdir()
    (work / ".worldline-restore-0123456789abcdef" / "0.old").write_text("x")
    (work / ".worldline-restore-aaaaaaaaaaaaaaaa").write_text("a file of somebody")
    ws = open_workspace()
    result = ws.capture(None)
    assert [(left.path, left.reason) for left in result.omitted] == [
        (".worldline-restore-0123456789abcdef", "is what a jump has put aside")
    ]
    assert ws.read_file(result.state, ".worldline-restore-aaaaaaaaaaaaaaaa") == b"a file of somebody"


@pytest.mark.parametrize(
    "made", ["mkdir .git; echo mine >.git/notes", "echo mine >.git", REPO + "rm .git/HEAD"]
)
def test_what_only_is_called_like_a_git_folder_is_named(work: Path, open_workspace: Open, made: str) -> None:
    run_sh(f"{made}; echo a >a", work)
    result = open_workspace().capture(None)
    assert [(left.path, left.reason) for left in result.omitted] == [
        (".git", "is no repository that can be read")
    ]


@pytest.mark.parametrize(
    "rules", [b"x" * 900_000, b"*a" * 450_000, b"\0" * 3_000_000, b"[a" * 300_000, b"**/" * 300_000]
)
def test_a_file_of_rules_that_is_none_keeps_nobody_waiting(
    work: Path, open_workspace: Open, rules: bytes
) -> None:
    """Its lines are as long as no rule is."""
    (work / "a").write_text("1")
    ws = open_workspace()
    first = ws.capture(None).state
    (work / ".gitignore").write_bytes(rules)
    (work / "b").write_text("2")
    second = ws.capture(first)
    assert sorted(second.paths) == [".gitignore", "b"]
    assert ws.apply(ws.plan(first, last=second.state)).done
    assert ws.apply(ws.plan(second.state, last=first)).done
    assert (work / ".gitignore").read_bytes() == rules and (work / "b").exists()


@pytest.mark.parametrize("watch", [True, False])
@pytest.mark.parametrize("again", [True, False])
def test_rules_that_ignore_their_own_file_are_read_anew(
    work: Path, tmp_path: Path, open_workspace: Open, watch: bool, again: bool
) -> None:
    """Written in place: nothing of the folder itself changes with it."""
    (work / "d/sub").mkdir(parents=True)
    (work / "d/.gitignore").write_text("*\n")
    (work / "d/kept").write_text("1")
    (work / "d/sub/kept").write_text("1")
    ws = open_workspace(watch=watch)
    first = ws.capture(None).state
    first = ws.capture(first).state
    if again:
        ws.close()
        ws = open_workspace(watch=watch)
    with (work / "d/.gitignore").open("r+") as file:
        file.write("#")
    second = ws.capture(first)
    assert {"d/.gitignore", "d/kept", "d/sub/kept"} <= set(second.paths)
    with (work / "d/.gitignore").open("r+") as file:
        file.write("*")
    assert ws.capture(second.state).state != second.state
    ws.close()
