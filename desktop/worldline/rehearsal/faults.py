"""Every way a provider can fail, by name.

A fault plays an answer on the wire in place of the right one. Names may carry an argument after a colon:
`status:502`, `cut-eof:7` (after seven events), `retry-after:90`, `stop:max_tokens`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from worldline.core.errors import BadInput
from worldline.rehearsal.events import Event, error_body
from worldline.rehearsal.wire import Wire


@dataclass(slots=True)
class Scene:
    """What a fault has to work with."""

    wire: Wire
    events: list[Event]
    """The right answer, which the fault spoils."""
    argument: str = ""
    pace: float = 0.0
    max_hang_s: float = 3600.0
    stream: bool = True

    def count(self, default: int) -> int:
        """The argument as a number of events."""
        return int(self.argument) if self.argument.lstrip("-").isdigit() else default

    def half(self) -> list[Event]:
        """The first part of the right answer: the argument says how many events, else up to the middle of its
        last block."""
        default = max(2, len(self.events) - 4) if len(self.events) < 8 else len(self.events) * 2 // 3
        return self.events[: self.count(default)]


Play = Callable[[Scene], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    group: str
    """refused, connection, stream, malformed, content, stop."""
    about: str
    play: Play


FAULTS: dict[str, Fault] = {}


def register(name: str, group: str, about: str) -> Callable[[Play], Play]:
    def keep(play: Play) -> Play:
        if name in FAULTS:
            raise ValueError(f"the fault {name} is there twice")
        FAULTS[name] = Fault(name, group, about, play)
        return play

    return keep


def find(spec: str) -> tuple[Fault, str]:
    """The fault and its argument for `name` or `name:argument`. Raises BadInput for a name that is not there."""
    name, _, argument = spec.partition(":")
    fault = FAULTS.get(name)
    if fault is None:
        near = sorted(n for n in FAULTS if n.split("-")[0] == name.split("-")[0]) or sorted(FAULTS)
        raise BadInput(f"There is no fault named {name!r}.", f"Known are: {', '.join(near)}.")
    return fault, argument


def refusal(
    name: str,
    status: int,
    body: Any,
    about: str,
    headers: tuple[tuple[str, str], ...] = (),
    content_type: str = "application/json",
) -> None:
    """Register a fault that answers with an HTTP error."""

    async def play(scene: Scene) -> None:
        await scene.wire.plain(status, body, headers, content_type)

    FAULTS[name] = Fault(name, "refused", about, play)


# ---- the connection -------------------------------------------------------------------------------------------------


@register("reset-before-headers", "connection", "the connection is reset before anything came back")
async def _reset_before_headers(scene: Scene) -> None:
    await scene.wire.reset()


@register("eof-before-headers", "connection", "the connection is closed before anything came back")
async def _eof_before_headers(scene: Scene) -> None:
    scene.wire.hang_up()


@register("hang-before-headers", "connection", "no answer at all, the connection stays open")
async def _hang_before_headers(scene: Scene) -> None:
    await _silence(scene)


@register("slow-headers", "connection", "the headers come late (argument: seconds), then all is well")
async def _slow_headers(scene: Scene) -> None:
    if await scene.wire.gone(float(scene.argument or "0.5")):
        return
    await _whole(scene)


@register("cut-headers", "connection", "the connection is closed inside the headers")
async def _cut_headers(scene: Scene) -> None:
    await scene.wire.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-st")
    scene.wire.hang_up()


@register("no-http", "connection", "what answers does not speak HTTP")
async def _no_http(scene: Scene) -> None:
    await scene.wire.send(b"SSH-2.0-OpenSSH_9.2\r\n")
    scene.wire.hang_up()


@register("mid-reset", "connection", "the connection is reset in the middle of the reply")
async def _mid_reset(scene: Scene) -> None:
    await scene.wire.stream_head()
    await scene.wire.events(scene.half(), scene.pace)
    await scene.wire.reset()


@register("mid-eof-chunked", "connection", "the connection is closed in the middle, without the last chunk")
async def _mid_eof_chunked(scene: Scene) -> None:
    await scene.wire.stream_head()
    await scene.wire.events(scene.half(), scene.pace)
    scene.wire.hang_up()


@register("mid-eof", "connection", "a connection without a length is closed in the middle: no error to see")
async def _mid_eof(scene: Scene) -> None:
    await scene.wire.stream_head(chunked=False)
    await scene.wire.events(scene.half(), scene.pace)
    scene.wire.hang_up()


@register("cut-eof", "connection", "the stream ends properly, but before message_stop")
async def _cut_eof(scene: Scene) -> None:
    await scene.wire.stream_head()
    await scene.wire.events(scene.half(), scene.pace)
    await scene.wire.end()


@register("mid-stall", "connection", "in the middle nothing comes any more")
async def _mid_stall(scene: Scene) -> None:
    await scene.wire.stream_head()
    await scene.wire.events(scene.half(), scene.pace)
    await _silence(scene)


@register(
    "mid-pings", "connection", "in the middle only pings come any more (argument: seconds between them)"
)
async def _mid_pings(scene: Scene) -> None:
    await scene.wire.stream_head()
    await scene.wire.events(scene.half(), scene.pace)
    await _pings(scene)


@register("pings-only", "connection", "nothing but pings from the start")
async def _pings_only(scene: Scene) -> None:
    await scene.wire.stream_head()
    await _pings(scene)


async def _pings(scene: Scene) -> None:
    every = float(scene.argument or "0.05")
    until = asyncio.get_running_loop().time() + scene.max_hang_s
    while asyncio.get_running_loop().time() < until:
        await scene.wire.event(("ping", {"type": "ping"}))
        if await scene.wire.gone(every):
            return
    scene.wire.hang_up()


@register("headers-only", "connection", "the headers of a stream, then silence")
async def _headers_only(scene: Scene) -> None:
    await scene.wire.stream_head()
    await _silence(scene)


@register("thinking-forever", "connection", "only thinking comes, for ever")
async def _thinking_forever(scene: Scene) -> None:
    wire = scene.wire
    await wire.stream_head()
    await wire.event(scene.events[0])
    block = {"type": "thinking", "thinking": "", "signature": ""}
    await wire.event(
        ("content_block_start", {"type": "content_block_start", "index": 0, "content_block": block})
    )
    piece = {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": "hm, "},
    }
    every = float(scene.argument or "0.05")
    until = asyncio.get_running_loop().time() + scene.max_hang_s
    while asyncio.get_running_loop().time() < until:
        await wire.event(("content_block_delta", piece))
        if await wire.gone(every):
            return
    wire.hang_up()


async def _whole(scene: Scene) -> None:
    await scene.wire.stream_head()
    await scene.wire.events(scene.events, scene.pace)
    await scene.wire.end()


async def _silence(scene: Scene) -> None:
    """Nothing more until the client goes away (or the server's own limit is over)."""
    await scene.wire.gone(scene.max_hang_s)
    scene.wire.hang_up()


# ---- errors inside the stream ---------------------------------------------------------------------------------------


def mid_error(name: str, body: Any, about: str, *, event: str | None = "error", first: bool = False) -> None:
    """Register a fault that breaks the stream off with an error event."""

    async def play(scene: Scene) -> None:
        await scene.wire.stream_head()
        if not first:
            await scene.wire.events(scene.half(), scene.pace)
        await scene.wire.event((event, body))
        await scene.wire.end()

    FAULTS[name] = Fault(name, "stream", about, play)


mid_error(
    "mid-overloaded", error_body("overloaded_error", "Overloaded"), "overloaded in the middle of the reply"
)
mid_error(
    "mid-rate-limit",
    error_body("rate_limit_error", "slow down", error_code="ramp_limit_exceeded"),
    "a rate limit in the middle of the reply",
)
mid_error("mid-api-error", error_body("api_error", "Internal server error"), "a server error in the middle")
mid_error("mid-error-text", "upstream went away", "an error event that is no JSON")
mid_error("mid-error-empty", {"type": "error"}, "an error event that says nothing")
mid_error(
    "first-error", error_body("overloaded_error", "Overloaded"), "an error before message_start", first=True
)
mid_error(
    "mid-error-no-event-line",
    error_body("overloaded_error", "no event line"),
    "an error object without its event line",
    event=None,
)
mid_error(
    "mid-overflow",
    error_body("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"),
    "the prompt turns out too long after the headers",
    first=True,
)


# ---- refused ---------------------------------------------------------------------------------------------------------


@register("status", "refused", "an HTTP error (argument: the status)")
async def _status(scene: Scene) -> None:
    status = scene.count(500)
    await scene.wire.plain(status, error_body("api_error", f"status {status}"))


@register("refuse", "refused", "400 with the text of the argument")
async def _refuse(scene: Scene) -> None:
    await scene.wire.plain(400, error_body("invalid_request_error", scene.argument or "bad request"))


@register("retry-after", "refused", "429 with the argument as retry-after")
async def _retry_after(scene: Scene) -> None:
    body = error_body("rate_limit_error", "This request would exceed your organization's rate limit")
    await scene.wire.plain(429, body, [("retry-after", scene.argument)])
