"""A reply put together from its raw events. Every stream, however broken, comes to exactly one outcome.

The SDK's own helper takes cut-off tool calls for whole ones and loses the turn for one bad character, so it is not
used: here a call counts only when its block was closed and its JSON has one meaning.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from worldline.core.jsontext import clean_text
from worldline.core.log import mask
from worldline.core.usage import Usage
from worldline.provider.arguments import parse_arguments
from worldline.provider.model import Exchange, ExchangeOutcome, StreamEvent, ToolUse

Emit = Callable[[StreamEvent], None]
MAX_REPLY_CHARS = 64 * 1024 * 1024
_DETAIL_CHARS = 2000

_DELTAS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("partial_json", "json"),
    "signature_delta": ("signature", "signature"),
    "compaction_delta": ("content", "content"),
}
"""Delta type → field of the delta, part of the block that grows."""
_ALLOWED = {
    "text": {"text_delta", "citations_delta"},
    "thinking": {"thinking_delta", "signature_delta"},
    "tool_use": {"input_json_delta"},
    "server_tool_use": {"input_json_delta"},
    "compaction": {"compaction_delta", "signature_delta"},
}


class ProtocolError(Exception):
    """The stream is not what the Messages API describes. Never leaves this module."""


@dataclass(slots=True)
class _Block:
    start: dict[str, Any]
    parts: dict[str, list[str]] = field(default_factory=dict)
    closed: bool = False

    @property
    def kind(self) -> str:
        return str(self.start.get("type", ""))

    def grown(self, part: str) -> str:
        return "".join(self.parts.get(part, ()))


class Accumulator:
    """Folds events into one `Exchange`. `feed` until it returns True or the stream is over, then `finish`."""

    def __init__(self, emit: Emit | None = None) -> None:
        self._emit = emit or (lambda _: None)
        self._blocks: dict[int, _Block] = {}
        self._started = False
        self._outcome: ExchangeOutcome | None = None
        self._exchange = Exchange(outcome="protocol")
        self._usage: dict[str, Any] = {}
        self._chars = 0
        self.progress = 0
        """Events so far that were more than a sign of life."""
        self.visible = 0
        """Of these, text and tool input."""

    # ---- events in ----------------------------------------------------------------------------------------------------

    def feed(self, name: str | None, data: str) -> bool:
        """One event. True = the exchange is over, whatever may still come."""
        if self._outcome is not None:
            return True
        if not data or data.strip() == "[DONE]":
            return False
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            if name == "error":
                self._fail("error_event", data)
                return True
            if name in ("ping", "done", "end"):
                return False
            self._fail("protocol", f"an event is not valid JSON: {data[:120]!r}")
            return True
        if not isinstance(body, dict):
            self._note("an event that is no object was passed over")
            return False
        kind = body.get("type")
        try:
            return self._event(kind if isinstance(kind, str) else name or "", body)
        except ProtocolError as error:
            self._fail("protocol", str(error))
            return True

    def _event(self, kind: str, body: dict[str, Any]) -> bool:
        if kind == "ping":
            return False
        if kind == "error" or ("error" in body and kind not in _HANDLERS):
            self._error(body)
            return True
        handler = _HANDLERS.get(kind)
        if handler is None:
            self._note(f"an event of an unknown kind was passed over: {kind[:60]}")
            return False
        self.progress += 1
        handler(self, body)
        return self._outcome is not None

    def _message_start(self, body: dict[str, Any]) -> None:
        if self._started:
            raise ProtocolError("a second message began inside the first")
        self._started = True
        message = body.get("message")
        if not isinstance(message, dict):
            raise ProtocolError("message_start holds no message")
        self._exchange.message_id = _word(message.get("id"))
        self._exchange.model = _word(message.get("model"))
        self._take_usage(message.get("usage"))
        for key in ("diagnostics", "input_transformations", "container"):
            if message.get(key) is not None:
                self._exchange.raw[key] = message[key]

    def _block_start(self, body: dict[str, Any]) -> None:
        self._need_start()
        index = self._index(body)
        if index in self._blocks:
            raise ProtocolError(f"block {index} began twice")
        content = body.get("content_block")
        if not isinstance(content, dict) or not isinstance(content.get("type"), str):
            raise ProtocolError(f"block {index} has no type")
        if content["type"] in ("tool_use", "server_tool_use"):
            for key in ("id", "name"):
                if not isinstance(content.get(key), str) or not content[key]:
                    raise ProtocolError(f"a tool call came without {'an id' if key == 'id' else 'a name'}")
        if index != len(self._blocks):
            self._note(f"block {index} came where block {len(self._blocks)} was expected")
        self._blocks[index] = block = _Block(content)
        if block.kind == "tool_use":
            self.visible += 1
            self._emit(StreamEvent("tool_input", index, "", content["name"]))
        elif block.kind == "text" and isinstance(content.get("text"), str) and content["text"]:
            self._emit_text(index, content["text"])

    def _delta(self, body: dict[str, Any]) -> None:
        self._need_start()
        index = self._index(body)
        block = self._blocks.get(index)
        if block is None:
            raise ProtocolError(f"a piece of block {index} came before the block")
        if block.closed:
            raise ProtocolError(f"a piece of block {index} came after its end")
        piece = body.get("delta")
        if not isinstance(piece, dict):
            raise ProtocolError(f"a piece of block {index} is empty")
        kind = str(piece.get("type"))
        allowed = _ALLOWED.get(block.kind)
        if allowed is not None and kind in _DELTAS and kind not in allowed:
            raise ProtocolError(f"{kind} does not belong into a block of kind {block.kind}")
        if kind == "citations_delta":
            block.start.setdefault("citations", []).append(piece.get("citation"))
            return
        source, part = _DELTAS.get(kind, ("", ""))
        if not source:
            self._note(f"a piece of an unknown kind was passed over: {kind[:60]}")
            return
        text = piece.get(source)
        if text is None:
            return
        if not isinstance(text, str):
            raise ProtocolError(f"{kind} holds no text")
        self._chars += len(text)
        if self._chars > MAX_REPLY_CHARS:
            raise ProtocolError("the reply is larger than 64 MB")
        block.parts.setdefault(part, []).append(text)
        self._emit_piece(index, block, part, text)

    def _emit_piece(self, index: int, block: _Block, part: str, text: str) -> None:
        if not text:
            return
        if part == "text":
            self._emit_text(index, text)
        elif part == "thinking":
            self._exchange.started_output = True
            self._emit(StreamEvent("thinking", index, clean_text(text)))
        elif part == "json" and block.kind == "tool_use":
            self.visible += 1
            self._exchange.started_output = True
            self._emit(StreamEvent("tool_input", index, clean_text(text), str(block.start["name"])))

    def _emit_text(self, index: int, text: str) -> None:
        self.visible += 1
        self._exchange.started_output = True
        self._emit(StreamEvent("text", index, clean_text(text)))

    def _block_stop(self, body: dict[str, Any]) -> None:
        self._need_start()
        index = self._index(body)
        if index not in self._blocks:
            raise ProtocolError(f"block {index} ended before it began")
        self._blocks[index].closed = True

    def _message_delta(self, body: dict[str, Any]) -> None:
        self._need_start()
        change = body.get("delta")
        if isinstance(change, dict):
            if change.get("stop_reason") is not None:
                self._exchange.stop_reason = _word(change["stop_reason"])
            for key in ("stop_details", "stop_sequence", "container"):
                if change.get(key) is not None:
                    self._exchange.raw[key] = change[key]
        for key in ("context_management", "input_transformations", "diagnostics"):
            if body.get(key) is not None:
                self._exchange.raw[key] = body[key]
        self._take_usage(body.get("usage"))

    def _message_stop(self, _: dict[str, Any]) -> None:
        self._need_start()
        self._outcome = "complete"

    def _error(self, body: dict[str, Any]) -> None:
        error = body.get("error")
        error = error if isinstance(error, dict) else {"message": error}
        self._exchange.error_type = _word(error.get("type"))
        details = error.get("details")
        if isinstance(details, dict):
            self._exchange.error_code = _word(details.get("error_code"))
        if isinstance(body.get("request_id"), str):
            self._exchange.request_id = body["request_id"]
        self._fail("error_event", _word(error.get("message")) or "an error event without a message")

    # ---- the end ------------------------------------------------------------------------------------------------------

    def finish(self, outcome: ExchangeOutcome | None = None, detail: str = "") -> Exchange:
        """The exchange. `outcome` says why the stream ended when no event did (None: it just ended)."""
        exchange = self._exchange
        if self._outcome is None:
            if outcome is None:
                outcome = "truncated" if self._started else "protocol"
                detail = (
                    "the reply ended before it was complete"
                    if self._started
                    else "the stream held no message"
                )
            self._fail(outcome, detail)
        exchange.outcome = self._outcome or "protocol"
        answered = bool(self._usage) or exchange.outcome == "complete"
        exchange.usage = Usage.from_api(self._usage) if answered else Usage()
        if self._usage:
            exchange.raw["usage"] = self._usage
        elif exchange.outcome == "complete":
            self._note("the server did not say how many tokens were used")
        self._close_blocks()
        return exchange

    def _close_blocks(self) -> None:
        complete = self._exchange.outcome == "complete"
        ids: set[str] = set()
        for index in sorted(self._blocks):
            block = self._blocks[index]
            kind = block.kind
            if kind == "text":
                self._close_text(block, complete)
            elif kind == "thinking":
                self._close_thinking(block)
            elif kind == "tool_use":
                self._close_call(block, complete, ids)
            elif kind == "server_tool_use":
                self._close_server_call(block)
            elif block.closed:
                made = dict(block.start)
                for part in ("content", "signature"):
                    if block.parts.get(part):
                        made[part] = block.grown(part)
                self._exchange.blocks.append(made)

    def _close_text(self, block: _Block, complete: bool) -> None:
        made = dict(block.start)
        text = _word(made.get("text")) + block.grown("text")
        made["text"] = clean_text(text)
        if made["text"] != text:
            self._note("half a surrogate pair in the text was replaced")
        if not block.closed and complete:
            self._note("a text block was never closed")
        if made["text"]:
            self._exchange.blocks.append(made)

    def _close_thinking(self, block: _Block) -> None:
        made = dict(block.start)
        made["thinking"] = _word(made.get("thinking")) + block.grown("thinking")
        made["signature"] = block.grown("signature") or _word(made.get("signature"))
        if block.closed and made["signature"] and clean_text(made["thinking"]) == made["thinking"]:
            self._exchange.blocks.append(made)
        elif made["thinking"].strip():
            self._exchange.raw.setdefault("unsigned_thinking", []).append(clean_text(made["thinking"]))

    def _close_call(self, block: _Block, complete: bool, ids: set[str]) -> None:
        start = block.start
        raw = block.grown("json")
        given = start.get("input")
        if not raw and isinstance(given, dict) and given:
            raw = json.dumps(given, ensure_ascii=False)
        arguments, error, repairs = parse_arguments(raw)
        if not block.closed:
            arguments, error = None, "the call was cut off"
        elif start["id"] in ids:
            error = "another call of the same reply has the same id"
        ids.add(start["id"])
        whole = block.closed and (not error or (complete and self._exchange.stop_reason == "tool_use"))
        call = ToolUse(
            start["id"], clean_text(start["name"]), clean_text(raw), arguments or {}, error, repairs, whole
        )
        self._exchange.tool_uses.append(call)
        for repair in repairs:
            self._note(f"{call.name}: {repair}")
        if whole:
            made = {k: v for k, v in start.items() if k != "input"}
            self._exchange.blocks.append({**made, "name": call.name, "input": call.input})

    def _close_server_call(self, block: _Block) -> None:
        raw = block.grown("json")
        arguments, error, _ = parse_arguments(raw)
        if not block.closed or error or arguments is None:
            self._note("a call of a server tool was cut off")
            return
        given = block.start.get("input")
        self._exchange.blocks.append({**block.start, "input": arguments or given or {}})

    # ---- helpers ------------------------------------------------------------------------------------------------------

    def _need_start(self) -> None:
        if not self._started:
            raise ProtocolError("the reply did not begin with message_start")

    @staticmethod
    def _index(body: dict[str, Any]) -> int:
        index = body.get("index")
        if not isinstance(index, int) or isinstance(index, bool) or index < 0:
            raise ProtocolError("a block has no number")
        return index

    def _take_usage(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self._usage.update({key: value for key, value in usage.items() if value is not None})

    def _fail(self, outcome: ExchangeOutcome, detail: str) -> None:
        self._outcome = outcome
        self._exchange.detail = mask(clean_text(detail))[:_DETAIL_CHARS]

    def _note(self, text: str) -> None:
        if text not in self._exchange.notes:
            self._exchange.notes.append(clean_text(text))


def _word(value: Any) -> str:
    return clean_text(value) if isinstance(value, str) else ""


_HANDLERS: dict[str, Callable[[Accumulator, dict[str, Any]], None]] = {
    "message_start": Accumulator._message_start,
    "content_block_start": Accumulator._block_start,
    "content_block_delta": Accumulator._delta,
    "content_block_stop": Accumulator._block_stop,
    "message_delta": Accumulator._message_delta,
    "message_stop": Accumulator._message_stop,
}
