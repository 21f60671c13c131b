"""The circuit breaker of one branch, as the loop sees it."""

from __future__ import annotations

from typing import Any

from worldline.agent.breaker import Advice, BreakerStop
from worldline.core.stop import StopReason
from worldline.provider.model import ToolUse
from worldline.tools.breaker import Breaker, Step, hint_error
from worldline.tools.model import Tool, ToolOutcome


class BranchBreaker:
    """Implements `agent.breaker.BreakerPort` on the breaker part of the branch's task state."""

    def __init__(self, state: dict[str, Any], tools: dict[str, Tool]) -> None:
        self._breaker = Breaker(state)
        self._tools = tools
        self._stop: BreakerStop | None = None

    def reset(self) -> None:
        self._breaker.reset()
        self._stop = None

    def after(self, call: ToolUse, outcome: ToolOutcome) -> Advice | None:
        tool = self._tools.get(outcome.tool)
        step = self._breaker.observe(
            outcome.tool,
            outcome.input or call.input,
            ok=outcome.ok,
            error_type=outcome.error.type if outcome.error else "",
            result=result_text(outcome.block),
            polling=tool is not None and tool.polling,
        )
        self._take(step)
        if step.action == "go":
            return None
        instead = None if outcome.error is None else hint_error(step, outcome.error)
        return Advice(step.message, step.kind, step.count, instead, step.action == "stop")

    def text(self, text: str) -> BreakerStop | None:
        self._take(self._breaker.observe_text(text))
        return self._stop

    def verdict(self) -> BreakerStop | None:
        return self._stop

    def _take(self, step: Step) -> None:
        if step.action == "stop" and self._stop is None:
            sentence = f"{step.message} Go back and try another way?"
            self._stop = BreakerStop(step.reason or StopReason.REPEATED_CALLS, sentence)


def result_text(block: dict[str, Any]) -> str:
    content = block.get("content", "")
    if isinstance(content, str):
        return content
    return "\n".join(str(b.get("text", b.get("type", ""))) for b in content)
