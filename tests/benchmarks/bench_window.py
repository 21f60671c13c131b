"""The window in numbers: start-up against a bare window, and how long it ever stands still.

    python tests/benchmarks/bench_window.py [--rounds N]

Every figure comes from a process of its own, offscreen, with bytecode in place as after an installation. Prints a
table and exits with 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent / "desktop"
FAKE = HERE.parent / "ui" / "fake_engine.py"

BARE = """
import os, sys, time
from PySide6.QtWidgets import QApplication, QMainWindow
app = QApplication([])
class Window(QMainWindow):
    def paintEvent(self, event):
        print(time.clock_gettime(time.CLOCK_MONOTONIC), *os.times()[:2]); sys.stdout.flush(); os._exit(0)
window = Window(); window.resize(1280, 800); window.show(); app.exec()
"""
OURS = """
import os, sys, time
import worldline.ui.start as start
usual = start._catch_defects
def patch(app):
    usual(app)
    import worldline.ui.main_window as main_window
    def painted(window):
        assert len(window.state.tree) == int(sys.argv[2])
        print(time.clock_gettime(time.CLOCK_MONOTONIC), *os.times()[:2]); sys.stdout.flush(); os._exit(0)
    main_window.MainWindow._after_first_paint = painted
start._catch_defects = patch
start.run([sys.argv[1]])
"""
BEAT = """
import json, os, sys, time
from pathlib import Path
import worldline.ui.start as start
mode, target = sys.argv[1], sys.argv[2]
gaps, last = [], [0.0, 0.0]
usual = start._catch_defects
def patch(app):
    # The program as it starts, but for what it is opened on.
    usual(app)
    from PySide6.QtCore import QTimer
    from worldline.client.process import EngineProcess
    from worldline.ui.main_window import MainWindow
    from worldline.ui.windows import Windows
    timer = QTimer(app); timer.setInterval(5)
    def tick():
        now, work = time.perf_counter(), time.thread_time()
        gaps.append((now - last[0], work - last[1])); last[:] = now, work
    timer.timeout.connect(tick)
    def begin():
        last[:] = time.perf_counter(), time.thread_time(); timer.start()
    def run(window, client):
        state = window.state
        def end():
            timer.stop()
            print(json.dumps(gaps)); sys.stdout.flush()
            client.stop_and_wait(8); os._exit(0)
        if mode == "open":
            QTimer.singleShot(2500, end)
        elif mode == "stream":
            begin(); state.request("prompt", {"text": "forever"}); QTimer.singleShot(5000, end)
        else:
            for number in range(1000):
                Path(target, f"f{number}.txt").write_text("changed " * 50 + str(number))
            begin(); state.request("jump", {"node": state.tree.uid(0), "choices": {}}, lambda _r: QTimer.singleShot(300, end),
                                   lambda e: (sys.stderr.write(str(e)), end()))
    def opened(windows, path):
        if mode == "stream":
            client = EngineProcess([], command=[sys.executable, sys.argv[3], target])
        elif mode == "capture":
            client = EngineProcess(["--workspace", target, "--in-place"])
        else:
            client = EngineProcess(["--session", target])
        window = windows.open_client(client, opened_with=target, read=Path(target) if mode == "open" else None)
        window.resize(1280, 800)
        window.state.loaded.connect(lambda: QTimer.singleShot(0 if mode == "open" else 1500, lambda: run(window, client)))
        window.state.failed.connect(lambda e: sys.stderr.write(str(e)))
    Windows.open = opened
    if mode == "open":
        # From the first picture on: buttons, panes, the engine's start and its answers.
        after = MainWindow._after_first_paint
        def first(window):
            begin(); after(window)
        MainWindow._after_first_paint = first
    QTimer.singleShot(60000, app, lambda: os._exit(3))
start._catch_defects = patch
start.run([target])
"""


def environment(folder: Path) -> dict[str, str]:
    result = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "WORLDLINE_HOME": str(folder / "home"),
              "PYTHONPATH": str(SOURCE), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}  # fmt: skip
    result.pop("PYTHONDONTWRITEBYTECODE", None)
    return result


def first_paint(program: str, arguments: list[str], folder: Path) -> tuple[float, float]:
    """Milliseconds from the start of the process to the first paint: wall, and processor."""
    import time

    begin = time.clock_gettime(time.CLOCK_MONOTONIC)
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment(folder),
        capture_output=True,
        text=True,
        check=True,
    )
    at, user, system = map(float, done.stdout.split()[-3:])
    return 1000 * (at - begin), 1000 * (user + system)


def gaps(mode: str, target: str, folder: Path) -> tuple[list[float], float]:
    """Milliseconds between turns of the event loop, in order of size, and the most work of its thread in one turn (what
    other programs on the machine do is not in that)."""
    done = subprocess.run(
        [sys.executable, "-c", BEAT, mode, target, str(FAKE)],
        env=environment(folder), capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    found = json.loads(done.stdout.splitlines()[-1])
    return sorted(1000 * gap for gap, _work in found), 1000 * max(work for _gap, work in found)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    sys.path[:0] = [str(SOURCE), str(HERE), str(HERE.parent)]
    import bench_session

    from ui import sample

    missed = []

    def say(name: str, value: float, goal: float, unit: str) -> None:
        fits = value <= goal
        print(f"{name:<58}{value:>9.2f} {unit:<4} goal {goal:g}  {'' if fits else 'MISSED'}")
        if not fits:
            missed.append(name)

    with tempfile.TemporaryDirectory(prefix="bench-window-") as name:
        folder = Path(name)
        small, large = folder / "10k.worldline", folder / "100k.worldline"
        bench_session.build(small, 10_000, 400)
        bench_session.build_headers(large, 100_000)
        programs = {
            "bare": (BARE, []),
            "10k": (OURS, [str(small), "10001"]),
            "100k": (OURS, [str(large), "100000"]),
        }
        found: dict[str, list[tuple[float, float]]] = {key: [] for key in programs}
        for number in range(rounds + 1):
            for key, (program, arguments) in programs.items():
                sample_of = first_paint(program, arguments, folder)
                if number:  # the first round writes the bytecode
                    found[key].append(sample_of)
        wall = {key: statistics.median(one[0] for one in values) for key, values in found.items()}
        best = {key: min(one[0] for one in values) for key, values in found.items()}
        print("first paint, ms from the start of the process: " + ", ".join(
            f"{key} median {wall[key]:.0f} best {best[key]:.0f}" for key in programs))  # fmt: skip
        say("first paint, 10,000 nodes / bare window", wall["10k"] / wall["bare"], 1.3, "x")
        say("first paint, 100,000 nodes / bare window", wall["100k"] / wall["bare"], 1.6, "x")
        script = folder / "script.json"
        script.write_text(json.dumps(sample.script()), "utf-8")
        work = folder / "work"
        work.mkdir()
        (work / "a.txt").write_text("a")
        for mode, target, words in (
            ("open", str(small), "engine start, 10,000 messages loaded"),
            ("stream", str(script), "streaming 500 deltas a second"),
            ("capture", str(work), "a snapshot of 1,000 new files"),
        ):
            runs = [gaps(mode, target, folder) for _ in range(rounds if mode == "open" else 1)]
            say(
                f"frame gap p99, {words}",
                statistics.median(every[int(len(every) * 0.99)] for every, _ in runs),
                33,
                "ms",
            )
            say(f"frame gap max, {words}", statistics.median(every[-1] for every, _ in runs), 50, "ms")
            say(f"most work in one turn, {words}", max(work for _, work in runs), 35, "ms")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
