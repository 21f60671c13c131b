"""The arguments of a request for a model, as far as model and server can take them. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from worldline.provider.address import is_first_party
from worldline.provider.catalog import ModelFacts
from worldline.provider.model import Endpoint, ModelRequest

_BINDING = "thinking-binding-controls-2026-08-01"
_FALLBACK = "server-side-fallback-2026-07-01"
_DIAGNOSIS = "cache-diagnosis-2026-04-07"
_COMPACTION = "compact-2026-09-04"


@dataclass(frozen=True, slots=True)
class Features:
    """Optional features; each is switched off for a server that refuses it."""

    cache: bool = True
    thinking: bool = True
    betas: bool = True

    def less(self) -> Features | None:
        """What to try when the server refused one of them; None when there is nothing left to leave out."""
        if self.betas:
            return replace(self, betas=False)
        if self.thinking:
            return replace(self, thinking=False)
        if self.cache:
            return replace(self, cache=False)
        return None

    def __str__(self) -> str:
        left = [name for name in ("cache", "thinking", "betas") if getattr(self, name)]
        return ", ".join(left) or "no optional features"


NOTHING = Features(False, False, False)


def features_for(endpoint: Endpoint) -> Features:
    """Only the first-party API gets optional features: other servers refuse or misread them."""
    return Features() if not endpoint.local and is_first_party(endpoint.base_url) else NOTHING


def arguments(request: ModelRequest, facts: ModelFacts, features: Features) -> dict[str, Any]:
    """Arguments of `messages.create`, without `stream`."""
    made: dict[str, Any] = {
        "model": request.endpoint.model,
        "max_tokens": request.max_tokens,
        "messages": request.messages,
    }
    if request.system:
        made["system"] = request.system
    if request.tools:
        made["tools"] = request.tools
    extra = dict(request.extra)
    previous = extra.pop("previous_message_id", "")
    thinking_off = extra.pop("thinking", "") == "off"
    for key in ("tool_choice", "stop_sequences", "metadata"):
        if key in extra:
            made[key] = extra.pop(key)
    body: dict[str, Any] = dict(extra.pop("body", {}))
    body.update(extra)
    betas: list[str] = []
    if features.cache:
        made["cache_control"] = {"type": "ephemeral"}
    if features.thinking and facts.thinking == "adaptive" and not thinking_off:
        made["thinking"] = {"type": "adaptive", "display": "summarized"}
        if features.betas:
            made["thinking"]["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
            betas.append(_BINDING)
    if features.thinking and request.effort and request.effort in facts.efforts:
        made["output_config"] = {"effort": request.effort}
    if features.betas and facts.refusal_fallback:
        body["fallbacks"] = "default"
        betas.append(_FALLBACK)
    if features.betas and features.cache:
        body["diagnostics"] = {"previous_message_id": previous or None}
        betas.append(_DIAGNOSIS)
    if "compaction" in body:
        # Never left out: without it the same request would be answered as if the person had asked.
        betas.append(_COMPACTION)
        body.pop("fallbacks", None)
    if betas:
        made["extra_headers"] = {"anthropic-beta": ",".join(betas)}
    if body:
        made["extra_body"] = body
    return made


_THINKING = ("thinking", "redacted_thinking")


def without_thinking(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages without thinking and other blocks that only their own server reads; a message left empty says so,
    so that turns still alternate."""
    return _without(messages, (*_THINKING, "fallback", "compaction"))


def _without(messages: list[dict[str, Any]], kinds: tuple[str, ...]) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = []
    for index, message in enumerate(messages):
        content = message.get("content")
        if not isinstance(content, list) or not any(_kind(block) in kinds for block in content):
            result.append(message)
            continue
        kept: list[Any] = []
        for block in content:
            if (
                _kind(block) == "compaction"
                and isinstance(block.get("content"), str)
                and block["content"].strip()
            ):
                # A summary that only its own server can read by itself: others get its text.
                kept.append({"type": "text", "text": block["content"]})
            elif _kind(block) not in kinds:
                kept.append(block)
        made = {**message, "content": kept or [{"type": "text", "text": "[thinking left out]"}]}
        if index == 0 and message.get("role") == "assistant":
            # A summary may open a conversation only as its own server wrote it.
            made["role"] = "user"
        result.append(made)
    opened = bool(messages) and messages[0].get("role") == "assistant" and result[0]["role"] == "user"
    if opened and len(result) > 1 and result[1]["role"] == "user" and isinstance(result[1]["content"], list):
        first, second = result[:2]
        result[:2] = [{**first, "content": [*first["content"], *second["content"]]}]
    return result


def _kind(block: Any) -> str:
    return str(block.get("type")) if isinstance(block, dict) else ""
