"""Reported losses of other checkpoint engines as scenarios, in the person's folder and in a worktree of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from worldline.core.errors import WorkspaceError
from worldline.workspace import guard, isolate
from worldline.workspace.engine import Workspace
from worldline.workspace.model import NOT_CAPTURED, RestorePlan, RestoreReport

from .conftest import run_sh, snapshot

BASE = (
    "git init -q -b main . && git config user.name t && git config user.email t@e && mkdir -p dir/sub && echo a1 > a.txt "
    "&& echo b1 > b.txt && echo d > dir/d && echo s > dir/sub/s && git add . && git commit -qm one"
)


class Scene:
    """A workspace in one of the two modes."""

    def __init__(self, path: Path, store: Path, **options: object) -> None:
        self.path = path
        self.ws = Workspace(path, store, **options)  # type: ignore[arg-type]
        self.forks = 0

    def sh(self, command: str, check: bool = True) -> str:
        return run_sh(command, self.path, check)

    def capture(self, parent: str | None = None) -> str:
        result = self.ws.capture(parent)
        assert result.state != NOT_CAPTURED, result.error
        return result.state

    def jump(self, target: str, last: str, **options: object) -> tuple[RestorePlan, RestoreReport]:
        plan = self.ws.plan(target, last=last, **options)  # type: ignore[arg-type]
        self.forks += 1
        return plan, self.ws.apply(plan, new_branch=f"worldline/t/{self.forks}")

    def actions(self, plan: RestorePlan) -> dict[str, str]:
        return {item.path: item.action for item in plan.items}


@pytest.fixture(params=["in_place", "isolated"])
def scene(request: pytest.FixtureRequest, work: Path, tmp_path: Path) -> Iterator[Callable[..., Scene]]:
    scenes: list[Scene] = []

    def make(setup: str = BASE, **options: object) -> Scene:
        run_sh(setup, work)
        path = work
        if request.param == "isolated":
            path = isolate.prepare(work, "5e55").path
        scenes.append(Scene(path, tmp_path / "store", **options))
        return scenes[-1]

    yield make
    for each in scenes:
        each.ws.close()


MakeScene = Callable[..., Scene]


def test_a_rule_added_later_hides_nothing_from_protection(scene: MakeScene) -> None:
    s = scene()
    first = s.capture()
    s.sh("echo data/ > .gitignore && mkdir data && echo o > data/out.jsonl")
    plan, report = s.jump(first, s.capture(first))
    assert report.done and (s.path / "data/out.jsonl").exists() and not (s.path / ".gitignore").exists()
    assert s.actions(plan)["data/out.jsonl"] == "not_captured"


def test_a_rule_deleted_by_the_agent(scene: MakeScene) -> None:
    s = scene()
    s.sh("echo data/ > .gitignore && mkdir data && echo i > data/in.csv")
    first = s.capture()
    s.sh("rm .gitignore")
    plan, report = s.jump(first, s.capture(first))
    assert report.done and (s.path / "data/in.csv").read_text() == "i\n" and (s.path / ".gitignore").exists()
    assert s.actions(plan)["data/in.csv"] == "keep_foreign"


def test_files_made_by_a_script_of_the_person_stay(scene: MakeScene) -> None:
    s = scene()
    first = s.capture()
    s.sh("echo agent > a.txt")
    second = s.capture(first)
    s.sh("mkdir out && for n in $(seq 300); do echo $n > out/$n; done")
    s.jump(first, second)
    assert len(list((s.path / "out").iterdir())) == 300 and (s.path / "a.txt").read_text() == "a1\n"


def test_a_name_that_cannot_be_written_is_reported(scene: MakeScene) -> None:
    s = scene()
    first = s.capture()
    s.sh("rm a.txt && echo x > b.txt")
    plan = s.ws.plan(first, last=s.capture(first))
    bad = next(item for item in plan.items if item.path == "a.txt")
    bad.path = "n" * 300
    report = s.ws.apply(plan, new_branch=None)
    assert report.done and [f.path for f in report.failed] == ["n" * 300]
    assert (s.path / "b.txt").read_text() == "b1\n"


def test_staged_content_is_put_back(scene: MakeScene) -> None:
    s = scene(f"{BASE} && echo X > b.txt && git add b.txt && echo Y > b.txt")
    first = s.capture()
    s.sh("echo agent > a.txt && git add -A")
    _, report = s.jump(first, s.capture(first))
    assert report.done and s.sh("git show :b.txt") == "X\n" and (s.path / "b.txt").read_text() == "Y\n"
    assert s.sh("git show :a.txt") == "a1\n"


def test_a_file_of_the_person_where_the_agent_looked(scene: MakeScene) -> None:
    s = scene()
    first = s.capture()
    s.sh("echo mine > x")
    plan, _ = s.jump(first, first)
    assert (s.path / "x").exists() and s.actions(plan)["x"] == "keep_mine"


def test_a_rename_is_undone_and_redone(scene: MakeScene) -> None:
    s = scene()
    first = s.capture()
    s.sh("mv a.txt new.txt")
    second = s.capture(first)
    s.jump(first, second)
    assert (s.path / "a.txt").read_text() == "a1\n" and not (s.path / "new.txt").exists()
    s.jump(second, first)
    assert (s.path / "new.txt").read_text() == "a1\n" and not (s.path / "a.txt").exists()


def test_a_folder_replaced_by_a_link_to_the_outside(scene: MakeScene, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "sub").mkdir(parents=True)
    (outside / "d").write_text("PRECIOUS")
    (outside / "sub/s").write_text("PRECIOUS")
    s = scene()
    first = s.capture()
    s.sh(f"rm -r dir && ln -s {outside} dir && ln {outside}/d hard")
    _, report = s.jump(first, s.capture(first))
    assert report.done and (s.path / "dir").is_dir() and not (s.path / "dir").is_symlink()
    assert (s.path / "dir/d").read_text() == "d\n" and (outside / "d").read_text() == "PRECIOUS"
    assert (outside / "sub/s").read_text() == "PRECIOUS" and not (s.path / "hard").exists()


def test_a_link_put_there_between_plan_and_write(scene: MakeScene, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "d").write_text("PRECIOUS")
    s = scene()
    first = s.capture()
    s.sh("echo agent > dir/d")
    plan = s.ws.plan(first, last=s.capture(first))
    s.sh(f"mv dir away && ln -s {outside} dir")
    report = s.ws.apply(plan)
    assert (outside / "d").read_text() == "PRECIOUS"
    assert not report.done and report.rolled_back and (s.path / "away/d").read_text() == "agent\n"


def test_a_hard_link_to_the_outside_is_not_written_through(scene: MakeScene, tmp_path: Path) -> None:
    s = scene()
    first = s.capture()
    (tmp_path / "shared").write_text("shared")
    s.sh(f"rm a.txt && ln {tmp_path}/shared a.txt")
    s.jump(first, s.capture(first))
    assert (tmp_path / "shared").read_text() == "shared" and (s.path / "a.txt").read_text() == "a1\n"


def test_only_changed_files_get_a_new_time(scene: MakeScene) -> None:
    s = scene(f"{BASE} && for n in $(seq 500); do echo $n > f$n; done && git add . && git commit -qm many")
    first = s.capture()
    s.sh("for n in 1 2 3; do echo x > f$n; done")
    second = s.capture(first)
    before = {p.name: p.stat().st_mtime_ns for p in s.path.glob("f*")}
    s.jump(first, second)
    changed = {p.name for p in s.path.glob("f*") if p.stat().st_mtime_ns != before[p.name]}
    assert changed == {"f1", "f2", "f3"}


def test_deleted_and_made_again(scene: MakeScene) -> None:
    s = scene()
    first = s.capture()
    s.sh("rm a.txt")
    second = s.capture(first)
    s.sh("echo other > a.txt")
    s.jump(first, s.capture(second))
    assert (s.path / "a.txt").read_text() == "a1\n"


def test_seventeen_of_seventeen(scene: MakeScene) -> None:
    s = scene(f"{BASE} && for n in $(seq 17); do echo $n > g$n; done")
    first = s.capture()
    s.sh("for n in $(seq 12); do echo x > g$n; done")
    second = s.capture(first)
    s.sh("for n in $(seq 8 17); do echo y > g$n; done")
    _, report = s.jump(first, s.capture(second))
    assert (report.verified, report.of) == (17, 17)


def test_inner_repositories(scene: MakeScene) -> None:
    inner = "mkdir -p n1 n2/x && for r in n1 n2/x; do (cd $r && git init -q -b main && echo v1 > f && git add f && git commit -qm i); done"
    s = scene(f"{BASE} && {inner} && mkdir empty-repo && git -C empty-repo init -q && echo u > empty-repo/u")
    first = s.capture()
    s.sh("echo v2 > n1/f; cd n2/x; echo v2 > f; git commit -qam agent; echo v2 > ../../empty-repo/u")
    _, report = s.jump(first, s.capture(first))
    assert report.done
    assert [(s.path / p).read_text() for p in ("n1/f", "n2/x/f", "empty-repo/u")] == ["v1\n", "v1\n", "u\n"]
    assert s.sh("git -C n2/x log --format=%s").strip() == "i" and s.sh(
        "git -C n2/x log --format=%s main"
    ).split() == ["agent", "i"]
    assert (
        s.sh("git -C n2/x status --porcelain") == ""
        and s.sh("git -C empty-repo status --porcelain") == "?? u\n"
    )


def test_a_lock_held_by_the_person(scene: MakeScene) -> None:
    s = scene()
    first = s.capture()
    lock = Path(s.sh("git rev-parse --absolute-git-dir").strip()) / "index.lock"
    s.sh("echo agent > a.txt && git add a.txt")
    lock.write_text("theirs")
    second = s.capture(first)
    _, report = s.jump(first, second)
    assert report.done and "lock" in report.note
    assert lock.read_text() == "theirs" and (s.path / "a.txt").read_text() == "a1\n"


def test_saved_between_plan_and_write(scene: MakeScene) -> None:
    s = scene()
    first = s.capture()
    s.sh("echo agent > a.txt; echo agent > b.txt; echo new > c; echo new > e")
    plan = s.ws.plan(first, last=s.capture(first))
    s.sh("echo mine >> a.txt; echo mine >> c")
    report = s.ws.apply(plan)
    assert report.done and {f.path for f in report.failed} == {"a.txt", "c"}
    assert (s.path / "a.txt").read_text() == "agent\nmine\n" and (s.path / "c").read_text() == "new\nmine\n"
    assert (s.path / "b.txt").read_text() == "b1\n" and not (s.path / "e").exists()


def test_a_merge_in_progress(scene: MakeScene) -> None:
    s = scene(
        f"{BASE} && git switch -qc t && echo t > a.txt && git commit -qam t && git switch -q main && echo m > a.txt && git commit -qam m"
    )
    clean = s.capture()
    s.sh("git merge t", check=False)
    merging = s.capture(clean)
    stages = s.sh("git ls-files -s")
    s.jump(clean, merging)
    assert s.sh("git status --porcelain") == "" and "MERGE_HEAD" not in s.sh("ls $(git rev-parse --git-dir)")
    s.jump(merging, clean)
    assert (
        s.sh("git ls-files -s") == stages
        and s.sh("git rev-parse MERGE_HEAD t").split()[0] == s.sh("git rev-parse t").strip()
    )


def test_flags_of_the_staging_area(scene: MakeScene) -> None:
    s = scene(
        f"{BASE} && echo n > n && git add -N n && git update-index --skip-worktree a.txt && git update-index --assume-unchanged b.txt"
    )
    before = s.sh("git ls-files -t -v -s; git diff --cached --stat; git ls-files -v")
    first = s.capture()
    s.sh(
        "git update-index --no-skip-worktree a.txt && git update-index --no-assume-unchanged b.txt && git add n && echo x > dir/d && git add dir/d"
    )
    s.jump(first, s.capture(first))
    assert s.sh("git ls-files -t -v -s; git diff --cached --stat; git ls-files -v") == before


def test_special_and_large_files_are_named_and_left_alone(scene: MakeScene) -> None:
    s = scene(max_file_bytes=1000)
    first = s.capture()
    s.sh("mkfifo pipe && head -c 2000 /dev/zero > big && echo x > a.txt")
    result = s.ws.capture(first)
    assert {o.path for o in result.omitted} == {"pipe", "big"}
    plan, _ = s.jump(first, result.state)
    assert (s.path / "big").stat().st_size == 2000 and (s.path / "pipe").is_fifo()
    assert s.actions(plan)["big"] == "not_captured"
    s.sh("truncate -s 10 big")
    third = s.capture(first)
    plan, _ = s.jump(result.state, third)
    assert (s.path / "big").stat().st_size == 10 and s.actions(plan)["big"] == "keep_foreign"


@pytest.mark.parametrize(
    "setting", ["core.autocrlf=true", "filter.lfs.required=true", "core.fsmonitor=./boom"]
)
def test_no_filter_and_no_program_of_the_workspace_runs(scene: MakeScene, setting: str) -> None:
    key, value = setting.split("=")
    s = scene(f"{BASE} && printf '*.bin filter=lfs -text\\n' > .gitattributes && printf 'lf\\ncrlf\\r\\n' > mixed && echo data > x.bin "
              f"&& git config filter.lfs.clean missing && git config {key} {value} && printf '#!/bin/sh\\ntouch ran\\n' > boom && chmod +x boom")  # fmt: skip
    before = snapshot(s.path)
    first = s.capture()
    (s.path / "mixed").write_bytes(b"x")
    (s.path / "x.bin").write_bytes(b"y")
    s.jump(first, s.capture(first))
    assert snapshot(s.path) == before


def test_a_full_disk_changes_nothing(work: Path, tmp_path: Path) -> None:
    if (
        os.geteuid()
        or run_sh(f"mount -t tmpfs -o size=3m tmpfs {work} && echo ok", tmp_path, check=False) != "ok\n"
    ):
        pytest.skip("a small file system cannot be mounted here")
    try:
        s = Scene(work, tmp_path / "store")
        s.sh("for n in 1 2 3; do head -c 400000 /dev/urandom > f$n; done")
        first = s.capture()
        s.sh("rm f1 f2 f3 && echo small > f1 && head -c 2500000 /dev/zero > mine")
        second = s.capture(first)
        before = snapshot(work)
        report = s.ws.apply(s.ws.plan(first, last=second, users={"mine"}))
        assert not report.done and report.rolled_back and "are free" in report.note
        assert snapshot(work) == before
        s.ws.close()
    finally:
        run_sh(f"umount -l {work}", tmp_path)


def test_permission_lost_rolls_everything_back(work: Path, tmp_path: Path) -> None:
    s = Scene(work, tmp_path / "store")
    s.sh("mkdir d && echo 1 > a && echo 1 > d/b && echo 1 > z")
    first = s.capture()
    s.sh("echo 2 > a && echo 2 > d/b && echo 2 > z")
    second = s.capture(first)
    plan = s.ws.plan(first, last=second)
    locked = run_sh("chattr +i d/b && echo ok", work, check=False)
    try:
        if locked != "ok\n":
            pytest.skip("files cannot be made immutable here")
        report = s.ws.apply(plan)
        assert not report.done and report.rolled_back
        assert [(work / p).read_text() for p in ("a", "d/b", "z")] == ["2\n"] * 3
        assert not list(work.glob(".worldline*"))
    finally:
        run_sh("chattr -i d/b", work, check=False)
        s.ws.close()


def test_repositories_libgit2_cannot_read(work: Path, tmp_path: Path) -> None:
    run_sh(
        "git init -q --object-format=sha256 . && echo 1 > a && echo k > .gitignore && echo i > k && git add . && git commit -qm i",
        work,
    )
    s = Scene(work, tmp_path / "store")
    first = s.ws.capture(None)
    assert first.state != NOT_CAPTURED and any("only files" in note.reason for note in first.notes)
    s.sh("echo 2 > a; rm .gitignore; echo n > n")
    _, report = s.jump(first.state, s.capture(first.state))
    assert report.done and "only files" in report.note, report.note
    assert (work / "a").read_text() == "1\n" and not (work / "n").exists() and (work / "k").exists()
    s.ws.close()


def test_no_repository_unborn_and_detached(work: Path, tmp_path: Path) -> None:
    s = Scene(work, tmp_path / "store")
    s.sh("echo 1 > a")
    plain = s.capture()
    s.sh("git init -q -b main . && git add a")
    unborn = s.capture(plain)
    s.sh("git commit -qm one && git switch -q --detach && echo 2 > a && git commit -qam two")
    detached = s.capture(unborn)
    s.jump(unborn, detached)
    assert (
        s.sh("git status --porcelain") == "A  a\n"
        and s.sh("git rev-parse -q --verify HEAD", check=False) == ""
    )
    s.jump(detached, unborn)
    assert s.sh("git log --format=%s").split() == ["two", "one"] and s.sh("git status --porcelain") == ""
    s.ws.close()


def test_two_programs_on_one_store(work: Path, tmp_path: Path) -> None:
    one = Scene(work, tmp_path / "store")
    one.capture()
    two = Workspace(work, tmp_path / "store")
    assert "in use" in two.capture(None).error
    with pytest.raises(WorkspaceError) as caught:
        two.plan("0" * 40, last="")
    assert caught.value.kind == "locked"
    two.close()
    one.ws.close()


def test_refused_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home/me"))
    (tmp_path / "home/me/project").mkdir(parents=True)
    for folder in (
        Path("/"),
        tmp_path / "home/me",
        tmp_path / "home",
        Path(os.environ["WORLDLINE_HOME"]),
        work / "none",
    ):
        with pytest.raises(WorkspaceError):
            guard.refuse(folder)
    guard.refuse(tmp_path / "home/me/project")
