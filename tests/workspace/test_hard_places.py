"""Kinds of operations that restores were found to stumble over, one by one; and random sequences of all of them."""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from worldline.workspace import gitcopy, indexfile
from worldline.workspace.apply import Restorer
from worldline.workspace.engine import Workspace
from worldline.workspace.isolate import prepare

from .attack import play
from .conftest import REPO, run_sh, snapshot

Sh = Callable[..., str]
Open = Callable[..., Workspace]
TwoStates = Callable[[str, str], tuple[Workspace, str, str]]
COMMIT = REPO + "echo 1 > a && git add . && git commit -qm 0"


def go(ws: Workspace, target: str, last: str, branch: str = "worldline/t/2") -> None:
    report = ws.apply(ws.plan(target, last=last, default_choice="restore"), new_branch=branch)
    assert report.done and not report.failed, (report.note, report.failed)


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


_OVERRIDE = 1 << 1 | 1 << 2 | 1 << 3
"""CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER: what lets root walk through permissions."""


def _capabilities(change: Callable[[int], int]) -> None:
    """Change which capabilities of this thread are in effect."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    assert libc.capget(header, data) == 0
    data[0] = change(data[0]) & data[1]
    assert libc.capset(header, data) == 0


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


@pytest.fixture
def not_root() -> Iterator[Path]:
    """A folder to work in as somebody who is stopped by permissions."""
    base = Path(tempfile.mkdtemp(prefix="worldline-person-"))
    _capabilities(lambda now: now & ~_OVERRIDE)
    try:
        yield base
    finally:
        _capabilities(lambda now: now | _OVERRIDE)
        _remove(base)


def tree_of_closed_folders(work: Path) -> None:
    for name in ("cache/mod/deep", "cache/empty", "other"):
        (work / name).mkdir(parents=True)
    for name in ("cache/mod/deep/f", "cache/mod/g", "other/h"):
        (work / name).write_text("1\n")
    for name in ("cache/mod/deep", "cache/mod", "cache/empty", "cache"):
        (work / name).chmod(0o555)


@pytest.mark.skipif(sys.platform != "linux", reason="permissions are left off by capabilities")
def test_read_only_folders_are_restored_into_and_stay_read_only(not_root: Path) -> None:
    work = not_root / "work"
    work.mkdir()
    ws = Workspace(work, not_root / "store")
    empty = ws.capture(None).state
    tree_of_closed_folders(work)
    first, closed = ws.capture(empty).state, snapshot(work)
    for name in ("cache/mod/deep", "cache/mod", "cache"):
        (work / name).chmod(0o755)
    (work / "cache/mod/deep/f").write_text("2\n")
    (work / "cache/mod/deep/f").rename(work / "cache/mod/deep/renamed")
    (work / "cache/mod/g").unlink()
    (work / "cache/mod/g").mkdir()
    (work / "cache/mod/g").chmod(0o500)
    (work / "cache/empty").rmdir()
    (work / "cache/empty").write_text("a file now\n")
    for name in ("cache/mod/deep", "cache"):
        (work / name).chmod(0o555)
    (work / "cache/mod").chmod(0o700)
    second, changed = ws.capture(first).state, snapshot(work)
    last = second
    for target, seen in (
        (first, closed),
        (second, changed),
        (empty, {}),
        (first, closed),
        (empty, {}),
        (second, changed),
    ):
        go(ws, target, last)
        last = target
        assert snapshot(work) == seen
    ws.close()


@pytest.mark.skipif(sys.platform != "linux", reason="permissions are left off by capabilities")
def test_a_jump_into_read_only_folders_that_is_killed_is_undone(
    not_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped by the failure that each step can have, like a kill: everything is as before, permissions too."""
    work = not_root / "work"
    work.mkdir()
    ws = Workspace(work, not_root / "store", watch=False)
    empty = ws.capture(None).state
    tree_of_closed_folders(work)
    first, closed = ws.capture(empty).state, snapshot(work)
    for name in ("_swap", "_move_roots", "_permissions", "_verify", "_note_committed"):
        real = getattr(Restorer, name)

        def broken(self: Restorer, *a: object, real: Callable[..., None] = real, **k: object) -> None:
            if real.__name__ != "_note_committed":
                real(self, *a, **k)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(Restorer, name, broken)
            patch.setattr(Restorer, "_roll_back", lambda *_: None)
            with pytest.raises(KeyboardInterrupt):
                ws.apply(ws.plan(empty, last=first, default_choice="restore"), new_branch=None)
        ws.close()
        ws = Workspace(work, not_root / "store", watch=False)
        report = ws.recover()
        assert report is not None and not report.finished, name
        assert snapshot(work) == closed, name
    ws.close()


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
@pytest.mark.parametrize("isolated", [False, True])
def test_random_operations_of_every_kind(seed: int, isolated: bool) -> None:
    _attack(seed, 40, isolated)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5000, 5020))
@pytest.mark.parametrize("isolated", [False, True])
def test_more_random_operations(seed: int, isolated: bool) -> None:
    _attack(seed, 60, isolated)


def _attack(seed: int, steps: int, isolated: bool) -> None:
    base = Path(tempfile.mkdtemp(prefix="worldline-attack-"))
    try:
        play(base, seed, steps, isolated=isolated)
    finally:
        _remove(base)


def _remove(base: Path) -> None:
    for place, names, _ in os.walk(base):
        for name in names:
            path = Path(place, name)
            if not path.is_symlink():
                path.chmod(0o755)
    shutil.rmtree(base, ignore_errors=True)
