from __future__ import annotations

import math
from typing import Any

import pytest

from context.support import (
    body,
    from_messages,
    image,
    node,
    reply,
    text_of,
    thought,
    tool,
    use,
    user,
    view_of,
)
from worldline.context.checker import check
from worldline.context.model import PathNode, View
from worldline.context.texts import FORKED, INTERRUPTED, NOT_EXECUTED, SUMMARY_HEAD, TRUNCATED
from worldline.core.kinds import NodeKind, Outcome


def kinds(view: View) -> list[str]:
    return [r.kind for r in view.repairs]


def shape(view: View) -> list[list[str]]:
    return [
        [m["role"][0], *(text_of(b) if b["type"] != "tool_use" else b["id"] for b in m["content"])]
        for m in view.messages
    ]


def root() -> PathNode:
    return node("root", NodeKind.ROOT, outcome=Outcome.NONE)


def accepted(view: View) -> View:
    assert check(body(view)) == []
    return view


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


# -- compactions, truncation, edits, summaries


def compacted(uid: str, summary: str, kept_from: str, **detail: Any) -> PathNode:
    return node(uid, NodeKind.COMPACTION, summary=summary, kept_from=kept_from, **detail)


def long_path() -> list[PathNode]:
    path = [root()]
    for i in range(4):
        path += [
            user(f"u{i}", f"q{i}"),
            reply(f"a{i}", use(f"t{i}")),
            tool(f"x{i}", f"t{i}", f"r{i}"),
            reply(f"b{i}", f"s{i}"),
        ]
    return path


def test_compaction_then_kept_then_rest() -> None:
    path = [*long_path()[:9], compacted("c", "S1", "u1"), user("n", "next")]
    view = accepted(view_of(path))
    assert shape(view) == [
        ["u", f"{SUMMARY_HEAD}\n\nS1", "q1"],
        ["a", "t1"],
        ["u", "r1"],
        ["a", "s1"],
        ["u", "next"],
    ]
    assert view.origin[0] == [("c", 0), ("u1", 0)]
    assert kinds(view) == ["summary_applied"]


def test_second_compaction_keeps_what_the_first_kept() -> None:
    path = long_path()
    path.insert(9, compacted("c1", "S1", "u1"))
    view = accepted(view_of([*path, compacted("c2", "S2", "b1"), user("n", "next")]))
    flat = [t for m in shape(view) for t in m[1:]]
    assert flat[0].endswith("S2")
    assert (
        flat[1:3]
        == ["[The conversation starts in the middle: what came before is not part of this request.]", "s1"]
        or flat[1] == "s1"
    )
    assert "q2" in flat and "q3" in flat and not any("S1" in t for t in flat)


def test_compaction_that_keeps_nothing() -> None:
    for kept in ("", "c"):
        view = accepted(view_of([*long_path()[:9], compacted("c", "S1", kept)]))
        assert shape(view) == [["u", f"{SUMMARY_HEAD}\n\nS1"]]


def test_compaction_that_names_something_that_is_not_there_loses_nothing() -> None:
    path = [*long_path()[:9], compacted("c", "S1", "gone")]
    view = accepted(view_of(path))
    assert kinds(view)[0] == "summary_mismatch"
    assert "q0" in shape(view)[0]
    known = accepted(view_of([*path[:-1], compacted("c", "S1", "gone", covers=["u0", "b0"])]))
    assert shape(known)[0][-1] == "q1"


def test_compaction_cut_at_a_result_is_still_acceptable() -> None:
    view = accepted(view_of([*long_path()[:9], compacted("c", "S1", "x1"), user("n", "next")]))
    assert "orphan_result" in kinds(view)


def test_expanding_a_compaction_again() -> None:
    path = [*long_path()[:9], compacted("c", "S1", "u1")]
    plain = view_of(long_path()[:9])
    assert view_of(path, expand=frozenset({"c"})).messages == plain.messages
    by_node = [*path, node("e", NodeKind.CONTEXT_EDIT, target="c", expand=True)]
    assert view_of(by_node).messages == plain.messages


def test_nodes_before_a_compaction_keep_their_full_view() -> None:
    path = [*long_path()[:9], compacted("c", "S1", "u1")]
    assert accepted(view_of(path[:9])).messages == view_of(long_path()[:9]).messages


def test_truncation_is_marked() -> None:
    view = accepted(view_of(long_path(), truncate_before="u2"))
    assert shape(view)[0] == ["u", TRUNCATED, "q2"]
    assert view.origin[0][0] == ("", -1)
    stored = [*long_path()[:9], compacted("c", "", "u1", truncated=True)]
    assert shape(accepted(view_of(stored)))[0] == ["u", TRUNCATED, "q1"]


@pytest.mark.parametrize(
    ("detail", "first", "result"),
    [
        ({"target": "x0"}, ["u", "q0"], ["u", "[Left out by the person.]"]),
        ({"target": "x0", "replacement": "(log)"}, ["u", "q0"], ["u", "(log)"]),
        ({"target": "u0", "replacement": "(note)"}, ["u", "(note)"], ["u", "r0"]),
    ],
)
def test_context_edits(detail: dict[str, Any], first: list[str], result: list[str]) -> None:
    view = accepted(view_of([*long_path()[:9], node("e", NodeKind.CONTEXT_EDIT, **detail)]))
    assert shape(view)[0] == first
    assert shape(view)[2] == result


def test_leaving_out_a_reply_takes_its_results_along() -> None:
    path = [*long_path()[:9], node("e", NodeKind.CONTEXT_EDIT, target="a0")]
    view = accepted(view_of(path))
    assert shape(view)[:2] == [["u", "q0"], ["a", "s0"]]
    assert kinds(view) == ["left_out", "trailing_assistant"]


def test_leaving_out_a_turn_and_taking_that_back() -> None:
    path = [
        *long_path()[:9],
        node("e", NodeKind.CONTEXT_EDIT, target="x0", scope="turn", replacement="(first try)"),
    ]
    view = accepted(view_of(path))
    assert shape(view)[0] == ["u", "(first try)", "q1"]
    back = [*path, node("f", NodeKind.CONTEXT_EDIT, target="x0", scope="turn", restore=True)]
    assert view_of(back).messages == view_of(long_path()[:9]).messages


def test_edit_of_another_branch_does_nothing_here() -> None:
    assert (
        view_of([*long_path()[:9], node("e", NodeKind.CONTEXT_EDIT, target="elsewhere")]).messages
        == view_of(long_path()[:9]).messages
    )


def test_branch_summary_is_told() -> None:
    path = [
        user("u", "hi"),
        node("s", NodeKind.BRANCH_SUMMARY, summary="Tried A; it broke B."),
        user("v", "try C"),
    ]
    view = accepted(view_of(path))
    assert "Tried A; it broke B." in shape(view)[0][2]


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
