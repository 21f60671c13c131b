"""A repository that a command plants in the workspace names programs to run: it is shown as code that runs later."""

from __future__ import annotations

from pathlib import Path

import pytest

from worldline.workspace.changes import changes
from worldline.workspace.engine import Workspace
from worldline.workspace.file_diff import file_diff
from worldline.workspace.nested_code import in_config

from .conftest import run_sh


@pytest.fixture
def ws(tmp_path: Path, work: Path) -> Workspace:
    return Workspace(work, tmp_path / "store", free_floor=0)


def state(ws: Workspace, parent: str | None = None) -> str:
    return ws.capture(parent).state


@pytest.mark.parametrize(
    ("plant", "named"),
    [
        ("git -C n config core.fsmonitor ./evil", "core.fsmonitor = ./evil"),
        ("git -C n config filter.x.clean 'sh -c y'", "filter.x.clean = sh -c y"),
        ("git -C n config core.hooksPath ../hooks", "core.hookspath = ../hooks"),
        ("git -C n config include.path ../more", "include.path = ../more"),
        ("git -C n config alias.st '!sh evil'", "alias.st = !sh evil"),
        ("printf '#!/bin/sh\\n' > n/.git/hooks/post-checkout; chmod +x n/.git/hooks/post-checkout", "hook post-checkout"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("known", [False, True], ids=["new", "known before"])
def test_a_planted_repository_has_the_badge(
    ws: Workspace, work: Path, plant: str, named: str, known: bool
) -> None:
    make = "git init -q n; cd n; echo 1 > f; git add f; git commit -qm one; cd .."
    if known:
        run_sh(make, work)
    a = state(ws)
    if not known:
        run_sh(make, work)
    run_sh(plant, work)
    done = ws.capture(a)
    assert done.runs_later == ["n"]
    found = {change.path: change for change in changes(ws, a, done.state)}
    assert found["n"].status == "S" and found["n"].runs_later
    note = file_diff(ws, a, done.state, "n").note
    assert named in note and "When git is run in it" in note
    # What was there already is told once.
    (work / "other").write_text("x")
    after = ws.capture(done.state)
    assert after.runs_later == [] and "n" not in {c.path for c in changes(ws, done.state, after.state)}


def test_a_plain_repository_has_none(ws: Workspace, work: Path) -> None:
    a = state(ws)
    run_sh("git init -q n; cd n; git config user.name x; git config alias.st status; git config core.fsmonitor false;"
           " git config remote.origin.url https://example.org/x; echo 1 > f; git add f; git commit -qm one", work)  # fmt: skip
    done = ws.capture(a)
    found = {change.path: change for change in changes(ws, a, done.state)}
    assert found["n"].status == "S" and not found["n"].runs_later and done.runs_later == []


def test_a_git_that_leads_elsewhere_is_not_known_to_be_harmless(ws: Workspace, work: Path) -> None:
    run_sh("git init -q", work)
    a = state(ws)
    run_sh("mkdir n evil; git init -q --bare evil/x; echo 'gitdir: ../evil/x' > n/.git", work)
    assert "n" in ws.capture(a).runs_later


def test_files_that_run_later_are_named_with_the_capture(ws: Workspace, work: Path) -> None:
    (work / "package.json").write_text('{"name": "x", "scripts": {"test": "a"}}')
    a = state(ws)
    (work / "package.json").write_text('{"name": "y", "scripts": {"test": "a"}}')
    (work / "conftest.py").write_text("x = 1\n")
    (work / "plain.py").write_text("x = 1\n")
    done = ws.capture(a)
    assert done.runs_later == ["conftest.py"]
    (work / "package.json").write_text('{"name": "y", "scripts": {"test": "b"}}')
    assert ws.capture(done.state).runs_later == ["package.json"]


def test_what_a_configuration_runs() -> None:
    text = (
        b'[core] fsmonitor = x\n[CORE]\n\tsshCommand = "y" ; z\n[filter "a b"]\n  smudge = \\\n  run\n# [core] pager = no\n'
        b"[core]\n; editor = no\npager\n[alias]\nst = status\nx = !y\n[credential \"https://a\"]\nhelper = store\n"
    )  # fmt: skip
    assert in_config(text) == [
        "core.fsmonitor = x", 'core.sshcommand = "y" ; z', "filter.a b.smudge = run", "alias.x = !y",
        "credential.https://a.helper = store",
    ]  # fmt: skip
    assert in_config(b"\xff\xfe[[[") == []


def test_a_repository_without_a_git_folder_has_the_badge_as_well(ws: Workspace, work: Path) -> None:
    """Whoever changes into such a folder and runs git (a prompt of the shell does) is in that repository."""
    a = state(ws)
    run_sh("git init -q --bare n; rm n/hooks/*; git -C n config core.fsmonitor ./evil; mkdir plain; printf '[core]\nx = 1\n' > plain/config",
           work)  # fmt: skip
    done = ws.capture(a)
    assert done.runs_later == ["n/config"]
    found = {change.path: change.runs_later for change in changes(ws, a, done.state)}
    assert found["n/config"] and not found["plain/config"]
    run_sh("git -C n config user.name somebody", work)
    assert ws.capture(done.state).runs_later == []
