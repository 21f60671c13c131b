"""The texts of servers, each to its one meaning."""

from __future__ import annotations

import json
from typing import Any

import pytest

from worldline.core.stop import StopReason
from worldline.provider.errors import classify, feature_refused
from worldline.provider.model import Exchange

INVALID = "invalid_request_error"


def refused(status: int, text: str, kind: str = "", code: str = "", body: Any = None) -> Exchange:
    exchange = Exchange("http_error", status=status, error_type=kind, error_code=code, detail=text)
    if body is not None:
        exchange.raw["body"] = body
    return exchange


TEXTS: list[tuple[int, str, str]] = [
    (400, "prompt is too long: 208310 tokens > 200000 maximum", "context_overflow"),
    (413, "Request size exceeds model context window", "context_overflow"),
    (400, "Input is too long for requested model.", "context_overflow"),
    (400, "request (4476 tokens) exceeds the available context size (4096 tokens), try increasing it", "context_overflow"),
    (400, "tokens to keep from the initial prompt is greater than the context length", "context_overflow"),
    (400, "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens", "context_overflow"),
    (500, "prompt too long; exceeded max context length by 12 tokens", "context_overflow"),
    (400, "context_length_exceeded", "context_overflow"),
    (400, "Your input exceeds the context window of this model.", "context_overflow"),
    (400, "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).", "context_overflow"),
    (400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens.", "context_overflow"),
    (400, "prompt token count of 154000 exceeds the limit of 128000", "context_overflow"),
    (400, "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4500", "context_overflow"),
    (400, "Please reduce the length of the messages or completion.", "context_overflow"),
    (422, "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000", "context_overflow"),
    (400, "Range of input length should be [1, 30720]", "context_overflow"),
    (400, "Prompt exceeds max length", "context_overflow"),
    (400, "Invalid request: Your request exceeded model token limit: 8192", "context_overflow"),
    (400, "invalid params, context window exceeds limit (2013)", "context_overflow"),
    (400, "Trying to keep the first 8191 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens", "context_overflow"),
    (413, "Request body too large for gpt-4o model. Max size: 8000 tokens.", "context_overflow"),
    (400, "Prompt contains 40960 tokens and 0 draft tokens, too large for model with 32768 maximum context length", "context_overflow"),
    (400, "credits required for the long context tier", "context_overflow"),
    (429, "Extra usage is required for long context requests.", "context_overflow"),
    (400, "The long context beta is not yet available for this subscription.", "context_overflow"),
    (422, "`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 4000 `inputs` tokens and 500 `max_new_tokens`", "max_tokens_too_high"),
    (400, "messages.1.content.0.thinking.signature: Field required", "bad_thinking"),
    (400, "The signature of the thinking block is invalid or has expired: thinking signature mismatch", "bad_thinking"),
    (400, "messages.1.content.0: thought_signature is missing", "bad_thinking"),
    (400, "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again", "max_tokens_too_high"),
    (400, "max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens for claude-haiku-4-5", "max_tokens_too_high"),
    (400, "`max_tokens` must be greater than `thinking.budget_tokens`.", "max_tokens_too_high"),
    (413, "Request exceeds the maximum size", "request_too_large"),
    (400, "messages.33: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", "unpaired"),
    (400, "messages.12.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", "unpaired"),
    (400, "each tool_use must have a single result. Found multiple `tool_result` blocks with id: toolu_1", "unpaired"),
    (400, "messages.1.content.1: `tool_use` ids must be unique", "unpaired"),
    (400, "messages.1.content.1: tool_use ids must be unique", "unpaired"),
    (400, "messages.2.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", "bad_block"),
    (400, "messages.61.content.0.tool_use.input: Input should be a valid dictionary", "bad_block"),
    (400, "messages.0: all messages must have non-empty content except for the optional final assistant message", "bad_block"),
    (400, "messages: text content blocks must be non-empty", "bad_block"),
    (400, "messages: text content blocks must contain non-whitespace text", "bad_block"),
    (400, "messages: at least one message is required", "bad_block"),
    (400, "messages: final assistant content cannot end with trailing whitespace", "bad_block"),
    (400, "This model does not support assistant message prefill. The conversation must end with a user message.", "bad_block"),
    (400, 'messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row', "bad_block"),
    (400, "A maximum of 4 blocks with cache_control may be provided. Found 5.", "bad_block"),
    (500, "no user query found in messages", "bad_block"),
    (400, "messages.3.content.0: Invalid `signature` in `thinking` block", "bad_thinking"),
    (400, "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.", "bad_thinking"),
    (400, "Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled, a final `assistant` message must start with a thinking block", "bad_thinking"),
    (400, "If an assistant message contains any thinking blocks, the first block must be thinking or redacted_thinking. Found text.", "bad_thinking"),
    (400, "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`.", "bad_thinking"),
    (400, "The final block in an assistant message cannot be `thinking`.", "bad_thinking"),
    (400, "messages.7.content.2.image.source: At least one of the image dimensions exceed max allowed size: 8000 pixels", "bad_image"),
    (400, "At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels", "bad_image"),
    (400, "messages.5.content.1.image.source.base64: image exceeds 5 MB maximum: 6096280 bytes > 5242880 bytes", "bad_image"),
    (400, "image exceeds 10 MB maximum: 12096280 bytes > 10485760 bytes", "bad_image"),
    (400, "Could not process image", "bad_image"),
    (400, "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.", "quota"),
    (400, "You have reached your specified API usage limits. You will regain access on 2026-12-01", "quota"),
    (402, "", "quota"),
    (429, "You exceeded your current quota, please check your plan and billing details.", "quota"),
    (429, "Number of request tokens has exceeded your per-minute rate limit", "rate_limited"),
    (429, "ThrottlingException: Too many tokens, please wait before trying again.", "rate_limited"),
    (400, "ThrottlingException: Too many tokens, please wait before trying again.", "rate_limited"),
    (429, "prompt is too long for your rate limit", "rate_limited"),
    (529, "Overloaded", "overloaded"),
    (503, "The model is at capacity", "overloaded"),
    (500, "Internal server error", "server_error"),
    (401, "invalid x-api-key", "auth"),
    (403, "Your API key does not have permission to use the specified resource.", "permission"),
    (404, "model: claude-nonesuch", "model_not_found"),
    (404, 'model "llama9" not found, try pulling it first', "model_not_found"),
    (404, "404 page not found", "invalid_request"),
    (422, "something else", "invalid_request"),
    (418, "I'm a teapot", "invalid_request"),
    (400, "tools: Tool names must be unique.", "invalid_request"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "text", "kind"), TEXTS)
@pytest.mark.parametrize("typed", [True, False])
def test_texts(status: int, text: str, kind: str, typed: bool) -> None:
    failure = classify(refused(status, text, INVALID if typed and status == 400 else ""))
    assert failure.kind == kind
    assert failure.sentence and failure.api_said == text


@pytest.mark.parametrize("status", [408, 409, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529])
def test_transient_statuses_are_tried_again(status: int) -> None:
    assert classify(refused(status, "")).retryable


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 413, 422, 451])
def test_others_are_not(status: int) -> None:
    assert not classify(refused(status, "")).retryable


@pytest.mark.parametrize(
    "text",
    [
        "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_429500529.",
        "messages.3: `tool_use` ids were found without `tool_result` blocks: toolu_rate_limit_429, toolu_overloaded",
        "bad request (request id: req_529_overloaded_error)",
    ],
)
def test_digits_and_words_in_ids_mean_nothing(text: str) -> None:
    assert classify(refused(400, text, INVALID)).kind in ("unpaired", "invalid_request")


def test_how_much() -> None:
    failure = classify(refused(400, "prompt is too long: 208310 tokens > 200000 maximum", INVALID))
    assert (failure.used_tokens, failure.limit_tokens) == (208_310, 200_000)
    failure = classify(
        refused(400, "request (12024 tokens) exceeds the available context size (8192 tokens)")
    )
    assert (failure.used_tokens, failure.limit_tokens) == (12_024, 8_192)
    failure = classify(
        refused(400, "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens")
    )
    assert (failure.used_tokens, failure.limit_tokens) == (9000, 8192)
    failure = classify(
        refused(400, "max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens")
    )
    assert failure.limit_tokens == 64_000


def test_texts_inside_texts() -> None:
    inner = json.dumps(
        {"type": "error", "error": {"message": "prompt is too long: 300000 tokens > 200000 maximum"}}
    )
    body = {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": inner}}}
    failure = classify(refused(400, "Provider returned error", body=body))
    assert (failure.kind, failure.limit_tokens) == ("context_overflow", 200_000)


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        ("enforced_spend_limit_reached", "quota", False),
        ("contract_spend_limit_reached", "quota", False),
        ("ramp_limit_exceeded", "rate_limited", True),
        ("image_dimensions_too_large", "bad_image", False),
    ],
)
def test_codes_come_before_the_status(code: str, kind: str, retryable: bool) -> None:
    failure = classify(refused(429, "limit", "rate_limit_error", code))
    assert (failure.kind, failure.retryable) == (kind, retryable)


def test_error_events_are_classified_by_their_type() -> None:
    for kind, expected in (("overloaded_error", "overloaded"), ("rate_limit_error", "rate_limited"),
                           ("api_error", "server_error"), ("internal_error", "server_error"),
                           ("invalid_request_error", "invalid_request"), ("", "server_error")):  # fmt: skip
        event = Exchange("error_event", status=200, error_type=kind, detail="words")
        assert classify(event).kind == expected


def test_outcomes_without_an_answer() -> None:
    assert classify(Exchange("truncated")).stop_reason is StopReason.NETWORK_ERROR
    assert classify(Exchange("transport")).retryable
    assert classify(Exchange("protocol")).kind == "protocol"
    assert classify(Exchange("cancelled")).stop_reason is StopReason.ABORTED
    assert classify(Exchange("stalled")).retryable
    assert not classify(Exchange("stalled", error_code="only_thinking")).retryable
    refusal = Exchange("complete", stop_reason="refusal")
    refusal.raw["stop_details"] = {"category": "cyber", "explanation": "It may do harm."}
    assert classify(refusal).api_said == "It may do harm."
    assert (
        classify(Exchange("complete", stop_reason="model_context_window_exceeded")).kind == "context_overflow"
    )


def test_the_servers_wish_about_trying_again() -> None:
    exchange = refused(529, "Overloaded")
    exchange.raw["should_retry"] = "false"
    assert not classify(exchange).retryable
    exchange = refused(400, "x")
    exchange.raw["should_retry"] = "true"
    assert classify(exchange).retryable


def test_secrets_are_masked() -> None:
    assert "sk-ant" not in classify(refused(401, "invalid key sk-ant-api03-abcdefghijkl")).api_said


@pytest.mark.parametrize(
    ("text", "refused_feature"),
    [
        ("Unexpected value(s) `thinking-binding-controls-2026-08-01` for the `anthropic-beta` header.", True),
        ("fallbacks: Extra inputs are not permitted", True),
        ('"thinking.type.adaptive" is not supported for this model.', True),
        ("tools: Tool names must be unique.", False),
        ("messages: text content blocks must be non-empty", False),
    ],
)
def test_refused_features(text: str, refused_feature: bool) -> None:
    assert feature_refused(refused(400, text, INVALID)) is refused_feature
    assert not feature_refused(refused(500, text))


@pytest.mark.parametrize(
    "said",
    [
        "ConnectionRefusedError: [Errno 111] Connect call failed ('127.0.0.1', 9)",
        "OSError: Multiple exceptions: [Errno 111] Connect call failed ('::1', 9, 0, 0), [Errno 111] Connect call failed",
        "gaierror: [Errno -2] Name or service not known",
    ],
)
def test_an_address_where_nobody_answers_is_not_called_a_broken_connection(said: str) -> None:
    failure = classify(Exchange("transport", detail=said))
    assert failure.kind == "network" and failure.retryable
    assert failure.sentence == "No server answers at this address."
    assert "address" in failure.advice
    broken = classify(Exchange("transport", detail="ReadError: the other side closed the connection"))
    assert broken.sentence == "The connection to the model broke."
