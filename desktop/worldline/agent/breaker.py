"""What the loop asks of the circuit breaker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from worldline.core.errors import ToolError
from worldline.core.stop import StopReason
from worldline.provider.model import ToolUse
from worldline.tools.model import ToolOutcome


@dataclass(slots=True)
class BreakerStop:
    reason: StopReason
    sentence: str


class BreakerPort(Protocol):
    """Counts repetitions on one branch; its memory is part of the branch's task state."""

    def reset(self) -> None:
        """The person said something: what went round before may be right now."""

    def after(self, call: ToolUse, outcome: ToolOutcome) -> tuple[str, ToolError | None]:
        """(what the model is told, "" = nothing; the error that stands in place of one more raw error)."""

    def text(self, text: str) -> BreakerStop | None:
        """Enter a whole answer that called no tool."""

    def verdict(self) -> BreakerStop | None:
        """Set when the run is to be stopped."""
