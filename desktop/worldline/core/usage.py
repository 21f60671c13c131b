"""Tokens used, as the API counts them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

_MOST = 1 << 53
"""No true count is larger, and a column of the session document holds it."""


def bounded_count(value: Any) -> int:
    """A count from outside; 0 for what is none."""
    return min(value, _MOST) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


class Usage(BaseModel):
    """Token counts of one answer or of a sum of answers. All counts are tokens; `cost` is US dollars,
    None where a price is not known (never 0 for unknown)."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    thinking_tokens: int = 0
    cost: float | None = None
    answers: int = 0
    """How many answers are in this sum."""

    @property
    def context_tokens(self) -> int:
        """Tokens of the request: what was read fresh, from the cache, and written to it."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    def __add__(self, other: Usage) -> Usage:
        # A sum with an unknown part is unknown, unless one side holds no answer at all.
        if self.answers == 0:
            cost = other.cost
        elif other.answers == 0:
            cost = self.cost
        else:
            cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            thinking_tokens=self.thinking_tokens + other.thinking_tokens,
            cost=cost,
            answers=self.answers + other.answers,
        )

    @classmethod
    def from_api(cls, raw: dict[str, Any]) -> Usage:
        """From the `usage` object of an answer; missing or malformed counts are 0."""

        def count(name: str) -> int:
            return bounded_count(raw.get(name))

        details = raw.get("output_tokens_details")
        thinking = details.get("thinking_tokens") if isinstance(details, dict) else None
        return cls(
            input_tokens=count("input_tokens"),
            output_tokens=count("output_tokens"),
            cache_read_tokens=count("cache_read_input_tokens"),
            cache_write_tokens=count("cache_creation_input_tokens"),
            thinking_tokens=bounded_count(thinking),
            answers=1,
        )
