"""What the loop asks of the circuit breaker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from worldline.core.errors import ToolError
from worldline.core.stop import StopReason
from worldline.provider.model import ToolUse
from worldline.tools.model import ToolOutcome


@dataclass(slots=True)
class BreakerStop:
    reason: StopReason
    sentence: str


@dataclass(frozen=True, slots=True)
class Advice:
    """A run goes round in circles. What is said to the model is written for it; the person is told by the window, from the
    pattern and the count."""

    text: str
    """For the model."""
    pattern: str
    count: int
    instead: ToolError | None = None
    """Stands in place of one more raw error."""
    stops: bool = False
    """The run ends with it."""

    @property
    def fact(self) -> dict[str, Any]:
        """As it is kept with the step."""
        return {"pattern": self.pattern, "count": self.count, "told": self.text, "stopped": self.stops}


class BreakerPort(Protocol):
    """Counts repetitions on one branch; its memory is part of the branch's task state."""

    def reset(self) -> None:
        """The person said something: what went round before may be right now."""

    def after(self, call: ToolUse, outcome: ToolOutcome) -> Advice | None:
        """What the model is told beside the result of this call; None = nothing."""

    def text(self, text: str) -> BreakerStop | None:
        """Enter a whole answer that called no tool."""

    def verdict(self) -> BreakerStop | None:
        """Set when the run is to be stopped."""
