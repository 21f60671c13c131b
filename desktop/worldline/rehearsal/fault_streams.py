"""Streams of the wrong form."""

from __future__ import annotations

import json
from typing import Any

from worldline.rehearsal.events import (
    STOP,
    Event,
    block_start,
    block_stop,
    error_body,
    message_delta,
    start,
    text_block,
    text_delta,
    tool_block,
)
from worldline.rehearsal.faults import FAULTS, Fault, Scene, register
from worldline.rehearsal.wire import encode


def stream(name: str, group: str, about: str, *events: Event | bytes, chunked: bool = True) -> None:
    """Register a fault that streams exactly these events (or raw bytes) and ends properly."""

    async def play(scene: Scene) -> None:
        await scene.wire.stream_head(chunked=chunked)
        for event in events:
            if isinstance(event, bytes):
                await scene.wire.data(event)
            else:
                await scene.wire.event(event)
        await scene.wire.end()

    FAULTS[name] = Fault(name, group, about, play)


def plain(*events: Event, reason: str | None = "end_turn") -> tuple[Event, ...]:
    return (start(), *events, message_delta(reason), STOP)


HI = (block_start(0, text_block()), text_delta(0, "hi"), block_stop(0))


@register("bad-json", "malformed", "an event in the middle is no JSON")
async def _bad_json(scene: Scene) -> None:
    await scene.wire.stream_head()
    await scene.wire.events(scene.half())
    await scene.wire.event(("content_block_delta", '{"type": "content_block_delta", "ind'))
    await scene.wire.events(scene.events[len(scene.half()) :])
    await scene.wire.end()


@register("bad-utf8", "malformed", "bytes in the middle that are no UTF-8")
async def _bad_utf8(scene: Scene) -> None:
    await scene.wire.stream_head()
    await scene.wire.events(scene.half())
    await scene.wire.data(b"event: content_block_delta\ndata: \xff\xfe{}\n\n")
    await scene.wire.end()


@register("no-event-lines", "malformed", "the whole reply without `event:` lines")
async def _no_event_lines(scene: Scene) -> None:
    await scene.wire.stream_head()
    await scene.wire.events([(None, body) for _, body in scene.events])
    await scene.wire.end()


@register("crlf", "malformed", "the whole reply with CR LF line ends and comments (valid)")
async def _crlf(scene: Scene) -> None:
    await scene.wire.stream_head()
    await scene.wire.data(b": keep alive\r\n\r\n")
    for name, body in scene.events:
        data = json.dumps(body, ensure_ascii=False)
        await scene.wire.data(f"event: {name}\r\ndata: {data}\r\n\r\n".encode())
    await scene.wire.end()


@register("split-bytes", "malformed", "the whole reply, one byte a chunk (valid)")
async def _split_bytes(scene: Scene) -> None:
    await scene.wire.stream_head()
    for event in scene.events:
        for byte in encode(event):
            await scene.wire.data(bytes([byte]))
    await scene.wire.end()


_WHOLE = {
    "id": "msg_whole",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "hi"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


def _body(name: str, body: Any, about: str, content_type: str = "application/json") -> None:
    async def play(scene: Scene) -> None:
        await scene.wire.plain(200, body, content_type=content_type)

    FAULTS[name] = Fault(name, "malformed", about, play)


_body("json-for-stream", _WHOLE, "a whole JSON message where a stream was asked for")
_body("html-200", "<html>captive portal</html>", "a web page with status 200", "text/html")
_body(
    "html-as-stream",
    "<html>captive portal</html>",
    "a web page that says it is a stream",
    "text/event-stream",
)
_body("empty-200", "", "nothing, with status 200")
_body("error-200", error_body("overloaded_error", "Overloaded"), "an error with status 200")

stream("empty-stream", "malformed", "a stream without events")
stream("done-marker", "malformed", "a trailing [DONE] (valid)", *plain(*HI), (None, "[DONE]"))
stream("done-event", "malformed", "a trailing [DONE] with an event name", *plain(*HI), ("done", "[DONE]"))
stream(
    "not-an-object",
    "malformed",
    "an event that is a list",
    *plain(*HI)[:2],
    ("ping", "[1, 2]"),
    *plain(*HI)[2:],
)
stream(
    "index-gap",
    "malformed",
    "block 1 without block 0",
    *plain(block_start(1, text_block()), text_delta(1, "hi"), block_stop(1)),
)
stream(
    "bad-index",
    "malformed",
    "an index that is a word",
    *plain(
        ("content_block_start", {"type": "content_block_start", "index": "x", "content_block": text_block()})
    ),
)
stream("delta-before-block", "malformed", "a delta without its block", *plain(text_delta(0, "hi")))
stream("delta-after-stop", "malformed", "a delta after its block was closed", *plain(*HI, text_delta(0, "!")))
stream("block-twice", "malformed", "the same block starts twice", *plain(*HI, *HI))
stream("no-start", "malformed", "blocks before message_start", *HI, message_delta("end_turn"), STOP)
stream("two-starts", "malformed", "message_start twice", start(), *HI, *plain(*HI))
stream("stop-only", "malformed", "message_stop alone", STOP)
stream("no-block-stop", "malformed", "a text block that is never closed", *plain(*HI[:2]))
stream("no-message-delta", "malformed", "message_stop without message_delta", start(), *HI, STOP)
stream(
    "wrong-delta",
    "malformed",
    "a text delta in a tool call",
    *plain(
        block_start(0, tool_block("toolu_1", "read")), text_delta(0, "hi"), block_stop(0), reason="tool_use"
    ),
)
stream(
    "null-fields",
    "malformed",
    "events whose parts are null",
    ("message_start", {"type": "message_start", "message": None}),
    ("content_block_start", {"type": "content_block_start", "index": 0, "content_block": None}),
    ("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": None}),
    ("message_delta", {"type": "message_delta", "delta": None, "usage": None}),
    STOP,
)
