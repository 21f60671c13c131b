"""Failures that other windows had, driven through ours: floods of output, large sessions, many messages at once."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from PySide6.QtCore import QSettings, QTimer
from PySide6.QtWidgets import QApplication

from tests_support import PATIENCE_S, measured
from worldline.client.process import EngineProcess
from worldline.ui.main_window import MainWindow
from worldline.ui.session_state import SessionState
from worldline.ui.windows import Windows

from . import sample
from .full import ENGINE

LARGE = """
import sys
from pathlib import Path
from worldline.core.kinds import NodeKind
from worldline.session.document import SessionDocument
from worldline.session.model import NodeDraft
doc = SessionDocument.create(Path(sys.argv[1]), title="large")
doc._db.execute("PRAGMA synchronous = OFF")
uid = doc.append(NodeDraft(NodeKind.ROOT, None)).uid
text = "A sentence that is long enough to be worth storing, with a number. " * 118
for first in range(0, 10_000, 1000):
    with doc.transaction():
        for n in range(first, first + 1000):
            kind = NodeKind.ASSISTANT if n % 2 else NodeKind.USER
            message = {"role": kind.value, "content": [{"type": "text", "text": f"{n} {text}"}]}
            uid = doc.append(NodeDraft(kind, uid, message, preview=f"message {n}")).uid
doc.close()
"""


class Heart:
    """Beats every 5 ms in the event loop and keeps the longest pause: what this thread worked between two beats, so
    that other programs on the machine do not count. (tests/benchmarks/bench_window.py measures by the clock.)"""

    def __init__(self) -> None:
        self.longest = 0.0
        self._last = time.thread_time()
        self._timer = QTimer()
        self._timer.setInterval(5)
        self._timer.timeout.connect(self._beat)
        self._timer.start()

    def _beat(self) -> None:
        now = time.thread_time()
        self.longest = max(self.longest, now - self._last)
        self._last = now

    def stop(self) -> float:
        """Milliseconds."""
        self._timer.stop()
        return 1000 * self.longest


@pytest.fixture
def window(tmp_path: Path, settings: QSettings, qtbot: Any) -> Iterator[MainWindow]:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(sample.script()), "utf-8")
    client = EngineProcess([], command=[sys.executable, str(ENGINE), str(script)])
    window = MainWindow(SessionState(client), settings)
    window.show()
    client.start()
    qtbot.waitUntil(lambda: window.complete and window.state.is_loaded, timeout=20_000)
    yield window
    window.close()
    client.stop_and_wait(PATIENCE_S)
    window.deleteLater()
    QApplication.processEvents()


def test_200_000_lines_neither_stop_the_window_nor_fill_it(window: MainWindow, qtbot: Any) -> None:
    memory = psutil.Process().memory_info().rss
    heart = Heart()
    with qtbot.waitSignal(window.state.run_ended, timeout=60_000):
        window.state.request("prompt", {"text": "lines 200000"})
    measured("ms of the longest turn", heart.stop(), 200)
    assert (psutil.Process().memory_info().rss - memory) / 1e6 < 150


def test_stop_answers_while_lines_pour_in(window: MainWindow, qtbot: Any) -> None:
    with qtbot.waitSignal(window.state.tool_output_batch, timeout=20_000):
        window.state.request("prompt", {"text": "lines 100000000"})
    answered: list[float] = []
    asked = time.perf_counter()
    window.state.request("stop", {}, lambda _result: answered.append(time.perf_counter()))
    qtbot.waitUntil(lambda: bool(answered), timeout=10_000)
    qtbot.waitUntil(lambda: not window.state.busy, timeout=20_000)
    # The button itself is shown pressed at once; the engine's answer passes the lines that are on their way.
    measured("seconds until the engine answered", answered[0] - asked, 2)


def test_a_long_reply_with_tables_is_rendered_at_its_tail_only(window: MainWindow, qtbot: Any) -> None:
    heart = Heart()
    with qtbot.waitSignal(window.state.run_ended, timeout=60_000):
        window.state.request("prompt", {"text": "markdown"})
    measured("ms of the longest turn", heart.stop(), 200)


def test_messages_of_four_threads_arrive_once_and_in_order(window: MainWindow, qtbot: Any) -> None:
    said: dict[int, str] = {}
    window.state.delta_batch.connect(
        lambda deltas: [said.update({d["turn"]: said.get(d["turn"], "") + d["text"]}) for d in deltas]
    )
    with qtbot.waitSignal(window.state.run_ended, timeout=60_000):
        window.state.request("prompt", {"text": "threads"})
    wanted = "".join(f"{n}," for n in range(1000))
    assert said == dict.fromkeys(range(4), wanted)


@pytest.mark.slow
def test_a_session_of_80_mb_is_seen_at_once_and_never_stops_the_window(
    tmp_path: Path, settings: QSettings, qtbot: Any
) -> None:
    path = tmp_path / "large.worldline"
    subprocess.run([sys.executable, "-c", LARGE, str(path)], check=True)
    windows = Windows(settings)
    before = psutil.Process().memory_info().rss
    begin = time.perf_counter()
    window = windows.open(str(path))
    assert window is not None
    painted: list[float] = []
    window.first_painted.connect(lambda: painted.append(time.perf_counter() - begin))
    qtbot.waitUntil(lambda: bool(painted), timeout=10_000)
    heart = Heart()
    qtbot.waitUntil(lambda: window.complete and window.state.is_loaded, timeout=60_000)
    qtbot.wait(1000)
    for row in (10_000, 5_000, 17, 9_000):
        window.tree.view.look_at(row)
        qtbot.wait(300)
    gap = heart.stop()
    window.close()
    window.state.client.stop_and_wait(PATIENCE_S)
    measured("seconds until the first picture", painted[0], 2)
    measured("ms of the longest turn", gap, 200)
    # What this window takes: tests before this one have left theirs.
    assert (psutil.Process().memory_info().rss - before) / 1e6 < 600
