"""The window answers while much comes in: what it works between two turns of the event loop, on the real widgets. By the
clock it is measured in tests/benchmarks: here other programs on the machine do not count."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from tests_support import measured
from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeKind, Outcome
from worldline.protocol.events import Delta
from worldline.protocol.model import Body, DiffRow, FileChange, FileDiff
from worldline.ui.chat.message_rows import ReplyRow
from worldline.ui.chat.row_base import RowWidget
from worldline.ui.chat.view import ChatView
from worldline.ui.diff.view import DiffView
from worldline.viewmodel.chat import ChatModel

from .looking import parts_on_screen, row_on_screen

UID = "f" * 16
LIMIT_MS = 100.0
"""Of the kept-back cases the strictest one."""


class Gaps:
    """Largest and second largest work of this thread between two turns of the event loop."""

    def __init__(self) -> None:
        self._last = time.thread_time()
        self.found: list[float] = []
        self._timer = QTimer()
        self._timer.timeout.connect(self._tick)
        self._timer.start(0)

    def _tick(self) -> None:
        now = time.thread_time()
        self.found.append((now - self._last) * 1000)
        self._last = now

    def judge(self) -> None:
        """The largest but one: one gap may be that of a collection of garbage that tests before this one left."""
        while len(self.found) < 2:
            QApplication.processEvents()
        self._timer.stop()
        measured("ms of the second longest turn", sorted(self.found)[-2], LIMIT_MS)


def run(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        QApplication.processEvents()


@pytest.fixture
def view(qtbot: Any) -> ChatView:
    view = ChatView(ChatModel())
    view.resize(600, 900)
    qtbot.addWidget(view)
    view.show()
    run(0.2)
    return view


def node(seq: int, kind: NodeKind, **more: Any) -> NodeHeader:
    return NodeHeader(
        seq=seq,
        uid=f"{seq:016x}",
        parent=seq - 1,
        kind=kind,
        created=seq,
        preview=f"node {seq}",
        run="r",
        **more,
    )


def part(number: int) -> str:
    code = "\n".join(f"def f{number}_{line}(x): return x + {line}" for line in range(25))
    head = "| " + " | ".join(f"column {column}" for column in range(14)) + " |\n|" + "---|" * 14
    rows = "\n".join(
        "| " + " | ".join(f"value {row} {column}" for column in range(14)) + " |" for row in range(8)
    )
    return f"## Part {number}\n\nSome *words* with `code`.\n\n```python\n{code}\n```\n\n{head}\n{rows}\n\n"


TEXT = "".join(part(number) for number in range(30))


def rss_mb() -> float:
    with open("/proc/self/statm", encoding="ascii") as handle:
        return int(handle.read().split()[1]) * 4096 / 1e6


def test_a_streamed_reply_with_code_and_tables(view: ChatView) -> None:
    chunks = [TEXT[at : at + 40] for at in range(0, 30_000, 40)]
    gaps, at, start = Gaps(), 0, time.monotonic()
    while at < len(chunks):
        due = min(len(chunks), int((time.monotonic() - start) * 400) + 1)
        if due > at:
            view.model.deltas(
                Delta(run="r", turn=1, block=0, kind="text", text=one) for one in chunks[at:due]
            )
            at = due
        QApplication.processEvents()
    view.flush()
    gaps.judge()
    assert view.model.rows[-1].blocks[0].text == TEXT[:30_000]


def test_a_reply_of_100_kb_comes_in_at_once_and_only_what_is_in_sight_has_widgets(view: ChatView) -> None:
    view.model.set_path([node(1, NodeKind.USER), node(2, NodeKind.ASSISTANT)])
    run(0.1)
    gaps = Gaps()
    content = [{"type": "text", "text": (TEXT * 2)[:100_000]}]
    view.model.set_bodies(
        [Body(uid=f"{2:016x}", kind="assistant", message={"role": "assistant", "content": content})]
    )
    run(1.0)
    gaps.judge()
    row = row_on_screen(view, f"{2:016x}")
    assert isinstance(row, ReplyRow) and row.text == (TEXT * 2)[:100_000]
    assert len(parts_on_screen(row._view)) < 80 < row.text.count("\n\n")
    # From the end to the top: what is read stays where it is while heights become known.
    gaps, bar = Gaps(), view.verticalScrollBar()
    for step in range(40, -1, -1):
        bar.setValue(bar.maximum() * step // 40)
        QApplication.processEvents()
    gaps.judge()


@pytest.mark.skipif(not hasattr(time, "pthread_getcpuclockid"), reason="memory is read from /proc")
def test_a_command_that_prints_200_000_lines(view: ChatView) -> None:
    view.model.set_path(
        [node(1, NodeKind.USER), node(2, NodeKind.TOOL, outcome=Outcome.RUNNING, tool="bash")]
    )
    run(0.1)
    before, gaps = rss_mb(), Gaps()
    for at in range(0, 200_000, 400):
        view.model.tool_output(f"{2:016x}", "".join(f"{line}\n" for line in range(at, at + 400)))
        QApplication.processEvents()
    run(0.2)
    gaps.judge()
    assert rss_mb() - before < 150
    row = view.model.row(f"{2:016x}")
    assert row is not None and row.output is not None and row.output.lines(1) == ["199999"]


def big_diff(lines: int) -> FileDiff:
    rows = [DiffRow.model_construct(kind="@", old=0, new=0, text="@@ -1 +1 @@", author="")]
    for at in range(1, lines):
        kind = "-+ "[at % 3]
        rows.append(
            DiffRow.model_construct(kind=kind, old=at, new=at, text=f"line {at} of a file", author="")
        )
    return FileDiff.model_construct(change=FileChange(path="a.py", status="M"), rows=rows, truncated=False)


@pytest.mark.parametrize("side_by_side", [False, True])
def test_a_diff_of_100_000_lines_is_on_screen_at_once(qtbot: Any, side_by_side: bool) -> None:
    diff, view = big_diff(100_000), DiffView()
    view.resize(900, 700)
    qtbot.addWidget(view)
    view.set_side_by_side(side_by_side)
    view.show()
    run(0.1)
    gaps = Gaps()
    view.set_diff(diff)
    view.grab()
    assert not side_by_side or not view.model.all_paired, "the first picture does not wait for all pairs"
    run(0.6)
    if side_by_side:
        qtbot.waitUntil(lambda: view.model.all_paired, timeout=30_000)
    gaps.judge()
    if side_by_side:
        left, right = view.model.pairs()
        assert len(left) == len(right) == view.model.count(True)
        for row in (1, 2, 50_000, 99_998):
            screen = view.model.screen_row(row, True)
            assert row in (left[screen], right[screen])


def test_a_path_of_10_000_messages(view: ChatView) -> None:
    kinds: list[Callable[[int], NodeHeader]] = [
        lambda at: node(at, NodeKind.USER), lambda at: node(at, NodeKind.ASSISTANT), lambda at: node(at, NodeKind.TOOL),
    ]  # fmt: skip
    path = [kinds[at % 3](at) for at in range(1, 1501)]
    gaps = Gaps()
    view.model.set_path(path)
    run(0.3)
    gaps.judge()
    assert view.model.path and len(view.findChildren(RowWidget)) < 200, (
        "rows in sight have widgets, and few more"
    )
