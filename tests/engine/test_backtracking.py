"""Brakes of the session, going back by policy, and what a branch knows."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.support import call, reply
from engine.test_overlaps import steps
from worldline.protocol.commands import GoOn, Jump, Prompt
from worldline.rehearsal.conversation import Conversation
from worldline.rehearsal.events import Reply


def echoes(start: int, many: int) -> list[Reply]:
    return [reply("", call("bash", command=f"echo {n}")) for n in range(start, start + many)]


async def go(b: Any, node: str) -> None:
    answer = await b.actor.jumps.jump(Jump(node=node))
    if answer.plan is not None:
        answer = await b.actor.jumps.jump(Jump(node=node, plan=answer.plan.id))
    assert answer.result is not None


async def test_brakes_of_the_session_and_going_on(bench: Any) -> None:
    for limits, reason in (
        ({"session_turns": 3}, "max_turns"),
        ({"session_tool_calls": 3}, "max_tool_calls"),
        ({"session_tokens": 60}, "token_budget"),
    ):
        b = await bench(limits=limits)
        done = [] if reason == "token_budget" else ["Done."]
        b.script(*echoes(0, 2), *done, *echoes(2, 9))
        assert await b.ask("go") == ("completed" if reason != "token_budget" else reason)
        assert await b.ask("more") == reason
        run = b.doc.runs()[-1]
        assert "this session" in run.detail and "go on" in run.detail
        ended = next(m for name, m in reversed(b.events) if name == "run_ended")
        assert "go_on" in ended.offers
        before = len(b.nodes("assistant"))
        await b.actor.runs.go_on(GoOn(turns=2))
        await b.actor.runs.idle()
        assert b.reason() == "max_turns" and "2 of 2" in b.doc.runs()[-1].detail
        assert len(b.nodes("assistant")) == before + 2


async def test_the_session_brake_for_time(bench: Any) -> None:
    b = await bench(limits={"session_seconds": 1})
    b.script(reply("", call("bash", command="sleep 60")))
    assert await b.ask("go") == "time_limit"
    assert await b.ask("more") == "time_limit"
    assert "of this session" in b.doc.runs()[-1].detail


def stubborn(way: str) -> list[Reply]:
    return [reply(f"Try {n}.", call("read", path=f"{way}.txt")) for n in range(5)]


async def test_off_offers_nothing(bench: Any) -> None:
    b = await bench(backtracking="off")
    b.script(*stubborn("no"))
    assert await b.ask("go") == "repeated_failures"
    ended = next(m for name, m in reversed(b.events) if name == "run_ended")
    assert "backtrack" not in ended.offers and len(b.doc.runs()) == 1


async def test_auto_tries_another_way_and_keeps_the_abandoned_path(bench: Any) -> None:
    b = await bench(backtracking="auto")
    b.script(*stubborn("first"), reply("Another way.", call("write", path="x.txt", content="x\n")), "Done.")
    assert await b.ask("find it") == "repeated_failures"
    assert [r.stop_reason.value for r in b.doc.runs()] == ["repeated_failures", "completed"]
    prompts = b.nodes("user")
    assert [h.preview for h in prompts] == ["find it", "find it"]
    assert prompts[0].parent == prompts[1].parent
    told = str(b.sent()["messages"][0])
    assert "first.txt" in told and "Try another way" in told
    assert "Try 0." not in str(b.sent()["messages"])
    assert len(b.nodes("tool")) == 6
    assert b.diagnostics("backtrack")


async def test_the_next_attempt_is_made_as_the_message_was_sent(bench: Any) -> None:
    """The mode that was chosen for a message binds the attempts at it too: what was only to be planned is not done."""
    b = await bench(backtracking="auto", mode="work")
    b.script(*stubborn("first"), "A plan, then.")
    await b.ask("find it", mode="plan", model="rehearsal-other", effort="low")
    first, second = b.doc.runs()
    assert second.settings == first.settings and second.settings["mode"] == "plan"
    assert b.sent()["model"] == "rehearsal-other"


@pytest.mark.parametrize("how", ["jump", "message"])
async def test_auto_does_not_follow_the_person(bench: Any, how: str) -> None:
    """They go to another node, or say something else, in the moment in which the run ends."""
    b = await bench(backtracking="auto")
    b.script("Hello.")
    assert await b.ask("hello") == "completed"
    first = b.nodes("user")[0].uid
    b.script(*stubborn("first"), "What they asked.")
    runs, turnstile = b.actor.runs, b.actor.shared.turnstile
    await runs.prompt(Prompt(text="find it"))
    async with turnstile:
        if how == "jump":
            theirs = asyncio.ensure_future(b.actor.jumps.jump(Jump(node=first)))
            await steps()
            await runs.settled()
        else:
            await runs.settled()
            theirs = asyncio.ensure_future(runs.prompt(Prompt(text="something else")))
        await steps()
    await theirs
    await runs.idle()
    ends = [r.stop_reason.value for r in b.doc.runs()]
    assert [h.preview for h in b.nodes("user")].count("find it") == 1
    assert ends == ["completed", "repeated_failures", *(["completed"] if how == "message" else [])]
    if how == "jump":
        assert b.doc.cursor == b.doc.resolve("root")
    else:
        assert [h.preview for h in b.nodes("user")][-1] == "something else"


async def test_auto_is_bounded(bench: Any) -> None:
    b = await bench(backtracking="auto")
    b.script(*stubborn("one"), *stubborn("two"), *stubborn("three"), *stubborn("four"))
    await b.ask("find it")
    assert [r.stop_reason.value for r in b.doc.runs()] == ["repeated_failures"] * 3
    assert "yours to decide" in b.diagnostics("backtrack")[-1].data["detail"]
    # Each attempt is told of all before it.
    assert "one.txt" in str(b.sent()["messages"][0]) and "two.txt" in str(b.sent()["messages"][0])


async def test_the_same_way_twice_is_said_and_not_taken_again(bench: Any) -> None:
    b = await bench(backtracking="auto")
    b.script(*stubborn("one"), *stubborn("one"), *stubborn("one"))
    await b.ask("find it")
    assert len(b.doc.runs()) == 2
    assert "like an earlier one" in b.diagnostics("backtrack")[-1].data["detail"]
    # On the person's command it is done, and said.
    answer = await b.actor.backtrack()
    assert answer.result is not None and answer.result.composer_text == "find it"
    b.script("I ask, then.")
    await b.ask("find it")
    assert "failed in the same way" in str(b.sent()["messages"][0])


async def test_back_to_the_last_passed_check(bench: Any, repo: Any) -> None:
    b = await bench(repo, backtracking="auto")
    (b.root / "test_ok.py").write_text("def test_ok():\n    pass\n")
    check = call("bash", command="python -m pytest -q test_ok.py")
    b.script(
        reply("", call("write", path="good.txt", content="good\n")), reply("", check),
        reply("", call("write", path="bad.txt", content="bad\n")), *stubborn("no"), "Done from there.",
    )  # fmt: skip
    b.actor.approvals.gate.unattended = "allow"
    await b.ask("find it")
    assert b.reason() == "completed"
    passed = next(h for h in b.nodes("tool") if h.tool == "bash")
    again = b.nodes("user")[-1]
    path = b.doc.tree.path(again.seq)
    assert passed.seq in path
    assert (b.root / "good.txt").exists() and not (b.root / "bad.txt").exists()


async def test_what_a_branch_knows_is_its_own(bench: Any, repo: Any) -> None:
    b = await bench(repo, attended=True)
    b.script(
        reply("", call("read", path="a.txt"), call("plan", steps=[{"text": "first", "status": "active"}])),
        "One.",
        reply("", call("edit", path="a.txt", old="alpha", new="beta")), "Two.",
    )  # fmt: skip
    assert await b.ask("one") == "completed"
    one = b.doc.cursor
    root = b.nodes("root")[0].uid
    assert await b.ask("two") == "completed"
    two = b.doc.cursor
    assert (b.root / "a.txt").read_text() == "beta\n"
    # A fork from the start has read nothing and planned nothing: it may not edit unread.
    await go(b, root)
    assert (b.root / "a.txt").read_text() == "alpha\n"
    b.script(reply("", call("edit", path="a.txt", old="alpha", new="gamma")), "Three.")
    assert await b.ask("three") == "completed"
    state = b.doc.task_state(b.doc.cursor)
    assert state["plan"] == []
    # Back on the first branch: its plan and its version of the file, and the edit works as it would have then.
    await go(b, one)
    assert [s["text"] for s in b.doc.task_state(b.doc.cursor)["plan"]] == ["first"]
    b.script(reply("", call("edit", path="a.txt", old="alpha", new="delta")), "Four.")
    assert await b.ask("four") == "completed"
    assert (b.root / "a.txt").read_text() == "delta\n"
    await go(b, two)
    assert (b.root / "a.txt").read_text() == "beta\n"
    b.script(reply("", call("edit", path="a.txt", old="beta", new="epsilon")), "Five.")
    assert await b.ask("five") == "completed"
    assert (b.root / "a.txt").read_text() == "epsilon\n"


async def test_a_grant_for_this_branch_stays_on_it(bench: Any, repo: Any, tmp_path: Any) -> None:
    b = await bench(repo, attended=True)
    outside = tmp_path / "outside.txt"
    outside.write_text("secretless\n")
    read = reply("", call("read", path=str(outside)))
    root = b.nodes("root")[0].uid
    b.script(read, "Read.", read, "Again.")
    await b.actor.runs.prompt(Prompt(text="one"))
    await b.answer("allow", scope="branch")
    assert b.reason() == "completed"
    granted = b.doc.cursor
    assert await b.ask("two") == "completed"  # not asked again on this branch
    await go(b, root)
    b.script(read, "Denied.")
    await b.actor.runs.prompt(Prompt(text="three"))
    await b.answer("deny")
    assert b.nodes("tool")[-1].outcome.value == "denied"
    await go(b, granted)
    b.script(read, "Here it holds.")
    assert await b.ask("four") == "completed"


async def test_breaker_counts_belong_to_the_branch(bench: Any, server: Any) -> None:
    b = await bench()
    b.script(*[reply(f"Try {n}.", call("read", path="no.txt")) for n in range(2)], "Hm.")
    assert await b.ask("go") == "completed"
    assert len(b.doc.task_state(b.doc.cursor)["breaker"]["calls"]) == 2
    await go(b, b.nodes("root")[0].uid)
    assert not (b.doc.task_state(b.doc.cursor) or {}).get("breaker")

    def answer(talk: Conversation) -> Reply:
        return reply(f"Try {talk.count}.", call("read", path="no.txt"))

    server.scenario.queue, server.scenario.answerer = [], answer
    before = len(b.nodes("tool"))
    assert await b.ask("again") == "repeated_failures"
    assert len(b.nodes("tool")) == before + 5


async def test_the_lesson_outlives_the_plan_that_is_shown_first(bench: Any, repo: Any) -> None:
    b = await bench(repo)
    b.script(
        reply("", call("write", path="x.txt", content="by the agent\n")),
        reply("", call("read", path="a.txt")), *stubborn("no"),
    )  # fmt: skip
    assert await b.ask("find it") == "repeated_failures"
    (b.root / "x.txt").write_text("edited by the person\n")
    answer = await b.actor.backtrack()
    assert answer.plan is not None
    done = await b.actor.jumps.jump(Jump(node=answer.plan.node, plan=answer.plan.id))
    assert done.result is not None
    b.script("Another way.")
    assert await b.ask("find it") == "completed"
    assert "no.txt" in str(b.sent()["messages"][0])
