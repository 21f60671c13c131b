"""Streams, whole and cut at every event and every byte: no SDK needed, the bytes go straight in."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldline.provider.accumulator import Accumulator
from worldline.provider.model import Exchange, StreamEvent
from worldline.provider.sse import SseDecoder
from worldline.rehearsal.events import Call, Reply, reply_events
from worldline.rehearsal.wire import encode

REPLY = Reply(
    text="I change both files: naïve → careful.",
    thinking="Two calls, one after the other.",
    calls=[
        Call("edit", {"path": "a.py", "old": "x\n", "new": 'y "quoted"\n'}),
        Call("bash", {"command": "python3 -m unittest", "timeout_s": 120}),
    ],
)


def fold(data: bytes, sizes: list[int] | None = None) -> tuple[Exchange, list[StreamEvent]]:
    """The exchange for bytes in pieces of the given sizes (over and over)."""
    seen: list[StreamEvent] = []
    reply = Accumulator(seen.append)
    decoder = SseDecoder()
    at, turn = 0, 0
    while at < len(data):
        size = max(1, (sizes or [len(data)])[turn % len(sizes or [1])])
        for name, text in decoder.feed(data[at : at + size]):
            if reply.feed(name, text):
                return reply.finish(), seen
        at, turn = at + size, turn + 1
    return reply.finish(), seen


def stream(reply: Reply = REPLY, size: int = 7) -> list[bytes]:
    return [
        encode(event) for event in reply_events(reply, "m", {"input_tokens": 5, "output_tokens": 9}, size)
    ]


def check_sound(exchange: Exchange, whole: Exchange) -> None:
    """What holds for a cut stream: nothing salvaged, and what was kept is a part of the whole."""
    assert not exchange.runnable
    assert exchange.outcome in ("truncated", "protocol") and exchange.detail
    known = [block.get("input") for block in whole.blocks if block["type"] == "tool_use"]
    for block in exchange.blocks:
        if block["type"] == "tool_use":
            assert block["input"] in known
        elif block["type"] == "thinking":
            assert block in whole.blocks
        else:
            text = next(b["text"] for b in whole.blocks if b["type"] == "text")
            assert text.startswith(block["text"])
    json.dumps(exchange.blocks).encode()


def test_whole() -> None:
    exchange, seen = fold(b"".join(stream()))
    assert exchange.outcome == "complete" and exchange.runnable
    assert [block["type"] for block in exchange.blocks] == ["thinking", "text", "tool_use", "tool_use"]
    assert [call.input for call in exchange.tool_uses] == [call.input for call in REPLY.calls]
    assert "".join(e.text for e in seen if e.kind == "text") == REPLY.text
    assert exchange.usage.output_tokens == 9 and exchange.usage.input_tokens == 5


def test_cut_at_every_event() -> None:
    events = stream()
    whole, _ = fold(b"".join(events))
    for cut in range(len(events)):
        check_sound(fold(b"".join(events[:cut]))[0], whole)


def test_cut_at_every_byte() -> None:
    data = b"".join(stream(size=40))
    whole, _ = fold(data)
    last = data.index(b"event: message_stop")
    for cut in range(last + 40):
        if data[:cut].endswith(b"\n\n") and cut > last:
            continue
        check_sound(fold(data[:cut])[0], whole)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_pieces_of_any_size_give_the_same(sizes: list[int]) -> None:
    data = b"".join(stream())
    assert fold(data, sizes)[0] == fold(data)[0]


@pytest.mark.parametrize("end", [b"\r\n", b"\r"])
def test_line_ends(end: bytes) -> None:
    data = b"".join(stream()).replace(b"\n", end)
    for size in (1, 2, 3, 1000):
        assert fold(data + end, [size])[0].runnable


def mutate(rng: random.Random, events: list[bytes]) -> list[bytes]:
    """A stream with a few random faults."""
    events = list(events)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(events))
        kind = rng.randrange(6)
        if kind == 0:
            del events[at]
        elif kind == 1:
            events.insert(at, events[rng.randrange(len(events))])
        elif kind == 2:
            other = rng.randrange(len(events))
            events[at], events[other] = events[other], events[at]
        elif kind == 3:
            events[at] = events[at][: rng.randrange(len(events[at]) + 1)]
        elif kind == 4:
            raw = bytearray(events[at])
            if raw:
                raw[rng.randrange(len(raw))] = rng.randrange(256)
            events[at] = bytes(raw)
        else:
            events.insert(at, b'event: x\ndata: {"type": "content_block_start", "index": null}\n\n')
        if not events:
            return [b""]
    return events


def test_random_faults_have_one_outcome_and_never_invent_a_call() -> None:
    rng = random.Random(20261130)
    good = stream()
    for number in range(1500):
        data = b"".join(mutate(rng, good))
        try:
            exchange, _ = fold(data, [rng.randint(1, 200)])
        except UnicodeDecodeError:
            continue  # the transport turns it into `protocol`
        except ValueError as error:
            raise AssertionError(f"round {number}: {error}") from error
        if not exchange.runnable:
            continue
        for call in exchange.tool_uses:
            # One flipped byte inside a string makes another argument: no decoder can know. But it is strict JSON.
            if not call.error:
                assert json.loads(call.raw, strict=False) == call.input


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
                        ["type", "index", "delta", "content_block", "message", "usage", "error", "text", "id"]),
                        inner, max_size=4), max_leaves=12))  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_any_json_is_survived(body: Any) -> None:
    for kind in (
        "message_start",
        "content_block_start",
        "content_block_delta",
        "message_delta",
        "error",
        None,
    ):
        reply = Accumulator()
        reply.feed(*_event("message_start", {"message": {"id": "m", "model": "m"}}))
        reply.feed(
            *_event("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}})
        )
        data = {**body, "type": kind} if isinstance(body, dict) and kind else body
        reply.feed(kind, json.dumps(data))
        reply.feed(kind, json.dumps({**data, "index": 0}) if isinstance(data, dict) else "x")
        exchange = reply.finish()
        json.dumps(exchange.blocks).encode()
        assert exchange.outcome


def _event(kind: str, fields: dict[str, Any]) -> tuple[str, str]:
    return kind, json.dumps({"type": kind, **fields})
