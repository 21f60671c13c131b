"""What follows from a reply that holds no call to run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from worldline.agent.journal import text_of
from worldline.core.stop import StopReason
from worldline.provider.model import Exchange

EMPTY_NUDGE = (
    "[Worldline: your last reply was empty. If the task is done, say so in a sentence; otherwise go on with the "
    "next step.]"
)
CUT_NUDGE = (
    "[Worldline: your last reply was cut off at the output limit; calls that were not complete did not run. Go on "
    "from where it stopped, in smaller steps.]"
)


MOST_PAUSES = 8
"""In a row: a server that does nothing else is not asked for ever."""


class Next(Enum):
    DONE = auto()
    STOP = auto()
    NUDGE = auto()
    """Say once that the reply was empty."""
    CONTINUE = auto()
    """Say once that the reply was cut off."""
    AGAIN = auto()
    """The API paused; the same request goes on."""
    COMPACT = auto()


@dataclass(slots=True)
class Verdict:
    step: Next
    reason: StopReason = StopReason.COMPLETED
    sentence: str = ""
    api_said: str = ""
    tell_model: str = ""


def judge_reply(exchange: Exchange, *, nudges: int, continuations: int, pauses: int = 0) -> Verdict:
    """`nudges`, `continuations` and `pauses` say how often this was tried already: none is done for ever."""
    said = exchange.stop_reason
    if said == "max_tokens":
        if continuations == 0:
            return Verdict(
                Next.CONTINUE, sentence="The reply was cut at the output limit; the model was asked to go on.",
                tell_model=CUT_NUDGE,
            )  # fmt: skip
        return Verdict(
            Next.STOP, StopReason.OUTPUT_LIMIT, "The reply was cut at the output limit twice. What arrived is kept.",
            api_said=said,
        )  # fmt: skip
    if said == "model_context_window_exceeded":
        return Verdict(Next.COMPACT, api_said=said)
    if said == "refusal":
        return Verdict(
            Next.STOP, StopReason.REFUSAL, "The model declined to go on. Go back and ask in another way.",
            api_said=said,
        )  # fmt: skip
    if said == "pause_turn":
        if pauses < MOST_PAUSES:
            return Verdict(Next.AGAIN)
        return Verdict(
            Next.STOP,
            StopReason.PROVIDER_ERROR,
            f"The model's server paused {pauses + 1} times in a row without going on. What arrived is kept.",
            api_said=said,
        )
    if said not in ("end_turn", "stop_sequence", "tool_use"):
        return Verdict(
            Next.STOP, StopReason.UNKNOWN, f"The model stopped for a reason that is not known here: {said!r}.",
            api_said=said,
        )  # fmt: skip
    if said != "tool_use" and text_of(exchange.blocks).strip():
        return Verdict(Next.DONE)
    if nudges == 0:
        return Verdict(
            Next.NUDGE, sentence="The reply was empty; the model was asked once whether it is done.",
            tell_model=EMPTY_NUDGE,
        )  # fmt: skip
    return Verdict(
        Next.STOP,
        StopReason.EMPTY_REPLY,
        "The model replied with nothing, twice. Nothing was lost.",
        api_said=said,
    )
