"""Sub-agents through the real loop: a side branch of their own, and what they really changed beside what they say."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.support import HOLD, Hand, call, holds, let_go, reply
from worldline.core.kinds import NodeFlag
from worldline.protocol.commands import Jump, Prompt
from worldline.rehearsal.conversation import Conversation
from worldline.rehearsal.events import Reply
from worldline.session.verify import verify
from worldline.tools.search import ListDir


def side(b: Any) -> list[Any]:
    return [h for h in b.nodes() if h.flags & NodeFlag.SIDE_BRANCH]


TASK = call("task", prompt="Write sub.txt.", title="the sub file")


async def test_a_sub_agent_works_in_a_side_branch_and_is_checked_by_the_files(
    bench: Any, server: Any
) -> None:
    b = await bench()
    b.script(
        reply(
            "", call("plan", steps=[{"text": "mine", "status": "active"}]), call("read", path="a.txt"), TASK
        ),
        reply(
            "",
            call("write", path="sub.txt", content="by the sub\n"),
            call("plan", steps=[{"text": "of the sub"}]),
        ),
        "I wrote sub.txt and other.txt.",
        "Done.",
    )
    (b.root / "a.txt").write_text("a\n")
    assert await b.ask("go") == "completed"
    nodes = side(b)
    assert [h.kind.value for h in nodes] == ["user", "assistant", "tool", "tool", "assistant"]
    first = b.nodes("assistant")[0]
    assert nodes[0].parent == first.seq
    task = next(h for h in b.nodes("tool") if h.tool == "task")
    assert task.files == 1 and task.state and task.outcome.value == "ok"
    assert b.doc.cursor == b.nodes()[-1].uid and not b.nodes()[-1].flags & NodeFlag.SIDE_BRANCH
    # What it was told: its task alone, and that it is a sub-agent.
    asked = b.sent(1)
    assert str(asked["messages"]).count("Write sub.txt.") == 1 and "go" not in str(
        asked["messages"][0]["content"][0]["text"]
    )
    assert len(asked["messages"]) == 1
    assert "You are a sub-agent" in str(asked["system"])
    assert "task" not in [t["name"] for t in asked["tools"]]
    # What the parent is told: the report, and the files beside it.
    told = str(b.sent(3)["messages"][-1])
    assert "I wrote sub.txt and other.txt." in told and "really changed: sub.txt" in told
    assert "+by the sub" in told
    assert "You are a sub-agent" not in str(b.sent(3)["system"])
    # Its mind is its own, and so is the parent's.
    assert [s["text"] for s in b.doc.task_state(nodes[-1].uid)["plan"]] == ["of the sub"]
    state = b.doc.task_state(b.doc.cursor)
    assert [s["text"] for s in state["plan"]] == ["mine"] and "sub.txt" not in state["files"]
    # Counted: the usage of the run has all four answers.
    assert b.doc.runs()[-1].usage.answers == 4
    assert len(b.doc.runs()) == 1
    (record,) = b.doc.records("side_run")
    assert record.data["stop_reason"] == "completed" and record.node == task.uid


async def test_the_parent_must_read_what_its_sub_agent_changed(bench: Any) -> None:
    b = await bench()
    (b.root / "x.txt").write_text("old\n")
    b.script(
        reply("", call("read", path="x.txt")),
        reply("", call("task", prompt="Change x.txt.")),
        reply("", call("read", path="x.txt")),
        reply("", call("edit", path="x.txt", old="old", new="new")),
        "Changed.",
        reply("", call("edit", path="x.txt", old="new", new="newer")),
        "I see.",
    )
    assert await b.ask("go") == "completed"
    last = b.nodes("tool")[-1]
    assert last.outcome.value == "failed" and "stale" in last.preview
    assert (b.root / "x.txt").read_text() == "new\n"


async def test_how_a_sub_agent_can_end(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    b = await bench(sub_agents={"turns": 2})
    hand = Hand(b).watch(monkeypatch)
    echo = [reply("", call("bash", command=f"echo {n} >> t.txt")) for n in range(2)]
    b.script(
        reply("", call("task", prompt="turns")), *echo,
        reply("", call("task", prompt="empty")), Reply(blocks=[]), Reply(blocks=[]),
        reply("", call("task", prompt="time", timeout_s=1_000)),
        reply("", call("bash", command=f"echo s > s.txt; {HOLD}")),
        "I know.",
    )  # fmt: skip
    asking = asyncio.create_task(b.ask("go"))
    await holds(b)
    hand.ring(1_001)
    assert await asking == "completed"
    bodies = [b.doc.body(h.uid) for h in b.nodes("tool") if h.tool == "task"]
    errors = [body.end_detail["error"]["type"] for body in bodies]
    assert errors == ["task_failed", "task_failed", "timeout"]
    assert [body.end_detail["stop_reason"] for body in bodies] == ["max_turns", "empty_reply", "time_limit"]
    assert "t.txt" in str(bodies[0].end_message) and "+0" in str(bodies[0].end_message)
    assert "s.txt" in str(bodies[2].end_message)


async def test_a_provider_fault_in_a_sub_agent_is_a_result(bench: Any, server: Any) -> None:
    b = await bench()

    def answer(talk: Conversation) -> Reply:
        if "sub-agent" in talk.system:
            return Reply(fault="credit")
        return Reply(text="I see.") if talk.step else reply("", TASK)

    server.scenario.answerer = answer
    assert await b.ask("go") == "completed"
    (task,) = [b.doc.body(h.uid) for h in b.nodes("tool")]
    assert task.end_detail["stop_reason"] == "quota"


async def test_stopping_settles_the_sub_agent_first(bench: Any) -> None:
    b = await bench()
    b.script(reply("", TASK), reply("", call("bash", command="echo half > half.txt; sleep 60")))
    await b.actor.runs.prompt(Prompt(text="go"))
    while not (b.root / "half.txt").exists():
        await asyncio.sleep(0.02)
    b.actor.runs.stop()
    await b.actor.runs.idle()
    assert b.reason() == "aborted"
    assert [h.outcome.value for h in b.nodes("tool")] == ["aborted", "aborted"]
    assert all(h.finished for h in b.nodes("tool"))
    (record,) = b.doc.records("side_run")
    assert record.data["stop_reason"] == "aborted"
    b.script("All right.")
    assert await b.ask("on") == "completed"


async def test_a_brake_of_the_run_is_not_told_as_a_stop_by_the_person(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = await bench(limits={"seconds": 500})
    hand = Hand(b).watch(monkeypatch)
    b.script(reply("", TASK), reply("", call("bash", command=HOLD)))
    asking = asyncio.create_task(b.ask("go"))
    await holds(b)
    hand.ring(501)
    assert await asking == "time_limit"
    (record,) = b.doc.records("side_run")
    assert record.data["stop_reason"] == "time_limit" and "You stopped" not in record.data["detail"]
    assert [h.outcome.value for h in b.nodes("tool")] == ["stopped", "stopped"]


async def test_going_on_from_a_step_of_a_sub_agent(bench: Any) -> None:
    b = await bench()
    b.script(reply("", TASK), reply("", call("write", path="sub.txt", content="1\n")), "Written.", "Done.")
    assert await b.ask("go") == "completed"
    end = side(b)[-1]
    (b.root / "later.txt").write_text("x\n")
    answer = await b.actor.jumps.jump(Jump(node=end.uid))
    if answer.plan is not None:
        answer = await b.actor.jumps.jump(Jump(node=end.uid, plan=answer.plan.id))
    assert answer.result is not None and b.doc.cursor == end.uid
    b.script("Going on.")
    assert await b.ask("and more") == "completed"
    sent = b.sent()
    assert "Write sub.txt." in str(sent["messages"][0]) and "You are a sub-agent" in str(sent["system"])
    view = (await b.actor.maker()).view("cursor")
    assert "Write sub.txt." in str(view.request["messages"][0])


async def test_nothing_of_the_parent_is_known_in_it(bench: Any) -> None:
    b = await bench()
    b.script(reply("", call("read", path="a.txt"), TASK), "I could not.", "Done.")
    (b.root / "a.txt").write_text("a\n")
    assert await b.ask("go") == "completed"
    state = b.doc.task_state(side(b)[0].uid)
    assert state["files"] == {} and state["plan"] == []


async def test_the_mode_binds_it_too(bench: Any) -> None:
    b = await bench(mode="plan")
    b.script(reply("", TASK), reply("", call("write", path="sub.txt", content="x\n")), "I may not.", "Done.")
    assert await b.ask("go") == "completed"
    assert [(h.tool, h.outcome.value) for h in b.nodes("tool")] == [("task", "ok"), ("write", "denied")]
    assert not (b.root / "sub.txt").exists()


async def test_a_jump_while_it_works(bench: Any, repo: Any) -> None:
    b = await bench(repo)
    b.script(reply("", TASK), reply("", call("bash", command="echo half > half.txt; sleep 60")))
    await b.actor.runs.prompt(Prompt(text="go"))
    while not (b.root / "half.txt").exists():
        await asyncio.sleep(0.02)
    root = b.nodes("root")[0].uid
    answer = await b.actor.jumps.jump(Jump(node=root))
    if answer.plan is not None:
        answer = await b.actor.jumps.jump(Jump(node=root, plan=answer.plan.id))
    assert answer.result is not None and b.doc.cursor == root and b.reason() == "aborted"
    assert not (b.root / "half.txt").exists()


async def test_messages_of_the_person_are_for_the_parent(bench: Any) -> None:
    b = await bench()
    b.script(reply("", TASK), reply("", call("bash", command=HOLD)), "The report.", "All of it.")
    await b.actor.runs.prompt(Prompt(text="go"))
    await holds(b)
    await b.actor.runs.prompt(Prompt(text="also this", when="next_step"))
    let_go(b)
    await b.actor.runs.idle()
    also = next(h for h in b.nodes("user") if h.preview == "also this")
    assert not also.flags & NodeFlag.SIDE_BRANCH and "also this" in str(b.sent()["messages"][-1])
    assert "also this" not in str(b.sent(2)["messages"])


async def test_a_defect_of_ours_in_it_ends_the_run(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(self: Any, args: Any, ctx: Any) -> Any:
        raise TypeError("ours")

    monkeypatch.setattr(ListDir, "run", broken)
    b = await bench()
    b.script(reply("", TASK), reply("", call("list_dir")))
    assert await b.ask("go") == "internal_error"
    assert [h.outcome.value for h in b.nodes("tool")] == ["failed", "failed"]
    b.script("Here again.")
    assert await b.ask("and now?") == "completed"
    await b.actor.close()
    assert verify(b.doc.path).faults == []
