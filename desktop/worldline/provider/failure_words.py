"""A failure in words: what it is called, what can be done about it, and whether trying again can help."""

from __future__ import annotations

import re

from worldline.core.log import mask
from worldline.core.stop import StopReason
from worldline.provider.model import Exchange, Failure, FailureKind
from worldline.provider.said import searchable

_USED_AND_LIMIT = (
    re.compile(r"(\d+) tokens? > (\d+) maximum"),
    re.compile(r"exceed context limit: (\d+) \+ \d+ > (\d+)"),
    re.compile(r"request \((\d+) tokens\) exceeds the available context size \((\d+)"),
)
_LIMIT_ONLY = re.compile(r"maximum context length is (\d+) tokens|max(?:imum)? allowed.*?(\d+) tokens")
_NOBODY_THERE = re.compile(r"ConnectionRefused|gaierror|\[Errno (?:61|111)\]|\[WinError (?:1225|10061)\]")
"""Connecting was refused, or the name is not known: nothing broke, the address or the server is at fault."""
_REQUESTED = re.compile(r"you requested (\d+) tokens")
_MAX_TOKENS = re.compile(r"max_tokens: (\d+) > (\d+)")

_WORDS: dict[FailureKind, tuple[StopReason, bool, str, str, str]] = {
    # kind: stop reason, retryable, sentence, advice, offer
    "overloaded": (StopReason.OVERLOADED, True, "The model is overloaded.", "Try again in a few minutes, or choose another model.", "retry"),
    "rate_limited": (StopReason.RATE_LIMITED, True, "The rate limit is reached.", "Wait a little, or choose another model.", "retry"),
    "server_error": (StopReason.PROVIDER_ERROR, True, "The model's server failed.", "Try again in a few minutes, or choose another model.", "retry"),
    "network": (StopReason.NETWORK_ERROR, True, "The connection to the model broke.", "Check the network, then try again.", "retry"),
    "stalled": (StopReason.NETWORK_ERROR, True, "The model stopped answering.", "Try again, or choose another model.", "retry"),
    "protocol": (StopReason.PROVIDER_ERROR, True, "What came back is not a valid answer.", "Check the address of the server in the settings, then try again.", "settings"),
    "auth": (StopReason.AUTH_ERROR, False, "The key was refused.", "Enter a valid key in the settings.", "login"),
    "no_key": (StopReason.AUTH_ERROR, False, "There is no key for the model.", "Enter one in the settings, set ANTHROPIC_API_KEY, or name a server of your own.", "login"),
    "permission": (StopReason.AUTH_ERROR, False, "The key may not use this.", "Use a key with access to this model, or choose another model.", "settings"),
    "quota": (StopReason.QUOTA, False, "There is no credit left, or a spend limit is reached.", "Add credit or raise the limit on the billing page.", "billing"),
    "model_not_found": (StopReason.PROVIDER_ERROR, False, "The server does not have this model.", "Choose another model in the settings.", "settings"),
    "context_overflow": (StopReason.CONTEXT_LIMIT, False, "The conversation is longer than the model can read.", "Compact it, go back to an earlier step, or choose a model with a larger window.", "compact"),
    "max_tokens_too_high": (StopReason.OUTPUT_LIMIT, False, "More output was asked for than fits.", "It is asked for again with less.", "compact"),
    "request_too_large": (StopReason.CONTEXT_LIMIT, False, "The request has too many bytes.", "Leave out images or large results, or compact.", "compact"),
    "bad_image": (StopReason.PROVIDER_ERROR, False, "The model cannot read an image in the conversation.", "Leave the image out of this branch.", ""),
    "bad_thinking": (StopReason.PROVIDER_ERROR, False, "The model does not accept thinking of an earlier answer.", "It is left out and the request sent again.", ""),
    "bad_block": (StopReason.PROVIDER_ERROR, False, "The model refuses a part of the conversation.", "Leave that part out of this branch, or go back before it.", ""),
    "unpaired": (StopReason.PROVIDER_ERROR, False, "The model refuses the conversation: a tool call lacks its result, or the reverse.", "Go back before that call.", ""),
    "invalid_request": (StopReason.PROVIDER_ERROR, False, "The server refused the request.", "Read what it said; check model and address in the settings.", "settings"),
    "refusal": (StopReason.REFUSAL, False, "The model declined to answer.", "Rephrase the request, or go back before it.", ""),
    "cancelled": (StopReason.ABORTED, False, "Stopped.", "", ""),
    "unknown": (StopReason.UNKNOWN, False, "The answer ended in a way that is not known.", "Read what the server said, then try again.", "retry"),
}  # fmt: skip


def describe(kind: FailureKind, exchange: Exchange) -> Failure:
    """The failure of this kind, with what the exchange adds to it."""
    stop, retryable, sentence, advice, offer = _WORDS[kind]
    said = exchange.detail
    wish = exchange.raw.get("should_retry")
    if wish == "false":
        retryable = False
    elif wish == "true" and kind in ("invalid_request", "unknown"):
        retryable = True
    if exchange.error_type == "unsendable":
        sentence = "The request could not be sent."
    if kind in ("rate_limited", "overloaded") and (exchange.retry_after_s or 0) >= 60:
        minutes = round((exchange.retry_after_s or 0) / 60)
        advice = f"The server asks to wait {minutes} min. Until then, choose another model."
    if kind == "network" and exchange.outcome == "truncated":
        sentence = "The answer broke off before it was complete."
    if kind == "network" and exchange.outcome == "transport" and _NOBODY_THERE.search(said):
        sentence = "No server answers at this address."
        advice = "Check that it runs, its address in the settings and the network, then try again."
    if kind == "stalled" and exchange.error_code == "headers":
        sentence = "The server takes the request, but does not answer."
        advice = "Try again; if it stays like this, check the server and its address in the settings."
    if kind == "stalled" and exchange.error_code == "only_thinking":
        # The same request would think just as long: it is not sent again unchanged.
        retryable = False
        sentence = "The model thought for very long without writing anything."
        advice = "Ask for less at once, or lower the effort."
    if kind == "refusal":
        details = exchange.raw.get("stop_details")
        if isinstance(details, dict):
            said = str(details.get("explanation") or details.get("category") or "")
    if kind == "invalid_request" and exchange.status == 404:
        sentence = "The server has no such address."
        advice = "Check the address of the server in the settings."
    failure = Failure(kind, retryable, stop, sentence, advice, offer, api_said=mask(said))
    _numbers(failure, searchable(exchange))
    return failure


def _numbers(failure: Failure, text: str) -> None:
    if failure.kind == "max_tokens_too_high":
        most = _MAX_TOKENS.search(text)
        if most:
            failure.used_tokens, failure.limit_tokens = int(most[1]), int(most[2])
            return
    if failure.kind in ("context_overflow", "max_tokens_too_high"):
        for pattern in _USED_AND_LIMIT:
            found = pattern.search(text)
            if found:
                failure.used_tokens, failure.limit_tokens = int(found[1]), int(found[2])
                return
        limit = _LIMIT_ONLY.search(text)
        if limit:
            failure.limit_tokens = int(limit[1] or limit[2])
        used = _REQUESTED.search(text)
        if used:
            failure.used_tokens = int(used[1])
