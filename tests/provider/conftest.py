"""The real client against a rehearsal server: what most tests of this package need."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio

from tests_support import PATIENCE_S
from worldline.provider.gateway import Gateway, ProviderSettings
from worldline.provider.model import Endpoint, FallbackEvent, ModelRequest, RetryEvent, StreamEvent
from worldline.provider.retry import RetryPolicy
from worldline.provider.transport import Limits
from worldline.rehearsal.events import Call, Reply
from worldline.rehearsal.scenario import Scenario
from worldline.rehearsal.server import RehearsalServer

FAST = RetryPolicy(attempts=5, fallback_attempts=2, base_s=0.001, cap_s=0.004, retry_after_cap_s=0.02)
PATIENT = Limits(PATIENCE_S, PATIENCE_S, PATIENCE_S, PATIENCE_S, PATIENCE_S)
SHORT = Limits(connect_s=PATIENCE_S, headers_s=4, idle_s=2, progress_s=2, visible_s=PATIENCE_S)
"""For answers that stop: whichever of these bites, it is the same to whoever asked."""
THINKING = Limits(PATIENCE_S, PATIENCE_S, PATIENCE_S, PATIENCE_S, visible_s=2)
"""For those that think for ever: no pause of the server is taken for its end."""
REPLY = Reply(text="I will write it. ", calls=[Call("write", {"path": "a.txt", "content": "hello world"})])


@dataclass
class Heard:
    """A listener that remembers."""

    events: list[Any] = field(default_factory=list)

    def __call__(self, event: StreamEvent | RetryEvent | FallbackEvent) -> None:
        self.events.append(event)

    @property
    def text(self) -> str:
        """What a window shows: text since the last discard."""
        shown = ""
        for event in self.events:
            if isinstance(event, StreamEvent):
                shown = (
                    "" if event.kind == "discard" else shown + (event.text if event.kind == "text" else "")
                )
        return shown

    @property
    def retries(self) -> list[RetryEvent]:
        return [event for event in self.events if isinstance(event, RetryEvent)]

    @property
    def fallbacks(self) -> list[FallbackEvent]:
        return [event for event in self.events if isinstance(event, FallbackEvent)]


def request_for(
    server: RehearsalServer, model: str = "rehearsal", text: str = "go", **more: Any
) -> ModelRequest:
    endpoint = Endpoint(model, server.base_url, local=True)
    return ModelRequest(
        endpoint, "Be brief.", [{"role": "user", "content": text}], [], max_tokens=1000, **more
    )


@pytest.fixture
def server() -> Iterator[RehearsalServer]:
    with RehearsalServer(Scenario.of(REPLY), max_hang_s=30) as running:
        yield running
        assert running.defects == []


@pytest_asyncio.fixture
async def gateway() -> AsyncIterator[Gateway]:
    made = Gateway(
        ProviderSettings(retry=FAST, limits=PATIENT, local_limits=PATIENT, cool_down_s=0.05, seed=1)
    )
    yield made
    await made.close()


@pytest_asyncio.fixture
async def impatient() -> AsyncIterator[Gateway]:
    """Its watchdogs bite after two to four seconds."""
    made = Gateway(ProviderSettings(retry=FAST, limits=SHORT, local_limits=SHORT, cool_down_s=0.05, seed=1))
    yield made
    await made.close()


@pytest_asyncio.fixture
async def seeing() -> AsyncIterator[Gateway]:
    """It wants to see something after two seconds of thoughts, and has patience otherwise."""
    made = Gateway(ProviderSettings(retry=FAST, limits=THINKING, local_limits=THINKING, seed=1))
    yield made
    await made.close()
