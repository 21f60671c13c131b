"""Goal 4 of the chat: opening 10,000 messages against 100, streaming into a short and a long message.

    python tests/benchmarks/bench_chat.py

Processor time of the GUI thread, medians of five; ratios within this one run.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "desktop"))

from goals import report
from PySide6.QtWidgets import QApplication

from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeKind, Outcome
from worldline.protocol.events import Delta
from worldline.ui.chat.view import ChatView
from worldline.ui.theme import theme
from worldline.viewmodel.chat import ChatModel

ROUNDS = 5
WORDS = "Some words of a reply that goes on, with `code` and *more* of it.\n\n"


def path(count: int) -> list[NodeHeader]:
    kinds = (NodeKind.USER, NodeKind.ASSISTANT, NodeKind.TOOL)
    return [
        NodeHeader(seq=at, uid=f"{at:016x}", parent=at - 1, kind=kinds[at % 3], created=at, preview=f"message {at}",
                   size=at % 900, outcome=Outcome.OK, tool="bash" if at % 3 == 2 else "")
        for at in range(1, count + 1)
    ]  # fmt: skip


def shown() -> ChatView:
    view = ChatView(ChatModel())
    view.resize(600, 1000)
    view.show()
    QApplication.processEvents()
    return view


def opening(count: int) -> float:
    times = []
    for _ in range(ROUNDS):
        view, headers = shown(), path(count)
        start = time.thread_time()
        view.model.set_path(headers)
        view.grab()
        times.append((time.thread_time() - start) * 1000)
        view.deleteLater()
        QApplication.processEvents()
    return statistics.median(times)


def streaming(length: int, per_second: int = 200, seconds: float = 2.0) -> float:
    """Share of one core that `per_second` deltas cost while the message already has `length` characters."""
    view = shown()
    view.model.set_path(path(10))
    view.model.deltas(
        [Delta(run="r", turn=1, block=0, kind="text", text=(WORDS * (length // len(WORDS) + 1))[:length])]
    )
    view.flush()
    # A message that comes in whole is laid out over some frames; what streams in after that is measured.
    until = time.monotonic() + 1.0
    while time.monotonic() < until:
        QApplication.processEvents()
    start, ticks = time.thread_time(), round(seconds * 30)
    for tick in range(ticks):
        count = per_second // 30
        view.model.deltas(
            [
                Delta(run="r", turn=1, block=0, kind="text", text=WORDS[(tick * count + n) % len(WORDS)])
                for n in range(count)
            ]
        )
        view.flush()
        QApplication.processEvents()
    used = time.thread_time() - start
    view.deleteLater()
    return used / seconds


def streams() -> tuple[float, float, float]:
    """Short, long, and the median of their ratios: each pair is measured one after the other, so that what else the
    machine does counts for both."""
    pairs = [(streaming(1_000, seconds=1.0), streaming(100_000, seconds=1.0)) for _ in range(2 * ROUNDS - 1)]
    short, long = (statistics.median(one) for one in zip(*pairs, strict=True))
    return short, long, statistics.median(long / short for short, long in pairs)


def scrolling(count: int) -> float:
    view = shown()
    view.model.set_path(path(count))
    bar = view.verticalScrollBar()
    times = []
    for step in range(1, 60):
        start = time.thread_time()
        bar.setValue(bar.maximum() * step // 60)
        view.grab()
        times.append((time.thread_time() - start) * 1000)
    view.deleteLater()
    return statistics.median(times)


def main() -> int:
    app = QApplication([])
    theme().set_name("light")
    opening(50)
    small, large = opening(100), opening(10_000)
    short, long, grown = streams()
    rows = [
        ("open 10,000 messages, ms", large, 100.0),
        ("open 10,000 / open 100", large / small, 3.0),
        ("200 deltas/s, 1 KB message, % of a core", short * 100, 25.0),
        ("200 deltas/s, 100 KB message, % of a core", long * 100, 25.0),
        ("100 KB / 1 KB, median of pairs", grown, 1.3),
        ("jump in 10,000 messages, ms (median)", scrolling(10_000), 50.0),
    ]
    app.quit()
    return report(rows)


if __name__ == "__main__":
    sys.exit(main())
