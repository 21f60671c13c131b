"""What changed while a command of the session ran in the background is of the command or of the person: nobody knows of
which, so that is what is said, and it is kept as the person's."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from engine.conftest import Bench
from engine.support import call, reply
from tests_support import wait_until
from worldline.core.background import UNSURE
from worldline.engine.external_changes import note_external_change
from worldline.protocol.commands import DiffFor, Jump, JumpPlanFor

SERVES = "until [ -e go ]; do sleep 0.02; done; echo built > built.txt; touch ready; until [ -e over ]; do sleep 0.02; done"
"""A server: it writes when it is told to, and ends when it is told to."""
SAID = f"while `{SERVES[:59].rstrip()}…` ran in the background"
BY_IT = "by it or by you"


async def serving(bench: Any, repo: Path, **more: Any) -> Bench:
    """A session in which the agent has started it."""
    b: Bench = await bench(workspace=repo, **more)
    b.script(reply("", call("bash", command=SERVES, background=True)), "Started.")
    assert await b.ask("start the server") == "completed"
    b.server.scenario.queue.clear()
    return b


def builds(b: Bench) -> None:
    """The server writes, and so does the person."""
    (b.root / "go").touch()
    wait_until((b.root / "ready").exists)
    (b.root / "mine.txt").write_text("changed by me\n")


async def authors(b: Bench, node: str) -> dict[str, str]:
    changes = await b.actor.files.changes(DiffFor(a="parent", b=node))
    return {one.path: one.author for one in changes.files}


def told(b: Bench, number: int = -1) -> str:
    return json.dumps(b.sent(number)["messages"][-1], ensure_ascii=False)


async def test_between_two_runs_it_is_of_the_command_or_of_the_person(bench: Any, repo: Path) -> None:
    b = await serving(bench, repo)
    builds(b)
    assert set((await authors(b, "disk")).values()) == {UNSURE}
    b.script("I see.")
    assert await b.ask("and now?") == "completed"
    (node,) = b.nodes("external_change")
    assert f"files changed {SAID}, {BY_IT}: " in node.preview
    assert b.doc.body(node.uid).detail["commands"] == [SAID.split("`")[1]]
    assert await authors(b, node.uid) == {
        "built.txt": UNSURE, "go": UNSURE, "mine.txt": UNSURE, "ready": UNSURE,
    }  # fmt: skip
    assert f"were changed {SAID}, by it or by the person: built.txt" in told(b)
    assert "not by you" not in told(b)


@pytest.mark.parametrize("processes", ["stop", "leave"])
async def test_a_jump_keeps_it_and_says_why(bench: Any, repo: Path, processes: str) -> None:
    b = await serving(bench, repo)
    builds(b)
    b.script("I see.")
    await b.ask("and now?")
    (b.root / "later.txt").write_text("mine\n")
    plan = await b.actor.jumps.plan(JumpPlanFor(node="root"))
    entries = {entry.path: entry for entry in plan.entries}
    assert plan.needs_confirmation
    for path in ("built.txt", "mine.txt", "later.txt"):
        entry = entries[path]
        assert entry.unsure and entry.choice == "keep" and f"{SAID}: {BY_IT}" in entry.reason
        assert "you changed" not in entry.reason and "you made" not in entry.reason
    answer = await b.actor.jumps.jump(Jump(node="root", plan=plan.id, processes=processes))
    assert answer.result is not None
    assert (b.root / "built.txt").read_text() == "built\n"
    assert (b.root / "mine.txt").read_text() == "changed by me\n"
    (safety,) = b.nodes("jump")
    assert f"before the jump: 1 file changed {SAID}, {BY_IT}" == safety.preview
    # What stayed is found again on the way that is gone on with: that it is the person's, nobody has learned meanwhile.
    b.script("Fine.")
    await b.ask("another way")
    assert "by it or by the person: " in told(b) and "the person changed or kept them" not in told(b)
    last = b.nodes("external_change")[-1]
    assert b.doc.body(last.uid).detail["commands"] and set((await authors(b, last.uid)).values()) == {UNSURE}


async def test_it_goes_back_where_that_is_chosen(bench: Any, repo: Path) -> None:
    b = await serving(bench, repo)
    builds(b)
    choices = {"mine.txt": "restore"}
    plan = await b.actor.jumps.plan(JumpPlanFor(node="root", choices=choices))
    entry = next(one for one in plan.entries if one.path == "mine.txt")
    assert entry.reason == (
        f"it was changed {SAID}: {BY_IT}; what is there is kept in the node before the jump"
    )
    answer = await b.actor.jumps.jump(Jump(node="root", plan=plan.id, choices=choices))
    assert answer.result is not None
    assert (b.root / "mine.txt").read_text() == "my own work\n"
    assert (b.root / "built.txt").exists()


async def test_what_changes_after_its_end_is_the_persons(bench: Any, repo: Path) -> None:
    b = await serving(bench, repo)
    builds(b)
    (b.root / "over").touch()
    await b.actor.processes.wait("p1", 30)
    # It ended since the last capture: of what is found now nobody knows.
    assert SAID in await note_external_change(b.actor.shared)
    (b.root / "mine.txt").write_text("and again\n")
    assert set((await authors(b, "disk")).values()) == {"user"}
    assert "and not by you: mine.txt" in await note_external_change(b.actor.shared)
    first, second = b.nodes("external_change")
    assert "commands" not in b.doc.body(second.uid).detail and "changed from outside" in second.preview
    plan = await b.actor.jumps.plan(JumpPlanFor(node=first.uid))
    assert [(e.path, e.reason, e.unsure) for e in plan.entries] == [
        ("mine.txt", "you changed it, and it differs at that node", False)
    ]


async def test_what_the_person_wrote_beside_it_is_not_the_next_steps(bench: Any, repo: Path) -> None:
    """A step that came after it took all that had changed for its own, and a jump put it back without a question."""
    b = await serving(bench, repo)

    def answer(talk: Any) -> Any:
        if talk.count == first:
            builds(b)
            return reply("", call("write", path="own.txt", content="x\n"))
        return reply("Done.")

    first = len(b.server.message_requests)
    b.server.scenario.answerer = answer
    assert await b.ask("go on") == "completed"
    step = b.nodes("tool")[-1]
    assert await authors(b, step.uid) == {
        "built.txt": UNSURE, "go": UNSURE, "mine.txt": UNSURE, "own.txt": step.uid, "ready": UNSURE,
    }  # fmt: skip
    assert f"these files were changed {SAID}, by it or by the person: built.txt" in told(b)
    plan = await b.actor.jumps.plan(JumpPlanFor(node="root"))
    reasons = {entry.path: entry.reason for entry in plan.entries}
    assert f"{SAID}: {BY_IT}" in reasons["mine.txt"] and reasons["own.txt"] == ""


async def test_of_a_log_the_model_is_told_once_in_a_run(bench: Any, repo: Path) -> None:
    b = await serving(bench, repo)
    first = len(b.server.message_requests)

    def answer(talk: Any) -> Any:
        at = talk.count - first
        with (b.root / "dev.log").open("a") as log:
            print(at, file=log)
        if at < 3:
            return reply("", call("list_dir", path="."))
        return reply("", call("write", path="own.txt", content="x\n")) if at == 3 else reply("Done.")

    b.server.scenario.answerer = answer
    assert await b.ask("go on") == "completed"
    notes = [n for n in b.nodes("user") if "dev.log" in n.preview]
    assert len(notes) == 1 and len(b.nodes("external_change")) == 1
    # It is not the step's all the same.
    step = b.nodes("tool")[-1]
    assert await authors(b, step.uid) == {"dev.log": UNSURE, "own.txt": step.uid}


async def test_the_next_opening_knows_that_it_ran(bench: Any, repo: Path, tmp_path: Path) -> None:
    b = await serving(bench, repo, in_place=True)
    builds(b)
    path = b.actor.shared.doc.path
    await b.actor.close()
    again: Bench = await bench(session=path, workspace=repo)
    again.script("I see.")
    assert await again.ask("and now?") == "completed"
    (node,) = again.nodes("external_change")
    assert SAID in node.preview and SAID in told(again)
    (repo / "mine.txt").write_text("and again\n")
    assert "and not by you: mine.txt" in await note_external_change(again.actor.shared)


async def test_a_survivor_of_a_command_counts_as_well(bench: Any, repo: Path) -> None:
    b: Bench = await bench(workspace=repo)
    command = f"({SERVES}) > /dev/null 2>&1 & echo started"
    b.script(reply("", call("bash", command=command)), "Started.")
    assert await b.ask("start the server") == "completed"
    builds(b)
    assert f"while `({SERVES[:40]}" in await note_external_change(b.actor.shared)


async def test_no_secret_of_a_command_is_written_into_the_node(bench: Any, repo: Path) -> None:
    b: Bench = await bench(workspace=repo)
    key = "sk-ant-api03-" + os.urandom(24).hex()
    b.script(reply("", call("bash", command=f"KEY={key} && {SERVES}", background=True)), "Started.")
    assert await b.ask("start the server") == "completed"
    builds(b)
    assert key[:30] not in await note_external_change(b.actor.shared)
    assert key.encode() not in Path(b.doc.path).read_bytes()
