"""The only module that speaks to the SDK. It makes one exchange out of each request and never raises anything but
CancelledError: not for what a server sends, not for what the network does, not for what cannot be sent. (What a
listener raises is a defect of the listener and goes to its owner.)

Importing it takes seconds: load it through `provider.loader`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
from collections.abc import Mapping
from typing import Any

import anthropic
import httpx2

from worldline.core.log import mask
from worldline.provider.accumulator import Accumulator, Emit
from worldline.provider.address import FIRST_PARTY, is_first_party, is_loopback
from worldline.provider.model import Exchange, StreamEvent
from worldline.provider.retry import parse_retry_after
from worldline.provider.sse import EventTooLarge, SseDecoder
from worldline.provider.transport import Limits, OnCancel

_BODY_LIMIT = 1_000_000
_DRAIN_S = 0.25
_LIST_S = 30.0


class SdkClient:
    """A server with a credential. Safe for several exchanges at once; to be used and closed on one event loop."""

    def __init__(self, base_url: str, secret: str, limits: Limits) -> None:
        self._limits = limits
        self._base_url = base_url or FIRST_PARTY
        self._secret = secret
        self._client: anthropic.AsyncAnthropic | None = None

    def _connect(self) -> anthropic.AsyncAnthropic:
        if self._client is None:
            timeout = httpx2.Timeout(None, connect=self._limits.connect_s)
            # A proxy of the environment cannot reach this machine's own servers.
            http = (
                anthropic.DefaultAsyncHttpxClient(trust_env=False, timeout=timeout)
                if is_loopback(self._base_url)
                else None
            )
            # A credential is always given, or the SDK would look for one and send it to whatever server this is.
            self._client = anthropic.AsyncAnthropic(
                api_key=self._secret or "none",
                base_url=self._base_url,
                max_retries=0,
                timeout=timeout,
                open_telemetry=False,
                http_client=http,
                default_headers=self._headers(),
            )
        return self._client

    def _headers(self) -> dict[str, Any]:
        """Keep headers that the environment adds (they may hold secrets) from servers they are not meant for."""
        headers: dict[str, Any] = {}
        if not is_first_party(self._base_url):
            for line in os.environ.get("ANTHROPIC_CUSTOM_HEADERS", "").split("\n"):
                name, colon, _ = line.partition(":")
                if colon and name.strip():
                    headers[name.strip()] = anthropic.omit
            for name in [n for n in headers if n.lower() in ("authorization", "x-api-key")]:
                del headers[name]
                headers[name] = (
                    f"Bearer {self._secret}" if name.lower() == "authorization" else anthropic.omit
                )
        if not self._secret:
            headers["Authorization"] = anthropic.omit
        return headers

    async def close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            with contextlib.suppress(OSError, RuntimeError, httpx2.HTTPError):
                await client.close()

    # ---- one exchange ---------------------------------------------------------------------------------------------------

    async def exchange(
        self, arguments: dict[str, Any], emit: Emit, on_cancel: OnCancel | None = None
    ) -> Exchange:
        """Send `arguments` of `messages.create` and put the reply together."""
        reply = Accumulator(_guarded(emit))
        watch = _Watch(self._limits)
        try:
            async with asyncio.timeout(self._limits.headers_s) as clock:
                watch.clock = clock
                return await self._stream(arguments, reply, watch)
        except asyncio.CancelledError:
            if on_cancel is not None:
                on_cancel(reply.finish("cancelled", "stopped"))
            raise
        except _ListenerDefect as defect:
            raise defect.error from None
        except TimeoutError:
            exchange = reply.finish("stalled", watch.sentence())
            exchange.error_code = watch.why
            return exchange
        except Exception as error:  # noqa: BLE001  the edge between the SDK and us: everything becomes an outcome
            return _failed(error, reply)

    async def _stream(self, arguments: dict[str, Any], reply: Accumulator, watch: _Watch) -> Exchange:
        create = self._connect().messages.with_streaming_response.create
        async with create(stream=True, **arguments) as response:
            watch.started()
            http = response.http_response
            if "event-stream" not in http.headers.get("content-type", ""):
                exchange = _no_stream(await _read(http), http.headers, reply)
                return _stamp(exchange, http)
            decoder = SseDecoder()
            chunks = http.aiter_bytes()
            async for chunk in chunks:
                for name, data in decoder.feed(chunk):
                    if reply.feed(name, data):
                        await _drain(chunks)
                        return _stamp(reply.finish(), http)
                watch.alive(reply.progress, reply.visible)
            for name, data in decoder.flush():
                if _is_whole(data) and reply.feed(name, data):
                    break
            return _stamp(reply.finish(), http)

    # ---- the small requests ---------------------------------------------------------------------------------------------

    async def count_tokens(self, arguments: dict[str, Any]) -> int | Exchange:
        """Tokens of a request as the server counts them."""
        allowed = ("model", "messages", "system", "tools", "thinking", "tool_choice", "extra_headers")
        chosen = {key: value for key, value in arguments.items() if key in allowed}
        try:
            async with asyncio.timeout(30):
                counted = await self._connect().messages.count_tokens(**chosen)
            tokens: Any = counted.input_tokens
        except TimeoutError:
            return Exchange("stalled", detail="the server did not count in time")
        except Exception as error:  # noqa: BLE001  see `exchange`
            return _failed(error, Accumulator())
        if not isinstance(tokens, int):
            return Exchange("protocol", detail="the server's count is no number")
        return tokens

    async def list_models(self) -> list[dict[str, Any]] | Exchange:
        """The server's models, as it describes them."""
        try:
            async with asyncio.timeout(min(_LIST_S, self._limits.headers_s)):
                answer = await self._connect().get(
                    "/v1/models", cast_to=httpx2.Response, options={"params": {"limit": 1000}}
                )
        except TimeoutError:
            return Exchange(
                "stalled", error_code="headers", detail="the server did not list its models in time"
            )
        except Exception as error:  # noqa: BLE001  see `exchange`
            return _failed(error, Accumulator())
        try:
            data = json.loads(answer.content)
        except (ValueError, RecursionError):
            kind = answer.headers.get("content-type", "no type")
            text = _readable(answer.content.decode("utf-8", "replace"))
            return Exchange(
                "protocol", detail=f"an answer of type {kind} in place of a list of models: {text}"
            )
        listed = data.get("data", data.get("models")) if isinstance(data, dict) else data
        if not isinstance(listed, list):
            return Exchange("protocol", detail="the server's list of models is no list")
        return [entry for entry in listed if isinstance(entry, dict)]


class _ListenerDefect(BaseException):
    """Carries an exception of the listener past the handlers for what the SDK raises."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def _guarded(emit: Emit) -> Emit:
    def guarded(event: StreamEvent) -> None:
        try:
            emit(event)
        except Exception as error:
            raise _ListenerDefect(error) from error

    return guarded


class _Watch:
    """Moves the deadline of an exchange along with what arrives."""

    def __init__(self, limits: Limits) -> None:
        self.clock: asyncio.Timeout | None = None
        self.why = "headers"
        self._limits = limits
        self._progress = self._visible = 0
        self._progress_at = self._visible_at = 0.0

    def started(self) -> None:
        now = asyncio.get_running_loop().time()
        self._progress_at = self._visible_at = now
        self._move(now)

    def alive(self, progress: int, visible: int) -> None:
        """Bytes came; `progress` and `visible` count what they held."""
        now = asyncio.get_running_loop().time()
        if progress != self._progress:
            self._progress, self._progress_at = progress, now
        if visible != self._visible:
            self._visible, self._visible_at = visible, now
        self._move(now)

    def _move(self, now: float) -> None:
        limits = self._limits
        deadlines = {
            "idle": now + limits.idle_s,
            "only_pings": self._progress_at + limits.progress_s,
            "only_thinking": self._visible_at + limits.visible_s,
        }
        self.why = min(deadlines, key=deadlines.__getitem__)
        if self.clock is not None:
            self.clock.reschedule(deadlines[self.why])

    def sentence(self) -> str:
        limits = self._limits
        return {
            "headers": f"no answer within {limits.headers_s:g} s",
            "idle": f"nothing came for {limits.idle_s:g} s",
            "only_pings": f"only signs of life for {limits.progress_s:g} s",
            "only_thinking": f"only thinking for {limits.visible_s:g} s",
        }[self.why]


async def _drain(chunks: Any) -> None:
    """Read to the end, so that the connection can be used again; not for long."""
    with contextlib.suppress(TimeoutError, httpx2.HTTPError, OSError):
        async with asyncio.timeout(_DRAIN_S):
            async for _ in chunks:
                pass


async def _read(http: httpx2.Response) -> bytes:
    body = b""
    async for chunk in http.aiter_bytes():
        body += chunk
        if len(body) > _BODY_LIMIT:
            break
    return body


def _is_whole(data: str) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def _stamp(exchange: Exchange, http: httpx2.Response) -> Exchange:
    exchange.status = http.status_code
    exchange.request_id = exchange.request_id or http.headers.get("request-id", "")
    if exchange.outcome != "complete":
        exchange.retry_after_s = parse_retry_after(http.headers)
    limits = {k: v for k, v in http.headers.items() if k.startswith("anthropic-ratelimit-")}
    if limits:
        exchange.raw["rate_limits"] = limits
    return exchange


def _no_stream(body: bytes, headers: Mapping[str, str], reply: Accumulator) -> Exchange:
    """An answer that is no event stream: a whole message of a server that cannot stream, an error, or a web page."""
    text = body.decode("utf-8", "replace")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, dict) and data.get("type") == "message" and isinstance(data.get("content"), list):
        for name, event in _as_events(data):
            if reply.feed(name, json.dumps(event)):
                break
        exchange = reply.finish()
        exchange.notes.append("the server answered at once instead of streaming")
        return exchange
    if isinstance(data, dict) and "error" in data:
        reply.feed("error", text)
        exchange = reply.finish()
        exchange.raw["body"] = data
        return exchange
    kind = headers.get("content-type", "no type")
    return reply.finish(
        "protocol", f"an answer of type {kind} in place of an event stream: {_readable(text)}"
    )


def _as_events(message: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    start = {k: v for k, v in message.items() if k not in ("content", "stop_reason", "stop_details")}
    events: list[tuple[str, dict[str, Any]]] = [
        ("message_start", {"type": "message_start", "message": start})
    ]
    for index, block in enumerate(message["content"]):
        place = {"index": index, "content_block": block}
        events.append(("content_block_start", {"type": "content_block_start", **place}))
        events.append(("content_block_stop", {"type": "content_block_stop", "index": index}))
    delta = {"stop_reason": message.get("stop_reason"), "stop_details": message.get("stop_details")}
    events.append(("message_delta", {"type": "message_delta", "delta": delta, "usage": message.get("usage")}))
    events.append(("message_stop", {"type": "message_stop"}))
    return events


# ---- exceptions into outcomes -----------------------------------------------------------------------------------------


def _failed(error: Exception, reply: Accumulator) -> Exchange:
    if isinstance(error, anthropic.APIStatusError):
        return _refused(error, reply)
    if isinstance(error, anthropic.APITimeoutError | httpx2.TimeoutException):
        return reply.finish("transport", "the server could not be reached in time")
    if isinstance(error, anthropic.APIConnectionError | httpx2.HTTPError | OSError):
        return reply.finish("transport", _cause(error))
    if isinstance(error, UnicodeDecodeError):
        return reply.finish("protocol", "what came back is no UTF-8")
    if isinstance(error, EventTooLarge):
        return reply.finish("protocol", str(error))
    if isinstance(error, anthropic.APIError):
        return reply.finish("protocol", mask(str(error)))
    # What is left comes from our side of the wire: something that cannot be sent (NaN, half surrogate pairs, bytes),
    # or a setting that the SDK does not take.
    exchange = reply.finish(
        "http_error", mask(f"the request could not be sent: {type(error).__name__}: {error}")
    )
    exchange.error_type = "unsendable"
    return exchange


def _refused(error: anthropic.APIStatusError, reply: Accumulator) -> Exchange:
    text = error.response.text if error.body is None or isinstance(error.body, str) else ""
    said = error.api_message or _readable(text) or _readable(str(error))
    exchange = reply.finish("http_error", mask(said if isinstance(said, str) else str(said)))
    exchange.status = error.status_code
    exchange.error_type = error.type if isinstance(error.type, str) else ""
    exchange.error_code = error.error_code or ""
    exchange.request_id = error.request_id or ""
    exchange.retry_after_s = parse_retry_after(error.response.headers)
    exchange.raw["body"] = error.body if error.body is not None else text[:20_000]
    wish = error.response.headers.get("x-should-retry")
    if wish in ("true", "false"):
        exchange.raw["should_retry"] = wish
    return exchange


def _cause(error: BaseException) -> str:
    """The innermost reason: what the SDK says itself is only that there was an error."""
    seen: set[int] = set()
    deepest = error
    while id(deepest) not in seen:
        seen.add(id(deepest))
        deepest = deepest.__cause__ or deepest.__context__ or deepest
    return mask(f"{type(deepest).__name__}: {deepest}".rstrip(": "))


def _readable(text: str) -> str:
    """A few words of a body; of a web page, its text."""
    if "<" in text and re.search(r"<(html|!doctype|head|body)", text, re.IGNORECASE):
        text = re.sub(r"<(script|style|title)\b.*?</\1>", " ", text, flags=re.IGNORECASE | re.DOTALL)
        text = re.sub(r"<[^>]*>", " ", text)
    return " ".join(text.split())[:500]
