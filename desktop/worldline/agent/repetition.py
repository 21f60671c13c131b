"""A reply that says the same thing again and again, noticed while it comes in."""

from __future__ import annotations

_WINDOW = 4000
_MIN_REPEATS = 12
_MAX_PERIOD = 300
_CHECK_EVERY = 500


class RepetitionWatch:
    """Feed it the text of one block as it arrives; `looping` turns true when its end is one passage repeated
    at least twelve times. Short passages (a ruler of dashes, a table line) need a longer run."""

    def __init__(self) -> None:
        self._tail = ""
        self._unchecked = 0
        self.looping = False

    def feed(self, text: str) -> None:
        self._tail = (self._tail + text)[-_WINDOW:]
        self._unchecked += len(text)
        if self._unchecked >= _CHECK_EVERY and not self.looping:
            self._unchecked = 0
            self.looping = repeats(self._tail)


def repeats(text: str) -> bool:
    """Whether `text` ends with one passage of 8 to 300 characters, repeated to fill at least 2,400 characters."""
    if len(text) < 2400:
        return False
    end = text[-2400:]
    # The tail occurs one period earlier, so the distance to its previous occurrence is the only candidate.
    probe = end[-64:]
    before = end.rfind(probe, 0, len(end) - 1)
    if before < 0:
        return False
    period = len(end) - 64 - before
    if period < 8 or period > _MAX_PERIOD or len(set(end[-period:])) < 4:
        return False
    if len(end) // period < min(_MIN_REPEATS, len(end) // _MAX_PERIOD):
        return False
    return all(end[i] == end[i - period] for i in range(period, len(end)))
