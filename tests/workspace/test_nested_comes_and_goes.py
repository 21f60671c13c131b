"""A repository inside the workspace that comes and goes between nodes, also in the place of a file, takes its history with
it, and nothing that was done in it is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from worldline.workspace import gitagain
from worldline.workspace.engine import Workspace
from worldline.workspace.model import KEPT

from .conftest import TwoStates, snapshot

_NESTED = "git init -q v; cd v; echo n >f; git add -A; git commit -qm n"


def _jump(ws: Workspace, there: str, here: str) -> str:
    """Returns the state of what was there before."""
    plan = ws.plan(there, last=here)
    report = ws.apply(plan)
    assert report.done and not report.failed, (report.note, report.failed)
    return plan.safety


@pytest.mark.parametrize("bare", [False, True], ids=["with files", "without files"])
def test_a_file_that_became_a_repository_and_back(
    two_states: TwoStates, sh: Callable[..., str], work: Path, bare: bool
) -> None:
    ws, file, repo = two_states("echo file >v; echo k >k", f"rm v; {_NESTED}{'; rm f' if bare else ''}")
    there = snapshot(work)
    _jump(ws, file, repo)
    assert (work / "v").read_text() == "file\n"
    _jump(ws, repo, file)
    assert snapshot(work) == there and sh("git log --format=%s", work / "v") == "n\n"


@pytest.mark.parametrize("to_file", [True, False])
def test_that_is_taken_back_whole(
    two_states: TwoStates, sh: Callable[..., str], work: Path, to_file: bool
) -> None:
    ws, file, repo = two_states("echo file >v", f"rm v; {_NESTED}; chmod 700 .")
    if not to_file:
        _jump(ws, file, repo)
    there, here = (file, repo) if to_file else (repo, file)
    before = snapshot(work)

    def fail(_: Any) -> None:
        raise OSError("the cursor cannot be moved")

    assert ws.apply(ws.plan(there, last=here), on_done=fail).rolled_back
    assert snapshot(work) == before and not list(work.glob(".worldline*"))
    if to_file:
        assert sh("git log --format=%s; git status --short", work / "v") == "n\n"
    assert ws.capture(here).state == here


def test_what_is_stashed_and_tagged_in_it_comes_back(
    two_states: TwoStates, sh: Callable[..., str], work: Path
) -> None:
    """None of it changes a file, the staging area or HEAD."""
    ws, without, repo = two_states("echo k >k", _NESTED)
    sh("echo precious >f; git stash -q; git tag kept", work / "v")
    before = _jump(ws, without, repo)
    assert not (work / "v").exists() and before != repo
    _jump(ws, before, without)
    assert sh("git stash list | wc -l; git tag", work / "v") == "1\nkept\n"
    assert sh("git show stash@{0}:f", work / "v") == "precious\n"


@pytest.mark.parametrize(
    "deed", ["git commit -q --allow-empty -m precious", "echo x >f; git add f; echo n >f"]
)
def test_what_is_done_in_it_after_the_plan_stays(
    two_states: TwoStates, sh: Callable[..., str], work: Path, deed: str
) -> None:
    ws, without, repo = two_states("echo k >k", _NESTED)
    plan = ws.plan(without, last=repo)
    sh(deed, work / "v")
    was = sh("git rev-parse HEAD; git ls-files -s", work / "v")
    report = ws.apply(plan)
    assert report.done and "v/.git" in [left.path for left in report.failed]
    assert "goes with its files" not in report.note
    assert sh("git rev-parse HEAD; git ls-files -s", work / "v") == was


def test_one_that_is_made_anew_as_the_old_one_comes_back_is_not_in_its_way(
    two_states: TwoStates, sh: Callable[..., str], work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws, without, repo = two_states("echo k >k", _NESTED)
    plan = ws.plan(without, last=repo)
    sh("git commit -q --allow-empty -m precious", work / "v")
    real = gitagain.is_copied

    def anew(*args: Any) -> bool:
        sh("git init -q v")
        return real(*args)

    monkeypatch.setattr(gitagain, "is_copied", anew)
    assert ws.apply(plan).done
    assert "precious" in sh("git --git-dir .git.during-jump-1 log --format=%s", work / "v")


@pytest.mark.parametrize("bare", [False, True], ids=["with files", "without files"])
def test_the_folders_around_it_go_with_it(
    two_states: TwoStates, sh: Callable[..., str], work: Path, bare: bool
) -> None:
    ws, without, repo = two_states("echo k >k", f"mkdir -p a/b; cd a/b; {_NESTED}{'; rm f' if bare else ''}")
    there = snapshot(work)
    _jump(ws, without, repo)
    assert sorted(snapshot(work)) == ["k"]
    _jump(ws, repo, without)
    assert snapshot(work) == there and sh("git log --format=%s", work / "a/b/v") == "n\n"


_SUBMODULE = (
    "git init -q ../src; cd ../src; echo s >s; git add s; git commit -qm s; cd ../work; git init -q; "
    "git -c protocol.file.allow=always submodule add -q ../src mod; git commit -qm m"
)
_MOVED = "mkdir -p far/off; git mv mod far/off/mod"


def test_a_submodule_that_was_moved_works_where_it_was(
    two_states: TwoStates, sh: Callable[..., str], work: Path
) -> None:
    """Its git folder says where its files are, and `git mv` has written it anew."""
    ws, first, moved = two_states(_SUBMODULE, _MOVED)
    seen = "git status --short; git submodule status"
    there = sh(seen)
    _jump(ws, first, moved)
    assert sh("git status --short; git -C mod log --format=%s") == "s\n"
    _jump(ws, moved, first)
    assert sh(seen) == there and sh("git -C far/off/mod status --short") == ""
    assert ws.capture(moved).state == moved


def test_that_is_taken_back_too(two_states: TwoStates, sh: Callable[..., str], work: Path) -> None:
    ws, first, moved = two_states(_SUBMODULE, _MOVED)
    seen = "git status --short; git submodule status; cat .git/modules/mod/config"
    there = sh(seen)

    def fail(_: Any) -> None:
        assert sh("git -C mod log --format=%s") == "s\n"
        raise OSError("the cursor cannot be moved")

    assert ws.apply(ws.plan(first, last=moved), on_done=fail).rolled_back
    assert sh(seen) == there and sh("git -C far/off/mod log --format=%s") == "s\n"


def test_where_the_old_place_is_in_use_it_says_that_one(
    two_states: TwoStates, sh: Callable[..., str], work: Path
) -> None:
    ws, first, second = two_states(_SUBMODULE, "cp -r mod copy; rm -r mod/.git mod/s; rmdir mod")
    sh("git config -f .git/modules/mod/config core.worktree ../../../copy")
    assert ws.apply(ws.plan(first, last=second, users={"copy/s"})).done
    assert sh("git config -f .git/modules/mod/config core.worktree") == "../../../copy\n"


def test_a_file_in_the_place_that_a_submodule_names_hinders_nothing(
    two_states: TwoStates, sh: Callable[..., str], work: Path
) -> None:
    ws, first, second = two_states(_SUBMODULE, "mv mod elsewhere; echo file >mod")
    state = ws.state(second)
    assert [root.path for root in state.roots if root.trouble] == ["elsewhere"]
    assert ws.read_file(second, "mod") == b"file\n" and ws.read_file(second, "elsewhere/s") == b"s\n"
    assert ws.apply(ws.plan(first, last=second)).done
    assert (work / "mod/s").read_text() == "s\n"


def test_a_hook_that_is_a_link_comes_back_and_is_told_as_one(
    two_states: TwoStates, sh: Callable[..., str], work: Path
) -> None:
    ws, without, repo = two_states("echo k >k", f"{_NESTED}; ln -s ../../f .git/hooks/pre-commit")
    result = ws.capture(without)
    assert any(path == "v" for path in result.runs_later)
    _jump(ws, without, repo)
    _jump(ws, repo, without)
    assert (work / "v/.git/hooks/pre-commit").readlink() == Path("../../f")


def test_a_rule_in_its_git_folder_comes_back(two_states: TwoStates, work: Path) -> None:
    """It has nothing to do with any commit."""
    ws, without, repo = two_states("echo k >k", _NESTED)
    (work / "v/.git/info/attributes").write_text("mine\n")
    before = _jump(ws, without, repo)
    _jump(ws, before, without)
    assert (work / "v/.git/info/attributes").read_text() == "mine\n"


def test_what_was_committed_in_a_submodule_of_it_comes_back(
    two_states: TwoStates, sh: Callable[..., str], work: Path
) -> None:
    ws, without, repo = two_states(
        "git init -q ../src; cd ../src; echo s >s; git add s; git commit -qm s",
        f"{_NESTED}; git -c protocol.file.allow=always submodule --quiet add ../../src sub; git commit -qm s",
    )
    sh("git commit -q --allow-empty -m deep; git tag deep; git reset -q --hard HEAD~1", work / "v/sub")
    before = _jump(ws, without, repo)
    assert not (work / "v").exists()
    _jump(ws, before, without)
    assert sh("git log -1 --format=%s deep; git status --short", work / "v/sub") == "deep\n"


@pytest.mark.parametrize(
    "deed", ["git tag index", "ln -s . .git/hooks/d", "mkdir .git/rr-cache", "git -C sub rm -q --cached s"]
)
def test_what_changes_no_other_file_in_it_is_seen_all_the_same(
    two_states: TwoStates, sh: Callable[..., str], work: Path, deed: str
) -> None:
    ws, without, repo = two_states(
        "git init -q ../src; cd ../src; echo s >s; git add s; git commit -qm s",
        f"{_NESTED}; git -c protocol.file.allow=always submodule --quiet add ../../src sub; git commit -qm s",
    )
    sh(deed, work / "v")
    there = "git tag; ls -F .git/hooks/d .git/rr-cache 2>&1; git -C sub status --short"
    said = sh(there, work / "v", check=False)
    before = _jump(ws, without, repo)
    assert not (work / "v").exists()
    _jump(ws, before, without)
    assert sh(there, work / "v", check=False) == said


@pytest.mark.parametrize("has_file", [False, True], ids=["empty", "with a file"])
@pytest.mark.parametrize("choice", ["keep", "restore"])
def test_one_that_the_person_made_since_stays_and_is_named(
    open_workspace: Callable[..., Workspace], sh: Callable[..., str], work: Path, has_file: bool, choice: Any
) -> None:
    """Its folder is still there after the jump, whatever becomes of the files in it: the plan has to say so."""
    ws = open_workspace()
    sh("mkdir f; echo k >f/k", work)
    state = ws.capture(None).state
    sh(f"git init -q h/v{'; echo n >h/v/n' if has_file else ''}", work)
    plan = ws.plan(state, last=state, default_choice=choice)
    assert ws.apply(plan).done
    assert (work / "h/v/.git/HEAD").is_file()
    named = {item.path: item for item in plan.items}
    assert named["h/v"].action in KEPT and named["h/v"].reason
    assert plan.drop_git == []
    ws.apply(ws.plan(plan.safety, last=state, default_choice="restore"))
    assert (work / "h/v/n").exists() is has_file


def test_one_without_a_commit_at_the_node_is_not_broken_by_the_jump(
    open_workspace: Callable[..., Workspace], sh: Callable[..., str], work: Path
) -> None:
    """HEAD cannot go to a commit that there was not, and its branch has one now: it stays, and that is said."""
    ws = open_workspace()
    sh("git init -q -b main v; echo n >v/f", work)
    state = ws.capture(None).state
    sh("git add f; git commit -qm n", work / "v")
    later = ws.capture(state).state
    report = ws.apply(ws.plan(state, last=later))
    assert report.done and "v: HEAD and the staging area stay as they are" in report.note
    assert (work / "v/.git/HEAD").read_text() == "ref: refs/heads/main\n"
    assert sh("git log --format=%s; git status --short", work / "v") == "n\n"


_LATER = ["echo v/ >.gitignore", "echo v/ >.git/info/exclude", "printf 'v/*\\n' >.gitignore"]


@pytest.mark.parametrize("deed", _LATER)
@pytest.mark.parametrize("deep", ["", "w/"])
@pytest.mark.parametrize("watch", [True, False])
def test_one_that_is_ignored_later_is_left_out_as_by_the_first_capture(
    sh: Callable[..., str], open_workspace: Callable[..., Workspace], work: Path, tmp_path: Path,
    deed: str, deep: str, watch: bool,
) -> None:  # fmt: skip
    sh(f"git init -q; echo k >k; git add k; git commit -qm k; mkdir -p v/{deep}; cd v/{deep}.; {_NESTED}")
    ws = open_workspace(watch=watch)
    first = ws.capture(ws.capture(None).state).state
    sh(deed)
    later = ws.capture(first).state
    fresh = open_workspace(store=tmp_path / "fresh", watch=False)
    truth = fresh.state(fresh.capture(None).state)
    seen = ws.state(later)
    assert (seen.files, [root.path for root in seen.roots]) == (
        truth.files,
        [root.path for root in truth.roots],
    )
    assert [root.path for root in truth.roots] == [""]
    # It is a change like any other that takes the rule back.
    sh("rm -f .gitignore; rm -f .git/info/exclude")
    assert ws.state(ws.capture(later).state).files == ws.state(first).files


def test_what_is_done_in_it_while_it_is_ignored_is_not_lost(
    sh: Callable[..., str], open_workspace: Callable[..., Workspace], work: Path
) -> None:
    sh(f"git init -q; echo k >k; git add k; git commit -qm k; {_NESTED}")
    ws = open_workspace()
    first = ws.capture(None).state
    sh("echo v/ >.gitignore")
    ignored = ws.capture(first).state
    sh("echo precious >f; echo new >g; git commit -qam precious; echo more >>f", work / "v")
    said = sh("git log --format=%s; git status --short", work / "v")
    before = snapshot(work / "v")
    last = ws.capture(ignored).state
    report = ws.apply(ws.plan(first, last=last))
    assert report.done and not (work / ".gitignore").exists()
    assert snapshot(work / "v") == before
    assert sh("git log --format=%s; git status --short", work / "v") == said
    plan = ws.plan(last, last=first)
    assert ws.apply(plan).done
    assert snapshot(work / "v") == before
    assert sh("git log --format=%s; git status --short", work / "v") == said
    assert ws.read_file(plan.safety, "v/f") == b"precious\nmore\n"


def test_files_of_it_that_the_repository_around_tracks_stay(
    sh: Callable[..., str], open_workspace: Callable[..., Workspace], work: Path, tmp_path: Path
) -> None:
    """Those are asked for by their own names, whatever the rules say of the folder."""
    sh(f"git init -q; mkdir -p v/s; echo t >v/s/t; git add v; git commit -qm v; {_NESTED}; echo u >s/u")
    ws = open_workspace()
    first = ws.capture(None).state
    sh("echo v/ >.gitignore")
    later = ws.state(ws.capture(first).state)
    fresh = open_workspace(store=tmp_path / "fresh", watch=False)
    assert later.files == fresh.state(fresh.capture(None).state).files
    assert ws.read_file(later.id, "v/s/t") == b"t\n"


@pytest.mark.parametrize("watch", [False, True])
def test_a_folder_becomes_one_while_the_names_beside_it_are_read_anew(
    open_workspace: Callable[..., Workspace], sh: Callable[..., str], work: Path, watch: bool
) -> None:
    """Nothing else is another then than it was, and the folder above has been told already."""
    ws = open_workspace(watch=watch)
    sh("mkdir v; echo n >v/f", work)
    state = ws.capture(None).state
    sh("git init -q v; touch t; rm t", work)
    now = ws.capture(state).state
    assert [root.path for root in ws.state(now).roots] == ["v"]
    sh("rm -rf v/.git; touch t; rm t", work)
    assert ws.state(ws.capture(now).state).roots == []


def test_one_that_stays_is_named_where_its_folder_gets_other_permissions(
    open_workspace: Callable[..., Workspace], sh: Callable[..., str], work: Path
) -> None:
    ws = open_workspace()
    sh("mkdir v; echo n >v/f", work)
    state = ws.capture(None).state
    sh("chmod 700 v; git init -q v", work)
    plan = ws.plan(state, last=state, default_choice="restore")
    assert [(i.path, i.action) for i in plan.items] == [("v", "chmod")] and "it stays" in plan.items[0].reason
    assert ws.apply(plan).done and (work / "v/.git/HEAD").is_file()
    assert (work / "v").stat().st_mode & 0o777 == 0o755
