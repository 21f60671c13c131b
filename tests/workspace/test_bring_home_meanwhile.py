"""Bringing home when something else happens: a kill, an edit, staging, a filter."""

from __future__ import annotations

import os
from typing import Any

import pytest

from workspace.conftest import Sides, run_sh
from worldline.core.errors import WorkspaceError
from worldline.workspace import home_git
from worldline.workspace.bring_home import bring_home
from worldline.workspace.engine import Workspace


@pytest.mark.parametrize("how", ["changes", "commit"])
def test_a_file_edited_while_it_is_brought(sides: Sides, how: str) -> None:
    state = sides.node("echo x >>f; echo n >new")
    before = sides.everything()

    def edit(what: str, done: int, total: int) -> None:
        if what == "restore":
            (sides.mine / "f").write_text("edited meanwhile\n")

    report = sides.bring(state, how, progress=edit)
    assert not report.done and "changed while this ran" in report.note
    after = sides.everything()
    assert after["files"].pop("f")[1] == b"edited meanwhile\n"
    before["files"].pop("f")
    assert (
        after["files"] == before["files"]
        and after["refs"] == before["refs"]
        and after["index"] == before["index"]
    )


@pytest.mark.parametrize("how", ["commit", "branch"])
@pytest.mark.parametrize("where", ["mine", "theirs"])
def test_what_a_filter_hides_is_not_committed_in_clear(sides: Sides, how: Any, where: str) -> None:
    """git-crypt and the like: its program is not run, so the commit would hold the secret."""
    if where == "mine":
        run_sh("echo '*.key filter=crypt' > .git/info/attributes", sides.mine)
    state = sides.node("echo '*.key filter=crypt' > .gitattributes; echo secret > new.key; echo more >> f")

    report = sides.bring(state, how, branch="from-session", message="work")

    assert report.done
    kept = {e.path: e for e in report.entries}
    assert "crypt" in kept["new.key"].reason
    assert kept["new.key"].action == ("create" if how == "commit" else "not_captured")
    assert "new.key" not in run_sh(f"git ls-tree -r --name-only {report.commit}", sides.mine)
    assert "more" in run_sh(f"git show {report.commit}:f", sides.mine)


def test_bringing_that_was_killed_is_taken_back_before_the_next(sides: Sides) -> None:
    state = sides.node("echo more >> f; echo new > new; rm del")
    before = sides.everything()
    child = os.fork()
    if child == 0:
        import worldline.workspace.apply as applying

        applying.Restorer._verify = lambda self: os.kill(os.getpid(), 9)  # type: ignore[method-assign]
        home = Workspace(sides.mine, sides.home.store.path)
        bring_home(sides.source, home, state, how="changes", start=sides.start, dry_run=False)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 9
    assert (sides.mine / "new").exists(), "it was half done"

    preview = sides.bring(state, "changes", dry_run=True)

    assert not preview.done and {e.path for e in preview.entries} == {"del", "f", "new"}
    assert sides.everything() == before
    assert sides.bring(state, "changes").done


def test_what_is_staged_meanwhile_stays(sides: Sides, monkeypatch: pytest.MonkeyPatch) -> None:
    """The branch moves at the last moment, and somebody stages something in between."""
    from worldline.workspace.home_git import CommitPlan

    state = sides.node("echo more >> f")

    def beaten(plan: CommitPlan, commit: str) -> None:
        run_sh("echo mine > mine && git add mine", sides.mine)
        raise WorkspaceError("The branch was moved meanwhile.", kind="moved")

    monkeypatch.setattr(CommitPlan, "_move", beaten)
    report = sides.bring(state, "commit", message="work")

    assert not report.done
    assert "mine" in run_sh("git diff --cached --name-only", sides.mine)


@pytest.mark.parametrize(
    "where",
    ["home_note.begin", "gitlock.locked_replace", "home_git.CommitPlan._move", "journal.Journal.mark"],
)
@pytest.mark.parametrize("after", [False, True])
def test_a_commit_that_was_killed_is_made_or_not(sides: Sides, where: str, after: bool) -> None:
    """Files, staging area and branch go together."""
    state = sides.node("echo more >> f; echo new > new; rm del")
    before = sides.everything()
    child = os.fork()
    if child == 0:
        _die_in(where, after)
        home = Workspace(sides.mine, sides.home.store.path)
        bring_home(sides.source, home, state, how="commit", start=sides.start, message="work", dry_run=False)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 9

    sides.home.recover()

    now = sides.everything()
    if now["refs"] == before["refs"]:
        assert now == before
    else:
        assert "work" in run_sh("git log -1 --format=%s", sides.mine)
        assert now["status"].strip() == "" and (sides.mine / "new").exists()
    assert sides.bring(state, "commit", message="work").done or now["refs"] != before["refs"]


def _die_in(where: str, after: bool) -> None:
    import importlib

    module, _, names = where.partition(".")
    owner: Any = importlib.import_module(f"worldline.workspace.{module}")
    *path, name = names.split(".")
    for part in path:
        owner = getattr(owner, part)
    real = getattr(owner, name)

    def die(*args: Any, **more: Any) -> Any:
        if name == "mark" and "committed" not in args:
            return real(*args, **more)
        if after:
            real(*args, **more)
        return os.kill(os.getpid(), 9)

    setattr(owner, name, die)
    if name == "locked_replace":
        from worldline.workspace import home_git

        home_git.locked_replace = die


def test_the_same_file_that_is_made_meanwhile_is_theirs(sides: Sides) -> None:
    """Taking back what was begun must not take it for what was just written."""
    state = sides.node("echo x >> f; echo n > new; ln -s f link; mkdir d; echo n > d/new")

    def make(what: str, done: int, total: int) -> None:
        if what == "restore" and not (sides.mine / "d").exists():
            run_sh("echo edited > f; echo n > new; ln -s f link; mkdir d; echo n > d/new", sides.mine)

    report = sides.bring(state, "changes", progress=make)
    assert not report.done and "changed while this ran" in report.note
    assert run_sh("cat f new d/new; readlink link", sides.mine) == "edited\nn\nn\nf\n"


@pytest.mark.parametrize("how", ["commit", "branch"])
def test_a_file_whose_name_git_does_not_take_is_named(sides: Sides, how: Any) -> None:
    """It stopped everything else from being brought."""
    state = sides.node("echo more >>f; mkdir .GIT; echo x >.GIT/x; echo x >git~1")
    report = sides.bring(state, how, message="work", branch="b")
    assert report.done, report.note
    left = {entry.path: entry for entry in report.entries if "git takes no file of this name" in entry.reason}
    assert sorted(left) == [".GIT/x", "git~1"]
    where = "HEAD" if how == "commit" else "b"
    assert run_sh(f"git ls-tree -r --name-only {where}", sides.mine).split() == ["del", "f", "keep"]
    assert (sides.mine / "git~1").exists() is (how == "commit")


def test_what_is_staged_as_the_commit_is_made_stays(sides: Sides, monkeypatch: pytest.MonkeyPatch) -> None:
    state = sides.node("echo more >>f")
    real = home_git.home_note.begin

    def begin(*args: Any) -> None:
        real(*args)
        run_sh("echo own >own; git add own; rm own", sides.mine)  # nowhere but in the staging area

    monkeypatch.setattr(home_git.home_note, "begin", begin)
    before = run_sh("git rev-parse HEAD; cat f", sides.mine)
    report = sides.bring(state, "commit", message="work")
    assert not report.done and "staging area was changed" in report.note
    assert run_sh("git show :own", sides.mine) == "own\n"
    assert run_sh("git rev-parse HEAD; cat f", sides.mine) == before
