"""What the model knows: summaries of branches, edits, what a reply leaves, and what the person is told of it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from engine.support import call, prose, reply, sent
from tests_support import PATIENCE_S, git
from worldline.core.errors import BadInput, WorldlineError
from worldline.core.kinds import NodeFlag
from worldline.protocol.commands import (
    ContextEdit,
    Jump,
    NodeRef,
    Nothing,
    Prompt,
    Stop,
    UsageFor,
)
from worldline.viewmodel.status import CAN_BE_STOPPED

REPORT = (
    "## Tried\nWriting both files.\n## Failed\nNothing.\n## Do not repeat\nThe second file is not wanted."
)


async def two_writes(b: Any) -> tuple[Any, Any]:
    b.script(
        reply("One.", call("write", path="one.txt", content="1\n")),
        reply("Two.", call("write", path="two.txt", content="2\n")),
        "Done.",
    )
    assert await b.ask("make both") == "completed"
    first, second = b.nodes("tool")
    return first, second


# -- branch summaries


@pytest.mark.parametrize("wish", ["auto", "what about the second file?"])
async def test_a_branch_that_is_left_is_summarised_for_the_next(bench: Any, repo: Any, wish: str) -> None:
    b = await bench(workspace=repo)
    first, _ = await two_writes(b)
    b.script(REPORT, "I know.")
    answer = await b.actor.handle("jump", Jump(node=first.uid, summary=wish))
    assert ("what about" in sent(b)) == (wish != "auto")
    (node,) = b.nodes("branch_summary")
    assert answer.result.cursor == b.doc.cursor == node.uid
    assert b.doc.header(node.uid).parent == first.seq
    assert node.branch == f"refs/heads/{answer.result.branch}"
    assert b.doc.usage(node.uid).answers == 1
    assert b.doc.usage_total().answers == 4
    stored = [m.header.uid for name, m in b.events if name == "node_stored"]
    assert stored[-1] == node.uid
    assert not (b.root / "two.txt").exists()
    assert await b.ask("go on") == "completed"
    assert "The second file is not wanted." in sent(b)
    assert "taken back to an earlier point" in sent(b)


async def test_no_summary_when_none_is_wanted_or_nothing_was_tried(bench: Any, repo: Any) -> None:
    b = await bench(workspace=repo)
    first, second = await two_writes(b)
    asked = len(b.server.message_requests)
    await b.actor.handle("jump", Jump(node=first.uid))
    await b.actor.handle("jump", Jump(node=second.uid, summary="auto"))
    assert b.nodes("branch_summary") == [] and len(b.server.message_requests) == asked


async def test_a_cancelled_branch_summary_changes_nothing(bench: Any, repo: Any) -> None:
    b = await bench(workspace=repo)
    first, _ = await two_writes(b)
    before = (b.doc.cursor, len(b.nodes()), git(b.root, "branch", "--show-current"))
    b.server.scenario.pace = 0.05
    b.script(prose(1, 30_000))
    asked = len(b.server.message_requests)
    jumping = asyncio.ensure_future(b.actor.handle("jump", Jump(node=first.uid, summary="auto")))
    while len(b.server.message_requests) == asked:
        await asyncio.sleep(0.01)
    assert b.actor.shared.status.now.state in CAN_BE_STOPPED
    await b.actor.handle("stop", Stop())
    with pytest.raises(WorldlineError, match="nothing was changed"):
        await jumping
    assert before == (b.doc.cursor, len(b.nodes()), git(b.root, "branch", "--show-current"))
    assert (b.root / "two.txt").exists()
    assert b.actor.shared.status.now.state == "ready"
    b.server.scenario.pace = 0.0
    b.script("Still here.")
    assert await b.ask("hello") == "completed"


async def test_a_summary_that_fails_is_replaced_by_facts_and_said(bench: Any, repo: Any) -> None:
    b = await bench(workspace=repo)
    first, _ = await two_writes(b)
    b.server.drill("unauthorized", 5)
    answer = await b.actor.handle("jump", Jump(node=first.uid, summary="auto"))
    b.server.clear_drills()
    assert "facts from the record" in answer.result.note
    (node,) = b.nodes("branch_summary")
    assert "two.txt" in json.dumps(b.doc.body(node.uid).message)
    assert b.diagnostics("branch_summary")


# -- context edits


async def test_a_node_and_a_turn_are_left_out_replaced_and_restored(bench: Any) -> None:
    b = await bench()
    b.script("The word is alpha.", "The word is beta.", "One.", "Two.", "Three.", "Four.")
    await b.ask("first question")
    await b.ask("second question")
    first = b.nodes("assistant")[0].uid
    prompt = b.nodes("user")[0].uid
    await b.actor.handle("context_edit", ContextEdit(node=first))
    await b.ask("third")
    assert "alpha" not in sent(b) and "first question" in sent(b)
    await b.actor.handle("context_edit", ContextEdit(node=prompt, scope="turn", replacement="(greetings)"))
    await b.ask("fourth")
    assert "first question" not in sent(b) and sent(b).count("(greetings)") == 1 and "beta" in sent(b)
    await b.actor.handle("context_edit", ContextEdit(node=prompt, scope="turn", restore=True))
    await b.ask("fifth")
    assert "first question" in sent(b) and "alpha" in sent(b) and "(greetings)" not in sent(b)
    # Undoing an edit is a jump before it, too.
    edit = b.nodes("context_edit")[0]
    before = b.doc.uid(edit.parent)
    await b.actor.handle("jump", Jump(node=before))
    view = await b.actor.handle("view", NodeRef(node="cursor"))
    assert "alpha" in json.dumps(view.request["messages"])
    assert len(b.nodes("context_edit")) == 3


async def test_edits_that_make_no_sense_are_refused(bench: Any) -> None:
    b = await bench()
    b.script("Yes.")
    await b.ask("hello")
    with pytest.raises(BadInput, match="says nothing"):
        await b.actor.handle("context_edit", ContextEdit(node="root"))
    with pytest.raises(BadInput, match="not both"):
        await b.actor.handle(
            "context_edit", ContextEdit(node=b.nodes("user")[0].uid, replacement="x", restore=True)
        )
    with pytest.raises(BadInput, match="Nothing is summarised"):
        await b.actor.handle("expand", Nothing())


async def test_undoing_the_last_message_is_a_jump_before_it(bench: Any) -> None:
    b = await bench()
    b.script("Yes.", "No.")
    await b.ask("hello")
    before = b.doc.cursor
    await b.ask("wrong question")
    answer = await b.actor.handle("jump", Jump(node=b.nodes("user")[-1].uid))
    assert answer.result.composer_text == "wrong question"
    assert b.doc.cursor == before


# -- what a reply leaves


async def test_a_cut_reply_keeps_whole_thinking_and_never_its_calls(bench: Any) -> None:
    b = await bench(full_api=True, model="claude-sonnet-5-5")
    b.server.scenario.pace = 0.02
    b.script(reply(prose(3, 20_000), call("bash", command="touch never"), thinking="I see."))
    await b.actor.runs.prompt(Prompt(text="go"))
    while not any(name == "delta" and m.kind == "text" for name, m in b.events):
        await asyncio.sleep(0.01)
    await b.actor.handle("stop", Stop())
    await b.actor.runs.idle()
    node = b.nodes("assistant")[-1]
    assert node.flags & NodeFlag.INCOMPLETE
    blocks = b.doc.body(node.uid).message["content"]
    assert [blk["type"] for blk in blocks] == ["thinking", "text"]
    assert blocks[0]["thinking"] == "I see." and blocks[0]["signature"]
    b.server.scenario.pace = 0.0
    b.script("Fine.")
    assert await b.ask("go on") == "completed"
    assert b.sent()["messages"][1]["content"][0] == blocks[0]
    assert not (b.root / "never").exists()


async def test_refused_thinking_is_left_out_once_and_later_thinking_stays(bench: Any) -> None:
    b = await bench(full_api=True, model="claude-sonnet-5-5")
    b.server.scenario.answerer = lambda talk: reply("Yes.", thinking=f"thought {talk.prompt}")
    await b.ask("1")
    b.server.drill("bad-thinking", 1)
    await b.ask("2")
    assert "thought 1" not in sent(b)
    await b.ask("3")
    assert "thought 2" in sent(b) and "thought 1" not in sent(b)
    assert len(b.diagnostics("thinking_refused")) == 1
    view = await b.actor.handle("view", NodeRef(node="cursor"))
    assert "thought 1" not in json.dumps(view.request["messages"])


async def test_what_the_server_changed_in_the_request_is_recorded(bench: Any) -> None:
    from worldline.rehearsal import events as ev
    from worldline.rehearsal.faults import FAULTS, Fault, Scene

    async def play(scene: Scene) -> None:
        await scene.wire.stream_head()
        change = {"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_mismatch"}
        name, body = ev.start()
        body["message"]["input_transformations"] = [change]
        for event in [(name, body), ev.block_start(0, ev.text_block()), ev.text_delta(0, "Hi."), ev.block_stop(0),
                      ev.message_delta("end_turn"), ev.STOP]:  # fmt: skip
            await scene.wire.event(event)
        await scene.wire.end()

    FAULTS["transformed"] = Fault("transformed", "case", "", play)
    b = await bench()
    b.server.drill("transformed", 2)
    await b.ask("1")
    await b.ask("2")
    del FAULTS["transformed"]
    noted = b.diagnostics("input_transformation")
    assert noted and "prefix_mismatch" in noted[0].data["detail"]


async def test_a_silence_is_told(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from worldline.agent import turn

    monkeypatch.setattr(turn.TurnRunner.__init__, "__defaults__", tuple(
        0.2 if value == turn.QUIET_S else value for value in turn.TurnRunner.__init__.__defaults__ or ()
    ))  # fmt: skip
    b = await bench()
    b.server.scenario.pace = 0.7
    b.script(reply(prose(4, 2_000)))
    asking = asyncio.ensure_future(b.ask("go"))
    async with asyncio.timeout(PATIENCE_S):
        while not any("Nothing has come" in m.status.sentence for name, m in b.events if name == "status"):
            await asyncio.sleep(0.01)
    b.actor.runs.stop()
    assert await asking == "aborted"
    told = [m.status.sentence for name, m in b.events if name == "status"]
    assert any("Nothing has come from the model" in sentence for sentence in told)


async def test_usage_of_node_run_branch_and_session(bench: Any) -> None:
    b = await bench(model="nobody-knows")
    b.script("One.", "Two.")
    await b.ask("1")
    await b.ask("2")
    usage = await b.actor.handle("usage", UsageFor())
    assert (usage.node.answers, usage.run.answers, usage.branch.answers, usage.session.answers) == (
        1,
        1,
        2,
        2,
    )
    assert usage.session.cost is None and usage.prices_as_of
