"""Every way a provider can fail, through the real client: exactly one outcome each, and never an exception."""

from __future__ import annotations

import time

import pytest

from provider.conftest import Heard, request_for
from worldline.provider.errors import classify
from worldline.provider.gateway import Gateway, failure_of
from worldline.provider.model import Exchange
from worldline.rehearsal.catalog import FAULTS
from worldline.rehearsal.server import RehearsalServer

# fault: outcome, kind of failure ("" = a reply; * = worth trying again), whether tools may run
EXPECTED = {
    "reset-before-headers": ("transport", "network*", False),
    "eof-before-headers": ("transport", "network*", False),
    "hang-before-headers": ("stalled", "stalled*", False),
    "slow-headers": ("stalled", "stalled*", False),
    "cut-headers": ("transport", "network*", False),
    "no-http": ("transport", "network*", False),
    "mid-reset": ("transport", "network*", False),
    "mid-eof-chunked": ("transport", "network*", False),
    "mid-eof": ("truncated", "network*", False),
    "cut-eof": ("truncated", "network*", False),
    "mid-stall": ("stalled", "stalled*", False),
    "mid-pings": ("stalled", "stalled*", False),
    "pings-only": ("stalled", "stalled*", False),
    "headers-only": ("stalled", "stalled*", False),
    "thinking-forever": ("stalled", "stalled", False),
    "mid-overloaded": ("error_event", "overloaded*", False),
    "mid-rate-limit": ("error_event", "rate_limited*", False),
    "mid-api-error": ("error_event", "server_error*", False),
    "mid-error-text": ("error_event", "server_error*", False),
    "mid-error-empty": ("error_event", "server_error*", False),
    "first-error": ("error_event", "overloaded*", False),
    "mid-error-no-event-line": ("error_event", "overloaded*", False),
    "mid-overflow": ("error_event", "context_overflow", False),
    "status": ("http_error", "server_error*", False),
    "refuse": ("http_error", "invalid_request", False),
    "retry-after": ("http_error", "rate_limited*", False),
    "bad-json": ("protocol", "protocol*", False),
    "bad-utf8": ("protocol", "protocol*", False),
    "no-event-lines": ("complete", "", True),
    "crlf": ("complete", "", True),
    "split-bytes": ("complete", "", True),
    "json-for-stream": ("complete", "", False),
    "html-200": ("protocol", "protocol*", False),
    "html-as-stream": ("protocol", "protocol*", False),
    "empty-200": ("protocol", "protocol*", False),
    "error-200": ("error_event", "overloaded*", False),
    "empty-stream": ("protocol", "protocol*", False),
    "done-marker": ("complete", "", False),
    "done-event": ("complete", "", False),
    "not-an-object": ("complete", "", False),
    "index-gap": ("complete", "", False),
    "bad-index": ("protocol", "protocol*", False),
    "delta-before-block": ("protocol", "protocol*", False),
    "delta-after-stop": ("protocol", "protocol*", False),
    "block-twice": ("protocol", "protocol*", False),
    "no-start": ("protocol", "protocol*", False),
    "two-starts": ("protocol", "protocol*", False),
    "stop-only": ("protocol", "protocol*", False),
    "no-block-stop": ("complete", "", False),
    "no-message-delta": ("complete", "", False),
    "wrong-delta": ("protocol", "protocol*", False),
    "null-fields": ("protocol", "protocol*", False),
    "tool-ok": ("complete", "", True),
    "tool-no-deltas": ("complete", "", True),
    "tool-cut": ("complete", "", False),
    "tool-cut-number": ("complete", "", False),
    "tool-cut-key": ("complete", "", False),
    "tool-cut-claims-tool-use": ("complete", "", True),
    "tool-bad-json": ("complete", "", True),
    "tool-raw-newline": ("complete", "", True),
    "tool-trailing": ("complete", "", True),
    "tool-array": ("complete", "", True),
    "tool-string": ("complete", "", True),
    "tool-null": ("complete", "", True),
    "tool-duplicate-keys": ("complete", "", True),
    "tool-nan": ("complete", "", True),
    "tool-surrogate": ("complete", "", True),
    "tool-deep": ("complete", "", True),
    "tool-huge-number": ("complete", "", True),
    "tool-at-start": ("complete", "", True),
    "tool-no-id": ("protocol", "protocol*", False),
    "tools-interleaved": ("complete", "", True),
    "tool-same-ids": ("complete", "", True),
    "tool-not-closed": ("complete", "", True),
    "tool-but-end-turn": ("complete", "", False),
    "unknown-block": ("complete", "", False),
    "unknown-event": ("complete", "", False),
    "no-usage": ("complete", "", False),
    "no-usage-at-start": ("complete", "", False),
    "null-usage": ("complete", "", False),
    "empty-content": ("complete", "", False),
    "whitespace": ("complete", "", False),
    "text-surrogate": ("complete", "", False),
    "thinking": ("complete", "", False),
    "thinking-unsigned": ("complete", "", False),
    "many-pings": ("complete", "", False),
    "refusal": ("complete", "refusal", False),
    "stop-end_turn": ("complete", "", False),
    "stop-max_tokens": ("complete", "", False),
    "stop-stop_sequence": ("complete", "", False),
    "stop-tool_use": ("complete", "", True),
    "stop-pause_turn": ("complete", "", False),
    "stop-model_context_window_exceeded": ("complete", "context_overflow", False),
    "stop-compaction": ("complete", "", False),
    "stop-brand_new_reason": ("complete", "", False),
    "stop-null": ("complete", "", False),
    "stop-empty": ("complete", "", False),
    "overloaded": ("http_error", "overloaded*", False),
    "overloaded-no-retry": ("http_error", "overloaded", False),
    "rate-limit": ("http_error", "rate_limited*", False),
    "rate-limit-1s": ("http_error", "rate_limited*", False),
    "rate-limit-7s": ("http_error", "rate_limited*", False),
    "rate-limit-hour": ("http_error", "rate_limited*", False),
    "rate-limit-ms": ("http_error", "rate_limited*", False),
    "rate-limit-date": ("http_error", "rate_limited*", False),
    "rate-limit-past": ("http_error", "rate_limited*", False),
    "rate-limit-negative": ("http_error", "rate_limited*", False),
    "rate-limit-garbage": ("http_error", "rate_limited*", False),
    "rate-limit-empty": ("http_error", "rate_limited*", False),
    "spend-limit": ("http_error", "quota", False),
    "ramp-limit": ("http_error", "rate_limited*", False),
    "server-error": ("http_error", "server_error*", False),
    "bad-gateway": ("http_error", "server_error*", False),
    "unavailable": ("http_error", "server_error*", False),
    "gateway-timeout": ("http_error", "server_error*", False),
    "cdn-520": ("http_error", "server_error*", False),
    "cdn-521": ("http_error", "server_error*", False),
    "cdn-522": ("http_error", "server_error*", False),
    "cdn-523": ("http_error", "server_error*", False),
    "cdn-524": ("http_error", "server_error*", False),
    "request-timeout": ("http_error", "server_error*", False),
    "conflict": ("http_error", "server_error*", False),
    "too-large": ("http_error", "request_too_large", False),
    "too-long-413": ("http_error", "context_overflow", False),
    "unauthorized": ("http_error", "auth", False),
    "billing": ("http_error", "quota", False),
    "forbidden": ("http_error", "permission", False),
    "no-model": ("http_error", "model_not_found", False),
    "no-route": ("http_error", "invalid_request", False),
    "retryable-400": ("http_error", "invalid_request*", False),
    "overflow": ("http_error", "context_overflow", False),
    "overflow-max-tokens": ("http_error", "max_tokens_too_high", False),
    "max-tokens": ("http_error", "max_tokens_too_high", False),
    "credit": ("http_error", "quota", False),
    "unpaired": ("http_error", "unpaired", False),
    "orphan-result": ("http_error", "unpaired", False),
    "bad-thinking": ("http_error", "bad_thinking", False),
    "bad-image": ("http_error", "bad_image", False),
    "big-image": ("http_error", "bad_image", False),
    "bad-input": ("http_error", "bad_block", False),
    "empty-text": ("http_error", "bad_block", False),
    "prefill": ("http_error", "bad_block", False),
    "thinking-parameter": ("http_error", "invalid_request", False),
    "overflow-llama": ("http_error", "context_overflow", False),
    "wrapped-overflow": ("http_error", "context_overflow", False),
}


async def one_exchange(gateway: Gateway, server: RehearsalServer, heard: Heard) -> Exchange:
    client = await gateway._client(request_for(server).endpoint)
    arguments = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
    return await client.exchange(arguments, heard)


def test_the_table_is_complete() -> None:
    assert set(EXPECTED) == set(FAULTS)


@pytest.mark.parametrize("fault", sorted(EXPECTED))
async def test_one_outcome_and_no_exception(
    gateway: Gateway, impatient: Gateway, seeing: Gateway, server: RehearsalServer, fault: str
) -> None:
    outcome, kind, runnable = EXPECTED[fault]
    server.drill("slow-headers:20" if fault == "slow-headers" else fault)
    heard = Heard()
    short = seeing if fault == "thinking-forever" else impatient
    exchange = await one_exchange(short if outcome == "stalled" else gateway, server, heard)
    failure = failure_of(exchange)
    said = (failure.kind + ("*" if failure.retryable else "")) if failure else ""
    assert (exchange.outcome, said, exchange.runnable) == (outcome, kind, runnable), exchange
    assert classify(exchange).sentence
    if failure is not None and failure.kind != "refusal":
        assert exchange.detail or exchange.stop_reason
    # What would run was received whole: its arguments are one JSON object and nothing was salvaged.
    for call in exchange.tool_uses:
        if exchange.runnable and not call.error:
            assert any(block.get("id") == call.id for block in exchange.blocks)
    server.wait_for(lambda seen: all(r.done for r in seen))


async def test_the_connection_is_used_again(gateway: Gateway, server: RehearsalServer) -> None:
    heard, ended, pauses = Heard(), time.monotonic(), 0
    for _ in range(20):
        pauses += time.monotonic() - ended > 1
        assert (await one_exchange(gateway, server, heard)).runnable
        ended = time.monotonic()
    assert server.connections <= 1 + pauses, "it is let go of when nobody uses it for some seconds"
