"""The circuit breaker of one branch, as the loop sees it."""

from __future__ import annotations

from typing import Any

from worldline.agent.brake import BreakerStop
from worldline.core.errors import ToolError
from worldline.provider.model import ToolUse
from worldline.tools.model import Tool, ToolOutcome


class BranchBreaker:
    def __init__(self, stored: dict[str, Any], tools: dict[str, Tool]) -> None:
        self._stored = stored

    def before(self, call: ToolUse) -> ToolError | None:
        return None

    def after(self, call: ToolUse, outcome: ToolOutcome) -> str:
        return ""

    def verdict(self) -> BreakerStop | None:
        return None

    def to_json(self) -> dict[str, Any]:
        return self._stored
