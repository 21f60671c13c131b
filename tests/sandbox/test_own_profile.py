"""A machine with a sandbox that does not start round one session's folder: found before the first command, told in its own
words, and nothing runs instead."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.conftest import bench, server
from sandbox.conftest import ground_apart
from tests_support import PATIENCE_S, git, run_worldline
from worldline.rehearsal.events import Call, Reply

__all__ = ["bench", "server"]

SAID = "bwrap: Can't bind mount /oldroot/x on /newroot/x: Unable to mount"


@pytest.fixture
def lab(best_label: Any, own_home: Path) -> Iterator[Path]:
    if best_label != "complete":
        pytest.skip("no user namespaces here")
    with ground_apart() as folder:
        (folder / "work").mkdir()
        yield folder


@pytest.fixture
def broken(lab: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bubblewrap that fails round this folder as long as the returned file is there, and is the real one elsewhere."""
    flag = lab / "broken"
    flag.touch()
    fake = lab / "bin" / "bwrap"
    fake.parent.mkdir()
    fake.write_text(
        f'#!/bin/sh\ncase "$*" in *"{lab}/work"*) if [ -e "{flag}" ]; then echo "{SAID}" >&2; exit 1; fi;; esac\n'
        f'exec {shutil.which("bwrap")} "$@"\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    return flag


def bash(command: str) -> Reply:
    return Reply(text="I try.", calls=[Call("bash", {"command": command})])


async def problem_of(b: Any) -> str:
    async def told() -> None:
        while not b.actor.shared.status.now.sandbox_problem:
            await asyncio.sleep(0.01)

    await asyncio.wait_for(told(), PATIENCE_S)
    said: str = b.actor.shared.status.now.sandbox_problem
    return said


async def test_it_is_told_at_the_start_in_its_own_words(
    bench: Callable[..., Any], lab: Path, broken: Path
) -> None:
    b = await bench(lab / "work", attended=True, in_place=True)
    said = await problem_of(b)
    assert SAID in said and "No command is run until it does" in said
    assert b.actor.shared.status.now.sandbox == "complete", "what the machine has is not the matter"


async def test_a_run_ends_in_order_and_the_model_is_told_nothing_of_it(
    bench: Callable[..., Any], lab: Path, broken: Path
) -> None:
    b = await bench(lab / "work", approve="allow", in_place=True)
    b.script(bash("echo ran > made"), bash("echo again > made"), "Done.")
    before = len(b.server.message_requests)
    assert await b.ask("go") == "sandbox_error"
    assert len(b.server.message_requests) == before + 1, "there is nothing that the model could do"
    assert not (lab / "work" / "made").exists()
    [node] = b.nodes("tool")
    assert node.outcome.value == "failed"
    stored = json.dumps(b.doc.body(node.uid).end_message)
    assert "was not run" in stored and "bwrap" not in stored and "sandbox" not in stored
    run = b.doc.runs()[-1]
    assert SAID in run.detail and "switch the sandbox off" in run.detail
    broken.unlink()
    b.script(bash("echo ran > made"), "Done.")
    assert await b.ask("go on") == "completed"
    assert (lab / "work" / "made").read_text() == "ran\n"
    assert b.actor.shared.status.now.sandbox_problem == ""


async def test_one_that_breaks_in_the_middle_ends_the_run_too(
    bench: Callable[..., Any], lab: Path, broken: Path
) -> None:
    broken.unlink()
    b = await bench(lab / "work", approve="allow", in_place=True)
    b.script(bash(f"touch {broken.name}-not; echo one"), "One.")
    assert await b.ask("go") == "completed"
    broken.touch()
    b.script(bash("echo two"), "Done.")
    assert await b.ask("go") == "sandbox_error"
    assert SAID in b.actor.shared.status.now.sandbox_problem


async def test_in_the_persons_own_repository_nothing_is_made_before_a_command(
    bench: Callable[..., Any], lab: Path, broken: Path
) -> None:
    work = lab / "work"
    git(work, "init", "-q", "-b", "main")
    shutil.rmtree(work / ".git" / "hooks", ignore_errors=True)
    b = await bench(work, in_place=True, approve="allow")
    await b.actor.approvals.sandbox.checked.wait()
    assert not (work / ".git" / "hooks").exists() and not b.actor.shared.status.now.sandbox_problem
    b.script(bash("echo one"), "Done.")
    assert await b.ask("go") == "sandbox_error"


def test_the_command_line_does_not_call_that_completed(lab: Path, broken: Path, server: Any) -> None:
    server.scenario.queue = [bash("echo one > made"), Reply(text="Done.")]
    done = run_worldline(
        "run", "--workspace", lab / "work", "--in-place", "--prompt", "go", "--base-url", server.base_url,
        "--model", "rehearsal", "--mode", "work", "--approve", "allow", "--json",
    )  # fmt: skip
    assert done.code == 1, done.out
    last = done.lines[-1]
    assert last["stop_reason"] == "sandbox_error" and SAID in last["detail"]
    assert not (lab / "work" / "made").exists()
