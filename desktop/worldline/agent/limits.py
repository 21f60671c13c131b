"""The brakes of a run: how much it may use, and how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from worldline.core.stop import StopReason
from worldline.core.usage import Usage

TOKENS_FOR_A_DOLLAR = 100_000
"""What a limit in dollars is kept by where the price of a model is not known: so many tokens of input cost a dollar at
the dearest of the known models."""


@dataclass(slots=True)
class Limits:
    """0 = no limit. The defaults stop a run that has lost its way, not one that works."""

    turns: int = 100
    tool_calls: int = 300
    seconds: float = 3600
    tokens: int = 0
    """Input and output of one run, cached input counted as well."""
    cost: float = 0
    """US dollars of one run."""
    session_turns: int = 0
    session_tool_calls: int = 0
    session_seconds: float = 0
    session_tokens: int = 0
    session_cost: float = 0

    @classmethod
    def from_settings(cls, values: dict[str, Any]) -> Limits:
        """Unknown keys and values that are no number are left out; a negative number means no limit."""
        known = {f.name: f.type for f in fields(cls)}
        chosen: dict[str, Any] = {}
        for name, value in values.items():
            if name in known and isinstance(value, int | float) and not isinstance(value, bool):
                number = max(0, value)
                chosen[name] = (
                    float(number)
                    if name in ("seconds", "cost", "session_seconds", "session_cost")
                    else int(number)
                )
        return cls(**chosen)

    def for_the_run_alone(self) -> Limits:
        """Without those of the session: the person said that it may go on."""
        return replace(
            self, session_turns=0, session_tool_calls=0, session_seconds=0, session_tokens=0, session_cost=0
        )


@dataclass(slots=True)
class Past:
    """What the session had used when a run began."""

    turns: int = 0
    tool_calls: int = 0
    seconds: float = 0


@dataclass(slots=True)
class Brake:
    reason: StopReason
    sentence: str
    """How far it was, for the person."""


class Meter:
    """Counts what one run uses. `before` is what the session had used when the run began."""

    def __init__(
        self, limits: Limits, before: Usage, clock: Callable[[], float], past: Past | None = None
    ) -> None:
        self.past = past or Past()
        self.limits = limits
        self.turns = 0
        self.tool_calls = 0
        self.usage = Usage()
        self._known_cost = 0.0
        self._unpriced = 0
        """Tokens of answers whose price is not known."""
        self._before = before
        self.clock = clock
        self._started = clock()

    @property
    def seconds(self) -> float:
        return self.clock() - self._started

    def add(self, usage: Usage) -> None:
        self.usage = self.usage + usage
        if usage.cost is not None:
            self._known_cost += usage.cost
        elif usage.answers:
            self._unpriced += usage.context_tokens + usage.output_tokens

    @property
    def spent(self) -> float:
        """Dollars of this run as the limit counts them: where a price is not known, by tokens."""
        return self._known_cost + self._unpriced / TOKENS_FOR_A_DOLLAR

    def brake(self) -> Brake | None:
        """The first limit that is reached, asked before each turn."""
        limit = self.limits
        if limit.turns and self.turns >= limit.turns:
            return Brake(
                StopReason.MAX_TURNS, f"Stopped after {self.turns} of {limit.turns} turns. It can go on."
            )
        turns = self.past.turns + self.turns
        if limit.session_turns and turns >= limit.session_turns:
            return Brake(
                StopReason.MAX_TURNS,
                f"Stopped after {turns} of {limit.session_turns} turns of this session. It can go on.",
            )
        if limit.seconds and self.seconds >= limit.seconds:
            return Brake(StopReason.TIME_LIMIT, time_sentence(limit.seconds))
        if limit.session_seconds and self.past.seconds + self.seconds >= limit.session_seconds:
            return Brake(StopReason.TIME_LIMIT, time_sentence(limit.session_seconds, "of this session"))
        for used, allowed, whose in (
            (self.usage, limit.tokens, "this run"),
            (self._before + self.usage, limit.session_tokens, "this session"),
        ):
            tokens = used.context_tokens + used.output_tokens
            if allowed and tokens >= allowed:
                return Brake(
                    StopReason.TOKEN_BUDGET,
                    f"Stopped: {tokens:,} of {allowed:,} tokens are used by {whose}. It can go on.",
                )
        return self._cost_brake()

    def _cost_brake(self) -> Brake | None:
        past = self._before
        unknown = past.context_tokens + past.output_tokens if past.answers and past.cost is None else 0
        for cost, unpriced, money, whose in (
            (self._known_cost, self._unpriced, self.limits.cost, "this run"),
            (self._known_cost + (past.cost or 0.0), self._unpriced + unknown, self.limits.session_cost, "this session"),
        ):  # fmt: skip
            if not money or cost + unpriced / TOKENS_FOR_A_DOLLAR < money:
                continue
            if not unpriced:
                sentence = f"Stopped: {_dollars(cost)} of {_dollars(money)} is used by {whose}. It can go on."
            else:
                allowed = tokens_for(max(0.0, money - cost))
                sentence = (
                    f"Stopped: {unpriced:,} tokens without a known price are used by {whose}; the limit of {_dollars(money)} "
                    f"stands for {allowed:,} of them. It can go on."
                )
            return Brake(StopReason.COST_LIMIT, sentence)
        return None

    def brake_for_calls(self) -> Brake | None:
        """Asked before each group of tool calls; see `calls_left` for its size."""
        limit = self.limits.tool_calls
        if limit and self.tool_calls >= limit:
            return Brake(
                StopReason.MAX_TOOL_CALLS,
                f"Stopped after {self.tool_calls} of {limit} tool calls. It can go on.",
            )
        whole, calls = self.limits.session_tool_calls, self.past.tool_calls + self.tool_calls
        if whole and calls >= whole:
            return Brake(
                StopReason.MAX_TOOL_CALLS,
                f"Stopped after {calls} of {whole} tool calls of this session. It can go on.",
            )
        return None

    def calls_left(self, wanted: int) -> int:
        """How many of so many calls may begin together, where `brake_for_calls` lets one."""
        limits = ((self.limits.tool_calls, 0), (self.limits.session_tool_calls, self.past.tool_calls))
        return min([wanted, *(limit - before - self.tool_calls for limit, before in limits if limit)])

    @property
    def seconds_left(self) -> float:
        """Until the first of the time limits; 0 = there is none."""
        limits = [self.limits.seconds] if self.limits.seconds else []
        if self.limits.session_seconds:
            limits.append(max(0.01, self.limits.session_seconds - self.past.seconds))
        return min(limits, default=0.0)


def tokens_for(money: float) -> int:
    return int(money * TOKENS_FOR_A_DOLLAR)


def unknown_price(limits: Limits, model: str) -> str:
    """How the limits in dollars are kept for a model whose price is not known; "" = there are none."""
    of_run, of_session = limits.cost, limits.session_cost
    run = f"{_dollars(of_run)} of a run as {tokens_for(of_run):,} tokens"
    session = f"{_dollars(of_session)} of the session as {tokens_for(of_session):,} tokens"
    if of_run and of_session:
        return f"The price of {model} is not known: the cost limit counts {run} and {session}."
    if of_run or of_session:
        return f"The price of {model} is not known: the cost limit counts {run if of_run else session}."
    return ""


def _dollars(amount: float) -> str:
    return f"${amount:.2f}" if amount >= 0.1 else f"${amount:.4f}"


def time_sentence(seconds: float, whose: str = "") -> str:
    shown = f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} seconds"
    return f"Stopped after the time limit of {shown}{' ' + whose if whose else ''}. It can go on."
