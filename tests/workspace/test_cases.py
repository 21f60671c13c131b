"""Failures that were reported against other tools, each as a case. `sh` steps are the person, `agent_sh` the agent."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests_support import check_files
from worldline.core.errors import WorkspaceError
from worldline.workspace.engine import Workspace
from worldline.workspace.model import DISK, NOT_CAPTURED, RestorePlan

from .conftest import snapshot

CASES = [json.loads(line) for line in Path(__file__).with_name("cases.jsonl").read_text("utf-8").splitlines()]


class Session:
    """What the engine keeps between steps: the state of the cursor, and named checkpoints."""

    def __init__(self, workspace: Workspace, sh: Callable[..., str]) -> None:
        self.ws, self.sh = workspace, sh
        self.last = workspace.capture(None).state
        self.points: dict[str, str] = {}
        self.safety = ""
        self.plan: RestorePlan | None = None
        self.said: list[str] = []
        self.forks = 0

    def step(self, op: str, *args: str) -> None:
        getattr(self, f"do_{op}")(*args)

    def do_checkpoint(self, name: str) -> None:
        result = self.ws.capture(self.last)
        assert result.state != NOT_CAPTURED, result.error
        self.points[name] = self.last = result.state
        self.said += [f"{note.path} {note.reason}" for note in (*result.notes, *result.omitted)]

    def do_sh(self, command: str) -> None:
        self.sh(command)

    def do_agent_sh(self, command: str) -> None:
        # What the person did before is recorded first, as an external change.
        self.last = self.ws.capture(self.last).state
        self.sh(command)
        self.last = self.ws.capture(self.last).state

    def do_agent_edit(self, path: str, text: str) -> None:
        before = self.ws.capture(self.last).state
        users = set(self._changed(self.last, before))
        self.users = getattr(self, "users", set()) | users
        (self.ws.work / path).write_text(text)
        self.last = self.ws.capture(before).state

    def _changed(self, a: str, b: str) -> list[str]:
        from worldline.workspace.treediff import diff

        return [d.path for d in diff(self.ws.store, self.ws.state(a).files, self.ws.state(b).files)]

    def do_restore(self, name: str) -> None:
        self._jump(self.points[name])

    def do_undo_restore(self) -> None:
        self._jump(self.safety)

    def _jump(self, target: str) -> None:
        self.plan = self.ws.plan(target, last=self.last, users=getattr(self, "users", set()))
        self.said += [
            f"{item.path} {item.reason}" for item in self.plan.items if item.action == "not_captured"
        ]
        self.said += self.plan.notes
        self.safety = self.plan.safety
        self.forks += 1
        report = self.ws.apply(self.plan, new_branch=f"worldline/s/{self.forks}")
        assert report.done, report.note
        self.last = self.ws.capture(target).state


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(
    case: dict[str, Any], work: Path, sh: Callable[..., str], open_workspace: Callable[..., Workspace]
) -> None:
    payload, expect = case["payload"], case["payload"]["expect"]
    # `echo 1>a` would redirect descriptor 1 and write an empty line; what is meant is the text "1".
    sh(re.sub(r"echo (\d)>", r"echo \1 >", payload["setup"]))
    index, head, main = (
        digest(work / ".git/index"),
        sh("git rev-parse HEAD"),
        sh("git rev-parse main", check=False),
    )
    staged = sh("git ls-files -s")
    action = payload["action"]
    if action["op"] == "kill_during":
        _kill_during_capture(work, work.parent / "store")
    session = Session(open_workspace(), sh)
    if action["op"] == "checkpoint":
        session.do_checkpoint("c1")
    elif action["op"] == "sequence":
        for step in action["steps"]:
            session.step(*step)
    elif action["op"] == "diff":
        _check_diff(session, expect, sh, work)
        return
    elif action["op"] == "restore":
        before = snapshot(work)
        with pytest.raises(WorkspaceError) as caught:
            session._jump(session.last)
        assert caught.value.kind == expect["error_type"] and caught.value.hint
        assert snapshot(work) == before
        return
    elif action["op"] == "select_node":
        sh("git switch -q --detach HEAD~1")
        there = session.ws.capture(session.last).state
        sh("git switch -q main")
        session.last = session.ws.capture(there).state
        session._jump(there)
        assert sh("git symbolic-ref HEAD").strip() == "refs/heads/worldline/s/1"
        assert sh("git rev-parse main") == main and sh("git rev-parse HEAD") != head
        return
    check_files(work, expect)
    for path in expect.get("excluded_reported", []):
        assert any(said.startswith(path) for said in session.said), session.said
    if "warning" in expect:
        assert any(expect["warning"] in said for said in session.said), session.said
    if expect.get("user_index_unchanged"):
        assert digest(work / ".git/index") == index or sh("git ls-files -s") == staged
    if expect.get("head_unchanged"):
        assert sh("git rev-parse HEAD") == head and sh("git symbolic-ref HEAD").strip() == "refs/heads/main"
    if expect.get("next_checkpoint_ok"):
        session.do_checkpoint("after")


def _kill_during_capture(work: Path, store: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from worldline.workspace import engine, store\n"
        "store.Store.flush = lambda self: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"engine.Workspace(Path({str(work)!r}), Path({str(store)!r})).capture(None)"
    )
    desktop = Path(__file__).resolve().parents[2] / "desktop"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(desktop), "PATH": "/usr/bin:/bin"}, check=False
    )
    assert done.returncode == -9


def _check_diff(session: Session, expect: dict[str, Any], sh: Callable[..., str], work: Path) -> None:
    """The changed files since HEAD: a clean checkout is captured, then the dirty one."""
    dirty = session.last
    sh("git stash -q -u")
    clean = session.ws.capture(dirty).state
    sh("git stash pop -q")
    assert sorted(session._changed(clean, dirty)) == sorted(expect["changed"])
    if hasattr(session.ws, "changes"):
        assert sorted(c.path for c in session.ws.changes(clean, DISK)) == sorted(expect["changed"])
