"""Whether prompts are read from the server's cache, and if not, why.

A miss costs money and time and has a reason that can be removed, so each is explained: by the server where it says,
else by comparing the request with the one before it on the same branch.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, Literal

from worldline.core.jsontext import dumps
from worldline.core.usage import Usage

WARN_AFTER = 3
"""Misses in a row."""
MIN_TOKENS = 1024
"""Shorter prompts are never cached."""
LIFETIME_S = 300.0

Reason = Literal[
    "", "first", "too_short", "model", "system", "tools", "messages", "expired", "unknown", "not_cached"
]
_WORDS: dict[str, str] = {
    "model": "another model answered than before",
    "system": "the system text changed",
    "tools": "the list of tools changed",
    "messages": "an earlier message changed",
    "expired": "more than five minutes had passed",
    "not_cached": "the server keeps no cache",
    "unknown": "the reason is not known",
}
_SERVER_REASONS: dict[str, Reason] = {
    "model_changed": "model",
    "system_changed": "system",
    "tools_changed": "tools",
    "messages_changed": "messages",
    "previous_message_not_found": "expired",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """On one answer."""

    hit: float | None
    """Part of the prompt that came from the cache; None when nothing could be expected."""
    reason: Reason = ""
    sentence: str = ""
    """Why it missed, for the person; "" for a hit."""
    missed_tokens: int = 0
    warn: bool = False
    """The third miss in a row: to be shown."""


@dataclass(slots=True)
class _Sent:
    model: str
    system: str
    tools: str
    messages: list[str]
    at: float


@dataclass(slots=True)
class CacheHealth:
    """One per branch that is worked on (a fork starts with a copy). `now` is a monotonic clock in seconds."""

    misses: int = 0
    """In a row."""
    _last: _Sent | None = None
    _hits: list[float] = field(default_factory=list)

    def observe(
        self,
        *,
        model: str,
        system: str,
        tools: list[dict[str, Any]],
        messages: list[dict[str, Any]],
        usage: Usage,
        now: float,
        diagnosis: dict[str, Any] | None = None,
    ) -> Verdict:
        """Judge an answer. `diagnosis` is the server's `diagnostics`, if it sent any."""
        sent = _Sent(model, _digest(system), _digest(tools), [_digest(m) for m in messages], now)
        before, self._last = self._last, sent
        total = usage.context_tokens
        if before is None:
            return Verdict(None, "first")
        if total < MIN_TOKENS:
            return Verdict(None, "too_short")
        part = usage.cache_read_tokens / total
        self._hits = [*self._hits[-9:], part]
        if part >= 0.5 or usage.cache_read_tokens >= self._expected(before, messages, total):
            self.misses = 0
            return Verdict(part)
        self.misses += 1
        reason = _server_reason(diagnosis) or _own_reason(before, sent, usage)
        # Every third one, so that a lasting fault is told again without becoming noise.
        warn = self.misses % WARN_AFTER == 0
        missed = total - usage.cache_read_tokens
        return Verdict(
            part, reason, f"The prompt cache was missed: {_WORDS.get(reason, reason)}.", missed, warn
        )

    @staticmethod
    def _expected(before: _Sent, messages: list[dict[str, Any]], total: int) -> int:
        """Tokens that could come from the cache at least: the share of the messages that were sent before. A long new
        message makes a low share, and that is no miss."""
        if not messages:
            return 1
        sizes = [len(dumps(message)) for message in messages]
        known = sum(sizes[: len(before.messages)])
        return max(1, int(total * known / max(1, sum(sizes)) * 0.5))

    @property
    def hit_rate(self) -> float | None:
        """Of the last ten answers; None before the second."""
        return sum(self._hits) / len(self._hits) if self._hits else None

    def copy(self) -> CacheHealth:
        return CacheHealth(self.misses, self._last, list(self._hits))


def _digest(value: Any) -> str:
    return hashlib.sha256(dumps(value)).hexdigest()


def _server_reason(diagnosis: dict[str, Any] | None) -> Reason:
    said = (diagnosis or {}).get("cache_miss_reason")
    kind = said.get("type") if isinstance(said, dict) else said
    return _SERVER_REASONS.get(str(kind), "")


def _own_reason(before: _Sent, now: _Sent, usage: Usage) -> Reason:
    if before.model != now.model:
        return "model"
    if before.system != now.system:
        return "system"
    if before.tools != now.tools:
        return "tools"
    if before.messages != now.messages[: len(before.messages)]:
        return "messages"
    if now.at - before.at > LIFETIME_S:
        return "expired"
    if not usage.cache_read_tokens and not usage.cache_write_tokens:
        return "not_cached"
    return "unknown"
