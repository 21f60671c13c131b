"""One run: what is stored, when, and how it ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.support import HOLD, Hand, call, holds, let_go, reply
from worldline.agent.gate import Gate
from worldline.core.kinds import NodeFlag
from worldline.protocol.commands import GoOn, Prompt, QueueEdit
from worldline.rehearsal.events import Call, Reply

WRITE = call("write", path="f.txt", content="one\n")


async def test_a_run_leaves_a_chain_with_states_and_one_end(bench: Any) -> None:
    b = await bench()
    b.script(reply("I write.", WRITE), reply("Look.", call("read", path="f.txt"), call("list_dir")), "Done.")
    assert await b.ask("go") == "completed"
    kinds = [h.kind.value for h in b.nodes()]
    assert kinds == ["root", "user", "assistant", "tool", "assistant", "tool", "tool", "assistant"]
    parents = [h.parent for h in b.nodes()]
    assert parents == [0, 1, 2, 3, 4, 5, 6, 7]
    write = b.nodes("tool")[0]
    assert write.state and write.files == 1 and write.added == 1
    assert write.flags & NodeFlag.FILES_CHANGED
    assert [h.tool for h in b.nodes("tool")] == ["write", "read", "list_dir"]
    assert b.doc.cursor == b.nodes()[-1].uid
    assert b.names().count("run_ended") == 1
    # Announced only after it is durable, in order.
    stored = [m.header.seq for name, m in b.events if name == "node_stored"]
    assert stored == sorted(stored)


async def test_the_prompt_is_durable_before_the_model_is_asked(bench: Any, server: Any) -> None:
    b = await bench()
    seen: list[int] = []
    server.scenario.answerer = lambda talk: (seen.append(len(b.server.message_requests)), Reply(text="ok"))[1]
    await b.actor.runs.prompt(Prompt(text="hello"))
    assert [h.kind.value for h in b.nodes()] == ["root", "user"]
    assert not server.message_requests
    await b.actor.runs.idle()
    assert seen


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("unauthorized", "auth_error"),
        ("credit", "quota"),
        ("overloaded", "overloaded"),
        ("reset-before-headers", "network_error"),
        ("refusal", "refusal"),
    ],
)
async def test_what_the_model_cannot_fix_ends_the_run_in_order(bench: Any, fault: str, reason: str) -> None:
    b = await bench()
    b.server.drill(fault, 50)
    assert await b.ask("go") == reason
    end = b.doc.runs()[-1]
    assert end.detail
    status = b.actor.shared.status.now
    assert (status.state, status.last_stop) == ("ready", reason)
    # Every stop reason can be left by a new message.
    b.server.clear_drills()
    b.script("Here again.")
    assert await b.ask("and now?") == "completed"


async def test_a_transient_fault_is_told_and_survived(bench: Any) -> None:
    b = await bench()
    b.script("Fine.")
    b.server.drill("overloaded", 2)
    assert await b.ask("go") == "completed"
    assert len(b.diagnostics("retry")) == 2
    states = [m.status.state for name, m in b.events if name == "status"]
    assert "retrying" in states
    assert b.nodes("assistant")[-1].flags & NodeFlag.RETRIED


async def test_brakes_say_how_far_it_was_and_can_go_on(bench: Any) -> None:
    b = await bench(limits={"turns": 2})
    turns = [reply("", call("bash", command=f"echo {i}")) for i in range(9)]
    b.script(*turns)
    assert await b.ask("go") == "max_turns"
    assert "2 of 2" in b.doc.runs()[-1].detail
    ended = next(m for name, m in reversed(b.events) if name == "run_ended")
    assert "go_on" in ended.offers
    before = len(b.nodes("assistant"))
    await b.actor.runs.go_on(GoOn(turns=3))
    await b.actor.runs.idle()
    assert b.reason() == "max_turns"
    assert len(b.nodes("assistant")) == before + 3
    assert len(b.nodes("user")) == 1


async def test_the_brake_for_calls(bench: Any) -> None:
    b = await bench(limits={"tool_calls": 3})
    b.script(*[reply("", call("bash", command=f"echo {i}")) for i in range(9)])
    assert await b.ask("go") == "max_tool_calls"
    assert len(b.nodes("tool")) == 3


async def test_the_brake_for_calls_counts_those_that_run_side_by_side(bench: Any) -> None:
    b = await bench(limits={"tool_calls": 3})
    for n in range(8):
        (b.root / f"{n}.txt").write_text(f"{n}\n")
    b.script(reply("", *[call("read", path=f"{n}.txt") for n in range(8)]), "Done.")
    assert await b.ask("go") == "max_tool_calls"
    assert len(b.nodes("tool")) == 3 and all(h.outcome.value == "ok" for h in b.nodes("tool"))
    assert "3 of 3" in b.doc.runs()[-1].detail
    # What did not run is told when it goes on.
    b.script("All right.")
    assert await b.ask("go on") == "completed"


async def test_the_brake_for_time_ends_a_call_that_runs(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    b = await bench(limits={"seconds": 1_000})
    hand = Hand(b).watch(monkeypatch)
    b.script(reply("", call("bash", command=HOLD)), "Done.")
    asking = asyncio.create_task(b.ask("go"))
    await holds(b)
    hand.ring(1_001)
    assert await asking == "time_limit"
    assert b.nodes("tool")[0].outcome.value == "stopped"


async def test_the_token_brake(bench: Any) -> None:
    b = await bench(limits={"tokens": 10})
    b.script(reply("", call("bash", command="echo 1")), "Done.")
    assert await b.ask("go") == "token_budget"


async def test_stop_keeps_what_arrived(bench: Any, server: Any) -> None:
    b = await bench()
    server.scenario.pace = 0.02
    b.script(reply("word " * 40_000))
    await b.actor.runs.prompt(Prompt(text="go"))
    while "delta" not in b.names():
        await asyncio.sleep(0.01)
    b.actor.runs.stop()
    await b.actor.runs.idle()
    assert b.reason() == "aborted"
    last = b.nodes("assistant")[-1]
    assert last.flags & NodeFlag.INCOMPLETE
    assert last.outcome.value == "aborted"
    assert last.preview.startswith("word word")


async def test_stop_settles_a_running_call_with_its_files(bench: Any) -> None:
    b = await bench()
    b.script(
        reply("", call("bash", command="echo half > half.txt; sleep 60"), call("bash", command="echo never"))
    )
    await b.actor.runs.prompt(Prompt(text="go"))
    while not (b.root / "half.txt").exists():
        await asyncio.sleep(0.02)
    b.actor.runs.stop()
    b.actor.runs.stop()
    await b.actor.runs.idle()
    assert b.reason() == "aborted"
    (tool,) = b.nodes("tool")
    assert tool.outcome.value == "aborted"
    assert tool.state and tool.files == 1
    b.script("All right.")
    assert await b.ask("go on") == "completed"  # the checker of the server refuses a call without a result


async def test_stopped_before_its_first_step(bench: Any) -> None:
    b = await bench()
    await b.actor.runs.prompt(Prompt(text="go"))
    b.actor.runs.stop()
    await b.actor.runs.idle()
    assert b.reason() == "aborted"


async def test_messages_queue_and_are_delivered_at_the_next_step(bench: Any, server: Any) -> None:
    b = await bench()
    b.script(reply("", call("bash", command=f"{HOLD}; echo slept")), "Seen.")
    await b.actor.runs.prompt(Prompt(text="go"))
    await holds(b)
    queued = await b.actor.runs.prompt(Prompt(text="also this", when="next_step"))
    other = await b.actor.runs.prompt(Prompt(text="not this", when="next_step"))
    assert queued.queued and not queued.run
    b.actor.runs.queue.edit(QueueEdit(id=other.queued))
    let_go(b)
    await b.actor.runs.idle()
    assert [h.preview for h in b.nodes("user")] == ["go", "also this"]
    assert len(b.doc.runs()) == 1
    assert b.actor.runs.queue.items == []
    assert [r.data["how"] for r in b.doc.records("queue_done")] == ["taken out", "delivered"]


async def test_a_message_to_be_planned_is_not_carried_out_by_the_run_that_goes_on(bench: Any) -> None:
    b = await bench(mode="work")
    b.script(reply("", call("bash", command=HOLD)), "Done.", "A plan.")
    await b.actor.runs.prompt(Prompt(text="go"))
    await holds(b)
    await b.actor.runs.prompt(Prompt(text="only think about it", mode="plan", when="next_step"))
    let_go(b)
    await b.actor.runs.idle()
    assert [(r.settings["mode"], r.stop_reason.value) for r in b.doc.runs()] == [
        ("work", "completed"), ("plan", "completed"),
    ]  # fmt: skip
    assert "only think" not in str(b.sent(1)) and "only think" in str(b.sent(2))


async def test_a_delivery_that_cannot_be_recorded_is_not_made_by_half(bench: Any) -> None:
    """Else the message would be in the conversation and in the queue, and be sent a second time."""
    b = await bench()
    b.script(reply("", call("bash", command=HOLD)), "Done.")
    await b.actor.runs.prompt(Prompt(text="go"))
    await holds(b)
    await b.actor.runs.prompt(Prompt(text="also this"))
    b.doc._db.execute(
        "CREATE TEMP TRIGGER full BEFORE INSERT ON records WHEN new.kind = 'queue_done' "
        "BEGIN SELECT RAISE(ABORT, 'no room'); END"
    )
    let_go(b)
    await b.actor.runs.idle()
    assert b.reason() != "completed"
    assert [h.preview for h in b.nodes("user")] == ["go"]
    assert [i.text for i in b.actor.runs.queue.items] == ["also this"]


async def test_interrupt_stops_and_asks_anew(bench: Any) -> None:
    b = await bench()
    b.script(reply("", call("bash", command="sleep 60")), "Changed.")
    await b.actor.runs.prompt(Prompt(text="go"))
    while not b.nodes("tool"):
        await asyncio.sleep(0.02)
    await b.actor.runs.prompt(Prompt(text="no, this", when="interrupt"))
    await b.actor.runs.idle()
    assert [r.stop_reason.value for r in b.doc.runs()] == ["aborted", "completed"]
    assert [h.preview for h in b.nodes("user")] == ["go", "no, this"]


async def test_a_cost_limit_is_kept_by_tokens_where_the_price_is_not_known(bench: Any) -> None:
    b = await bench(model="nobodys-model", limits={"cost": 0.5})
    use = {"input_tokens": 20_000, "output_tokens": 1_000}
    b.script(*[reply(f"Step {n}.", call("bash", command=f"echo {n}"), usage=use) for n in range(20)])
    assert await b.ask("go") == "cost_limit"
    assert len(b.server.message_requests) == 3
    (told,) = b.diagnostics("price_unknown")
    assert "nobodys-model" in told.data["detail"] and "50,000 tokens" in told.data["detail"]
    said = [e.status.sentence for name, e in b.events if name == "status"]
    assert any("The model is working. The price of nobodys-model is not known" in text for text in said)
    assert "50,000 tokens" in b.actor.shared.status.now.cost_note
    assert "63,000 tokens without a known price" in b.doc.runs()[-1].detail
    # It is told once, and going on is possible.
    b.script("Done.")
    assert await b.ask("more") == "completed" and len(b.diagnostics("price_unknown")) == 1


async def test_a_server_that_only_pauses_is_not_asked_for_ever(bench: Any) -> None:
    b = await bench()
    b.script(*[Reply(text="", blocks=[], stop="pause_turn")] * 30)
    assert await b.ask("go") == "provider_error"
    assert len(b.server.message_requests) == 9 and "9 times" in b.doc.runs()[-1].detail


async def test_a_pause_is_not_the_runs_time(bench: Any) -> None:
    b = await bench(limits={"seconds": 50, "session_seconds": 200})
    now = [100.0]
    b.actor.runs.gate = Gate(lambda: now[0])
    b.script(reply("", call("list_dir", path=".")), "Done.")
    b.actor.runs.pause(True)
    asking = asyncio.create_task(b.ask("go"))
    while not b.actor.runs.gate.holding:
        await asyncio.sleep(0.01)
    now[0] += 5000  # the person is away for long
    b.actor.runs._loop._time_up()  # its timer rings meanwhile
    assert b.actor.runs._loop.why is None
    b.actor.runs.pause(False)
    assert await asking == "completed"
    (record,) = b.doc.records("paused")
    assert record.data["seconds"] == 5000
    # Nor is it the session's.
    b.script("Done.")
    assert await b.ask("more") == "completed"


async def test_time_that_is_worked_while_a_pause_is_wanted_counts(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = await bench(limits={"seconds": 1_000})
    hand = Hand(b).watch(monkeypatch)
    b.script(reply("", call("bash", command=HOLD)), "Done.")
    asking = asyncio.create_task(b.ask("go"))
    await holds(b)
    b.actor.runs.pause(True)
    hand.ring(1_001)
    assert await asking == "time_limit"


async def test_pause_holds_before_the_next_step(bench: Any) -> None:
    b = await bench()
    b.script(reply("", call("bash", command="echo 1")), "Done.")
    b.actor.runs.pause(True)
    await b.actor.runs.prompt(Prompt(text="go"))
    await asyncio.sleep(0.3)
    assert not b.server.message_requests
    b.actor.runs.pause(False)
    await b.actor.runs.idle()
    assert b.reason() == "completed"


async def test_an_empty_reply_is_nudged_once(bench: Any) -> None:
    b = await bench()
    b.script(Reply(blocks=[]), "I am done.")
    assert await b.ask("go") == "completed"
    assert len(b.diagnostics("nudge")) == 1
    b.script(Reply(blocks=[]), Reply(blocks=[]))
    assert await b.ask("again") == "empty_reply"


async def test_a_cut_reply_is_continued_once(bench: Any) -> None:
    b = await bench()
    b.script(reply("half", stop="max_tokens"), "and whole.")
    assert await b.ask("go") == "completed"
    b.script(reply("half", stop="max_tokens"), reply("half again", stop="max_tokens"))
    assert await b.ask("more") == "output_limit"


async def test_calls_of_a_cut_reply_never_run(bench: Any) -> None:
    b = await bench()
    b.script(reply("", WRITE, stop="max_tokens"), "I see.")
    assert await b.ask("go") == "completed"
    assert not (b.root / "f.txt").exists()


async def test_the_same_failure_again_and_again_stops_the_run(bench: Any) -> None:
    b = await bench()
    b.script(*[reply(f"Try {i}.", call("read", path="nowhere.txt")) for i in range(12)])
    assert await b.ask("go") == "repeated_failures"
    assert len(b.nodes("tool")) == 5
    ended = next(m for name, m in reversed(b.events) if name == "run_ended")
    assert "backtrack" in ended.offers
    assert b.diagnostics("breaker")


async def test_a_reply_that_repeats_itself_is_given_up(bench: Any) -> None:
    b = await bench()
    b.script("word word word. " * 4000)
    assert await b.ask("go") == "repeated_calls"
    assert b.nodes("assistant")[-1].flags & NodeFlag.INCOMPLETE


async def test_bad_arguments_and_unknown_tools_reach_the_model(bench: Any) -> None:
    b = await bench()
    b.script(
        reply("", Call("reed", {"path": "x"})), reply("", Call("read", {}, raw='{"path": "a')), reply("", call("read")),
        "I give up.",
    )  # fmt: skip
    assert await b.ask("go") == "completed"
    assert [h.outcome.value for h in b.nodes("tool")] == ["failed"] * 3


async def test_what_others_changed_is_a_node_and_is_told(bench: Any) -> None:
    b = await bench()
    b.script(reply("", WRITE), "Done.", "I see.")
    await b.ask("go")
    (b.root / "f.txt").write_text("edited by hand\n")
    await b.ask("and?")
    (change,) = b.nodes("external_change")
    assert change.files == 1
    assert "f.txt" in str(b.sent()["messages"][-1])
    assert "not by you" in str(b.sent()["messages"][-1])


async def test_secrets_of_the_store_survive_a_reopen(bench: Any, tmp_path: Any) -> None:
    b = await bench()
    b.script(reply("", call("plan", steps=[{"text": "x", "status": "active"}])), "Done.")
    await b.ask("go")
    path, cursor = b.doc.path, b.doc.cursor
    state = b.doc.task_state(cursor)
    await b.actor.close()
    again = await bench(session=path)
    assert again.doc.cursor == cursor
    assert again.doc.task_state(cursor) == state
    assert state["plan"]


async def test_queued_messages_survive_the_end_of_the_process(bench: Any) -> None:
    b = await bench()
    b.script(reply("", call("bash", command="sleep 60")))
    await b.actor.runs.prompt(Prompt(text="go"))
    await b.actor.runs.prompt(Prompt(text="later", when="next_step"))
    await b.actor.close()
    again = await bench(session=b.doc.path)
    assert [i.text for i in again.actor.runs.queue.items] == ["later"]
    again.script("Both.")
    await again.ask("hello")
    assert [h.preview for h in again.nodes("user")] == ["go", "hello", "later"]
