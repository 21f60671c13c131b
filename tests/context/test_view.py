from __future__ import annotations

import math
from typing import Any

import pytest

from context.support import (
    accepted,
    body,
    from_messages,
    image,
    kinds,
    node,
    reply,
    root,
    shape,
    text_of,
    thought,
    tool,
    use,
    user,
    view_of,
)
from worldline.context.checker import check
from worldline.context.model import PathNode
from worldline.context.texts import FORKED, INTERRUPTED, NOT_EXECUTED, SUMMARY_HEAD
from worldline.core.kinds import NodeKind, Outcome


def test_a_sound_path_is_sent_as_stored() -> None:
    path = [root(), user("u", "hi"), reply("a", thought(), "look", use("t1"), use("t2")), tool("x", "t1", "1"),
            tool("y", "t2", "2"), reply("b", "done"), user("v", "thanks")]  # fmt: skip
    view = accepted(view_of(path))
    assert view.repairs == []
    assert shape(view) == [
        ["u", "hi"],
        ["a", "", "look", "t1", "t2"],
        ["u", "1", "2"],
        ["a", "done"],
        ["u", "thanks"],
    ]
    assert view.origin[1] == [("a", 0), ("a", 1), ("a", 2), ("a", 3)]
    assert view.origin[2] == [("x", 0), ("y", 0)]
    assert view.messages[1]["content"][0] is path[2].message["content"][0]  # type: ignore[index]


def test_root_alone_says_nothing() -> None:
    assert view_of([root()]).messages == []


@pytest.mark.parametrize(
    ("outcome", "kind", "text"),
    [
        (Outcome.INTERRUPTED, "interrupted_call", INTERRUPTED),
        (Outcome.RUNNING, "interrupted_call", INTERRUPTED),
        (Outcome.DENIED, "missing_result", "permission was denied"),
    ],
)
def test_call_that_never_ended(outcome: Outcome, kind: str, text: str) -> None:
    path = [user("u", "hi"), reply("a", use("t1")), tool("x", "t1", None, outcome=outcome)]
    view = accepted(view_of(path))
    result = view.messages[2]["content"][0]
    assert text in text_of(result)
    assert result["is_error"] is True
    assert kinds(view) == [kind]
    assert view.origin[2] == [("", -1)]


def test_cut_in_the_middle_of_a_batch() -> None:
    path = [user("u", "hi"), reply("a", use("t1"), use("t2"), use("t3")), tool("x", "t1", "one")]
    view = accepted(view_of(path, forked_calls=frozenset({("a", "t2")})))
    assert shape(view)[2] == ["u", "one", FORKED, NOT_EXECUTED]
    longer = accepted(view_of([*path, user("v", "and now?")], forked_calls=frozenset({("a", "t2")})))
    assert longer.messages[2]["content"][:3] == view.messages[2]["content"]
    assert longer.messages[:2] == view.messages[:2]


def test_late_real_result_wins_over_one_made_up_at_the_interruption() -> None:
    path = from_messages([
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [use("t1"), use("t2")]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t2", "content": "b"}]},
        {"role": "assistant", "content": "hm"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a"}]},
        {"role": "user", "content": "so?"},
    ])  # fmt: skip
    view = accepted(view_of(path))
    assert shape(view) == [["u", "x"], ["a", "t1", "t2"], ["u", "a", "b"], ["a", "hm"], ["u", "so?"]]
    assert "order" in kinds(view)


def test_same_id_in_two_turns() -> None:
    path = [
        user("u", "hi"),
        reply("a", use("t")),
        tool("x", "t", "1"),
        reply("b", use("t")),
        tool("y", "t", "2"),
    ]
    view = accepted(view_of(path))
    assert shape(view)[2] == ["u", "1"]
    assert shape(view)[4] == ["u", "2"]
    assert kinds(view) == ["duplicate_id"]


def test_illegal_ids_and_names_on_both_sides() -> None:
    bad = "call|x/ü" * 20
    path = [user("u", "hi"), reply("a", use(bad, "mcp.server:tool" * 9)), tool("x", bad, "1")]
    view = accepted(view_of(path))
    assert view.messages[2]["content"][0]["tool_use_id"] == view.messages[1]["content"][0]["id"]
    assert set(kinds(view)) == {"bad_id", "bad_name"}


def test_surrogates_nan_and_odd_values() -> None:
    path = [
        user("u", "half \ud83d"),
        reply("a", use("t1", value=math.nan, deep={"x": ["\udc00", math.inf]})),
        tool("x", "t1", [{"type": "text", "text": "out \udcff"}, None, 3]),
        user("v", [{"type": "text", "text": None}, {"no": "type"}, "plain", {"type": "hologram"}]),
    ]
    view = accepted(view_of(path))
    assert view.messages[1]["content"][0]["input"] == {"value": None, "deep": {"x": ["?", None]}}
    assert {"surrogate", "bad_block", "unknown_block"} <= set(kinds(view))


def test_results_are_text_only_when_they_failed_and_never_empty() -> None:
    path = [
        user("u", "hi"), reply("a", use("t1"), use("t2"), use("t3")),
        tool("x", "t1", [image(10, 10)], error=True), tool("y", "t2", []), tool("z", "t3", "  ", error=True),
    ]  # fmt: skip
    view = accepted(view_of(path))
    assert all(text_of(b).strip() for b in view.messages[2]["content"])


def test_long_results_lose_their_middle() -> None:
    path = [user("u", "hi"), reply("a", use("t1")), tool("x", "t1", "a" * 300_000 + "THE END")]
    view = accepted(view_of(path))
    text = text_of(view.messages[2]["content"][0])
    assert len(text) <= 90_000
    assert text.endswith("THE END")
    assert "characters left out" in text
    assert kinds(view) == ["oversized_result"]


def test_old_failures_are_shortened_in_batches() -> None:
    path: list[PathNode] = [user("u", "hi")]
    for i in range(9):
        path += [reply(f"a{i}", use(f"t{i}")), tool(f"x{i}", f"t{i}", f"{i} " + "e" * 2000, error=True)]
    before = accepted(view_of(path[:-2]))
    assert kinds(before) == []
    view = accepted(view_of(path))
    assert kinds(view) == ["result_shortened"] * 5
    lengths = [len(text_of(m["content"][0])) for m in view.messages[2::2]]
    assert all(n <= 300 for n in lengths[:5])
    assert all(n > 2000 for n in lengths[5:])


# -- thinking


def test_thinking_is_dropped_where_the_conversation_before_it_has_changed() -> None:
    first = [
        user("u", "hi"),
        reply("a", thought("1"), use("t1")),
        tool("x", "t1"),
        reply("b", thought("2"), "ok"),
    ]
    edit = node("e", NodeKind.CONTEXT_EDIT, target="u", replacement="(a note)")
    later = [user("v", "go"), reply("c", thought("3"), "fine"), user("w", "more")]
    view = accepted(view_of([*first, edit, *later]))
    kept = [b["thinking"] for m in view.messages for b in m["content"] if b["type"] == "thinking"]
    assert kept == ["3"]
    assert [r.node for r in view.repairs if r.kind == "thinking_dropped"] == ["a", "b"]
    assert view.thinking_intact


def test_repairs_that_were_there_from_the_start_leave_thinking_alone() -> None:
    path = [user("u", [{"type": "text", "text": " "}, {"type": "text", "text": "hi"}]),
            reply("a", thought(), use("t1"), use("t2")), tool("x", "t1"), user("v", "stop"),
            reply("b", thought(), "ok"), user("w", "thanks")]  # fmt: skip
    view = accepted(view_of(path))
    assert sum(b["type"] == "thinking" for m in view.messages for b in m["content"]) == 2
    assert "thinking_dropped" not in kinds(view)


@pytest.mark.parametrize(
    "block",
    [thought(signature=""), {"type": "thinking", "thinking": "x"}, {"type": "redacted_thinking", "data": ""}],
)
def test_unsigned_thinking_is_dropped(block: dict[str, Any]) -> None:
    view = accepted(view_of([user("u", "hi"), reply("a", block, "ok"), user("v", "go")]))
    assert shape(view)[1] == ["a", "ok"]


def test_thinking_only_reply_goes() -> None:
    view = accepted(view_of([user("u", "hi"), reply("a", thought()), user("v", "go")]))
    assert shape(view) == [["u", "hi", "go"]]
    assert not view.thinking_intact


def test_thinking_between_blocks_stays_in_order() -> None:
    content = [thought("1"), use("t1"), thought("2"), use("t2")]
    view = accepted(view_of([user("u", "hi"), reply("a", *content), tool("x", "t1"), tool("y", "t2")]))
    assert view.messages[1]["content"] == content


@pytest.mark.parametrize(
    ("source", "target", "kept"),
    [("claude-haiku-4-5-20251001", "claude-haiku-4-5", 1), ("claude-opus-5", "claude-fable-5-1", 1),
     ("claude-fable-5-1", "claude-opus-5", 0), ("claude-haiku-5-5", "claude-opus-5-5", 1), ("a", "b", 0)],
)  # fmt: skip
def test_who_reads_whose_thinking(source: str, target: str, kept: int) -> None:
    view = view_of(
        [user("u", "hi"), reply("a", thought(), "ok", model=source), user("v", "go")], model=target
    )
    assert sum(b["type"] == "thinking" for b in view.messages[1]["content"]) == kept


# -- the end


def test_what_a_request_carried_at_its_end_is_repeated_later() -> None:
    path = [user("u", "hi"), reply("a", thought(), "I have ")]
    sent = accepted(view_of(path, reminders=["The plan is not done."]))
    assert sent.tail[1] == "The plan is not done."
    answered = [*path, reply("b", thought(), "more", view_tail=sent.tail), user("v", "ok")]
    later = accepted(view_of(answered))
    assert later.messages[: len(sent.messages)] == sent.messages
    assert sum(b["type"] == "thinking" for m in later.messages for b in m["content"]) == 2


def test_reminders_stand_after_results() -> None:
    view = accepted(
        view_of([user("u", "hi"), reply("a", use("t1")), tool("x", "t1", "1")], reminders=["R", " "])
    )
    assert shape(view)[2] == ["u", "1", "R"]
    assert view.tail == ["R"]


def test_prefill_where_the_model_takes_it() -> None:
    view = view_of([user("u", "hi"), reply("a", "{ \n")], prefill=True)
    assert view.messages[-1] == {"role": "assistant", "content": [{"type": "text", "text": "{"}]}
    assert check(body(view, "claude-haiku-4-5")) == []


def test_imported_nodes() -> None:
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "r"}]}
    path = [
        node("u", NodeKind.IMPORTED_USER, "hi"),
        node("e", NodeKind.IMPORTED_EVENT),
        node("a", NodeKind.IMPORTED_ASSISTANT, [thought(), use("t")]),
        PathNode("x", NodeKind.IMPORTED_TOOL, Outcome.OK, result),
        node("c", NodeKind.IMPORTED_COMPACTION, summary="S", kept_from="gone"),
        node("v", NodeKind.IMPORTED_USER, "go on"),
    ]
    assert shape(accepted(view_of(path[:4]))) == [["u", "hi"], ["a", "t"], ["u", "r"]]
    assert shape(accepted(view_of(path))) == [["u", f"{SUMMARY_HEAD}\n\nS", "go on"]]


def test_local_models_get_no_thinking_and_no_server_blocks() -> None:
    content = [thought(), {"type": "server_tool_use", "id": "s", "name": "web", "input": {}}, "ok"]
    path = [user("u", "hi"), reply("a", *content, model="m"), user("v", "go")]
    assert shape(view_of(path, model="m", local=True))[1] == ["a", "ok"]


# -- images


def test_oversized_and_broken_images() -> None:
    broken = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    path = [user("u", [image(3000, 20), broken, {"type": "text", "text": "?"}])]
    view = accepted(view_of(path))
    assert view.images == 1
    assert kinds(view) == ["oversized_image", "bad_image"]
    assert view_of(path).messages == view.messages


def test_byte_limit_takes_images_first_then_results() -> None:
    path = [user("u", [image(600, 600, i) for i in range(3)]), reply("a", use("t1")), tool("x", "t1", "r" * 20_000),
            reply("b", use("t2")), tool("y", "t2", "s" * 20_000)]  # fmt: skip
    full = view_of(path)
    assert full.repairs == []
    view = accepted(view_of(path, max_bytes=30_000))
    assert view.bytes <= 30_000
    assert view.images == 0
    assert kinds(view)[:3] == ["byte_limit"] * 3
