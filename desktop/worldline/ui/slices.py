"""Long work of the window in slices, with its events between them: it never stands still for the sum of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from PySide6.QtCore import QObject, QTimer

SLICE_S = 0.004
"""A slice takes no further step after this time; a quarter of a frame, so that one with a long step at its end is one
frame."""

PAUSE_MS = 1
"""Not 0: that is an event which Qt handles with those that are waiting already, before it looks at timers, at the mouse
and at what is to be painted; all slices would be one."""


def in_slices(owner: QObject, steps: Iterable[Callable[[], object]]) -> None:
    """Do the steps in order, the first at once. What is left is dropped when `owner` is gone."""
    rest = iter(steps)

    def go_on() -> None:
        end = time.monotonic() + SLICE_S
        for step in rest:
            step()
            if time.monotonic() >= end:
                QTimer.singleShot(PAUSE_MS, owner, go_on)
                return

    go_on()
