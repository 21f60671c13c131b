"""What is sent to a model and what comes back: one outcome for every exchange, never an exception."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from worldline.core.stop import StopReason
from worldline.core.usage import Usage
from worldline.provider.cache_health import Verdict


@dataclass(slots=True)
class Endpoint:
    """Where a model is reached. `base_url` "" is the first-party API."""

    model: str
    base_url: str = ""
    local: bool = False
    """A server of the person's own: no real key is ever sent there, no beta features, no cache marks."""


@dataclass(slots=True)
class ModelRequest:
    """`messages` are request-ready dicts. `system` and `tools` are frozen per branch."""

    endpoint: Endpoint
    system: str
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    max_tokens: int = 32_000
    effort: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


ExchangeOutcome = Literal[
    "complete", "truncated", "error_event", "http_error", "transport", "protocol", "stalled", "cancelled"
]


@dataclass(slots=True)
class ToolUse:
    """A tool call of a reply. Runs only if `error` is empty and the exchange is `runnable`."""

    id: str
    name: str
    raw: str
    """The JSON text as it arrived."""
    input: dict[str, Any]
    error: str = ""
    """Why `raw` is no JSON object with one meaning; cut off, duplicate keys, …"""
    repairs: list[str] = field(default_factory=list)
    """Lossless repairs of `raw`, for the record."""
    kept: bool = True
    """Its block is in `blocks`. A call that was cut off is not: it never becomes history."""


@dataclass(slots=True)
class Exchange:
    """One request and all that came back."""

    outcome: ExchangeOutcome
    blocks: list[dict[str, Any]] = field(default_factory=list)
    """Content blocks to keep, in order, byte for byte where it matters (thinking). Unfinished text is kept;
    an unfinished tool call or unsigned thinking is not."""
    tool_uses: list[ToolUse] = field(default_factory=list)
    stop_reason: str = ""
    """As the API said it; "" = none."""
    message_id: str = ""
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    status: int = 0
    error_type: str = ""
    error_code: str = ""
    detail: str = ""
    """What the API or the transport said, masked."""
    request_id: str = ""
    retry_after_s: float | None = None
    started_output: bool = False
    notes: list[str] = field(default_factory=list)
    """Oddities that did no harm, repairs, features that were left out: for the diagnostics."""
    raw: dict[str, Any] = field(default_factory=dict)
    """Parts as the API sent them: stop_details, diagnostics, input_transformations, usage; "unsigned_thinking" (texts
    to show but not to keep), "should_retry" ("true" | "false")."""

    @property
    def runnable(self) -> bool:
        """Received whole, and the model stopped for its tools."""
        return self.outcome == "complete" and self.stop_reason == "tool_use"


FailureKind = Literal[
    "overloaded", "rate_limited", "server_error", "network", "stalled", "protocol", "auth", "no_key", "permission", "quota",
    "model_not_found", "context_overflow", "max_tokens_too_high", "request_too_large", "bad_image", "bad_thinking",
    "bad_block", "unpaired", "invalid_request", "refusal", "cancelled", "unknown",
]  # fmt: skip


@dataclass(slots=True)
class Failure:
    """A failed exchange, classified. Exactly one of retry, repair, compaction or stop follows from it."""

    kind: FailureKind
    retryable: bool
    stop_reason: StopReason
    sentence: str
    """For the person: what it means."""
    advice: str = ""
    """What to do, and which button goes there."""
    offer: str = ""
    """settings, login, billing, compact, bigger_model, retry."""
    limit_tokens: int | None = None
    used_tokens: int | None = None
    api_said: str = ""


@dataclass(slots=True)
class StreamEvent:
    """A piece of a reply while it comes in."""

    kind: Literal["text", "thinking", "tool_input", "discard"]
    block: int
    text: str = ""
    tool: str = ""


@dataclass(slots=True)
class RetryEvent:
    """Emitted, and stored by the listener, before the wait."""

    attempt: int
    of: int
    wait_s: float
    why: str
    kind: FailureKind
    model: str


@dataclass(slots=True)
class FallbackEvent:
    from_model: str
    to_model: str
    why: str
    back: bool = False
    """The asked-for model answers again."""


@dataclass(slots=True)
class Answer:
    """What the gateway (retries and fallback around exchanges) comes back with."""

    exchange: Exchange
    failure: Failure | None
    """None = there is a reply. Else the failure of the asked-for model, also when a fallback failed last."""
    asked_model: str
    attempts: list[RetryEvent] = field(default_factory=list)
    fallbacks: list[FallbackEvent] = field(default_factory=list)
    partial: list[dict[str, Any]] = field(default_factory=list)
    """Blocks kept from attempts that failed after their first byte."""
    wasted: Usage = field(default_factory=Usage)
    """What failed attempts used, as far as the server said so. Not in `exchange.usage`."""
    cache: Verdict | None = None
    """Whether the prompt came from the server's cache; None where no cache is asked for."""
    tried: list[str] = field(default_factory=list)
    """After a failure: the stand-ins that could not help, each with the reason."""


Listener = Callable[[StreamEvent | RetryEvent | FallbackEvent], None]
"""Called on the engine's loop, in order. An exception from it is a defect and ends the run."""
