"""Tree and start-up: goals 1 and 3 of the numbers to reach. `python tests/benchmarks/bench_tree.py [--quick]`.

CPU time of the GUI thread for each operation with its repaint, median and 95th percentile; start-up as a ratio to a
bare window, started in turn in the same minute.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("WORLDLINE_HOME", tempfile.mkdtemp(prefix="worldline-bench-"))
ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "desktop"))

from PySide6.QtWidgets import QApplication

from worldline.client.process import EngineProcess
from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.ui.session_state import SessionState
from worldline.ui.theme import theme
from worldline.ui.tree.view import TreeView

TOOLS = ("read", "edit", "bash", "grep")


def header(seq: int, rng: random.Random) -> NodeHeader:
    """3 % forks, a third of them anywhere; one of fifty steps fails."""
    parent = seq - 1
    if seq > 2 and rng.random() < 0.03:
        parent = rng.randint(1, seq - 1) if rng.random() < 0.3 else rng.randint(max(1, seq - 60), seq - 1)
    kind = NodeKind.USER if seq % 20 == 2 else NodeKind.ASSISTANT if seq % 2 else NodeKind.TOOL
    tool = TOOLS[seq % 4] if kind is NodeKind.TOOL else ""
    outcome = Outcome.NONE if kind is NodeKind.USER else Outcome.FAILED if rng.random() < 0.02 else Outcome.OK
    return NodeHeader(seq, f"{seq:016x}", parent, kind, seq, f"src/module_{seq % 997}.py step {seq}", outcome,
                      NodeFlag.NONE, tool=tool)  # fmt: skip


def measure(call: Callable[[int], None], rounds: int) -> tuple[float, float]:
    samples = []
    for number in range(rounds):
        began = time.thread_time()
        call(number)
        samples.append((time.thread_time() - began) * 1000)
    samples.sort()
    return statistics.median(samples), samples[int(len(samples) * 0.95) - 1]


def bench_size(count: int, rounds: int) -> dict[str, tuple[float, float]]:
    rng = random.Random(1)
    state = SessionState(EngineProcess([], command=["true"]))
    state.tree.extend(header(seq, rng) for seq in range(1, count + 1))
    view = TreeView(state)
    view.resize(700, 1000)
    view.show()
    QApplication.processEvents()
    began = time.thread_time()
    state.is_loaded = True
    state.cursor = state.tree.uid(count - 1)
    view.scene.layout = type(view.scene.layout)(state.tree)
    view.scene.layout.follow()
    layout_ms = (time.thread_time() - began) * 1000
    view.scene.overview = type(view.scene.overview)(view.scene.layout, view.scene.items)
    began = time.thread_time()
    view.show_only("all", folding=False)
    items_ms = (time.thread_time() - began) * 1000
    began = time.thread_time()
    view.show_only("all", folding=True)
    fold_ms = (time.thread_time() - began) * 1000
    view.show_only("all", folding=False)
    view.scene.set_cursor(count - 1)
    bar, paint = view.verticalScrollBar(), view.viewport().repaint
    result = {"layout": (layout_ms, layout_ms), "items": (items_ms, items_ms), "fold": (fold_ms, fold_ms)}

    def pan(number: int) -> None:
        bar.setValue(bar.maximum() // 2 + number * 40)
        paint()

    def jump(_number: int) -> None:
        bar.setValue(rng.randint(0, bar.maximum()))
        paint()

    def append(_number: int) -> None:
        row = state.tree.append(header(len(state.tree) + 1, rng))
        state.headers_changed.emit(row)
        paint()

    def zoom(number: int) -> None:
        view.zoom(0.8 if number % 60 < 30 else 1.25)
        paint()

    result["pan"] = measure(pan, rounds)
    result["jump"] = measure(jump, rounds)
    bar.setValue(bar.maximum())
    result["append"] = measure(append, rounds)
    result["zoom"] = measure(zoom, rounds)
    view.fit()
    began = time.thread_time()
    paint()
    first = (time.thread_time() - began) * 1000
    result["overview first"] = (first, first)
    result["overview"] = measure(lambda _n: paint(), rounds)
    result["overview+append"] = measure(append, rounds)
    result["hit test"] = measure(
        lambda n: view.row_at(view.rect_of(n * 7 % count).center().toPointF()) and None, rounds
    )
    result["bytes/node"] = (state.tree.bytes_used() / len(state.tree) + 8, 0)
    view.close()
    return result


WINDOW = """
import sys, time; began = time.perf_counter(); sys.path.insert(0, {root!r})
from pathlib import Path
from PySide6.QtWidgets import QApplication, QMainWindow
app = QApplication([])
if {kind!r} == "bare":
    window = QMainWindow(); window.resize(1280, 800); window.show(); app.processEvents()
else:
    from worldline.client.process import EngineProcess
    from worldline.ui import i18n, preferences
    from worldline.ui.main_window import MainWindow
    from worldline.ui.session_state import SessionState
    from worldline.ui.theme import theme
    i18n.install(app); theme().follow_system()
    state = SessionState(EngineProcess([], command=["true"]))
    state.read_ahead(Path({file!r}))
    window = MainWindow(state, preferences.settings()); painted = []
    window.first_painted.connect(lambda: painted.append(time.perf_counter() - began)); window.show()
    while not painted: app.processEvents()
    assert len(state.tree) > 1
    print(painted[0]); sys.stdout.flush(); import os; os._exit(0)
print(time.perf_counter() - began)
"""


def session_file(count: int, folder: Path) -> Path:
    """A real document with `count` nodes."""
    program = (
        "import sys; from pathlib import Path; from worldline.session.document import SessionDocument\n"
        "from worldline.session.model import NodeDraft; from worldline.core.kinds import NodeKind\n"
        "doc = SessionDocument.create(Path(sys.argv[1]), title='bench', workspace={}, app_version='0')\n"
        "with doc.transaction():\n"
        "    for n in range(int(sys.argv[2])):\n"
        "        doc.append(NodeDraft(kind=NodeKind.USER, preview=f'prompt {n}', parent=doc.cursor if n else None))\n"
        "doc.close()\n"
    )
    file = folder / f"{count}.worldline"
    subprocess.run([sys.executable, "-c", program, str(file), str(count)], check=True,
                   env={**os.environ, "PYTHONPATH": str(ROOT / "desktop")})  # fmt: skip
    return file


def start_up(rounds: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        file = session_file(10_000, Path(folder))
        times: dict[str, list[float]] = {"bare": [], "worldline 10k": []}
        for _ in range(rounds):
            for kind, samples in times.items():
                text = WINDOW.format(root=str(ROOT / "desktop"), kind=kind, file=str(file))
                done = subprocess.run(
                    [sys.executable, "-c", text], capture_output=True, text=True, check=True
                )
                samples.append(float(done.stdout.split()[-1]) * 1000)
    return {kind: statistics.median(samples) for kind, samples in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="10k and 100k only")
    parser.add_argument("--no-start", action="store_true")
    options = parser.parse_args()
    app = QApplication([])
    theme().set_name("light")
    sizes = (10_000, 100_000) if options.quick else (10_000, 100_000, 1_000_000)
    tables = {size: bench_size(size, 40 if options.quick else 100) for size in sizes}
    print(f"{'ms cpu, median/p95':<18}" + "".join(f"{size:>20,}" for size in sizes))
    for name in tables[sizes[0]]:
        print(
            f"{name:<18}" + "".join(f"{tables[s][name][0]:>12.2f}/{tables[s][name][1]:<7.2f}" for s in sizes)
        )
    largest = tables[sizes[-1]]
    for name, limit in (("pan", 6.9), ("jump", 6.9), ("append", 6.9), ("zoom", 16.7), ("overview", 16.7)):
        print(
            f"{name}: p95 {largest[name][1]:.1f} ms of {limit} {'ok' if largest[name][1] <= limit else 'MISSED'}"
        )
    if not options.no_start:
        times = start_up(3 if options.quick else 7)
        print("first paint: " + ", ".join(f"{k} {v:.0f} ms" for k, v in times.items()), end="; ")
        print(f"ratio {times['worldline 10k'] / times['bare']:.2f} (goal 1.3)")
    del app
    return 0


if __name__ == "__main__":
    sys.exit(main())
