"""Widgets for tests: a real window on a real (if small) process; leaked threads, timers and windows fail."""

from __future__ import annotations

import gc
import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QSettings, QTimer
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from tests_support import PATIENCE_S
from worldline.client.process import EngineProcess
from worldline.ui import i18n
from worldline.ui.main_window import MainWindow
from worldline.ui.session_state import SessionState
from worldline.ui.theme import theme

from . import full, sample
from .desk import desk
from .languages import forget_language

__all__ = ["desk"]

FAKE = Path(__file__).with_name("fake_engine.py")
DONE_BY_A_PERSON = {
    "backtrack", "compact", "context_edit", "go_on", "jump_plan", "no_such_command", "no_such_thing", "retry_now", "set_credential"
}  # fmt: skip
"""What the made-up engines refuse: a test that has it asked for sees a refusal."""


def running_timers() -> dict[int, QTimer]:
    """Timers that tick, by their id; those that run out by themselves are nobody's leak."""
    found = (one for one in gc.get_objects() if isinstance(one, QTimer) and isValid(one))
    return {timer.timerId(): timer for timer in found if timer.isActive() and not timer.isSingleShot()}


def shown() -> set[QWidget]:
    return {widget for widget in QApplication.topLevelWidgets() if widget.isVisible()}


@pytest.fixture(scope="session", autouse=True)
def earlier_tests_are_not_looked_through() -> None:
    """What they leave stays, and every test here collects garbage: up to a second each. The first window of a process does
    the same."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def nothing_leaks(qapp: QApplication) -> Iterator[None]:
    before, shown_before = set(threading.enumerate()), shown()
    ticking = running_timers()
    if theme().name != "light":
        theme().set_name("light")
    gc.enable()  # a start of the program in a test before this one leaves it off for its first seconds
    yield
    if i18n._translator is not None:
        forget_language()
    QApplication.processEvents()
    gc.collect()
    threads = [t for t in threading.enumerate() if t not in before and t.name.startswith("engine")]
    for (
        thread
    ) in threads:  # their process has ended or never will: they come to their end as soon as it is their turn
        thread.join(PATIENCE_S)
    assert [thread.name for thread in threads if thread.is_alive()] == []
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    left = [
        f"{type(t.parent()).__name__} {t.interval()} ms"
        for key, t in running_timers().items()
        if key not in ticking
    ]
    assert left == [], "timers that nobody stopped"
    windows = shown() - shown_before
    for window in windows:
        window.close()  # one test has left it open, and one test fails by it
    assert windows == set()


@pytest.fixture(autouse=True)
def asks_nothing_unknown(tmp_path: Path) -> Iterator[None]:
    """What a window asks by itself, every made-up engine answers: a refusal is shown, and comes whenever it likes."""
    yield
    asked = {name for file in tmp_path.rglob("*.refused") for name in file.read_text("utf-8").split()}
    assert asked - DONE_BY_A_PERSON == set()


@pytest.fixture
def fake(tmp_path: Path, qtbot: Any) -> Iterator[Callable[..., EngineProcess]]:
    """Makes engines that play a script; all of them have ended when the test is over."""
    made: list[EngineProcess] = []

    def make(**more: Any) -> EngineProcess:
        file = tmp_path / f"script{len(made)}.json"
        file.write_text(json.dumps(sample.script(**more)), "utf-8")
        made.append(EngineProcess([], command=[sys.executable, str(FAKE), str(file)]))
        return made[-1]

    yield make
    for client in made:
        client.stop_and_wait(PATIENCE_S)


@pytest.fixture
def full_state(tmp_path: Path, qtbot: Any) -> Iterator[SessionState]:
    """A session with everything in it, on a small engine of its own."""
    session = full.open_state(tmp_path, qtbot)
    yield session
    session.client.stop_and_wait(PATIENCE_S)


@pytest.fixture
def state(fake: Callable[..., EngineProcess], qtbot: Any) -> SessionState:
    session = SessionState(fake())
    with qtbot.waitSignal(session.loaded, timeout=10_000):
        session.client.start()
    return session


@pytest.fixture
def settings(tmp_path: Path) -> QSettings:
    return QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)


@pytest.fixture
def window_of(
    fake: Callable[..., EngineProcess], settings: QSettings, qtbot: Any
) -> Iterator[Callable[..., MainWindow]]:
    """Opens a window on a script and waits until its rows are there."""
    windows: list[MainWindow] = []

    def make(width: int = 1280, height: int = 800, **more: Any) -> MainWindow:
        client = fake(**more)
        window = MainWindow(SessionState(client), settings)
        windows.append(window)
        window.resize(width, height)
        with qtbot.waitSignal(window.state.loaded, timeout=10_000):
            window.show()
            client.start()
        qtbot.waitUntil(lambda: window.complete, timeout=10_000)
        full.answered(window.state, qtbot)
        return window

    yield make
    for window in windows:
        window.close()
        window.state.client.stop_and_wait(PATIENCE_S)
        window.deleteLater()
    QApplication.processEvents()


@pytest.fixture
def demo(settings: QSettings, qtbot: Any, own_temp: Path) -> Iterator[MainWindow]:
    """The demo, played to its end: a failed attempt and a good one."""
    client = EngineProcess(["--demo"])
    window = MainWindow(SessionState(client), settings)
    window.show()
    client.start()
    state = window.state
    prompts: list[dict[str, Any]] = []
    state.run_ended.connect(lambda run, _offers: prompts.append(run))
    qtbot.waitUntil(lambda: len(prompts) >= 2 and not state.busy and window.complete, timeout=60_000)
    yield window
    window.close()
    client.stop_and_wait(PATIENCE_S)
    assert list(own_temp.glob("worldline-demo-*")) == [], "the demo goes with its window"
    window.deleteLater()
    QApplication.processEvents()
