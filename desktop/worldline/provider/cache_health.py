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
REMEMBERED = 64
"""Requests to compare with."""

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
    """One answered request, by digests."""

    place: str
    model: str
    system: str
    tools: str
    messages: list[str]
    message_id: str
    at: float


@dataclass(slots=True)
class CacheHealth:
    """One per gateway. The request that came before one on its branch is found by what they have in common, so that
    forks, sub-agents and summaries do not disturb each other. `now` is a monotonic clock in seconds."""

    misses: int = 0
    """In a row."""
    _sent: list[_Sent] = field(default_factory=list)
    _known: dict[int, tuple[dict[str, Any], str]] = field(default_factory=dict, repr=False)
    """Digests of the messages of the last request, by identity: a long conversation is the same objects again."""

    def previous_message_id(
        self,
        *,
        place: str,
        model: str,
        system: str,
        tools: list[dict[str, Any]],
        messages: list[dict[str, Any]],
    ) -> str:
        """Id of the answer to the request before this one, for the server's own diagnosis; "" = there was none."""
        before = self._before(
            _Sent(place, model, _digest(system), _digest(tools), self._digests(messages), "", 0)
        )
        return before.message_id if before else ""

    def observe(
        self,
        *,
        place: str,
        model: str,
        system: str,
        tools: list[dict[str, Any]],
        messages: list[dict[str, Any]],
        usage: Usage,
        now: float,
        message_id: str = "",
        diagnosis: dict[str, Any] | None = None,
    ) -> Verdict:
        """Judge an answer. `place` is the server, `diagnosis` its `diagnostics`, if it sent any."""
        sent = _Sent(place, model, _digest(system), _digest(tools), self._digests(messages), message_id, now)
        before = self._before(sent)
        self._sent = [*self._sent[-(REMEMBERED - 1) :], sent]
        total = usage.context_tokens
        if before is None:
            return Verdict(None, "first")
        if total < MIN_TOKENS:
            return Verdict(None, "too_short")
        part = usage.cache_read_tokens / total
        if part >= 0.5 or usage.cache_read_tokens >= _expected(before, sent, messages, total):
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

    def _digests(self, messages: list[dict[str, Any]]) -> list[str]:
        before, self._known = self._known, {}
        for message in messages:
            known = before.get(id(message))
            same = known is not None and known[0] is message
            self._known[id(message)] = known if same and known else (message, _digest(message))
        return [self._known[id(message)][1] for message in messages]

    def _before(self, sent: _Sent) -> _Sent | None:
        """The request with the longest beginning in common; of equal ones the newest. One that shares neither its
        first message nor system text and tools is another conversation."""
        best: _Sent | None = None
        best_score = 0
        for other in self._sent:
            if other.place != sent.place:
                continue
            shared = _shared(other.messages, sent.messages)
            same_frame = (other.system, other.tools) == (sent.system, sent.tools)
            score = 4 * shared + 2 * same_frame + (other.model == sent.model)
            if (shared or same_frame) and score >= best_score:
                best, best_score = other, score
        return best


def _shared(one: list[str], two: list[str]) -> int:
    count = 0
    for left, right in zip(one, two, strict=False):
        if left != right:
            break
        count += 1
    return count


def _expected(before: _Sent, sent: _Sent, messages: list[dict[str, Any]], total: int) -> int:
    """Tokens that should come from the cache at least. A long new message makes a low share, and that is no miss; nor
    is a fork that leaves an earlier step: what both have in common is what counts."""
    sizes = [len(repr(message)) for message in messages]
    shared = _shared(before.messages, sent.messages)
    known = sum(sizes[: shared or len(before.messages)])
    return max(1, int(total * known / max(1, sum(sizes)) * 0.5))


def _digest(value: Any) -> str:
    try:
        return hashlib.sha256(dumps(value)).hexdigest()
    except (TypeError, ValueError):
        # What cannot be sent is refused elsewhere; here it only must not look like anything else.
        return f"unsendable {id(value)}"


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
    if not _shared(before.messages, now.messages):
        return "messages"
    if now.at - before.at > LIFETIME_S:
        return "expired"
    if not usage.cache_read_tokens and not usage.cache_write_tokens:
        return "not_cached"
    return "unknown"
