"""The status that the window shows, kept current from what runs report."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from worldline.core.usage import Usage
from worldline.protocol.events import FilesChanged, StatusChanged
from worldline.protocol.model import Status
from worldline.protocol.wire import Message
from worldline.provider.model import FallbackEvent, RetryEvent

NowMs = Callable[[], int]


class StatusBoard:
    """The one place that changes the status. Implements `agent.deps.Watcher`."""

    def __init__(self, emit: Callable[[str, Message], None], now_ms: NowMs) -> None:
        self._emit = emit
        self._now_ms = now_ms
        self.now = Status(state="starting")
        self._cache: deque[tuple[int, int]] = deque(maxlen=5)
        """(read from the cache, all input) of the last answers."""
        self.limit_note = ""
        """How a limit in dollars is kept where a price is not known."""
        self.after_files: Callable[[str], None] = lambda _: None
        """Called with the node when files changed."""

    def set(self, **changes: Any) -> None:
        """Change parts of the status; announced once if anything is different."""
        updated = self.now.model_copy(update=changes)
        if updated != self.now:
            self.now = updated
            self._emit("status", StatusChanged(status=updated))

    def working(self, sentence: str, state: str = "running") -> None:
        self.set(state=state, sentence=sentence)

    def retrying(self, event: RetryEvent | None) -> None:
        if event is None:
            self.set(
                retry_attempt=0, retry_of=0, retry_at=0, retry_why="",
                **({"state": "running", "sentence": ""} if self.now.state == "retrying" else {}),
            )  # fmt: skip
            return
        self.set(
            state="retrying",
            sentence=f"{event.why} Trying again in {event.wait_s:.0f} s ({event.attempt} of {event.of}).",
            retry_attempt=event.attempt,
            retry_of=event.of,
            retry_at=self._now_ms() + int(event.wait_s * 1000),
            retry_why=event.why,
        )

    def fell_back(self, event: FallbackEvent) -> None:
        if event.back:
            self.set(fallback_why="", model=event.to_model)
        else:
            self.set(
                fallback_why=f"{event.from_model} does not answer: {event.why}",
                asked_model=self.now.asked_model or event.from_model,
                model=event.to_model,
            )

    def context(self, tokens: int, size: int, limit: int) -> None:
        self.set(context_tokens=tokens, context_bytes=size, context_limit=limit)

    def used(self, usage: Usage, model: str) -> None:
        """One answer came in."""
        self._cache.append((usage.cache_read_tokens, usage.context_tokens))
        read = sum(r for r, _ in self._cache)
        total = sum(t for _, t in self._cache)
        cost = self.now.cost
        note = self.now.cost_note
        if usage.cost is None:
            # What costs something unknown costs not "$0.00".
            cost = cost or None
            note = f"The price of {model} is not known; its answers are not in the sum. {self.limit_note}".rstrip()
        else:
            cost = (cost or 0.0) + usage.cost
        self.set(
            model=model or self.now.model,
            cost=cost,
            cost_note=note,
            cache_hit=read / total if total else None,
        )

    def cache(self, note: str) -> None:
        self.set(cache_note=note)

    def files_changed(self, node: str) -> None:
        self._emit("files_changed", FilesChanged(node=node))
        self.after_files(node)

    def unsaved(self, why: str) -> None:
        self.set(saved=False, saved_note=why)

    def saved(self) -> None:
        self.set(saved=True, saved_note="")
