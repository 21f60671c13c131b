"""The checker refuses what the API refuses, in its words."""

from __future__ import annotations

from typing import Any

import pytest

from context.support import image, thought, use
from worldline.context.checker import check


def result(use_id: str, content: Any = "r", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": use_id, "content": content, **more}


def request(*messages: tuple[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "claude-sonnet-5-5", "max_tokens": 100,
            "messages": [{"role": r, "content": c} for r, c in messages], **more}  # fmt: skip


TEXT = {"type": "text", "text": "t"}
TOOL = {"name": "run", "input_schema": {"type": "object", "properties": {}}}
PAIR = (("user", "x"), ("assistant", [use("t1"), use("t2")]))

REFUSED = [
    (request(), "messages: at least one message is required"),
    (request(("user", "")), "messages.0: all messages must have non-empty content except for the optional final assistant message"),
    (request(("user", [{"type": "text", "text": ""}])), "messages: text content blocks must be non-empty"),
    (request(("user", [{"type": "text", "text": " \n"}])), "messages: text content blocks must contain non-whitespace text"),
    (request(("assistant", "x"), ("user", "y")), "first message"),
    (request(("user", "x"), ("assistant", "y \n")), "messages: final assistant content cannot end with trailing whitespace"),
    (request(("user", "x"), ("assistant", "y")), "This model does not support assistant message prefill. The conversation must end with a user message."),
    (request(*PAIR, ("user", [result("t1")])), "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t2. Each `tool_use` block must have a corresponding `tool_result` block in the next message."),
    (request(*PAIR), "immediately after: t1, t2"),
    (request(*PAIR, ("user", [TEXT, result("t1"), result("t2")])), "were found without `tool_result` blocks immediately after"),
    (request(("user", [result("gone")])), "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: gone. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."),
    (request(*PAIR, ("user", [result("t1"), result("t2"), result("t1")])), "each tool_use must have a single result. Found multiple `tool_result` blocks with id: t1"),
    (request(("user", "x"), ("assistant", [use("t1"), use("t1")]), ("user", [result("t1")])), "messages.1.content.1: `tool_use` ids must be unique"),
    (request(("user", "x"), ("assistant", [use("a|b")]), ("user", [result("a|b")])), "String should match pattern '^[a-zA-Z0-9_-]+$'"),
    (request(("user", "x"), ("assistant", [{**use("t1"), "input": "{"}]), ("user", [result("t1")])), "messages.1.content.0.tool_use.input: Input should be a valid dictionary"),
    (request(("user", "x"), ("assistant", [use("t1", "a.b")]), ("user", [result("t1")])), "'^[a-zA-Z0-9_-]{1,64}$'"),
    (request(*PAIR, ("user", [result("t1", [image(5, 5)], is_error=True), result("t2")])), "if `is_error` is true"),
    (request(*PAIR, ("user", [result("t1", "", is_error=True), result("t2")])), "cannot be empty if `is_error` is true"),
    (request(("user", "x"), ("assistant", [thought()]), ("user", "y")), "The final block in an assistant message cannot be `thinking`."),
    (request(("user", "x"), ("assistant", [{"type": "thinking", "thinking": "x"}, TEXT]), ("user", "y")), "signature: Field required"),
    (request(("user", "x"), ("assistant", [{"type": "web_search_tool_result", "tool_use_id": "s", "content": []}, TEXT]), ("user", "y")), "unexpected `tool_use_id` found in `web_search_tool_result`"),
    (request(("user", [image(8001, 2)])), "At least one of the image dimensions exceed max allowed size: 8000 pixels"),
    (request(("user", [image(2001, 2), *(image(2, 2) for _ in range(20))])), "max allowed size for many-image requests: 2000 pixels"),
    (request(("user", [image(2, 2) for _ in range(101)])), "Too many images"),
    (request(("user", [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}])), "Could not process image"),
    (request(("user", [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 6_000_000}}])), "image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes"),
    (request(("user", "x"), tools=[TOOL, TOOL]), "tools: Tool names must be unique."),
    (request(("user", "x"), tools=[{**TOOL, "name": "a b"}]), "tools.0.custom.name: String should match pattern"),
    (request(("user", "x"), tools=[{**TOOL, "input_schema": {"type": "object", "properties": 3}}]), "JSON schema is invalid. It must match JSON Schema draft 2020-12"),
    (request(("user", "x"), temperature=1), "temperature: Extra inputs are not permitted"),
    (request(("user", "x"), thinking={"type": "enabled", "budget_tokens": 50}), '"thinking.type.enabled" is not supported for this model.'),
    (request(("user", "x"), model="claude-haiku-4-5", thinking={"type": "enabled", "budget_tokens": 500}), "`max_tokens` must be greater than `thinking.budget_tokens`."),
    (request(("user", [{**TEXT, "cache_control": {"type": "ephemeral"}} for _ in range(5)])), "A maximum of 4 blocks with cache_control may be provided. Found 5."),
    (request(("user", "x\ud800")), "The request body is not valid JSON"),
    (request(("user", [{"type": "text", "text": "x", "foo": 1}])), "Extra inputs are not permitted"),
    (request(("user", [{"type": "tool_use", "id": "t", "name": "n", "input": {}}])), "does not match any of the expected tags"),
    (request(("tool", "x")), "role"),
    (request(("user", "x" * 33_000_000)), "Request exceeds the maximum size"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "text"), REFUSED, ids=range(len(REFUSED)))
def test_refused(body: dict[str, Any], text: str) -> None:
    faults = check(body)
    assert any(text in fault for fault in faults), faults


@pytest.mark.parametrize(
    "body",
    [
        request(("user", "x")),
        request(
            ("user", "x"),
            ("user", "y"),
            ("assistant", [TEXT, use("t1")]),
            ("user", [result("t1", None), TEXT]),
        ),
        request(
            ("user", "x"),
            ("assistant", [thought(), use("t1")]),
            ("user", [result("t1", [image(3, 3)])]),
            tools=[TOOL],
        ),
        request(("user", "x"), ("assistant", "{"), model="claude-haiku-4-5"),
        request(
            ("user", [image(2500, 3)]),
            system=[{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        ),
        request(*PAIR, ("user", [result("t1")]), ("user", [result("t2")])),
    ],
)
def test_accepted(body: dict[str, Any]) -> None:
    assert check(body) == []
