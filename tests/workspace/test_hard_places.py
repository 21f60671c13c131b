"""Kinds of operations that restores were found to stumble over, one by one."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from worldline.workspace import gitcopy, indexfile
from worldline.workspace.engine import Workspace
from worldline.workspace.isolate import prepare

from .conftest import REPO, go, run_sh, snapshot

Sh = Callable[..., str]
Open = Callable[..., Workspace]
TwoStates = Callable[[str, str], tuple[Workspace, str, str]]
COMMIT = REPO + "echo 1 > a && git add . && git commit -qm 0"


@pytest.mark.parametrize("inside", ["", "empty"])
def test_an_empty_ignored_folder_makes_room_for_a_file(
    work: Path, two_states: TwoStates, inside: str
) -> None:
    ws, first, second = two_states(
        COMMIT, f"git rm -q a && mkdir -p a/{inside} && echo a > .git/info/exclude"
    )
    report = ws.apply(ws.plan(first, last=second, default_choice="restore"), new_branch="worldline/t/2")
    assert report.done and not report.failed
    if inside:  # what is in it was never captured: it stays, and the plan says so
        assert (work / "a" / inside).is_dir()
        assert [i.reason for i in report.items if i.action == "keep_foreign"] == [
            "a folder with a/empty is in its place"
        ]
    else:
        assert (work / "a").read_text() == "1\n"


def test_an_empty_folder_that_was_captured_goes_although_it_is_ignored_there(
    work: Path, two_states: TwoStates
) -> None:
    ws, first, second = two_states(
        COMMIT + " && echo d/ > .gitignore && echo file > d && git add -f d .gitignore",
        "git rm -qf d .gitignore && mkdir -p d/e",
    )
    go(ws, first, second)
    assert (work / "d").read_text() == "file\n"
    go(ws, second, first, "worldline/t/3")
    assert (work / "d" / "e").is_dir()


def test_a_repository_below_something_that_is_no_folder_stays_away(work: Path, two_states: TwoStates) -> None:
    ws, first, second = two_states(
        COMMIT + " && git init -q d/n && cd d/n && git commit -q --allow-empty -m n",
        "rm -rf d && mkfifo d && echo 2 > a",
    )
    go(ws, first, second)
    assert stat.S_ISFIFO((work / "d").stat().st_mode) and (work / "a").read_text() == "1\n"


def test_a_link_to_what_no_path_can_be_stops_nothing(work: Path, sh: Sh, open_workspace: Open) -> None:
    sh(COMMIT)
    ws = open_workspace()
    first = ws.capture(None).state
    (work / "long").symlink_to("x" * 300)
    sh("echo long > .gitignore && echo 2 > a")
    second = ws.capture(first).state
    go(ws, first, second)
    assert (work / "a").read_text() == "1\n" and not (work / ".gitignore").exists()


def test_folders_get_their_permissions_whatever_the_umask_is(
    work: Path, sh: Sh, open_workspace: Open
) -> None:
    sh(COMMIT + " && mkdir -p open/empty closed && echo 1 > open/f && echo 1 > closed/f")
    for path, mode in (("open", 0o775), ("open/empty", 0o777), ("closed", 0o700)):
        (work / path).chmod(mode)
    before = snapshot(work)
    ws = open_workspace()
    first = ws.capture(None).state
    sh("rm -rf open closed")
    second = ws.capture(first).state
    go(ws, first, second)
    assert snapshot(work) == before


def test_a_folder_that_holds_only_a_pipe_is_not_taken_for_empty(work: Path, two_states: TwoStates) -> None:
    ws, first, second = two_states(COMMIT + " && echo file > d", "rm d && mkdir d && mkfifo d/pipe")
    plan = ws.plan(first, last=second, default_choice="restore")
    assert [(i.action, i.reason) for i in plan.items if i.path == "d"] == [
        ("keep_foreign", "a folder with d/pipe is in its place")
    ]
    report = ws.apply(plan, new_branch="worldline/t/2")
    assert report.done and not report.failed and (work / "d" / "pipe").exists()


def test_a_folder_that_something_ignored_keeps_gets_the_permissions_of_the_node(
    work: Path, two_states: TwoStates
) -> None:
    ws, first, second = two_states(
        COMMIT + " && mkdir d && echo i > .git/info/exclude", "echo i > d/i && echo f > d/f && chmod 700 d"
    )
    go(ws, first, second)
    assert (work / "d").stat().st_mode & 0o777 == 0o755
    assert (work / "d" / "i").exists() and not (work / "d" / "f").exists()
    go(ws, second, first, "worldline/t/3")
    assert (work / "d").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("version", [2, 4])
def test_a_split_staging_area_is_one_like_others(
    work: Path, sh: Sh, open_workspace: Open, version: int
) -> None:
    names = " ".join(f"d{n % 7}/f{n}" for n in range(300))
    sh(
        COMMIT
        + f" && mkdir d0 d1 d2 d3 d4 d5 d6 && touch {names} && echo 'd3/' > .gitignore && git add -f . && git commit -qm 1"
    )
    sh(
        f"git update-index --index-version {version} && git config core.splitIndex true && git update-index --split-index"
    )
    sh(
        "echo 2 > a && echo 2 > d1/f1 && git add a d1/f1 && git rm -q --cached d2/f2 d0/f0 && touch zz && git add zz && git add -f d3"
    )
    assert b"link" in (work / ".git" / "index").read_bytes()
    staged = sh("git ls-files -s -z")
    entries = indexfile.parse(
        (work / ".git" / "index").read_bytes(),
        20,
        lambda n: (work / ".git" / f"sharedindex.{n}").read_bytes(),
    )
    assert staged == "".join(f"{e.mode:o} {e.oid.hex()} {e.stage}\t{e.path}\0" for e in entries)
    before = snapshot(work)
    ws = open_workspace()
    result = ws.capture(None)
    assert [n for n in result.notes if "only files" in n.reason] == []
    sh("git reset -q --hard HEAD && git rm -rqf d3 d1 && git commit -qm 2")
    second = ws.capture(result.state).state
    go(ws, result.state, second)
    assert snapshot(work) == before and sh("git ls-files -s -z") == staged


@pytest.mark.parametrize("where", ["f", "d/f", "d"])
def test_what_cannot_be_changed_undoes_the_whole_jump(
    work: Path, sh: Sh, open_workspace: Open, where: str
) -> None:
    sh(COMMIT + " && mkdir d && echo 1 > d/f && echo 1 > f && echo 1 > g && git add . && git commit -qm 1")
    ws = open_workspace()
    first = ws.capture(None).state
    sh("echo 2 > f && echo 2 > g && echo 2 > d/f && rm a && touch d/new new && git add g")
    second, before, index = ws.capture(first).state, snapshot(work), sh("git ls-files -s")
    if subprocess.run(["chattr", "+i", str(work / where)], capture_output=True, check=False).returncode:
        pytest.skip("files cannot be made immutable here")
    try:
        plan = ws.plan(first, last=second, default_choice="restore")
        report = ws.apply(plan, new_branch="worldline/t/2")
        assert not report.done and report.rolled_back and "not permitted" in report.note
        assert snapshot(work) == before and sh("git ls-files -s; git branch") == index + "* main\n"
    finally:
        sh(f"chattr -i {where}")
    go(ws, first, second)
    assert (work / "d" / "f").read_text() == "1\n" and not (work / "new").exists()


def test_an_open_file_and_hard_links_keep_what_they_have(
    work: Path, sh: Sh, open_workspace: Open, tmp_path: Path
) -> None:
    sh(COMMIT + " && echo one > f && ln f twin")
    ws = open_workspace()
    first = ws.capture(None).state
    outside = tmp_path / "outside"
    sh("rm twin && echo two > f && ln f twin")
    os.link(work / "f", outside)
    second = ws.capture(first).state
    with (work / "f").open("r+b") as held:
        go(ws, first, second)
        held.write(b"late\n")  # by somebody who had it open: it must not reach what was restored
    assert (work / "f").read_bytes() == (work / "twin").read_bytes() == b"one\n"
    assert outside.read_bytes() == b"late\n"


def test_permissions_of_one_name_are_not_those_of_its_hard_links(
    work: Path, sh: Sh, open_workspace: Open
) -> None:
    sh(COMMIT + " && echo one > f && cp f twin && chmod 600 twin && echo ignored > .git/info/exclude")
    ws = open_workspace()
    first, before = ws.capture(None).state, snapshot(work)
    sh("ln -f f twin && chmod 755 f && ln f ignored && touch -d @1000 f")
    second = ws.capture(first).state
    go(ws, first, second)
    now = snapshot(work)
    assert now.pop("ignored")[0] & 0o777 == 0o755
    assert now == before and (work / "f").stat().st_mtime == 1000
    assert not list(work.glob(".worldline-*"))


def test_of_a_part_of_a_repository_only_files_are_put_back_and_that_is_said(
    work: Path, sh: Sh, open_workspace: Open
) -> None:
    sh(COMMIT + " && mkdir part && echo 1 > part/f && git add . && git commit -qm part")
    ws = open_workspace(work / "part")
    first = ws.capture(None)
    (gap,) = first.omitted
    assert gap.path == ".git" and "only a part of the repository" in gap.reason
    sh(
        "echo 2 > part/f && echo 2 > a && git add . && git commit -qm 2 && echo 3 > part/f && echo 3 > a && git add ."
    )
    second = ws.capture(first.state).state
    plan = ws.plan(first.state, last=second, default_choice="restore")
    assert "staging area and HEAD stay as they are" in " ".join(plan.notes)
    outside = sh("git rev-parse HEAD; git ls-files -s; cat a")
    report = ws.apply(plan, new_branch=None)
    assert report.done and "only a part of the repository" in report.note
    assert (work / "part" / "f").read_text() == "1\n"
    assert sh("git rev-parse HEAD; git ls-files -s; cat a") == outside


def test_a_nested_history_of_any_size_comes_back(
    work: Path, sh: Sh, open_workspace: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gitcopy, "CHUNK", 50_000)
    sh(
        COMMIT
        + " && git init -q -b main n && cd n && head -c 300000 /dev/urandom > big && git add . && git commit -qm big && "
        "echo 2 > f && git add f && git commit -qm small && git gc -q"
    )
    pack = next((work / "n" / ".git" / "objects" / "pack").glob("*.pack")).read_bytes()
    history = sh("git -C n log --format=%H")
    ws = open_workspace()
    first = ws.capture(None)
    assert [o for o in first.omitted if o.path == "n/.git"] == []
    # Known by another process too: not a byte of the large file is read again.
    ws.close()
    ws = open_workspace()
    monkeypatch.setattr(gitcopy, "object_id", lambda *_: pytest.fail("read again"))
    assert ws.capture(first.state).state == first.state
    monkeypatch.undo()
    sh("rm -rf n/.git n/f && git gc -q --prune=now")
    second = ws.capture(first.state).state
    go(ws, first.state, second)
    assert sh("git -C n fsck --strict 2>&1 && git -C n status --porcelain") == ""
    assert sh("git -C n log --format=%H") == history
    assert next((work / "n" / ".git" / "objects" / "pack").glob("*.pack")).read_bytes() == pack
    ws.prune({first.state})
    assert ws.missing({first.state}) == {}


@pytest.mark.parametrize("limit", ["MAX_BYTES", "MAX_FILES", "room"])
def test_a_nested_history_that_is_not_copied_is_listed_with_the_reason(
    work: Path, sh: Sh, open_workspace: Open, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    sh(COMMIT + " && git init -q n && cd n && echo 1 > f && git add f && git commit -qm 1")
    if limit == "room":
        monkeypatch.setattr(gitcopy.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9, 9, 400))  # type: ignore[attr-defined]
    else:
        monkeypatch.setattr(gitcopy, limit, 3)
    result = open_workspace(free_floor=0).capture(None)
    (gap,) = [o for o in result.omitted if o.path == "n/.git"]
    assert "history is not copied" in gap.reason
    assert {"MAX_BYTES": "3 bytes", "MAX_FILES": "3 files", "room": "free space"}[limit] in gap.reason


def test_a_sparse_staging_area_is_put_back_as_it_was(work: Path, sh: Sh, open_workspace: Open) -> None:
    sh(
        COMMIT
        + " && mkdir -p in out/deep && echo 1 > in/f && echo 1 > out/f && echo 1 > out/deep/g && git add . && git commit -qm 1"
    )
    sh("git sparse-checkout set --sparse-index in && echo 2 > in/f && git add in/f && echo u > in/u")
    raw = (work / ".git" / "index").read_bytes()
    assert b"sdir" in raw and b"out/" in raw and b"out/f" not in raw
    facts = "git ls-files -s -t --sparse; git status --porcelain; git rev-parse HEAD"
    before, seen = snapshot(work), sh(facts)
    ws = open_workspace()
    result = ws.capture(None)
    assert result.omitted == []
    sh(
        "git commit -qm 2 && git rm -qf in/f && git sparse-checkout disable && echo 3 > out/f && git add . && git commit -qm 3"
    )
    second = ws.capture(result.state).state
    sh("git sparse-checkout set --sparse-index in")
    third = ws.capture(second).state
    sh("git reflog expire --expire=now --all; git gc -q --prune=now")
    go(ws, result.state, third)
    assert snapshot(work) == before and sh(facts) == seen
    assert b"sdir" in (work / ".git" / "index").read_bytes()
    assert sh("git fsck 2>&1; git diff --cached --name-only") == "in/f\n"
    copy = prepare(work, "s").path
    assert (
        run_sh("git ls-files -s -t --sparse; git status --porcelain", copy)
        == sh(facts).rsplit("\n", 2)[0] + "\n"
    )


def test_a_submodule_in_an_ignored_folder_is_captured(
    work: Path, sh: Sh, open_workspace: Open, tmp_path: Path
) -> None:
    sh("git init -q ../source && cd ../source && echo s > s && git add s && git commit -qm s")
    sh(
        COMMIT
        + " && git -c protocol.file.allow=always submodule add -q ../source third/mod && git commit -qam mod"
    )
    sh("echo third/ > .gitignore && echo untracked > third/mod/u && echo 2 > third/mod/s")
    before = snapshot(work)
    ws = open_workspace()
    first = ws.capture(None).state
    sh("rm -rf third && echo 2 > a")
    second = ws.capture(first).state
    go(ws, first, second)
    assert snapshot(work) == before
    assert sh("git -C third/mod status --porcelain") == " M s\n?? u\n"
    copy = prepare(work, "s").path
    assert (copy / "third" / "mod" / "u").read_text() == "untracked\n"
    assert (copy / "third" / "mod" / "s").read_text() == "2\n"


@pytest.mark.parametrize("choice", ["keep", "restore"])
def test_other_permissions_of_an_ignored_file_are_said_and_restored_when_chosen(
    work: Path, two_states: TwoStates, choice: str
) -> None:
    ws, first, second = two_states(
        COMMIT + " && echo tool > run && chmod 755 run", "chmod 600 run && echo run > .git/info/exclude"
    )
    plan = ws.plan(first, last=second, choices={"run": choice})
    [row] = [item for item in plan.items if item.path == "run"]
    assert "its permissions are others" in row.reason
    assert row.action == ("chmod" if choice == "restore" else "keep_foreign")
    report = ws.apply(plan, new_branch="worldline/t/2")
    assert report.done and not report.failed and (work / "run").read_text() == "tool\n"
    wanted = 0o755 if choice == "restore" else 0o600
    assert stat.S_IMODE((work / "run").stat().st_mode) == wanted
