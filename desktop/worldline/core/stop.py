"""Stop reasons: each run ends with exactly one, stored with a sentence for the person."""

from __future__ import annotations

from enum import StrEnum

from worldline.core.kinds import Outcome, member


class StopReason(StrEnum):
    COMPLETED = "completed"
    WAITING_FOR_USER = "waiting_for_user"
    ABORTED = "aborted"
    MAX_TURNS = "max_turns"
    MAX_TOOL_CALLS = "max_tool_calls"
    TIME_LIMIT = "time_limit"
    TOKEN_BUDGET = "token_budget"
    COST_LIMIT = "cost_limit"
    REPEATED_CALLS = "repeated_calls"
    REPEATED_FAILURES = "repeated_failures"
    PROVIDER_ERROR = "provider_error"
    OVERLOADED = "overloaded"
    RATE_LIMITED = "rate_limited"
    AUTH_ERROR = "auth_error"
    QUOTA = "quota"
    NETWORK_ERROR = "network_error"
    CONTEXT_LIMIT = "context_limit"
    OUTPUT_LIMIT = "output_limit"
    REFUSAL = "refusal"
    EMPTY_REPLY = "empty_reply"
    HOOK_BLOCKED = "hook_blocked"
    STORE_ERROR = "store_error"
    """The session could not be saved (disk full, folder gone). Nothing runs unsaved."""
    SANDBOX_ERROR = "sandbox_error"
    """The sandbox does not start, so no command is run. Nothing runs unconfined instead."""
    INTERNAL_ERROR = "internal_error"
    INTERRUPTED = "interrupted"
    """Found at the next start: the process ended in the middle of the run."""
    UNKNOWN = "unknown"

    @classmethod
    def of(cls, word: str) -> StopReason:
        return member(cls, word, cls.UNKNOWN)

    @property
    def outcome(self) -> Outcome:
        """How a run that ended so is drawn."""
        if self is StopReason.COMPLETED:
            return Outcome.OK
        if self is StopReason.ABORTED:
            return Outcome.ABORTED
        if self is StopReason.INTERRUPTED:
            return Outcome.INTERRUPTED
        if self is StopReason.WAITING_FOR_USER:
            return Outcome.WAITING
        return Outcome.STOPPED if self in _BRAKES else Outcome.FAILED


_BRAKES = frozenset(
    {
        StopReason.MAX_TURNS,
        StopReason.MAX_TOOL_CALLS,
        StopReason.TIME_LIMIT,
        StopReason.TOKEN_BUDGET,
        StopReason.COST_LIMIT,
        StopReason.REPEATED_CALLS,
        StopReason.REPEATED_FAILURES,
        StopReason.CONTEXT_LIMIT,
        StopReason.OUTPUT_LIMIT,
        StopReason.HOOK_BLOCKED,
    }
)
