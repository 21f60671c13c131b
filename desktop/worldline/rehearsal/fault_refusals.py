"""Refusals: answers with an HTTP status other than 200."""

from __future__ import annotations

import json
from typing import Any

from worldline.rehearsal.events import error_body
from worldline.rehearsal.faults import refusal

_OVERLOADED = error_body("overloaded_error", "Overloaded")
_LIMIT = error_body("rate_limit_error", "This request would exceed your organization's rate limit")
_HTML = "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"


def _invalid(text: str) -> dict[str, Any]:
    return error_body("invalid_request_error", text)


refusal("overloaded", 529, _OVERLOADED, "529 overloaded")
refusal(
    "overloaded-no-retry", 529, _OVERLOADED, "529 that says not to try again", (("x-should-retry", "false"),)
)
refusal("rate-limit", 429, _LIMIT, "429 without retry-after")
refusal("rate-limit-1s", 429, _LIMIT, "429, retry after 1 s", (("retry-after", "1"),))
refusal("rate-limit-7s", 429, _LIMIT, "429, retry after 7 s", (("retry-after", "7"),))
refusal("rate-limit-hour", 429, _LIMIT, "429, retry after an hour", (("retry-after", "3600"),))
refusal("rate-limit-ms", 429, _LIMIT, "429, retry after 50 ms", (("retry-after-ms", "50"),))
refusal(
    "rate-limit-date", 429, _LIMIT, "429 with a date", (("retry-after", "Wed, 21 Oct 2037 07:28:00 GMT"),)
)
refusal(
    "rate-limit-past",
    429,
    _LIMIT,
    "429 with a past date",
    (("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"),),
)
refusal("rate-limit-negative", 429, _LIMIT, "429 with a negative wait", (("retry-after", "-5"),))
refusal("rate-limit-garbage", 429, _LIMIT, "429 with a wait that is no time", (("retry-after", "soon"),))
refusal("rate-limit-empty", 429, _LIMIT, "429 with an empty wait", (("retry-after", ""),))
refusal(
    "spend-limit",
    429,
    error_body("rate_limit_error", "limit", error_code="enforced_spend_limit_reached"),
    "429 because the spend limit is reached",
)
refusal(
    "ramp-limit",
    429,
    error_body("rate_limit_error", "x", error_code="ramp_limit_exceeded"),
    "429, ramp limit",
)
refusal("server-error", 500, error_body("api_error", "Internal server error"), "500")
refusal("bad-gateway", 502, _HTML, "502 with an HTML page", content_type="text/html")
refusal("unavailable", 503, error_body("api_error", "Service unavailable"), "503")
refusal("gateway-timeout", 504, error_body("timeout_error", "Gateway timeout"), "504")
for _code in (520, 521, 522, 523, 524):
    refusal(
        f"cdn-{_code}", _code, _HTML.replace("502", str(_code)), f"{_code} of a CDN", content_type="text/html"
    )
refusal("request-timeout", 408, error_body("timeout_error", "Request timeout"), "408")
refusal("conflict", 409, error_body("conflict_error", "Conflict"), "409")
refusal(
    "too-large",
    413,
    {"error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}},
    "413, bytes",
)
refusal(
    "too-long-413", 413, _invalid("Request size exceeds model context window"), "413, but it means tokens"
)
refusal("unauthorized", 401, error_body("authentication_error", "invalid x-api-key"), "401")
refusal("billing", 402, error_body("billing_error", "Your account has an unpaid balance."), "402")
refusal(
    "forbidden",
    403,
    error_body("permission_error", "Your API key does not have permission to use this."),
    "403",
)
refusal("no-model", 404, error_body("not_found_error", "model: claude-nonesuch-9"), "404, no such model")
refusal(
    "no-route", 404, "404 page not found", "404 of a server without this route", content_type="text/plain"
)
refusal("retryable-400", 400, _invalid("x"), "400 that says to try again", (("x-should-retry", "true"),))

_TEXTS: dict[str, tuple[str, str]] = {
    "overflow": ("prompt is too long: 208310 tokens > 200000 maximum", "the prompt is too long"),
    "overflow-max-tokens": (
        "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or "
        "`max_tokens` and try again",
        "prompt and max_tokens together are too long",
    ),
    "max-tokens": (
        "max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens for claude-haiku-4-5",
        "max_tokens is more than the model can do",
    ),
    "credit": (
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or "
        "purchase credits.",
        "no credit left",
    ),
    "unpaired": (
        "messages.33: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_429500. Each "
        "`tool_use` block must have a corresponding `tool_result` block in the next message.",
        "a call without a result",
    ),
    "orphan-result": (
        "messages.12.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_x. Each `tool_result` "
        "block must have a corresponding `tool_use` block in the previous message.",
        "a result without a call",
    ),
    "bad-thinking": (
        "messages.3.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.",
        "a thinking block of another conversation",
    ),
    "bad-image": (
        "messages.5.content.1.image.source.base64: Could not process image",
        "an image that cannot be read",
    ),
    "big-image": (
        "messages.7.content.2.image.source.base64: At least one of the image dimensions exceed max allowed size: 8000 "
        "pixels",
        "an image that is too large",
    ),
    "bad-input": (
        "messages.61.content.0.tool_use.input: Input should be a valid dictionary",
        "a bad block in the history",
    ),
    "empty-text": ("messages: text content blocks must be non-empty", "an empty text block"),
    "prefill": (
        "This model does not support assistant message prefill. The conversation must end with a user message.",
        "the history ends with the assistant",
    ),
    "thinking-parameter": (
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
        '"output_config.effort" to control thinking behavior.',
        "a way of thinking the model does not know",
    ),
}
for _name, (_text, _about) in _TEXTS.items():
    refusal(_name, 400, _invalid(_text), _about)
refusal(
    "overflow-llama",
    400,
    {
        "error": {
            "code": 400,
            "message": "request (12024 tokens) exceeds the available context size (8192 tokens), try increasing it",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 12024,
            "n_ctx": 8192,
        }
    },
    "a local server's context is too small",
)
refusal(
    "wrapped-overflow",
    400,
    {
        "error": {
            "message": "Provider returned error",
            "code": 400,
            "metadata": {"raw": json.dumps(_invalid("prompt is too long: 300000 tokens > 200000 maximum"))},
        }
    },
    "an overflow wrapped in the error of a reseller",
)
