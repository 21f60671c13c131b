"""A run: start it, steer it, brake it; the messages that wait for it."""

from __future__ import annotations

from typing import Literal

from worldline.protocol.model import Mode, RunInfo
from worldline.protocol.wire import Message


class Image(Message):
    media_type: str
    data: str
    """Base64."""


class Prompt(Message):
    """Hangs a prompt on the cursor and starts a run. While one runs it is queued (`when`)."""

    text: str
    images: list[Image] = []
    mode: Mode | None = None
    model: str = ""
    effort: str = ""
    when: Literal["now", "next_step", "interrupt"] = "now"


class PromptResult(Message):
    run: str = ""
    node: str = ""
    queued: int = 0
    """Id of the queued message; 0 = it was started."""


class Stop(Message):
    """End the run that is going on; what it did stays."""


class RetryNow(Message):
    """Do not wait any longer before the next attempt."""


class Pause(Message):
    on: bool


class GoOn(Message):
    """Go on after a brake, with `turns` more turns; 0 = as many as the settings allow (try again)."""

    turns: int = 10


class QueueEdit(Message):
    id: int
    text: str | None = None
    """None = take it out of the queue."""
    send: bool = False
    """Send it now instead, as it is. Only while nothing runs: a message outlives a run that was stopped or broke off."""


class Runs(Message):
    runs: list[RunInfo]


class Drill(Message):
    """Demo only: make the rehearsal server fail in this way at the next request."""

    fault: str
