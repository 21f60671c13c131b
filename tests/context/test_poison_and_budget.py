from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from context.support import body, image, node, reply, thought, tool, use, user, view_of
from worldline.context.budget import Limits, last_usage, measure
from worldline.context.checker import check
from worldline.context.model import PathNode, ViewOptions
from worldline.context.poison import Poison, find_poison, shrunk
from worldline.context.source import forked_calls, path_nodes
from worldline.context.view import build_view
from worldline.core.kinds import NodeKind, Outcome
from worldline.core.usage import Usage
from worldline.session.model import NodeBody

OPTIONS = ViewOptions(model="claude-sonnet-5-5")


def sample() -> list[PathNode]:
    return [user("u", [{"type": "text", "text": "look"}, image(30, 30), image(31, 31)]),
            reply("a", thought(), "ok", use("toolu_1")), tool("x", "toolu_1", [image(32, 32)]), reply("b", "hm"), user("v", "so?")]  # fmt: skip


def without(found: Poison, options: ViewOptions) -> ViewOptions:
    """The options of the next request, in which nothing that was found stands."""
    return replace(options, poisoned=found.blocks, drop_thinking=found.drop_thinking)


@pytest.mark.parametrize(
    ("text", "blocks", "thinking"),
    [
        ("messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels", [("u", 1)], False),
        ("messages.0.content.2: Could not process image", [("u", 2)], False),
        ("Could not process image", [("x", 0)], False),
        ("messages.1.content.2.tool_use.input: Input should be a valid dictionary", [("a", 2)], False),
        ("messages.2.content.0.tool_result.content.0.image.source.base64: image exceeds 5 MB maximum: 6096280 bytes > 5242880 bytes", [("x", 0)], False),
        ("messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each", [("a", 2)], False),
        ("each tool_use must have a single result. Found multiple `tool_result` blocks with id: toolu_1", [("a", 2)], False),
        ("messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.", [], True),
        ("messages.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.", [], True),
        ("Invalid `signature` in `thinking` block", [], True),
        ("prompt is too long: 208310 tokens > 200000 maximum", [], False),
        ("request (4476 tokens) exceeds the available context size (4096 tokens)", [], False),
        ("messages.99.content.7: whatever", [], False),
        ('"thinking.type.enabled" is not supported for this model.', [], False),
        ("max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens", [], False),
    ],
)  # fmt: skip
def test_what_a_refusal_is_about(text: str, blocks: list[tuple[str, int]], thinking: bool) -> None:
    view = build_view(sample(), OPTIONS)
    found = find_poison(view, text)
    assert list(found.blocks) == blocks
    assert found.drop_thinking is thinking
    assert bool(found) == bool(blocks or thinking)
    repaired = build_view(sample(), without(found, OPTIONS))
    assert check(body(repaired)) == []
    if found:
        assert repaired.messages != view.messages


def test_the_request_that_was_refused_is_accepted_after_the_repair() -> None:
    """A strict server, a view with a block that it refuses, and no knowledge but its text."""
    huge = user("u", [image(2500, 40), *(image(20, 20, i) for i in range(21))])
    options = ViewOptions(model="claude-sonnet-5-5", max_image_side=8000)
    view = build_view([huge], options)
    (fault,) = check(body(view))
    repaired = build_view([huge], without(find_poison(view, fault), options))
    assert check(body(repaired)) == []
    assert repaired.images == 21


def test_paths_of_an_error_are_used() -> None:
    view = build_view(sample(), OPTIONS)
    assert list(find_poison(view, "bad images", ["messages.0.content.2.image"]).blocks) == [("u", 2)]


def test_shrinking_after_a_413() -> None:
    path = [user("u", [image(400, 400, i) for i in range(40)])]
    options = ViewOptions(max_bytes=10_000_000)
    view = build_view(path, options)
    for _ in range(5):
        options = shrunk(options, view)
        smaller = build_view(path, options)
        assert smaller.bytes <= options.max_bytes or options.max_bytes == 200_000
        view = smaller


# -- budgets


def with_usage(
    uid: str, tokens: int, output: int = 50, outcome: Outcome = Outcome.OK, **extra: Any
) -> PathNode:
    made = reply(
        uid,
        "a" * 3_000,
        usage=Usage(input_tokens=tokens, output_tokens=output, answers=1).model_dump(),
        **extra,
    )
    made.outcome = outcome
    return made


def test_both_sides_of_the_trigger() -> None:
    limits = Limits(100_000, 10_000)
    view = build_view([user("u", "hi")], OPTIONS)
    assert limits.trigger == 85_000
    assert not measure(view, limits, counted=85_000).over
    assert measure(view, limits, counted=85_001).over
    assert measure(view, Limits(1_000_000, max_bytes=60), counted=5).over


def test_usage_of_the_last_answer_calibrates_the_estimate() -> None:
    path = [user("u", "x" * 7_000), with_usage("a", 5_000), user("v", "y" * 2_800)]
    view = build_view(path, OPTIONS)
    budget = measure(view, Limits(200_000), path=path)
    assert budget.source == "calibrated"
    assert 5_050 + 1_000 <= budget.tokens <= 5_050 + 2_000
    assert measure(view, Limits(200_000), path=path, counted=7).source == "server"
    assert measure(view, Limits(200_000)).source == "estimate"


def test_stale_usage_is_ignored() -> None:
    path = [
        user("u", "x"),
        with_usage("a", 90_000),
        node("c", NodeKind.COMPACTION, summary="s", kept_from=""),
        user("v", "y"),
    ]
    assert last_usage(path) is None
    assert measure(build_view(path, OPTIONS), Limits(100_000), path=path).tokens < 1_000
    assert last_usage([*path, with_usage("b", 400)]) is not None
    edited = [user("u", "x"), with_usage("a", 90_000), node("e", NodeKind.CONTEXT_EDIT, target="u")]
    assert last_usage(edited) is None


def test_a_reply_that_broke_off_says_nothing_so_the_one_before_it_does() -> None:
    path = [user("u", "x"), with_usage("a", 700), user("v", "y"), with_usage("b", 9, outcome=Outcome.ABORTED)]
    known = last_usage(path)
    assert known is not None and known[0] == "a"
    assert last_usage([user("u", "x"), reply("a", "no usage")]) is None


def test_usage_as_the_api_sent_it() -> None:
    raw = {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 5}
    known = last_usage([user("u", "x"), reply("a", "y", usage=raw)])
    assert known is not None and known[1].context_tokens == 100


def test_room_for_the_reply() -> None:
    limits = Limits(200_000, 64_000)
    assert limits.output_room(10_000) == 64_000
    assert 0 < limits.output_room(170_000) < 30_000
    assert limits.output_room(199_990) == 0


# -- from the document


def test_nodes_from_the_document_and_calls_that_ran_elsewhere() -> None:
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "r"}]}
    said = {"role": "assistant", "content": [use("t1"), use("t2")]}
    bodies = [
        NodeBody("a", NodeKind.ASSISTANT, Outcome.OK, said, {"model": "m"}, None, {}, b"", b""),
        NodeBody(
            "x", NodeKind.TOOL, Outcome.OK, None, {"call": use("t1")}, result, {"exit_code": 0}, b"", b""
        ),
    ]
    path = path_nodes(bodies)
    assert path[1].call is not None and path[1].end_message is result and path[1].detail["exit_code"] == 0
    assert forked_calls(path, {"a": ["t1", "t2"]}) == {("a", "t2")}
    view = view_of(path, forked_calls=forked_calls(path, {"a": ["t1", "t2"]}))
    assert [r.kind for r in view.repairs] == ["leading_assistant", "forked_call"] or "forked_call" in [
        r.kind for r in view.repairs
    ]
