"""One question on its way through retries and models: what happened so far, told to the listener as it happens."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from worldline.core.usage import Usage
from worldline.provider.cache_health import Verdict
from worldline.provider.errors import classify
from worldline.provider.fallback import names_of
from worldline.provider.model import (
    Answer,
    Endpoint,
    Exchange,
    Failure,
    FallbackEvent,
    Listener,
    ModelRequest,
    RetryEvent,
    StreamEvent,
)
from worldline.provider.transport import OnCancel


@dataclass(slots=True)
class Asking:
    """One `ask` on its way."""

    request: ModelRequest
    listener: Listener
    retry_now: asyncio.Event
    on_cancel: OnCancel | None
    attempts: list[RetryEvent] = field(default_factory=list)
    fallbacks: list[FallbackEvent] = field(default_factory=list)
    partial: list[dict[str, Any]] = field(default_factory=list)
    wasted: Usage = field(default_factory=Usage)
    skipped: list[str] = field(default_factory=list)
    primary_failure: Failure | None = None
    primary_exchange: Exchange | None = None
    last_failure: Failure | None = None
    last_exchange: Exchange | None = None
    first_why: str = ""
    has_stand_in: bool = False
    cache: Verdict | None = None
    tried: list[str] = field(default_factory=list)
    """Stand-ins that failed too, each with the reason."""

    def hop(self, from_: Endpoint, to: Endpoint, why: str) -> None:
        if self.last_exchange is not None:
            self._discard(self.last_exchange)
        if not self.first_why:
            self.first_why = why
        event = FallbackEvent(*names_of(from_, to), why)
        self.fallbacks.append(event)
        self.listener(event)

    def back(self, from_: Endpoint, to: Endpoint) -> None:
        event = FallbackEvent(*names_of(from_, to), "The asked-for model answers again.", back=True)
        self.fallbacks.append(event)
        self.listener(event)

    def served(self, by: str) -> None:
        """The server itself went on with another model."""
        asked = self.request.endpoint.model
        event = FallbackEvent(asked, by, f"{asked} declined; the server went on with {by}.")
        self.fallbacks.append(event)
        self.listener(event)

    def retry(self, event: RetryEvent, exchange: Exchange) -> None:
        self._discard(exchange)
        self.attempts.append(event)
        self.listener(event)

    def _discard(self, exchange: Exchange) -> None:
        """What was streamed is void: the reply starts again. What was whole of it is kept aside."""
        if exchange.started_output:
            exchange.started_output = False
            self.partial += exchange.blocks
            self.listener(StreamEvent("discard", 0))

    def spent(self, exchange: Exchange) -> None:
        if exchange.usage.answers:
            self.wasted = self.wasted + exchange.usage

    def failed(self, is_primary: bool, exchange: Exchange, failure: Failure) -> None:
        self.last_failure, self.last_exchange = failure, exchange
        if is_primary:
            self.primary_failure, self.primary_exchange = failure, exchange
        else:
            self.tried.append(f"{exchange.model or 'another model'}: {failure.sentence}")

    def reason(self) -> str:
        """Why the model that was asked last did not answer."""
        if self.last_failure is None:
            return self.skipped[-1] if self.skipped else ""
        said = self.last_failure.api_said
        return f"{self.last_failure.sentence} ({said[:120]})" if said else self.last_failure.sentence

    def answer(self, exchange: Exchange, failure: Failure | None) -> Answer:
        exchange.notes += [f"not asked: {why}" for why in self.skipped]
        return Answer(
            exchange,
            failure,
            self.request.endpoint.model,
            self.attempts,
            self.fallbacks,
            self.partial,
            self.wasted,
            self.cache,
            [*self.tried, *self.skipped] if failure is not None else [],
        )

    def give_up(self) -> Answer:
        """No model answered: what is told is the asked-for model's failure."""
        exchange = self.primary_exchange or self.last_exchange
        if self.last_exchange is not None and self.last_exchange is not exchange:
            self._discard(self.last_exchange)
        failure = self.primary_failure or self.last_failure
        if exchange is None or failure is None:
            exchange = Exchange("http_error", detail="; ".join(self.skipped) or "no model could be asked")
            failure = classify(exchange)
        return self.answer(exchange, failure)
