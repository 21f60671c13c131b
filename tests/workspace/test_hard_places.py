"""Kinds of operations that restores were found to stumble over, one by one; and random sequences of all of them."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from worldline.workspace import indexfile
from worldline.workspace.engine import Workspace
from worldline.workspace.isolate import prepare

from .attack import play
from .conftest import REPO, snapshot

Sh = Callable[..., str]
Open = Callable[..., Workspace]
COMMIT = REPO + "echo 1 > a && git add . && git commit -qm 0"


def go(ws: Workspace, target: str, last: str, branch: str = "worldline/t/2") -> None:
    report = ws.apply(ws.plan(target, last=last, default_choice="restore"), new_branch=branch)
    assert report.done and not report.failed, (report.note, report.failed)


@pytest.mark.parametrize("inside", ["", "empty"])
def test_an_empty_ignored_folder_makes_room_for_a_file(
    work: Path, sh: Sh, open_workspace: Open, inside: str
) -> None:
    sh(COMMIT)
    ws = open_workspace()
    first = ws.capture(None).state
    sh(f"git rm -q a && mkdir -p a/{inside} && echo a > .git/info/exclude")
    second = ws.capture(first).state
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
    work: Path, sh: Sh, open_workspace: Open
) -> None:
    sh(COMMIT + " && echo d/ > .gitignore && echo file > d && git add -f d .gitignore")
    ws = open_workspace()
    first = ws.capture(None).state
    sh("git rm -qf d .gitignore && mkdir -p d/e")
    second = ws.capture(first).state
    go(ws, first, second)
    assert (work / "d").read_text() == "file\n"
    go(ws, second, first, "worldline/t/3")
    assert (work / "d" / "e").is_dir()


def test_a_repository_below_something_that_is_no_folder_stays_away(
    work: Path, sh: Sh, open_workspace: Open
) -> None:
    sh(COMMIT + " && git init -q d/n && cd d/n && git commit -q --allow-empty -m n")
    ws = open_workspace()
    first = ws.capture(None).state
    sh("rm -rf d && mkfifo d && echo 2 > a")
    second = ws.capture(first).state
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


@pytest.mark.parametrize("seed", [3, 104, 113, 1030])
def test_random_operations_of_every_kind(seed: int) -> None:
    _attack(seed, 40)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5000, 5020))
def test_more_random_operations(seed: int) -> None:
    _attack(seed, 60)


def _attack(seed: int, steps: int) -> None:
    base = Path(tempfile.mkdtemp(prefix="worldline-attack-"))
    try:
        play(base, seed, steps)
    finally:
        for place, names, _ in os.walk(base):
            for name in names:
                path = Path(place, name)
                if not path.is_symlink():
                    path.chmod(0o755)
        shutil.rmtree(base, ignore_errors=True)
