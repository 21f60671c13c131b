"""What a session looks like when nothing runs in it: after a restart, after a jump, after a run that broke off."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests_support import PATIENCE_S
from worldline.core.stop import StopReason
from worldline.core.usage import Usage
from worldline.engine.opening import OpenRequest
from worldline.engine.session import ActorOptions, SessionActor
from worldline.protocol.commands import GoOn, Jump, Nothing, Prompt, QueueEdit, SetSettings
from worldline.provider import catalog
from worldline.rehearsal.events import Call, Reply
from worldline.rehearsal.scenario import Scenario
from worldline.rehearsal.server import RehearsalServer


def bash(command: str) -> Reply:
    return Reply(text="", calls=[Call("bash", {"command": command})])


async def test_the_mode_of_the_last_run_and_the_fill_of_the_context_survive_a_restart(
    bench: Any, tmp_path: Path
) -> None:
    b = await bench(mode="ask")
    b.script("x" * 4000)
    await b.ask("go", mode="work")
    before = b.actor.shared.status.now
    await b.actor.close()
    actor = SessionActor(OpenRequest(session=b.doc.path), lambda name, message: None, ActorOptions())
    try:
        await actor.start()
        after = actor.shared.status.now
        assert after.mode == "work"
        assert after.context_tokens >= before.context_tokens > 0
        assert after.context_bytes > 4000
        root = actor.shared.doc.resolve("root")
        await actor.jumps.jump(Jump(node=root))
        assert actor.shared.status.now.context_tokens == actor.shared.status.now.context_bytes == 0
    finally:
        await actor.close()


async def test_what_costs_something_unknown_is_not_said_to_cost_nothing(bench: Any) -> None:
    b = await bench()
    assert b.actor.shared.status.now.cost == 0.0
    b.script("one")
    await b.ask("go", model="some-llama")
    now = b.actor.shared.status.now
    assert now.cost is None and "some-llama is not known" in now.cost_note
    await b.actor.close()
    again = await bench(session=b.doc.path)
    now = again.actor.shared.status.now
    assert now.cost is None and "no known price" in now.cost_note
    again.actor.shared.status.used(Usage(cost=0.25, answers=1), "other")
    assert again.actor.shared.status.now.cost == 0.25


async def test_what_is_ordered_at_the_start_stands_above_the_last_run(bench: Any) -> None:
    b = await bench()
    await b.ask("go", mode="work")
    await b.actor.close()
    again = await bench(session=b.doc.path, mode="plan")
    assert again.actor.shared.status.now.mode == "plan"


async def test_going_on_keeps_the_mode_and_the_model_that_were_chosen(bench: Any) -> None:
    b = await bench(mode="ask", limits={"turns": 1})
    b.script(bash("echo 1"), "Done.")
    await b.ask("go", mode="work", model="rehearsal-other")
    assert b.reason() == "max_turns"
    await b.actor.runs.go_on(GoOn(turns=5))
    await b.actor.runs.idle()
    assert b.reason() == "completed"
    assert b.doc.runs()[-1].settings["mode"] == "work"
    assert b.actor.shared.status.now.mode == "work"
    assert b.sent()["model"] == "rehearsal-other"


async def test_a_new_session_in_the_persons_folder_says_on_which_branch_it_is(bench: Any, repo: Path) -> None:
    b = await bench(workspace=repo, in_place=True)
    assert b.actor.shared.status.now.branch == "main"
    await b.actor.close()
    again = await bench(session=b.doc.path)
    assert again.actor.shared.status.now.branch == "main"


async def test_a_message_that_waited_for_a_run_that_was_stopped_can_be_sent(bench: Any) -> None:
    b = await bench()
    b.script(bash("sleep 60"), "Sent.")
    await b.actor.runs.prompt(Prompt(text="go"))
    # Stopped before it asked, the run would leave the first answer of the script to the message.
    async with asyncio.timeout(PATIENCE_S):
        while not b.nodes("tool"):
            await asyncio.sleep(0.01)
    queued = await b.actor.runs.prompt(Prompt(text="then this"))
    b.actor.runs.stop()
    await b.actor.runs.idle()
    assert b.doc.runs()[-1].stop_reason is StopReason.ABORTED
    assert [i.text for i in b.actor.runs.queue.items] == ["then this"]
    b.actor.runs.queue_edit(QueueEdit(id=queued.queued, send=True))
    await b.actor.runs.idle()
    assert [h.preview for h in b.nodes("user")] == ["go", "then this"]
    assert b.actor.runs.queue.items == []


async def test_what_a_server_said_of_its_model_is_known_after_a_restart(bench: Any) -> None:
    b = await bench(model="")
    b.server.scenario.models = [{"id": "house-model", "max_input_tokens": 77_000, "max_tokens": 4_000}]
    b.script("Yes.")
    assert await b.ask("go") == "completed"
    assert b.actor.shared.status.now.context_limit == 77_000
    assert len(b.doc.records("model")) == 1
    await b.actor.close()
    again = await bench(session=b.doc.path, model="")
    status = again.actor.shared.status.now
    assert (status.model, status.context_limit) == ("house-model", 77_000)
    again.script("Yes.")
    await again.ask("and again")
    assert len(again.doc.records("model")) == 1


async def test_no_model_is_named_before_the_server_has_said_which_one(bench: Any) -> None:
    b = await bench(model="")
    b.server.scenario.models = [{"id": "house-model", "max_input_tokens": 77_000, "max_tokens": 4_000}]
    status = b.actor.shared.status
    assert (status.now.model, status.now.asked_model, status.now.context_limit) == ("", "", 0)
    listed = await b.actor.handle("models", Nothing())
    assert listed.default == "house-model", "what the window offers to choose from begins with it"
    assert (status.now.model, status.now.asked_model, status.now.context_limit) == (
        "house-model",
        "house-model",
        77_000,
    )
    b.script("Yes.")
    assert await b.ask("go") == "completed"
    assert b.sent()["model"] == "house-model"
    await b.actor.close()
    again = await bench(session=b.doc.path, model="")
    assert again.actor.shared.status.now.model == "house-model", "known from then on"


async def test_a_model_that_was_named_is_shown_at_once(bench: Any) -> None:
    b = await bench(model="some-llama")
    assert b.actor.shared.status.now.model == "some-llama"


async def test_a_model_that_one_server_offers_is_not_asked_of_another(bench: Any) -> None:
    with RehearsalServer(Scenario()) as other:
        b = await bench(model="", base_url="")
        b.server.scenario.models = [{"id": "house-model", "max_input_tokens": 77_000, "max_tokens": 4_000}]
        other.scenario.models = [{"id": "garden-model", "max_input_tokens": 55_000, "max_tokens": 4_000}]
        models = b.actor.models
        for server, name in ((b.server, "house-model"), (other, "garden-model"), (b.server, "house-model")):
            await b.actor.handle("set_settings", SetSettings(values={"base_url": server.base_url}))
            await models.choose()
            assert models.place().model == name
            assert b.actor.shared.status.now.model == name
        await b.actor.handle("set_settings", SetSettings(values={"base_url": ""}))
        assert models.place().model == catalog.DEFAULT_MODEL


async def test_an_estimate_without_usage_counts_the_system_text_and_the_tools(bench: Any) -> None:
    b = await bench()
    b.server.drill("unauthorized", 5)
    await b.ask("go")
    before = b.actor.shared.status.now
    await b.actor.close()
    again = await bench(session=b.doc.path)
    after = again.actor.shared.status.now
    assert after.context_bytes > 5_000
    assert abs(after.context_bytes - before.context_bytes) < before.context_bytes / 10
    assert abs(after.context_tokens - before.context_tokens) < before.context_tokens / 10
    b.server.clear_drills()


async def test_the_size_of_the_context_is_the_same_before_and_after_a_jump_that_changes_nothing(
    bench: Any,
) -> None:
    """System text and tools are in what was sent; leaving them out after a jump made the figure smaller without a reason."""
    b = await bench()
    (b.root / "a.txt").write_text("one\n" * 500)
    b.script(
        Reply(text="", calls=[Call("read", {"path": "a.txt"})]), "It says one.", "Again one.", "Still one."
    )
    await b.ask("look")
    first = b.doc.cursor
    told = b.actor.shared.status.now
    await b.ask("again")
    second = b.actor.shared.status.now
    assert second.context_bytes > told.context_bytes
    await b.actor.jumps.jump(Jump(node=first))
    back = b.actor.shared.status.now
    assert (back.context_bytes, back.context_tokens) == (told.context_bytes, told.context_tokens)
    # And it is what the next request holds, but for the new message and what stands around it.
    sent = len(b.server.message_requests)
    await b.ask("and now?")
    exact = b.doc.body(b.nodes("assistant")[-1].uid).detail["request_bytes"]
    assert len(b.server.message_requests) == sent + 1
    assert 0 < exact - told.context_bytes < 1_500


async def test_a_step_in_the_middle_of_a_run_counts_what_came_after_its_answer(bench: Any) -> None:
    b = await bench()
    (b.root / "a.txt").write_text("one\n" * 500)
    b.script(Reply(text="", calls=[Call("read", {"path": "a.txt"})]), "It says one.")
    await b.ask("look")
    asked = [b.doc.body(h.uid).detail["request_bytes"] for h in b.nodes("assistant")]
    await b.actor.jumps.jump(Jump(node=b.nodes("tool")[0].uid))
    size = b.actor.shared.status.now.context_bytes
    assert abs(size - asked[1]) < 200, "as the request that followed it"


async def test_nothing_is_claimed_of_the_sandbox_before_it_was_tried(bench: Any) -> None:
    b = await bench()
    said = [message.status.sandbox for name, message in b.events if name == "status"]
    await b.actor.approvals.sandbox.checked.wait()
    assert "none" not in said, "a warning at every start that is taken back a moment later"
    await b.actor.approvals.ready()
    b.actor.approvals.describe()
    assert b.actor.shared.status.now.sandbox == b.actor.approvals.gate.sandbox
