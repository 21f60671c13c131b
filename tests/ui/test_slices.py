"""Work in slices lets everything else have its turn between them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from PySide6.QtCore import QObject, QTimer

from worldline.ui import slices


def test_timers_have_their_turn_between_slices(qtbot: Any, monkeypatch: Any) -> None:
    """What waits for a timer, the mouse or a paint is not put off until the last slice is done."""
    monkeypatch.setattr(slices, "SLICE_S", 0.0)  # each step is a slice
    owner, order = QObject(), []
    ticks = QTimer(interval=0)
    ticks.timeout.connect(lambda: order.append("tick"))
    ticks.start()
    slices.in_slices(owner, [lambda at=at: order.append(f"step {at}") for at in range(4)])
    qtbot.waitUntil(lambda: "step 3" in order)
    ticks.stop()
    steps = [at for at, what in enumerate(order) if what.startswith("step")]
    assert all("tick" in order[first:last] for first, last in pairwise(steps))


def test_what_is_left_is_dropped_with_its_owner(qtbot: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(slices, "SLICE_S", 0.0)
    owner, done = QObject(), []
    slices.in_slices(owner, [lambda: done.append(1), lambda: done.append(2)])
    owner.deleteLater()
    gone = []
    owner.destroyed.connect(lambda: gone.append(True))
    qtbot.waitUntil(lambda: bool(gone))
    later = []
    QTimer.singleShot(20, lambda: later.append(True))
    qtbot.waitUntil(lambda: bool(later))
    assert done == [1]
