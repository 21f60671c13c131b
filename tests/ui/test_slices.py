"""Work in slices lets everything else have its turn between them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from PySide6.QtCore import QObject, QTimer

from worldline.protocol.commands import Changes
from worldline.protocol.model import FileChange
from worldline.ui import slices
from worldline.ui.diff import arriving
from worldline.viewmodel.diff_files import by_path, is_by_path


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


@pytest.mark.parametrize("count", [3, arriving.PART, 3 * arriving.PART + 7])
@pytest.mark.parametrize("shuffled", [False, True])
def test_many_files_are_taken_over_whole_and_in_order(
    qtbot: Any, monkeypatch: Any, count: int, shuffled: bool
) -> None:
    monkeypatch.setattr(slices, "SLICE_S", 0.0)
    paths = [f"f{at:06d}" for at in range(count)]
    if shuffled:
        paths = paths[1:] + paths[:1]
    raw = Changes(
        a="1",
        b="2",
        added=9,
        removed=1,
        files=[FileChange(path=path, status="M", added=at) for at, path in enumerate(paths)],
    ).model_dump()
    came: list[Changes] = []
    owner = QObject()
    arriving.take_changes(owner, raw, came.append)
    assert len(came) == (count <= arriving.PART), "many are not taken at once"
    qtbot.waitUntil(lambda: bool(came))
    wanted = Changes.model_validate(raw)
    wanted.files = by_path(wanted.files)
    assert came == [wanted]


def test_files_that_come_in_order_are_never_sorted(qtbot: Any, monkeypatch: Any) -> None:
    """A hundred thousand of them are looked at five hundred at a time, as they come."""
    seen: list[int] = []

    def looked(paths: list[str], before: str = "") -> bool:
        seen.append(len(paths))
        return is_by_path(paths, before)

    monkeypatch.setattr(arriving, "is_by_path", looked)
    monkeypatch.setattr(arriving, "by_path", lambda _files: pytest.fail("sorted at once"))
    files = [FileChange(path=f"f{at:06d}", status="M").model_dump() for at in range(2 * arriving.PART + 7)]
    came: list[Changes] = []
    owner = QObject()
    arriving.take_changes(owner, {"a": "1", "b": "2", "files": files, "added": 0, "removed": 0}, came.append)
    qtbot.waitUntil(lambda: bool(came))
    assert seen == [arriving.PART, arriving.PART, 7] and len(came[0].files) == 2 * arriving.PART + 7
