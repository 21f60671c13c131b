"""Server-sent events of the Messages API, and replies turned into them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Event = tuple[str | None, Any]
"""(event name or None for no `event:` line, object or raw data text)."""

STOP: Event = ("message_stop", {"type": "message_stop"})
PING: Event = ("ping", {"type": "ping"})


def start(model: str = "rehearsal", usage: dict[str, Any] | None = None) -> Event:
    message: dict[str, Any] = {
        "id": f"msg_{secrets.token_hex(10)}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage if usage is not None else {"input_tokens": 10, "output_tokens": 1},
    }
    return ("message_start", {"type": "message_start", "message": message})


def block_start(index: int, block: dict[str, Any]) -> Event:
    return ("content_block_start", {"type": "content_block_start", "index": index, "content_block": block})


def delta(index: int, kind: str, **fields: Any) -> Event:
    return (
        "content_block_delta",
        {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}},
    )


def text_delta(index: int, text: str) -> Event:
    return delta(index, "text_delta", text=text)


def json_delta(index: int, text: str) -> Event:
    return delta(index, "input_json_delta", partial_json=text)


def block_stop(index: int) -> Event:
    return ("content_block_stop", {"type": "content_block_stop", "index": index})


def message_delta(reason: str | None, usage: dict[str, Any] | str | None = "default", **fields: Any) -> Event:
    """`usage` None leaves the field out, as some proxies do."""
    body: dict[str, Any] = {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None, **fields},
    }
    if usage == "default":
        usage = {"output_tokens": 7}
    if usage is not None:
        body["usage"] = usage
    return ("message_delta", body)


def error_body(kind: str, message: str, **details: Any) -> dict[str, Any]:
    error: dict[str, Any] = {"type": kind, "message": message}
    if details:
        error["details"] = details
    return {"type": "error", "error": error, "request_id": "req_rehearsal"}


def text_block() -> dict[str, Any]:
    return {"type": "text", "text": ""}


def tool_block(uid: str, name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": uid, "name": name, "input": {}}


@dataclass(slots=True)
class Call:
    """A tool call of a reply. `raw` overrides the JSON text that is streamed."""

    name: str
    input: dict[str, Any] = field(default_factory=dict)
    id: str = ""
    raw: str | None = None


@dataclass(slots=True)
class Reply:
    """One scripted answer. Blocks come in the order thinking, text, calls unless `blocks` says otherwise."""

    text: str = ""
    thinking: str = ""
    calls: list[Call] = field(default_factory=list)
    stop: str | None = ""
    """"" = what fits the content; None = null."""
    stop_details: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    """None = estimated."""
    fault: str = ""
    """Name of a fault, `name` or `name:argument`."""
    blocks: list[dict[str, Any]] | None = None
    """Whole content blocks, sent as they are; overrides the fields above."""
    pace: float | None = None
    """Seconds between two deltas; None = the scenario's."""

    @property
    def stop_reason(self) -> str | None:
        if self.stop != "":
            return self.stop
        has_call = bool(self.calls) or any(b.get("type") == "tool_use" for b in self.blocks or [])
        return "tool_use" if has_call else "end_turn"

    def content(self) -> list[dict[str, Any]]:
        """The whole content blocks, with ids given out."""
        if self.blocks is not None:
            return self.blocks
        blocks: list[dict[str, Any]] = []
        if self.thinking:
            signature = f"rehearsal-{secrets.token_hex(12)}"
            blocks.append({"type": "thinking", "thinking": self.thinking, "signature": signature})
        if self.text:
            blocks.append({"type": "text", "text": self.text})
        for call in self.calls:
            uid = call.id or f"toolu_{secrets.token_hex(12)}"
            block = {"type": "tool_use", "id": uid, "name": call.name, "input": call.input}
            if call.raw is not None:
                block["_raw"] = call.raw
            blocks.append(block)
        return blocks


def pieces(text: str, size: int) -> Iterator[str]:
    for at in range(0, len(text), max(1, size)):
        yield text[at : at + max(1, size)]


def block_events(index: int, block: dict[str, Any], size: int) -> Iterator[Event]:
    """One content block as its start, its deltas of `size` characters, and its stop."""
    kind = block.get("type")
    if kind == "text":
        yield block_start(index, text_block())
        for piece in pieces(block["text"], size):
            yield text_delta(index, piece)
    elif kind == "thinking":
        yield block_start(index, {"type": "thinking", "thinking": "", "signature": ""})
        for piece in pieces(block["thinking"], size):
            yield delta(index, "thinking_delta", thinking=piece)
        if block.get("signature"):
            yield delta(index, "signature_delta", signature=block["signature"])
    elif kind in ("tool_use", "server_tool_use"):
        yield block_start(index, {"type": kind, "id": block["id"], "name": block["name"], "input": {}})
        raw = block.get("_raw")
        text = raw if raw is not None else json.dumps(block["input"], ensure_ascii=False)
        for piece in pieces(text, size):
            yield json_delta(index, piece)
    else:
        yield block_start(index, block)
    yield block_stop(index)


def reply_events(reply: Reply, model: str, usage: dict[str, Any], size: int = 12) -> list[Event]:
    """A whole, correct stream of the reply."""
    content = reply.content()
    output = usage.get("output_tokens", 1)
    events = [start(model, {**usage, "output_tokens": 1}), PING]
    for index, block in enumerate(content):
        events += block_events(index, block, size)
    extra = {"stop_details": reply.stop_details} if reply.stop_details else {}
    events.append(message_delta(reply.stop_reason, {"output_tokens": output}, **extra))
    events.append(STOP)
    return events


def reply_message(reply: Reply, model: str, usage: dict[str, Any]) -> dict[str, Any]:
    """The reply as one JSON document, for requests that do not stream."""
    content = [{k: v for k, v in block.items() if k != "_raw"} for block in reply.content()]
    message: dict[str, Any] = start(model, usage)[1]["message"]
    message.update(content=content, stop_reason=reply.stop_reason)
    if reply.stop_details:
        message["stop_details"] = reply.stop_details
    return message
