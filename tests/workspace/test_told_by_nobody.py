"""What neither the kernel nor git tells of: other names of a file, edits that look like none, repositories in pieces."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from worldline.workspace.engine import Workspace

from .conftest import go, run_sh

Open = Callable[..., Workspace]
Sh = Callable[..., str]
START = "git init -q -b main . && echo one >f && echo k >k && git add . && git commit -qm 1"


def _age(work: Path) -> None:
    """Make what is there older than git's doubt about files of the same second as the staging area."""
    old = time.time() - 60
    for path in [*work.iterdir(), work / ".git" / "index"]:
        os.utime(path, (old, old))


@pytest.mark.parametrize("change", ["git commit -qam 2", "git add f"])
def test_git_sees_the_edit_of_a_file_that_is_kept(
    sh: Sh, open_workspace: Open, work: Path, change: str
) -> None:
    sh(START)
    workspace = open_workspace()
    first = workspace.capture(None).state
    sh(f"echo two >f; {change}")
    last = workspace.capture(first).state
    (work / "f").write_text("new\n")
    _age(work)
    report = workspace.apply(workspace.plan(first, last=last), new_branch="worldline/t/1")
    assert report.done and (work / "f").read_text() == "new\n"
    old = time.time() + 60
    os.utime(work / ".git" / "index", (old, old))  # as if it had been written a minute later
    assert sh("git diff --name-only") == "f\n"


def test_git_sees_an_edit_of_the_same_second_as_the_staging_area(
    sh: Sh, open_workspace: Open, work: Path
) -> None:
    sh(START)
    workspace = open_workspace()
    first = workspace.capture(None).state
    # To git, which looks at whole seconds, the file is the one that was staged; only that the staging area is not newer
    # makes it look again.
    sh("echo more >k; git add f k; printf 'two\\n' | dd of=f conv=notrunc status=none")
    last = workspace.capture(first).state
    second = (work / ".git" / "index").stat().st_mtime_ns // 10**9
    os.utime(work / ".git" / "index", ns=(second * 10**9, second * 10**9))
    staged = workspace.capture(last).state
    plan = workspace.plan(first, last=staged, users={"f"}, choices={"k": "restore"})
    assert workspace.apply(plan, new_branch="worldline/t/1").done
    later = second + 3600
    os.utime(work / ".git" / "index", (later, later))
    assert (work / "f").read_text() == "two\n"
    assert sh("git diff --name-only") == "f\n"


def test_what_is_written_by_another_name_is_captured(sh: Sh, open_workspace: Open, work: Path) -> None:
    sh(f"{START} && mkdir d && ln f d/inside && ln k ../outside")
    workspace = open_workspace()
    state = workspace.capture(workspace.capture(None).state).state
    for reopened in (False, True):
        if reopened:
            workspace.close()
            workspace = open_workspace()
            state = workspace.capture(state).state
        for name in ("d/inside", "../outside"):
            with (work / name).open("a") as file:
                file.write(f"more {reopened}\n")
        state = workspace.capture(state).state
        assert (
            workspace.read_file(state, "f")
            == workspace.read_file(state, "d/inside")
            == (work / "f").read_bytes()
        )
        assert workspace.read_file(state, "k") == (work / "k").read_bytes()
    # One that has no other name any more is not asked for again.
    sh("rm ../outside d/inside")
    state = workspace.capture(state).state
    assert not any(node.linked for node in workspace._capturer.context.special.values())


def test_a_folder_put_in_the_place_of_one_above_is_looked_at(tmp_path: Path, open_workspace: Open) -> None:
    place = tmp_path / "above" / "work"
    place.mkdir(parents=True)
    (place / "f").write_text("old\n")
    (place / "same").write_text("same\n")
    workspace = open_workspace(place)
    first = workspace.capture(workspace.capture(None).state).state
    place.parent.rename(tmp_path / "away")
    place.mkdir(parents=True)
    (place / "f").write_text("new\n")
    second = workspace.capture(first)
    assert workspace.read_file(second.state, "f") == b"new\n" and second.paths == ["f", "same"]
    (place / "f").write_text("newer\n")
    third = workspace.capture(second.state).state
    assert workspace.read_file(third, "f") == b"newer\n"


@pytest.mark.parametrize("place", ["", "sub/"])
def test_files_of_a_repository_in_pieces_are_captured_and_come_back(
    sh: Sh, open_workspace: Open, work: Path, place: str
) -> None:
    sh(f"{START} && git init -q sub && cd sub && echo s >s && git add s && git commit -qm s")
    workspace = open_workspace()
    first = workspace.capture(None).state
    workspace.close()
    sh(f"rm -rf {place}.git/objects/??; echo two >f; echo two >sub/s")
    workspace = open_workspace()
    second = workspace.capture(first)
    assert not second.error
    assert any(
        o.path == f"{place}.git" and "a part of its history cannot be read" in o.reason
        for o in second.omitted
    )
    report = workspace.apply(workspace.plan(first, last=second.state, default_choice="restore"))
    assert report.done and "only files are put back" in report.note
    assert (work / "f").read_text() == "one\n" and (work / "sub" / "s").read_text() == "s\n"


def test_a_git_folder_that_is_no_repository_is_named(sh: Sh, open_workspace: Open) -> None:
    sh(f"{START} && mkdir -p a/.git b && echo precious >a/.git/notes && echo nothing >b/.git && echo x >a/x")
    omitted = open_workspace().capture(None).omitted
    assert {(o.path, o.reason) for o in omitted} == {
        ("a/.git", "is no repository that can be read"), ("b/.git", "is no repository that can be read"),
    }  # fmt: skip


def test_a_bisection_goes_on_where_it_was(sh: Sh, open_workspace: Open, work: Path) -> None:
    sh(f"{START}; for n in 1 2 3 4 5 6 7 8; do echo $n >f; git commit -qam $n; done")
    sh("git bisect start; git bisect bad; git bisect good HEAD~8")
    workspace = open_workspace()
    first = workspace.capture(None).state
    marks = sh("git for-each-ref refs/bisect")
    assert marks.count("refs/bisect/") == 2
    sh("git bisect reset")
    second = workspace.capture(first).state
    assert not sh("git for-each-ref refs/bisect")
    go(workspace, first, second)
    assert sh("git for-each-ref refs/bisect") == marks
    assert "Bisecting: " in sh("git bisect good")
    third = workspace.capture(first).state
    go(workspace, second, third, "worldline/t/3")
    assert not sh("git for-each-ref refs/bisect") and "bisecting" not in sh("git status")


def test_a_clone_without_the_trees_of_older_commits_is_captured(tmp_path: Path, open_workspace: Open) -> None:
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    origin.mkdir()
    run_sh(
        f"{START}; git config uploadpack.allowFilter true; git config uploadpack.allowAnySHA1InWant true",
        origin,
    )
    run_sh(f"git clone -q --filter=tree:0 file://{origin} {clone}", tmp_path)
    workspace = open_workspace(clone)
    first = workspace.capture(None).state
    run_sh("for n in 1 2 3; do mkdir d$n; echo $n >d$n/f; git add .; git commit -qm $n; done", origin)
    run_sh("git pull -q", clone)
    second = workspace.capture(first)
    assert not second.error and not second.omitted
    go(workspace, first, second.state)
    assert not (clone / "d1").exists()


def test_rules_are_matched_byte_by_byte_as_git_does(sh: Sh, open_workspace: Open, work: Path) -> None:
    sh(
        "git init -q; printf '?\\n?.x\\n[!a]\\nsp[[:space:]]\\n??y\\n' >.gitignore; touch é é.x b b.x 'sp\u00a0' éy"
    )
    workspace = open_workspace()
    state = workspace.capture(None).state
    names = {entry.name for entry in workspace.store.tree(workspace.state(state).files)}
    assert names == set(sh("git ls-files -coz --exclude-standard").split("\0")) - {""}
    assert {"é", "é.x", "sp\u00a0"} <= names and "éy" not in names


@pytest.mark.parametrize("harm", ["echo junk >.git/index", "rm -rf .git/objects/??", "rm -rf .git"])
def test_no_branch_is_claimed_that_was_not_made(sh: Sh, open_workspace: Open, harm: str) -> None:
    sh(START)
    workspace = open_workspace()
    first = workspace.capture(None).state
    workspace.close()
    sh(f"echo two >f; {harm}")
    workspace = open_workspace()
    last = workspace.capture(first).state
    plan = workspace.plan(first, last=last, default_choice="restore")
    report = workspace.apply(plan, new_branch="worldline/t/1")
    assert report.done and report.branch == "" and report.note
    assert "worldline" not in sh("git for-each-ref", check=False)


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("there", ["another file", "no file"])
def test_a_file_whose_permissions_the_person_changed_is_theirs(
    sh: Sh, open_workspace: Open, work: Path, there: str, committed: bool
) -> None:
    sh("git init -q && echo one >secret" if there == "another file" else "git init -q")
    workspace = open_workspace()
    first = workspace.capture(None).state
    sh("echo two >secret; echo x >f" + ("; git add -A; git commit -qm 1" if committed else ""))
    last = workspace.capture(first).state
    (work / "secret").chmod(0o600)
    plan = workspace.plan(first, last=last)
    assert {i.path: i.choice for i in plan.items} == {"f": "", "secret": "keep"}
    assert workspace.apply(plan).done
    assert (work / "secret").read_text() == "two\n" and (work / "secret").stat().st_mode & 0o777 == 0o600
    assert not (work / "f").exists()
