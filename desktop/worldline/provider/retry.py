"""When to try again, and how long to wait before it: decided and told before the wait."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from worldline.provider.model import Failure

RETRY_AFTER_CAP_S = 120.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long. `attempts` counts the first try."""

    attempts: int = 5
    fallback_attempts: int = 2
    base_s: float = 1.0
    factor: float = 2.0
    cap_s: float = 30.0
    jitter: float = 0.25
    """Up to this part of a wait is taken off or added at random, so that many clients do not come back at once."""
    retry_after_cap_s: float = RETRY_AFTER_CAP_S

    def may_retry(self, failure: Failure, attempt: int, of: int) -> bool:
        """Whether attempt `attempt` of `of`, which just failed, is followed by another."""
        if not failure.retryable or attempt >= of:
            return False
        # What is malformed or stalled for no visible cause rarely gets better: fewer tries than for capacity.
        return not (failure.kind in ("protocol", "stalled") and attempt >= 3)

    def wait_s(self, attempt: int, retry_after_s: float | None, rng: random.Random) -> float:
        """Seconds to wait after failed attempt number `attempt`. The server's wish counts, up to the cap; a wish of
        0 still backs off, or a server that always says 0 would be hammered."""
        backoff = min(self.cap_s, self.base_s * self.factor ** (attempt - 1))
        backoff *= 1 + self.jitter * (2 * rng.random() - 1)
        if retry_after_s is None:
            return backoff
        wished = min(max(0.0, retry_after_s), self.retry_after_cap_s)
        if wished <= 0:
            return min(backoff, self.base_s)
        return min(wished * (1 + self.jitter * rng.random() * 0.2), self.retry_after_cap_s)


def parse_retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds the server asks to wait; None when it does not say, or says nonsense. Never negative: a past date
    is now. The caller caps it."""
    millis = _number(headers.get("retry-after-ms", ""))
    if millis is not None and millis >= 0:
        return millis / 1000
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    seconds = _number(text)
    if seconds is not None:
        return seconds if seconds >= 0 else None
    try:
        moment = parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return max(0.0, moment - (time.time() if now is None else now))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if value == value and abs(value) != float("inf") else None


async def wait(seconds: float, retry_now: asyncio.Event) -> bool:
    """Wait, or until the person wants it now (True). Cancelling is immediate. The event is cleared."""
    try:
        async with asyncio.timeout(seconds):
            await retry_now.wait()
    except TimeoutError:
        return False
    retry_now.clear()
    return True
