"""What the model knows: summaries of branches, edits, compaction, and what the person is told of it."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest

from tests_support import git
from worldline.core.errors import BadInput, WorldlineError
from worldline.core.kinds import NodeFlag
from worldline.protocol.commands import (
    CompactNow,
    ContextEdit,
    Jump,
    JumpPlanFor,
    NodeRef,
    Nothing,
    Prompt,
    Stop,
    UsageFor,
)
from worldline.rehearsal.events import Call, Reply
from worldline.viewmodel.status import CAN_BE_STOPPED

REPORT = (
    "## Tried\nWriting both files.\n## Failed\nNothing.\n## Do not repeat\nThe second file is not wanted."
)


def call(name: str, **arguments: Any) -> Call:
    return Call(name, arguments)


def reply(text: str = "", *calls: Call, **more: Any) -> Reply:
    return Reply(text=text, calls=list(calls), **more)


def prose(seed: int, words: int) -> str:
    rng = random.Random(seed)
    return " ".join(f"w{rng.randrange(10**6)}" for _ in range(words))


def sent(b: Any, number: int = -1) -> str:
    return json.dumps(b.sent(number)["messages"], ensure_ascii=False)


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
    b.script(prose(1, 300))
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


# -- compaction


SUMMARY = "This is the summary of the conversation, long enough to be accepted by whoever reads it."


async def test_a_fork_says_what_is_lossy_and_expands_from_the_originals(bench: Any) -> None:
    b = await bench()
    b.script(*[reply(prose(i, 4000), call("bash", command=f"echo {i}")) for i in range(8)], "Done.")
    assert await b.ask("make it long") == "completed"
    b.script(SUMMARY)
    await b.actor.handle("compact", CompactNow())
    (node,) = b.nodes("compaction")
    assert b.doc.usage(node.uid).answers == 1
    plan = await b.actor.handle("jump_plan", JumpPlanFor(node=node.uid))
    assert "only as a summary" in plan.lossy and "word for word again" in plan.lossy
    assert (await b.actor.handle("jump_plan", JumpPlanFor(node=b.nodes("tool")[0].uid))).lossy == ""
    await b.actor.handle("expand", Nothing())
    b.script("All of it.")
    assert await b.ask("next") == "completed"
    assert prose(0, 50)[:200] in sent(b) and SUMMARY not in sent(b)
    # On the other side of the edit the summary still holds.
    view = await b.actor.handle("view", NodeRef(node=node.uid))
    assert SUMMARY in json.dumps(view.request["messages"])


SMALL = [{"id": "rehearsal", "display_name": "Small", "max_input_tokens": 24_000, "max_tokens": 2_000}]


async def test_expanding_is_refused_where_it_does_not_fit(bench: Any, server: Any) -> None:
    server.scenario.models = SMALL
    b = await bench()
    server.scenario.answerer = lambda talk: Reply(
        text=SUMMARY if "TRANSCRIPT" in talk.prompt else prose(len(talk.prompts), 1200)
    )
    for n in range(12):
        assert await b.ask(f"question {n}") == "completed"
    assert b.nodes("compaction")
    assert b.actor.shared.status.now.context_limit == 24_000
    with pytest.raises(BadInput, match="more than this model takes"):
        await b.actor.handle("expand", Nothing())


async def test_old_results_go_before_anything_is_summarised(bench: Any, server: Any) -> None:
    server.scenario.models = SMALL
    b = await bench()
    for n in range(4):
        (b.root / f"f{n}.txt").write_text(prose(n, 2_200).replace("7 ", "7\n"))
    b.script(*[reply("Read.", call("read", path=f"f{n}.txt")) for n in range(4)], "Done.")
    assert await b.ask("read all") == "completed"
    (edit, *_) = b.nodes("context_edit")
    assert b.nodes("compaction") == []
    assert b.diagnostics("compaction")[0].data["data"]["strategy"] == "trim"
    assert "left out to save room" in sent(b)
    assert b.doc.body(edit.uid).detail["trim"] is True


async def test_results_are_dropped_on_command(bench: Any) -> None:
    b = await bench()
    for n in range(6):
        (b.root / f"f{n}.txt").write_text(prose(n, 6_000).replace("7 ", "7\n"))
    b.script(*[reply("", call("read", path=f"f{n}.txt")) for n in range(6)], "Done.", "Yes.")
    await b.ask("read all")
    await b.actor.handle("compact", CompactNow(how="drop_results"))
    assert len(b.nodes("context_edit")) == 1
    await b.ask("and?")
    assert "left out to save room" in sent(b)
    await b.actor.handle("compact", CompactNow(how="drop_results"))
    assert len(b.nodes("context_edit")) == 1
    assert "no older large tool results" in b.diagnostics("compaction")[-1].data["detail"]


async def test_the_server_compacts_where_it_can(bench: Any) -> None:
    block = {"type": "compaction", "content": "All that was, in short.", "signature": "sig-ä=", "extra": [1]}
    b = await bench(full_api=True, model="claude-sonnet-5-5")
    asked: list[dict[str, Any]] = []

    def answer(talk: Any) -> Reply:
        if talk.body.get("compaction"):
            asked.append(talk.body)
            return Reply(blocks=[block], stop="compaction")
        return Reply(text=prose(len(asked), 400), thinking="hm")

    b.server.scenario.answerer = answer
    await b.ask("one")
    await b.ask("two")
    await b.actor.handle("compact", CompactNow(instructions="keep names"))
    assert asked[0]["compaction"] == {"type": "summarize", "instructions": "keep names"}
    assert len(b.nodes("compaction")) == 1
    await b.ask("three")
    first = b.sent()["messages"][0]
    assert first == {"role": "assistant", "content": [block]}
    assert "two" in json.dumps(b.sent()["messages"][1])
    thought = [m for m in b.sent()["messages"] if m["role"] == "assistant"]
    await b.ask("four")
    kinds = [blk["type"] for m in b.sent()["messages"] for blk in m["content"]]
    assert "thinking" in kinds and len(thought) == 1
    # Another model cannot read the block: it gets the text.
    await b.ask("five", model="claude-opus-5-5")
    assert "compaction" not in [blk["type"] for m in b.sent()["messages"] for blk in m["content"]]
    assert "All that was, in short." in sent(b)


async def test_a_server_that_cannot_compact_leaves_it_to_the_model(bench: Any) -> None:
    b = await bench(full_api=True, model="claude-sonnet-5-5")
    b.server.scenario.answerer = lambda talk: (
        Reply(blocks=[], stop="compaction") if talk.body.get("compaction")
        else Reply(text=SUMMARY) if "TRANSCRIPT" in talk.prompt
        else Reply(text=prose(talk.step, 9000))
    )  # fmt: skip
    for n in range(4):
        await b.ask(f"question {n}")
    await b.actor.handle("compact", CompactNow())
    (node,) = b.nodes("compaction")
    assert SUMMARY in b.doc.body(node.uid).detail["summary"]
    assert any("server could not compact" in d.data["detail"] for d in b.diagnostics("compaction"))


OVERFLOWS = (
    "prompt is too long: 208310 tokens > 200000 maximum",
    "Request size exceeds model context window",
    "request (12024 tokens) exceeds the available context size (8192 tokens), try increasing it",
    "tokens to keep from the initial prompt is greater than the context length",
    "This model's maximum context length is 8192 tokens. However, you requested 9000",
    "prompt too long; exceeded max context length",
    "Input is too long for requested model",
    "context_length_exceeded",
    "Your input exceeds the context window of this model",
)


async def test_each_known_overflow_is_compacted_and_asked_again(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One session for all of them: the conversation before each is made once, and gone back to."""
    from worldline.rehearsal.faults import FAULTS, Fault, Scene

    said = ""

    async def refuse(scene: Scene) -> None:
        await scene.wire.plain(
            400, {"type": "error", "error": {"type": "invalid_request_error", "message": said}}
        )

    monkeypatch.setitem(FAULTS, "said", Fault("said", "case", "as a server says it", refuse))
    b = await bench()
    b.server.scenario.answerer = lambda talk: (
        Reply(text=SUMMARY) if "TRANSCRIPT" in talk.prompt else Reply(text=prose(talk.step, 9000))
    )
    for n in range(4):
        await b.ask(f"question {n}")
    full = b.doc.cursor
    for number, said in enumerate(OVERFLOWS, 1):
        await b.actor.handle("jump", Jump(node=full))
        assert b.doc.cursor == full
        b.server.drill("said", 1)
        assert await b.ask("and now?") == "completed", said
        assert len(b.nodes("compaction")) == number, said


async def test_a_silent_full_window_is_compacted(bench: Any) -> None:
    b = await bench()
    full = [True]

    def answer(talk: Any) -> Reply:
        if "TRANSCRIPT" in talk.prompt:
            return Reply(text=SUMMARY)
        if talk.prompt == "and now?" and full:
            full.clear()
            return Reply(text="Half a", stop="model_context_window_exceeded")
        return Reply(text=prose(talk.step, 9000))

    b.server.scenario.answerer = answer
    for n in range(4):
        await b.ask(f"question {n}")
    assert await b.ask("and now?") == "completed"
    assert len(b.nodes("compaction")) == 1


async def test_a_server_that_drops_the_beginning_is_found_out(bench: Any) -> None:
    b = await bench()
    b.script(prose(1, 5000), Reply(text="Hm?", usage={"input_tokens": 2048, "output_tokens": 3}))
    await b.ask("long")
    await b.ask("what did I say first?")
    (warning,) = b.diagnostics("context_dropped")
    assert "dropped the oldest part" in warning.data["detail"]


async def test_the_status_shows_tokens_bytes_and_the_window(bench: Any) -> None:
    b = await bench()
    b.script("Yes.")
    await b.ask("hello " * 100)
    status = b.actor.shared.status.now
    assert status.context_tokens > 100 and status.context_bytes > 500 and status.context_limit == 200_000


# -- what a reply leaves


async def test_a_cut_reply_keeps_whole_thinking_and_never_its_calls(bench: Any) -> None:
    b = await bench(full_api=True, model="claude-sonnet-5-5")
    b.server.scenario.pace = 0.02
    b.script(reply(prose(3, 200), call("bash", command="touch never"), thinking="I see."))
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
    b.script(reply("One two three four five six seven eight nine ten eleven twelve."))
    asking = asyncio.ensure_future(b.ask("go"))
    async with asyncio.timeout(30):
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
