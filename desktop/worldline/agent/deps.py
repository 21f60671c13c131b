"""What a run needs of its surroundings, and what it tells them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from worldline.agent.gate import Gate
from worldline.agent.limits import Limits
from worldline.agent.meanwhile import Meanwhile
from worldline.core.usage import Usage
from worldline.protocol.model import Mode
from worldline.provider.catalog import ModelFacts
from worldline.provider.model import (
    Answer,
    Endpoint,
    Exchange,
    FallbackEvent,
    Listener,
    ModelRequest,
    RetryEvent,
)
from worldline.tools.hooks import Hooks
from worldline.workspace.model import CaptureResult


@dataclass(slots=True)
class RunSettings:
    """Fixed when a run starts, stored with it."""

    mode: Mode = "ask"
    model: str = ""
    effort: str = ""
    base_url: str = ""
    local: bool = False
    chain: list[Endpoint] = field(default_factory=list)
    """Models to fall back to, in order, without the asked-for one."""
    max_tokens: int = 32_000
    limits: Limits = field(default_factory=Limits)
    auto_compact: bool = True

    def endpoint(self) -> Endpoint:
        return Endpoint(model=self.model, base_url=self.base_url, local=self.local)

    def to_json(self) -> dict[str, Any]:
        limits = {name: getattr(self.limits, name) for name in Limits.__slots__}
        return {
            "mode": self.mode, "model": self.model, "effort": self.effort, "base_url": self.base_url,
            "chain": [e.model for e in self.chain], "limits": limits,
        }  # fmt: skip


class ModelPort(Protocol):
    """What the loop uses of the gateway."""

    async def ask(
        self,
        request: ModelRequest,
        listener: Listener,
        *,
        chain: Sequence[Endpoint],
        retry_now: asyncio.Event,
        on_cancel: Callable[[Exchange], None] | None = None,
    ) -> Answer: ...

    async def count_tokens(self, request: ModelRequest) -> int | None: ...

    def offers_compaction(self, endpoint: Endpoint) -> bool:
        """The server itself can summarise a conversation for this model."""

    def facts(self, model: str) -> ModelFacts: ...


@dataclass(slots=True)
class Delivery:
    """A message of the person that is delivered while a run goes on."""

    id: int
    text: str
    images: list[dict[str, Any]] = field(default_factory=list)


class Watcher(Protocol):
    """Is told how the run stands; keeps the status. Called on the loop, must not block or raise."""

    def working(self, sentence: str, state: str = "running") -> None: ...

    def retrying(self, event: RetryEvent | None) -> None:
        """Before the wait; None when an answer comes in."""

    def fell_back(self, event: FallbackEvent) -> None: ...

    def context(self, tokens: int, size: int, limit: int) -> None: ...

    def used(self, usage: Usage, model: str) -> None: ...

    def cache(self, note: str) -> None:
        """Prompts keep missing the server's cache, and why; "" = the last one was found there."""

    def files_changed(self, node: str) -> None: ...


async def _unknown() -> bool:
    return False


@dataclass(slots=True)
class RunDeps:
    """The surroundings of one run."""

    watcher: Watcher
    capture: Callable[[str | None, str], Awaitable[CaptureResult]]
    """Capture the workspace: (parent state, label). Runs on the workspace thread; never cancelled half way."""
    deliveries: Callable[[], list[Delivery]]
    """Take the queued messages that are to be delivered at this step."""
    delivered: Callable[[Delivery, str], Callable[[], None]]
    """Record, in one transaction with its node, that it is in the session as this node. What comes back is to be called
    when that is durable."""
    gate: Gate
    """Cleared while the person pauses the run."""
    retry_now: asyncio.Event
    hooks: Hooks
    root: Path
    stirred: Callable[[], Awaitable[bool]] = _unknown
    """Whether files may have changed since the last capture."""
    meanwhile: Meanwhile | None = None
    """What of the agent may have changed them; None = not this branch's to say."""
    waiting: Callable[[], bool] = lambda: False
    """Whether the person is being waited for at this moment."""
    session_starts: bool = False
    """This is the first run since the session was opened."""
    note: str = ""
    """What the person is told of this run when it starts."""
    prompt: str = ""
    """What the person asked in this run; "" when it goes on from an earlier one."""
