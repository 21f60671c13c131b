"""A reply that says the same thing again and again, noticed while it comes in."""

from __future__ import annotations

from worldline.tools.breaker import repeats_itself

_WINDOW = 6000
_CHECK_EVERY = 2000


class RepetitionWatch:
    """Feed it the text of a reply as it arrives; `looping` turns true when its end is one passage, repeated."""

    def __init__(self) -> None:
        self._tail = ""
        self._unchecked = 0
        self.looping = False

    def feed(self, text: str) -> None:
        self._tail = (self._tail + text)[-_WINDOW:]
        self._unchecked += len(text)
        if self._unchecked >= _CHECK_EVERY and not self.looping:
            self._unchecked = 0
            self.looping = repeats_itself(self._tail)
