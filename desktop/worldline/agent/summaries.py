"""Asking the model for a summary: of a conversation that has grown too long, or of an attempt that is left."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from worldline.agent.deps import ModelPort, Watcher
from worldline.agent.journal import text_of
from worldline.context.compact_run import SummaryAnswer
from worldline.core.usage import Usage
from worldline.provider.model import Endpoint, FallbackEvent, ModelRequest, RetryEvent, StreamEvent


@dataclass(slots=True)
class Summariser:
    """Asks one model, with its stand-ins. `used` adds up what its answers cost, for the node that comes of them."""

    model: ModelPort
    endpoint: Endpoint
    chain: list[Endpoint]
    retry_now: asyncio.Event
    watcher: Watcher
    used: Usage = field(default_factory=Usage)
    served: str = ""
    """The model that answered last."""

    async def ask(self, system: str, messages: list[dict[str, Any]], max_tokens: int) -> SummaryAnswer:
        """Never raises but for cancellation; what streams in is not shown."""
        answer = await self.model.ask(
            ModelRequest(self.endpoint, system, messages, [], max_tokens=max_tokens),
            self._listen,
            chain=self.chain,
            retry_now=self.retry_now,
        )
        self.watcher.retrying(None)
        exchange = answer.exchange
        self.served = exchange.model or answer.asked_model
        self.used = self.used + exchange.usage + answer.wasted
        self.watcher.used(exchange.usage, self.served)
        if answer.failure is not None:
            return SummaryAnswer(failure=answer.failure.sentence)
        return SummaryAnswer(text_of(exchange.blocks), exchange.stop_reason, model=exchange.model)

    def _listen(self, event: StreamEvent | RetryEvent | FallbackEvent) -> None:
        if isinstance(event, RetryEvent):
            self.watcher.retrying(event)
        elif isinstance(event, FallbackEvent):
            self.watcher.fell_back(event)
