"""A session on the engine of `full_engine`, for tests of the chat, the changes and the dialogs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSettings
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from tests_support import PATIENCE_S
from worldline.client.process import EngineProcess
from worldline.ui.main_window import MainWindow
from worldline.ui.session_state import SessionState

from . import sample

ENGINE = Path(__file__).with_name("full_engine.py")


def open_state(tmp_path: Path, qtbot: Any, **more: Any) -> SessionState:
    """A loaded session. The caller stops `state.client` with `stop_and_wait` at the end."""
    file = tmp_path / "full.json"
    file.write_text(json.dumps(sample.script(**more)), "utf-8")
    state = SessionState(EngineProcess([], command=[sys.executable, str(ENGINE), str(file)]))
    with qtbot.waitSignal(state.loaded, timeout=15_000):
        state.client.start()
    return state


@contextmanager
def complete_window(folder: Path, **more: Any) -> Iterator[MainWindow]:
    """A window with all its parts and all rows of a session, for a whole file of tests."""
    script = folder / "script.json"
    script.write_text(json.dumps(sample.script(**more)), "utf-8")
    client = EngineProcess([], command=[sys.executable, str(ENGINE), str(script)])
    window = MainWindow(SessionState(client), QSettings(str(folder / "w.ini"), QSettings.Format.IniFormat))
    window.resize(1280, 800)
    window.show()
    client.start()
    while not (window.complete and window.state.is_loaded):
        QTest.qWait(10)
    client.request("search", {"text": ""})
    while client._callbacks:  # what the window asked by itself is answered before a test looks at it
        QTest.qWait(10)
    yield window
    window.close()
    client.stop_and_wait(PATIENCE_S)
    window.deleteLater()
    QApplication.processEvents()


def answered(state: SessionState, qtbot: Any) -> None:
    """Wait until all that was asked of the engine is answered, and what it said by itself before that has come."""
    state.client.request("search", {"text": ""})
    qtbot.waitUntil(lambda: not state.client._callbacks)


def engine_lines(window: MainWindow) -> list[str]:
    """What the window says of its engine from now on, also what stands there for a moment only."""
    told: list[str] = []

    def look(_state: str) -> None:
        if "engine" in window.notices.items:
            told.append(window.notices.items["engine"].text.text())

    window.state.engine_state_changed.connect(look)
    return told


def say(state: SessionState, *events: tuple[str, dict[str, Any]]) -> None:
    """Let the engine send these notifications."""
    state.request("set_title", {"title": json.dumps(events)})
