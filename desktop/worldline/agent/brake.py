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


class BreakerPort(Protocol):
    """Counts repetitions on one branch."""

    def before(self, call: ToolUse) -> ToolError | None:
        """An error to give instead of running this call again."""

    def after(self, call: ToolUse, outcome: ToolOutcome) -> str:
        """Text for the model beside the result, "" = nothing to say."""

    def verdict(self) -> BreakerStop | None:
        """Set when the run is to be stopped."""

    def to_json(self) -> dict[str, Any]: ...
