"""The round trip: what was captured comes back byte for byte, and what is the person's stays."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from worldline.core.errors import WorkspaceError
from worldline.workspace.engine import Workspace
from worldline.workspace.model import NOT_CAPTURED, RestorePlan, RestoreReport

from .conftest import snapshot

Open = Callable[..., Workspace]
Sh = Callable[..., str]

SETUP = (
    "git init -q -b main . && printf '1\\n2\\n' > a && mkdir -p d e deep/er && echo x > d/f && echo '*.log' > .gitignore "
    "&& echo k > deep/er/k && git add . && git commit -qm i && printf '1\\n2\\n3\\n' > a && git add a "
    "&& printf '1\\n2\\n3\\n4\\n' > a && echo u > untracked && echo K=1 > .env && echo .env >> .git/info/exclude "
    "&& echo l > x.log && ln -s a link && printf '#!/bin/sh\\n' > run.sh && chmod 755 run.sh && printf 'x\\r\\ny\\r\\n' > crlf.txt "
    "&& printf b > 'a..b.txt' && printf n > $'new\\nline' && printf l > $'lat\\xe4in' && chmod 600 untracked"
)


def jump(
    ws: Workspace, target: str, last: str, branch: str | None = None, **kw: object
) -> tuple[RestorePlan, RestoreReport]:
    plan = ws.plan(target, last=last, **kw)  # type: ignore[arg-type]
    return plan, ws.apply(plan, new_branch=branch)


def test_round_trip_of_everything(work: Path, sh: Sh, open_workspace: Open) -> None:
    sh(SETUP)
    before, index = snapshot(work), sh("git ls-files -s")
    ws = open_workspace()
    first = ws.capture(None)
    assert first.state != NOT_CAPTURED and not first.omitted
    sh(
        "rm -r a untracked link e d && mkdir link d && echo z > link/z && echo K=2 > .env && chmod -x run.sh && mv crlf.txt moved "
        "&& echo t > d/t && rm $'new\\nline' && git add -A && git commit -qm agent && echo more > 'a..b.txt'"
    )
    second = ws.capture(first.state)
    assert second.changed and second.files
    after = snapshot(work)
    _, report = jump(ws, first.state, second.state, "worldline/s/1")
    assert report.done and not report.failed and report.verified == report.of > 0
    assert snapshot(work) == before
    assert sh("git ls-files -s") == index
    assert sh("git symbolic-ref HEAD").strip() == "refs/heads/worldline/s/1"
    assert sh("git log -1 --format=%s main").strip() == "agent"
    _, report = jump(ws, second.state, first.state, None)
    assert report.done and snapshot(work) == after
    assert sh("git symbolic-ref HEAD").strip() == "refs/heads/main"


def test_nothing_changed_gives_the_parent(work: Path, sh: Sh, open_workspace: Open) -> None:
    sh(SETUP)
    ws = open_workspace()
    first = ws.capture(None)
    sh("git status")
    again = ws.capture(first.state)
    assert again.state == first.state and not again.changed


def test_edits_of_the_person_stay(work: Path, sh: Sh, open_workspace: Open) -> None:
    sh(SETUP)
    ws = open_workspace()
    first = ws.capture(None)
    sh("echo agent > a; echo agent > d/f; echo agent > made")
    second = ws.capture(first.state)
    sh("echo me >> d/f; echo me > mine.txt; echo me > deep/er/k; rm run.sh")
    plan, report = jump(ws, first.state, second.state, "worldline/s/1")
    kinds = {item.path: item.action for item in plan.items}
    assert (
        kinds["d/f"] == "conflict"
        and kinds["mine.txt"] == kinds["deep/er/k"] == kinds["run.sh"] == "keep_mine"
    )
    assert kinds["a"] == "overwrite" and kinds["made"] == "delete"
    assert report.done
    assert (work / "d/f").read_text() == "agent\nme\n" and (work / "mine.txt").exists()
    assert not (work / "run.sh").exists() and not (work / "made").exists()
    assert ws.read_file(plan.safety, "mine.txt") == b"me\n"
    plan = ws.plan(first.state, last=second.state, choices={"d/f": "restore"})
    ws.apply(plan)
    assert (work / "d/f").read_text() == "x\n" and (work / "mine.txt").exists()


def test_a_state_survives_gc_in_the_repository(work: Path, sh: Sh, open_workspace: Open) -> None:
    sh(SETUP)
    index = sh("git ls-files -s")
    ws = open_workspace()
    first = ws.capture(None)
    sh(
        "git commit -qam agent && git reset -q --hard HEAD && echo o > a && git add a && git commit -q --amend -m other"
    )
    second = ws.capture(first.state)
    sh("git checkout -q --orphan fresh && git rm -rqf . && git commit -q --allow-empty -m fresh && git branch -D main "
       "&& git reflog expire --expire=now --all && git gc -q --prune=now")  # fmt: skip
    third = ws.capture(second.state)
    _, report = jump(ws, first.state, third.state, "worldline/s/1")
    assert report.done, report.note
    assert sh("git ls-files -s") == index
    assert sh("git log --format=%s").strip() == "i"
    sh("git fsck --strict")
    assert (work / "a").read_text() == "1\n2\n3\n4\n"


def test_failed_capture_is_its_own_answer(work: Path, sh: Sh, open_workspace: Open) -> None:
    sh(SETUP)
    ws = open_workspace(free_floor=1 << 60)
    result = ws.capture(None)
    assert result.state == NOT_CAPTURED and "free" in result.error
    with pytest.raises(WorkspaceError) as caught:
        ws.plan(NOT_CAPTURED, last="")
    assert caught.value.kind == "not_captured"


@pytest.mark.parametrize(
    "meanwhile",
    ["echo 5 > b && git add b && echo 2 > b", "git reset -q a", "echo m > .git/MERGE_MSG && git rev-parse HEAD > .git/MERGE_HEAD"],
)  # fmt: skip
def test_what_was_staged_since_a_plan_was_shown_makes_it_another(
    two_states: Callable[[str, str], tuple[Workspace, str, str]], sh: Callable[..., str], meanwhile: str
) -> None:
    """The files are the same, but the staging area would be lost unseen."""
    ws, first, last = two_states(
        "git init -q -b main . && echo 1 > a && echo 1 > b && git add . && git commit -qm one",
        "echo 2 > a && echo 2 > b && git add a",
    )
    shown = ws.plan(first, last=last)
    sh("touch a b && git status")
    assert ws.plan(first, last=last).token == shown.token
    sh(meanwhile)
    later = ws.plan(first, last=last)
    assert later.items == shown.items and later.token != shown.token


def test_a_file_that_was_there_already_stays_when_a_jump_is_taken_back(
    two_states: Callable[[str, str], tuple[Workspace, str, str]], work: Path
) -> None:
    """It has the very content that the jump would have made, but it is not what the jump made."""
    ws, first, last = two_states("echo 1 > a && echo b > b", "rm a && echo 2 > b")
    plan = ws.plan(first, last=last)
    (work / "a").write_text("1\n")
    before = (work / "a").stat()

    def fail(_: object) -> None:
        raise WorkspaceError("The session could not be written.")

    report = ws.apply(plan, on_done=fail)
    assert report.rolled_back and not report.done
    assert (work / "a").read_text() == "1\n" and (work / "b").read_text() == "2\n"
    assert os.path.samestat((work / "a").stat(), before)
