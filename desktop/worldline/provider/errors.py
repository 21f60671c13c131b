"""A failed exchange, classified: what it means.

The API has no error codes for most of what matters, so texts are matched; numbers in ids or request ids never are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from worldline.provider.failure_words import describe
from worldline.provider.model import Exchange, Failure, FailureKind
from worldline.provider.said import searchable

_TRANSIENT_STATUS = frozenset(
    {408, 409, 425, 499, 500, 502, 503, 504, 520, 521, 522, 523, 524, 527, 529, 530}
)


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_NOT_OVERFLOW = _any(
    r"rate.?limit", r"too many requests", r"ThrottlingException", r"tokens per (minute|day|hour)"
)
_OVERFLOW = _any(
    r"prompt is too long",
    r"input is too long",
    r"prompt too long; exceed",
    r"exceeds? (the )?(model )?(available )?context (window|size|length|limit)",
    r"exceeds the (model's )?(maximum )?context",
    r"exceed_context_size",
    r"context_length_exceeded",
    r"maximum context length",
    r"tokens to keep from the initial prompt is greater than the context",
    r"greater than the context length",
    r"context window (is )?(full|exceeded)",
    r"too many tokens in the (prompt|request)",
    r"request size exceeds model context",
    r"exceeds the maximum number of (input )?tokens",
    r"maximum prompt length",
    r"prompt token count.{0,40}exceeds",
    r"too many tokens: .{0,60}prompt",
    r"reduce the length of the (messages|prompt|input)",
    r"must have less than \d+ tokens",
    r"range of input length should be",
    r"prompt exceeds max(imum)? length",
    r"exceeded model token limit",
    r"context window exceeds",
    r"when context the overflows",
    r"tokens_limit_reached",
    r"request body too large for .{1,80} tokens",
    r"prompt contains \d+ tokens.{0,60}too large",
)
_LONG_TIER = _any(
    r"long[- ]context (beta|tier|request|usage|window)",
    r"context[- ]1m.{0,60}not (available|supported|enabled)",
)
"""A larger window that this account does not have: the usual one is left, so the conversation is made to fit that."""
_OVERFLOW_MAX = _any(
    r"input length and `?max_tokens`? exceed context limit", r"tokens \+ `?max_new_tokens`? must be <="
)
_MAX_HIGH = _any(
    r"max_tokens: \d+ > \d+",
    r"max_tokens.{0,40}maximum allowed number of output",
    r"must be greater than `?thinking\.budget_tokens",
)
_BYTES = _any(
    r"request_too_large",
    r"request exceeds the maximum (allowed )?(size|number of bytes)",
    r"request_body_too_large",
)
_CREDIT = _any(
    r"credit balance is too low",
    r"insufficient.{0,20}(credit|quota|balance|funds)",
    r"billing_error",
    r"payment required",
    r"exceeded your current quota",
    r"insufficient_quota",
)
_SPEND = _any(
    r"spend.?limit",
    r"spending limit",
    r"usage limit.{0,40}(reached|exceeded)",
    r"reached your specified API usage limits",
)
_IMAGE = _any(
    r"image dimensions? exceed",
    r"image exceeds \d+ ?MB",
    r"could not process image",
    r"image_dimensions_too_large",
    r"invalid image",
    r"unable to process.{0,20}image",
    r"image.{0,30}(base64|media.?type).{0,40}(invalid|does not match|appears)",
)
_THINKING = _any(
    r"signature`? in `?thinking",
    r"`?redacted_thinking`? ?(blocks?|`)",
    r"expected `thinking`",
    r"thinking is disabled, an",
    r"final block in an assistant message cannot be `?thinking",
    r"first block must be thinking",
    r"thinking`? blocks? .{0,60}(cannot be modified|missing)",
    r"thinking\.(signature|thinking|data)\b",
    r"thinking.{0,40}signature.{0,40}(invalid|expired|mismatch|verif)",
    r"invalid.{0,20}thinking.{0,20}signature",
    r"thought_?signature",
)
_UNPAIRED = _any(
    r"`?tool_use`? ids were found without",
    r"unexpected `?tool_use_id",
    r"each tool_use must have a single result",
    r"`?tool_use`? ids must be unique",
    r"tool_use.{0,40}without.{0,40}tool_result",
    r"tool_call_ids? did not have response",
    r"must be followed by tool messages",
)
_FEATURE = _any(
    r"anthropic-beta",
    r"extra inputs are not permitted",
    r"block_binding",
    r"`?fallbacks`?:? ",
    r"unknown (field|parameter)",
    r"unrecognized (field|request argument)",
    r"cache_control.{0,40}(not (supported|permitted|allowed))",
    r"diagnostics",
)
_THINKING_PARAMETER = _any(
    r'thinking\.type\.\w+"? is not supported',
    r"thinking.{0,40}not supported (for|by) this model",
    r"does not support.{0,20}(thinking|effort)",
    r"output_config",
)
_BLOCK = _any(
    r"content blocks? must (be non-empty|contain non-whitespace)",
    r"must have non-empty content",
    r"at least one message is required",
    r"cannot end with trailing whitespace",
    r"assistant message prefill",
    r"roles must alternate",
    r"should match pattern",
    r"input should be a valid dictionary",
    r"cache_control may be provided",
    r"no user query found",
)
_NO_MODEL = _any(
    r"model.{0,80}(not found|does not exist|not available|no longer available|not supported)",
    r"unknown model",
    r"no such model",
    r"try pulling it first",
)
_OVERLOADED = _any(r"overloaded", r"at capacity", r"no capacity", r"server is busy", r"high demand")
_RATE = _any(r"rate.?limit", r"too many requests", r"throttl", r"ramp_limit_exceeded")


@dataclass(frozen=True, slots=True)
class _Rule:
    kind: FailureKind
    pattern: re.Pattern[str]
    statuses: frozenset[int] | None = None
    under_limits: bool = False
    """It holds in the words of a rate limit as well."""


_4XX = frozenset({0, 200, 400, 403, 404, 413, 422, 429, 500})
_RULES: tuple[_Rule, ...] = (
    # Order matters: the special before the general.
    _Rule("context_overflow", _LONG_TIER, under_limits=True),
    _Rule("quota", _CREDIT, under_limits=True),
    _Rule("quota", _SPEND, frozenset({0, 200, 400, 402, 403, 429}), under_limits=True),
    _Rule("max_tokens_too_high", _OVERFLOW_MAX),
    _Rule("max_tokens_too_high", _MAX_HIGH),
    _Rule("request_too_large", _BYTES),
    _Rule("context_overflow", _OVERFLOW, _4XX),
    _Rule("unpaired", _UNPAIRED, _4XX),
    _Rule("bad_image", _IMAGE, _4XX),
    _Rule("bad_thinking", _THINKING, _4XX),
    _Rule("bad_block", _BLOCK, _4XX),
)

_BY_TYPE: dict[str, FailureKind] = {
    "overloaded_error": "overloaded",
    "rate_limit_error": "rate_limited",
    "authentication_error": "auth",
    "permission_error": "permission",
    "billing_error": "quota",
    "not_found_error": "model_not_found",
    "NotFoundError": "model_not_found",
    "request_too_large": "request_too_large",
    "exceed_context_size_error": "context_overflow",
    "api_error": "server_error",
    "internal_error": "server_error",
    "internal_server_error": "server_error",
    "timeout_error": "server_error",
    "service_unavailable_error": "server_error",
    "conflict_error": "server_error",
}
_BY_CODE: dict[str, FailureKind] = {
    "no_key": "no_key",  # ours: nothing was sent
    "enforced_spend_limit_reached": "quota",
    "contract_spend_limit_reached": "quota",
    "ramp_limit_exceeded": "rate_limited",
    "compaction_unavailable": "overloaded",
    "image_dimensions_too_large": "bad_image",
    "request_body_too_large_after_decoding": "request_too_large",
}
_BY_STATUS: dict[int, FailureKind] = {
    401: "auth",
    402: "quota",
    403: "permission",
    404: "model_not_found",
    413: "request_too_large",
    429: "rate_limited",
    529: "overloaded",
}


def classify(exchange: Exchange) -> Failure:
    """What a failed exchange means. Total: whatever came back has a kind."""
    return describe(_kind(exchange), exchange)


def _kind(exchange: Exchange) -> FailureKind:
    outcome = exchange.outcome
    if outcome == "cancelled":
        return "cancelled"
    if outcome == "stalled":
        return "stalled"
    if outcome == "transport":
        return "network"
    if outcome == "complete":
        return _kind_of_reply(exchange)
    if outcome == "truncated":
        return "network"
    if outcome == "protocol":
        return "protocol"
    return _kind_of_error(exchange)


def _kind_of_reply(exchange: Exchange) -> FailureKind:
    if exchange.stop_reason == "refusal":
        return "refusal"
    if exchange.stop_reason == "model_context_window_exceeded":
        return "context_overflow"
    return "unknown"


def _kind_of_error(exchange: Exchange) -> FailureKind:
    if exchange.error_code in _BY_CODE:
        return _BY_CODE[exchange.error_code]
    if exchange.error_type == "unsendable":
        return "bad_block"
    text = searchable(exchange)
    status = exchange.status
    limited = status == 429 or exchange.error_type == "rate_limit_error" or _NOT_OVERFLOW.search(text)
    for rule in _RULES:
        if rule.statuses is not None and status not in rule.statuses:
            continue
        if limited and not rule.under_limits:
            continue
        if rule.pattern.search(text):
            return rule.kind
    by_type = _BY_TYPE.get(exchange.error_type)
    if by_type is not None and not (by_type == "server_error" and status in _BY_STATUS):
        return _not_found(by_type, exchange, text)
    if status in _BY_STATUS:
        return _not_found(_BY_STATUS[status], exchange, text)
    if status >= 500 or status in _TRANSIENT_STATUS:
        return "overloaded" if _OVERLOADED.search(text) else "server_error"
    # An error event, or a body without a type: the words decide.
    if _RATE.search(text):
        return "rate_limited"
    if _OVERLOADED.search(text):
        return "overloaded"
    if _NO_MODEL.search(text):
        return "model_not_found"
    if 400 <= status < 500 or exchange.error_type == "invalid_request_error":
        return "invalid_request"
    return "server_error"


def _not_found(kind: FailureKind, exchange: Exchange, text: str) -> FailureKind:
    """A 404 is the model's only if the answer is about a model; else it is the address that is wrong."""
    if kind != "model_not_found" or "model" in text.lower():
        return kind
    return "invalid_request" if exchange.status == 404 else kind


def feature_refused(exchange: Exchange) -> bool:
    """The server does not know an optional feature we asked for; without it the same request may pass."""
    if exchange.status not in (400, 404, 422):
        return False
    text = searchable(exchange)
    return bool(_FEATURE.search(text) or _THINKING_PARAMETER.search(text))
