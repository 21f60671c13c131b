"""Streams of the right form with odd content, and every stop reason."""

from __future__ import annotations

from worldline.rehearsal.events import (
    PING,
    STOP,
    block_start,
    block_stop,
    delta,
    json_delta,
    message_delta,
    start,
    text_block,
    text_delta,
    tool_block,
)
from worldline.rehearsal.fault_streams import HI, plain, stream


def tool(name: str, about: str, *parts: str, reason: str = "tool_use") -> None:
    """Register a reply with one call of `write` whose JSON is streamed as `parts`."""
    events = (
        block_start(0, tool_block("toolu_odd", "write")),
        *(json_delta(0, p) for p in parts),
        block_stop(0),
    )
    stream(name, "content", about, *plain(*events, reason=reason))


tool("tool-ok", "a proper call (valid)", '{"path": "a", ', '"content": "3"}')
tool("tool-no-deltas", "a call without input")
tool(
    "tool-cut",
    "max_tokens inside the arguments",
    '{"path": "a.txt", "content": "hello wor',
    reason="max_tokens",
)
tool("tool-cut-number", "max_tokens inside a number", '{"timeout": 12', reason="max_tokens")
tool("tool-cut-key", "max_tokens inside a key", '{"path": "a", "recurs', reason="max_tokens")
tool("tool-cut-claims-tool-use", "cut arguments, but the reply says tool_use", '{"path": "a", "content": "x')
tool("tool-bad-json", "arguments that are no JSON", '{"path": a.txt}')
tool("tool-raw-newline", "a raw line break inside a string", '{"content": "line1\nline2"}')
tool("tool-trailing", "a brace too many", '{"a": 1}}')
tool("tool-array", "arguments that are a list", "[1,2]")
tool("tool-string", "arguments that are a string", '"x"')
tool("tool-null", "arguments that are null", "null")
tool("tool-duplicate-keys", "a key twice", '{"a": 1, "a": 2}')
tool("tool-nan", "NaN in the arguments", '{"a": NaN}')
tool("tool-surrogate", "half a surrogate pair in the arguments", '{"a": "\\ud800x"}')
tool("tool-deep", "very deep arguments", '{"a":' * 20_000 + "1" + "}" * 20_000)
tool("tool-huge-number", "a number with 6,000 digits", '{"a": ' + "9" * 6000 + "}")
stream(
    "tool-at-start",
    "content",
    "input given whole at the start",
    *plain(
        block_start(0, {"type": "tool_use", "id": "toolu_s", "name": "read", "input": {"path": "whole"}}),
        block_stop(0),
        reason="tool_use",
    ),
)
stream(
    "tool-no-id",
    "content",
    "a call without an id",
    *plain(
        block_start(0, {"type": "tool_use", "name": "read", "input": {}}),
        json_delta(0, "{}"),
        block_stop(0),
        reason="tool_use",
    ),
)
stream(
    "tools-interleaved",
    "content",
    "two calls, their parts mixed (valid)",
    *plain(
        block_start(0, tool_block("toolu_0", "read")),
        block_start(1, tool_block("toolu_1", "read")),
        json_delta(0, '{"path":'),
        json_delta(1, '{"path":'),
        json_delta(0, '"a"}'),
        json_delta(1, '"b"}'),
        block_stop(0),
        block_stop(1),
        reason="tool_use",
    ),
)
stream(
    "tool-same-ids",
    "content",
    "two calls with the same id",
    *plain(
        block_start(0, tool_block("toolu_0", "read")),
        json_delta(0, "{}"),
        block_stop(0),
        block_start(1, tool_block("toolu_0", "read")),
        json_delta(1, "{}"),
        block_stop(1),
        reason="tool_use",
    ),
)
stream(
    "tool-not-closed",
    "content",
    "a call that is never closed, but the reply says tool_use",
    start(),
    block_start(0, tool_block("toolu_0", "read")),
    json_delta(0, '{"path": "a"}'),
    message_delta("tool_use"),
    STOP,
)
stream(
    "tool-but-end-turn",
    "content",
    "a call, but the reply says end_turn",
    *plain(block_start(0, tool_block("toolu_0", "read")), json_delta(0, '{"path": "a"}'), block_stop(0)),
)
stream(
    "unknown-block",
    "content",
    "a block of a kind nobody knows",
    *plain(
        block_start(0, {"type": "weird_block", "foo": {"x": 1}}),
        delta(0, "weird_delta", foo="y"),
        block_stop(0),
    ),
)
stream(
    "unknown-event",
    "content",
    "an event of a kind nobody knows (valid)",
    start(),
    ("brand_new_event", {"type": "brand_new_event", "x": 1}),
    *HI,
    message_delta("end_turn"),
    STOP,
)
stream(
    "no-usage", "content", "no usage in message_delta", start(), *HI, message_delta("end_turn", None), STOP
)
stream(
    "no-usage-at-start",
    "content",
    "no usage in message_start",
    (
        "message_start",
        {
            "type": "message_start",
            "message": {
                "id": "msg_n",
                "type": "message",
                "role": "assistant",
                "model": "m",
                "content": [],
                "stop_reason": None,
            },
        },
    ),
    *HI,
    message_delta("end_turn"),
    STOP,
)
stream(
    "null-usage",
    "content",
    "usage whose counts are null",
    start(usage={"input_tokens": None, "output_tokens": None}),
    *HI,
    message_delta("end_turn", {"output_tokens": None}),
    STOP,
)
stream("empty-content", "content", "a reply without content", start(), message_delta("end_turn"), STOP)
stream(
    "whitespace",
    "content",
    "a reply of spaces",
    *plain(block_start(0, text_block()), text_delta(0, "  \n"), block_stop(0)),
)
stream(
    "text-surrogate",
    "content",
    "half a surrogate pair in the text",
    start(),
    block_start(0, text_block()),
    (
        "content_block_delta",
        '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\\ud800b"}}',
    ),
    block_stop(0),
    message_delta("end_turn"),
    STOP,
)
stream(
    "thinking",
    "content",
    "thinking with its signature (valid)",
    *plain(
        block_start(0, {"type": "thinking", "thinking": "", "signature": ""}),
        delta(0, "thinking_delta", thinking="hm"),
        delta(0, "signature_delta", signature="SIG"),
        block_stop(0),
        block_start(1, text_block()),
        text_delta(1, "hi"),
        block_stop(1),
    ),
)
stream(
    "thinking-unsigned",
    "content",
    "thinking without a signature",
    *plain(
        block_start(0, {"type": "thinking", "thinking": "", "signature": ""}),
        delta(0, "thinking_delta", thinking="hm"),
        block_stop(0),
        block_start(1, text_block()),
        text_delta(1, "hi"),
        block_stop(1),
    ),
)
stream(
    "many-pings",
    "content",
    "many pings between the events (valid)",
    *(e for event in plain(*HI) for e in (PING, event, PING)),
)
stream(
    "refusal",
    "stop",
    "the model refuses",
    start(),
    message_delta(
        "refusal", stop_details={"type": "refusal", "category": "cyber", "explanation": "It may do harm."}
    ),
    STOP,
)

for _reason in (
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "tool_use",
    "pause_turn",
    "model_context_window_exceeded",
    "compaction",
    "brand_new_reason",
):
    stream(f"stop-{_reason}", "stop", f"a text that ends with {_reason}", *plain(*HI, reason=_reason))
stream("stop-null", "stop", "a text without a stop reason", *plain(*HI, reason=None))
stream("stop-empty", "stop", 'a text whose stop reason is ""', *plain(*HI, reason=""))
