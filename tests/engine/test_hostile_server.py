"""A server that gets everything wrong, in ways that are drawn at random, behind a whole session.

Whatever it sends: each run ends with exactly one reason that is no defect, the person is told, the model is never told of
it, nothing of an answer that was not received whole is run, and the next request is one that the API accepts.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests_support import PATIENCE_S
from worldline.core.stop import StopReason
from worldline.protocol.commands import Prompt
from worldline.provider.gateway import Gateway, ProviderSettings
from worldline.provider.retry import RetryPolicy
from worldline.provider.transport import Limits
from worldline.rehearsal.events import Call, Reply, reply_events
from worldline.rehearsal.faults import FAULTS, Fault, Scene
from worldline.rehearsal.wire import encode

RUNS = int(os.environ.get("WORLDLINE_HOSTILE_RUNS", "10"))
SEED = int(os.environ.get("WORLDLINE_HOSTILE_SEED", "1"))
INFRA = "INFRASTRUCTURE"
"""In every text of the server that is about itself: the model must never read it."""
ODD: list[Any] = [
    None, "", 0, -1, 1.5, True, [], {}, "x", "\ud800", "\x00", 10**30, [None], {"type": "text"}, {"a": {"b": []}}, "tool_use",
]  # fmt: skip
TYPES = [
    "overloaded_error", "api_error", "rate_limit_error", "invalid_request_error", "timeout_error", "authentication_error",
    "permission_error", "not_found_error", "request_too_large", "billing_error", "strange_error", "", None, 7,
]  # fmt: skip
STATUSES = [
    200,
    204,
    301,
    400,
    401,
    402,
    403,
    404,
    408,
    409,
    413,
    418,
    422,
    425,
    429,
    499,
    500,
    502,
    503,
    504,
    520,
    524,
    529,
    599,
]
SAYINGS = [
    "Overloaded", "Number of request tokens has exceeded your per-minute rate limit", "Internal server error", "",
    "prompt is too long: 250000 tokens > 200000 maximum", "messages.0.content.0: bad", "Your credit balance is too low",
    "This request would exceed your organization's rate limit of 40,000 input tokens per minute", "model: nothing-like-this",
    "messages.1.content.0: Invalid `signature` in `thinking` block", "messages.99.content.99.image.source: broken", "{", "\ud800",
    "input length and `max_tokens` exceed context limit: 199000 + 32000 > 200000", "unexpected `tool_use_id` found",
    "maximum context length is 0 tokens", "thinking.type.enabled is not supported for this model",
]  # fmt: skip
WAITS = [
    "",
    "0",
    "-5",
    "86400",
    "1e400",
    "nan",
    "soon",
    "0.001",
    "Wed, 21 Oct 2015 07:28:00 GMT",
    "Wed, 21 Oct 2037 07:28:00 GMT",
    "1;1",
    "٣",
]
STOPS = [
    "end_turn",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "refusal",
    "pause_turn",
    "model_context_window_exceeded",
    "",
    None,
    "brand_new",
    3,
]


def spoil(rng: random.Random, value: Any, depth: int = 0) -> Any:
    """Another value somewhere in it."""
    if isinstance(value, dict) and value and (depth < 1 or rng.random() < 0.7):
        key = rng.choice(list(value))
        if rng.random() < 0.2:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: spoil(rng, value[key], depth + 1)}
    if isinstance(value, list) and value and rng.random() < 0.7:
        at = rng.randrange(len(value))
        return [*value[:at], spoil(rng, value[at], depth + 1), *value[at + 1 :]]
    return rng.choice(ODD)


def error(rng: random.Random) -> dict[str, Any]:
    body: dict[str, Any] = {
        "type": "error", "error": {"type": rng.choice(TYPES), "message": f"{rng.choice(SAYINGS)} {INFRA}"}, "request_id": "req_1",
    }  # fmt: skip
    return spoil(rng, body) if rng.random() < 0.3 else body


def reply(rng: random.Random, number: int) -> Reply:
    """What the model would say; a call in it writes a file that tells whether it ran."""
    calls = []
    for n in range(rng.choice([0, 0, 1, 1, 2, 3])):
        path = f"r{number}-{n}.txt"
        content = rng.choice(["short", "line\n" * 30, "中文 “quoted” \\ \t", "x" * 400])
        raw = None
        name = rng.choice(
            [
                "write",
                "write",
                "write",
                "Write",
                "functions.write",
                "no_such",
                "bash",
                "read",
                "write file!",
                "w" * 300,
            ]
        )
        if rng.random() < 0.3:
            whole = json.dumps({"path": path, "content": content})
            raw = rng.choice(
                [
                    whole[:-3],
                    "",
                    "[]",
                    "null",
                    '"x"',
                    "{}",
                    whole * 2,
                    whole.replace('"', "'"),
                    "{" * 500,
                    '{"path": NaN}',
                    whole[:-1] + ', "path": "other.txt"}',
                ]
            )
        same = rng.random() < 0.15
        calls.append(
            Call(
                name,
                {"path": path, "content": content},
                id="toolu_same" if same else rng.choice(["", "", "bad id!", "x" * 100]),
                raw=raw,
            )
        )
    text = rng.choice(
        [
            "",
            " ",
            "\n\n",
            "Words.",
            f"Some longer words of reply {number}. " * 5,
            *["Well, words."] * 8,
            "again and again. " * 600,
        ]
    )
    stop: Any = "" if rng.random() < 0.7 else rng.choice(STOPS)
    return Reply(text=text, thinking=rng.choice(["", "", "I think."]), calls=calls, stop=stop)


def events(rng: random.Random, number: int) -> tuple[list[Any], bool]:
    """A stream; True: it is as it should be."""
    stream: list[Any] = list(
        reply_events(
            reply(rng, number),
            "rehearsal",
            {"input_tokens": 10, "output_tokens": 5},
            rng.choice([1, 12, 300]),
        )
    )
    spoiled = False
    for _ in range(rng.choice([0, 1, 1, 2, 4])):
        spoiled = True
        at = rng.randrange(len(stream))
        what = rng.randrange(11)
        if what == 0:
            del stream[at:]
        elif what == 1:
            del stream[at]
        elif what == 2:
            stream.insert(rng.randrange(len(stream)), stream[at])
        elif what == 3:
            other = rng.randrange(len(stream))
            stream[at], stream[other] = stream[other], stream[at]
        elif what == 4:
            name, body = stream[at]
            stream[at] = (name, spoil(rng, body))
        elif what == 5:
            stream.insert(at, ("error", error(rng)))
        elif what == 6:
            stream.insert(
                at,
                (
                    rng.choice(["ping", "surprise", None, "error"]),
                    rng.choice([{"type": "ping"}, {}, [], "not json {", {"type": "surprise", "x": INFRA}]),
                ),
            )
        elif what == 7:
            name, body = stream[at]
            stream[at] = (name, json.dumps(body)[: rng.randrange(20)])
        elif what == 8:
            stream += stream[:at]
        elif what == 9:
            stream[at] = (rng.choice([None, "message_stop", "x"]), stream[at][1])
        else:
            stream.insert(
                at,
                (
                    "content_block_start",
                    {
                        "type": "content_block_start",
                        "index": rng.choice([0, 1, 7, -1, "0", None]),
                        "content_block": spoil(
                            rng,
                            {
                                "type": rng.choice(
                                    [
                                        "text",
                                        "tool_use",
                                        "thinking",
                                        "image",
                                        "redacted_thinking",
                                        "compaction",
                                    ]
                                ),
                                "text": "",
                                "id": "a",
                                "name": "write",
                                "input": {},
                                "data": "x",
                            },
                        ),
                    },
                ),
            )
        if not stream:
            break
    return stream, not spoiled


def on_the_wire(rng: random.Random, stream: list[Any]) -> Iterator[bytes]:
    data = b"".join(encode(event) for event in stream)
    what = rng.randrange(14)
    if what == 0:
        data = data.replace(b"\n", b"\r\n")
    elif what == 1:
        data = data.replace(b"\n", b"\r")
    elif what == 2:
        data = b"\xef\xbb\xbf" + data
    elif what == 3:
        data = data.replace(b"\n\n", b"\n: comment\nid: 5\nretry: x\n\n")
    elif what == 4 and data:
        at = rng.randrange(len(data))
        data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
    elif what == 5 and data:
        data = data[: rng.randrange(len(data))]
    elif what == 6:
        data = data.replace(b"data: ", b"data:")
    elif what == 7:
        data = data.replace(b"event: ", b"x-event: ")
    size = rng.choice([1 << 20, 7, 100])
    for at in range(0, len(data), size):
        yield data[at : at + size]


async def hostile(scene: Scene, rng: random.Random, number: int) -> None:
    wire = scene.wire
    kind = rng.random()
    if kind < 0.2:
        headers = [("retry-after", value)] if (value := rng.choice(WAITS)) and value.isascii() else []
        if rng.random() < 0.2:
            headers.append(("x-should-retry", rng.choice(["true", "false", "maybe"])))
        body: Any = rng.choice(
            [
                error(rng),
                error(rng),
                error(rng),
                b"",
                b"<html>" + INFRA.encode(),
                b"\xff\xfe",
                [INFRA],
                "null",
                {"message": INFRA},
            ]
        )
        await wire.plain(
            rng.choice(STATUSES),
            body,
            headers,
            rng.choice(["application/json", "text/html", "text/event-stream"]),
        )
        return
    if kind < 0.24:
        await (wire.reset() if rng.random() < 0.5 else asyncio.sleep(0))
        wire.hang_up()
        return
    stream, _ = events(rng, number)
    await wire.stream_head(chunked=rng.random() < 0.8)
    for piece in on_the_wire(rng, stream):
        await wire.data(piece)
    end = rng.random()
    if end < 0.1:
        await wire.reset()
    elif end < 0.2:
        wire.hang_up()
    else:
        await wire.end()


async def meddle(b: Any, rng: random.Random) -> None:
    """What a person does while it goes on: stops it, pauses it, says something."""
    for _ in range(rng.randrange(3)):
        await asyncio.sleep(rng.random() * 0.15)
        what = rng.randrange(4)
        if not b.actor.runs.busy:
            return
        if what == 0:
            b.actor.runs.stop()
        elif what == 1:
            b.actor.runs.pause(True)
            await asyncio.sleep(0.02)
            b.actor.runs.pause(False)
        elif what == 2:
            await b.actor.runs.prompt(
                Prompt(text="and this too", when=rng.choice(["now", "next_step", "interrupt"]))
            )
        else:
            b.actor.runs.retry_now.set()


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("meddling", [False, True])
async def test_a_hostile_server_ends_no_session(bench: Any, server: Any, meddling: bool) -> None:
    b = await bench(limits={"turns": 8, "seconds": 600}, chain=["stand-in"])
    policy = RetryPolicy(attempts=3, fallback_attempts=2, base_s=0.001, cap_s=0.004, retry_after_cap_s=0.01)
    limits = Limits(PATIENCE_S, PATIENCE_S, PATIENCE_S, PATIENCE_S, PATIENCE_S)
    b.actor.models.use(
        Gateway(
            ProviderSettings(retry=policy, limits=limits, local_limits=limits, cool_down_s=0.01, seed=SEED)
        )
    )
    rng = random.Random(SEED)
    asked = 0

    async def play(scene: Scene) -> None:
        nonlocal asked
        asked += 1
        await hostile(scene, random.Random(f"{SEED} {asked}"), asked)

    FAULTS["hostile"] = Fault("hostile", "test", "everything wrong", play)
    ends: dict[str, int] = {}
    try:
        for number in range(RUNS):
            server.scenario.faults = lambda _: "hostile"
            before = len(b.doc.runs())
            asking = asyncio.create_task(b.ask(f"goal {number} {rng.random()}"))
            if meddling:
                await meddle(b, rng)
            await asyncio.wait_for(asking, 4 * PATIENCE_S)
            where = ""
            for run in b.doc.runs()[before:]:
                assert run.stop_reason is not None, "a run without an end"
                reason = run.stop_reason.value
                ends[reason] = ends.get(reason, 0) + 1
                where += f"run {number} with {asked} answers ended {reason}: {run.detail}\n"
                assert reason not in ("internal_error", "store_error", "interrupted"), where
                assert run.detail.strip() or run.stop_reason is StopReason.COMPLETED, where
            assert len(b.doc.runs()) == before + 1 or meddling, where
            for item in list(b.actor.runs.queue.items):
                b.actor.runs.queue.items.remove(item)
            assert all(h.outcome.value not in ("running", "waiting") for h in b.nodes()), where
            assert server.defects == [], where
            check_requests(b, where)
    finally:
        del FAULTS["hostile"]
        server.scenario.faults = None
    assert b.names().count("run_ended") == len(b.doc.runs()) == sum(ends.values()) >= RUNS
    told = b.diagnostics("retry") + b.diagnostics("fallback")
    assert told, "tries are never silent"
    # The session goes on as if nothing had been.
    server.scenario.faults = None
    b.script("Still here.")
    b.actor.models.use(Gateway(ProviderSettings()))
    assert await b.ask("and after all that?") == "completed", b.doc.runs()[-1].detail
    print(ends)


def check_requests(b: Any, where: str) -> None:
    """Nothing of the server's words about itself goes to the model, and every request is acceptable."""
    fresh = b.server.message_requests[getattr(b, "seen", 0) :]
    b.seen = len(b.server.message_requests)
    for request in fresh:
        text = json.dumps(request.body, ensure_ascii=False)
        assert INFRA not in text, (
            f"{where}\n{text[max(0, text.index(INFRA) - 1500) : text.index(INFRA) + 200]}"
        )
        assert request.refused == "", f"{where}\n{request.refused}"
