"""A reply as the window sees it while it comes in: in order, with secrets masked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from worldline.core.live_mask import LiveMask
from worldline.provider.model import StreamEvent


@dataclass(slots=True)
class LiveReply:
    """Of one exchange. What may be the beginning of a secret waits for the pieces after it, or for the end of its block."""

    show: Callable[[StreamEvent], None]
    _last: StreamEvent | None = None
    _mask: LiveMask = field(default_factory=LiveMask)

    def feed(self, event: StreamEvent) -> None:
        last = self._last
        if last is not None and (last.block, last.kind) != (event.block, event.kind):
            self.end()
        self._last = event
        text = self._mask.feed(event.text)
        # The first piece of a call has no text: it says which tool it is.
        if text or not event.text:
            self.show(StreamEvent(event.kind, event.block, text, event.tool))

    def end(self) -> None:
        """The block, or the reply, is over: show what was still held."""
        last, self._last = self._last, None
        text = self._mask.rest()
        self._mask = LiveMask()
        if last is not None and text:
            self.show(StreamEvent(last.kind, last.block, text, last.tool))

    def discard(self) -> None:
        """What was shown is void, and the reply begins again."""
        self._last, self._mask = None, LiveMask()
