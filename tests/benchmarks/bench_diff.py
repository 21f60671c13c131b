"""Goal 5: opening and scrolling a diff of 100,000 lines against one of 1,000.

    python tests/benchmarks/bench_diff.py

Processor time of the GUI thread, medians of five; ratios within this one run.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "desktop"))

from goals import report
from PySide6.QtWidgets import QApplication

from worldline.protocol.model import DiffRow, FileChange, FileDiff
from worldline.ui.diff.view import DiffView
from worldline.ui.syntax.lines import line_painter
from worldline.ui.theme import theme


def diff(count: int, seed: int = 0) -> FileDiff:
    rows = []
    for at in range(count):
        kind = " " if at % 4 > 1 else "-+"[at % 4]
        rows.append(
            DiffRow.model_construct(
                kind=kind,
                old=at + 1,
                new=at + 1,
                text=f'    value_{at + seed} = call("{at}", {at})  # line',
                author="",
            )
        )
    return FileDiff(change=FileChange(path="big.py", status="M")).model_copy(update={"rows": rows})


def median(call: Callable[[int], None], rounds: int = 5) -> float:
    times = []
    for number in range(rounds):
        start = time.thread_time()
        call(number)
        times.append((time.thread_time() - start) * 1000)
    return statistics.median(times)


def opening(view: DiffView, count: int) -> float:
    made = [diff(count, seed * 1_000_000) for seed in range(5)]

    def once(number: int) -> None:
        view.set_diff(made[number])
        view.viewport().repaint()

    return median(once)


def main() -> int:
    app = QApplication([])
    theme().set_name("light")
    view = DiffView()
    view.resize(1000, 1000)
    view.show()
    app.processEvents()
    opening(view, 500)
    small, large = opening(view, 1_000), opening(view, 100_000)
    height = line_painter().height
    bar = view.verticalScrollBar()

    def wheel(number: int) -> None:
        bar.setValue(bar.value() + 3 * height)
        app.processEvents()

    def jump(number: int) -> None:
        bar.setValue(bar.maximum() * (number * 7 % 40 + 1) // 45)
        app.processEvents()

    def colours(number: int) -> None:
        jump(number + 3)
        start = time.thread_time()
        view._rest.stop()
        view._colour()
        app.processEvents()
        times.append((time.thread_time() - start) * 1000)

    wheel_ms = median(wheel, 60)
    view.set_side_by_side(True)
    app.processEvents()
    jump_ms = median(jump, 30)
    times: list[float] = []
    median(colours, 20)
    rows = [
        ("open 100,000 lines, ms to the first paint", large, 100.0),
        ("open 100,000 / open 1,000", large / small, 1.5),
        ("wheel step, ms", wheel_ms, 6.9),
        ("side by side: jump, plain, ms", jump_ms, 25.0),
        ("side by side: colours afterwards, ms", statistics.median(times), 100.0),
    ]
    app.quit()
    return report(rows)


if __name__ == "__main__":
    sys.exit(main())
