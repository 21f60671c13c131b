"""Compaction in a session: when it comes, by whom, what is lost by it and had back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.support import call, prose, reply, sent
from worldline.core.errors import BadInput
from worldline.protocol.commands import (
    CompactNow,
    Jump,
    JumpPlanFor,
    NodeRef,
    Nothing,
)
from worldline.rehearsal.events import Reply

pytestmark = pytest.mark.usefixtures("in_large_pieces")

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
