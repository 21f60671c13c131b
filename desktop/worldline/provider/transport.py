"""What the gateway needs of whatever speaks to a server. The real one is `provider.sdk`, loaded late."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from worldline.provider.accumulator import Emit
from worldline.provider.model import Exchange

OnCancel = Callable[[Exchange], None]
"""Gets what had arrived when the exchange was cancelled."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Watchdogs, in seconds. Pings are signs of life, but no progress."""

    connect_s: float = 10.0
    headers_s: float = 180.0
    """Until the answer begins."""
    idle_s: float = 120.0
    """Without a byte."""
    progress_s: float = 300.0
    """With pings or comments only."""
    visible_s: float = 900.0
    """With thinking only."""

    @classmethod
    def for_local(cls) -> Limits:
        """A machine of the person's own may load a model and read a long prompt for minutes before the first word."""
        return cls(connect_s=5.0, headers_s=900.0, idle_s=900.0, progress_s=900.0, visible_s=1800.0)


class Client(Protocol):
    """One server with one credential. None of these raises anything but CancelledError."""

    async def exchange(
        self, arguments: dict[str, Any], emit: Emit, on_cancel: OnCancel | None = None
    ) -> Exchange: ...

    async def count_tokens(self, arguments: dict[str, Any]) -> int | Exchange: ...

    async def list_models(self) -> list[dict[str, Any]] | Exchange: ...

    async def close(self) -> None: ...


class ClientFactory(Protocol):
    def __call__(self, base_url: str, secret: str, limits: Limits) -> Client: ...
