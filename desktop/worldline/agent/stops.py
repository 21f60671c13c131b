"""How a run ends: one stop reason, a sentence, and what the person may do next."""

from __future__ import annotations

from dataclasses import dataclass, field

from worldline.core.stop import StopReason
from worldline.core.usage import Usage

BRAKES_TO_GO_ON = frozenset(
    {
        StopReason.MAX_TURNS,
        StopReason.MAX_TOOL_CALLS,
        StopReason.TIME_LIMIT,
        StopReason.TOKEN_BUDGET,
        StopReason.COST_LIMIT,
        StopReason.OUTPUT_LIMIT,
    }
)


@dataclass(slots=True)
class RunEnd:
    reason: StopReason
    detail: str
    api_said: str = ""
    offers: list[str] = field(default_factory=list)
    """go_on, backtrack, retry, settings, login, billing, compact, bigger_model, drop_results."""
    usage: Usage = field(default_factory=Usage)
    saved: bool = True
    """False: this end could not be written to the session."""


class Stopped(Exception):
    """Raised inside a run to end it in order. Not an error: everything produced so far is kept."""

    def __init__(
        self, reason: StopReason, detail: str, *, api_said: str = "", offers: list[str] | None = None
    ) -> None:
        super().__init__(detail)
        self.end = RunEnd(reason, detail, api_said, offers if offers is not None else offers_for(reason))


def offers_for(reason: StopReason) -> list[str]:
    if reason in BRAKES_TO_GO_ON:
        return ["go_on", "backtrack"]
    return {
        StopReason.REPEATED_CALLS: ["backtrack", "go_on"],
        StopReason.REPEATED_FAILURES: ["backtrack", "go_on"],
        StopReason.CONTEXT_LIMIT: ["compact", "bigger_model", "drop_results", "backtrack"],
        StopReason.AUTH_ERROR: ["login", "settings"],
        StopReason.QUOTA: ["billing", "settings", "retry"],
        StopReason.OVERLOADED: ["retry"],
        StopReason.RATE_LIMITED: ["retry"],
        StopReason.NETWORK_ERROR: ["retry", "settings"],
        StopReason.PROVIDER_ERROR: ["retry", "settings"],
        StopReason.EMPTY_REPLY: ["retry", "backtrack"],
        StopReason.REFUSAL: ["backtrack"],
        StopReason.ABORTED: ["retry"],
        StopReason.WAITING_FOR_USER: ["retry"],
        StopReason.INTERRUPTED: ["retry"],
        StopReason.INTERNAL_ERROR: ["retry"],
        StopReason.STORE_ERROR: ["retry"],
        StopReason.SANDBOX_ERROR: ["settings", "retry"],
    }.get(reason, [])
