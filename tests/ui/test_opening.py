"""What can be named or dropped, and what comes of it: folders, sessions, sessions in use, damaged ones, foreign ones."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication

from tests_support import PATIENCE_S, halt_imports
from worldline.ui.main_window import MainWindow
from worldline.ui.recents import remembered
from worldline.ui.windows import Windows

from .test_read_ahead import make

WRITER = """
import sys
from pathlib import Path
from worldline.core.kinds import NodeKind
from worldline.session.document import SessionDocument
from worldline.session.model import NodeDraft
doc = SessionDocument.open(Path(sys.argv[1]))
print("open", flush=True)
for line in sys.stdin:
    doc.append(NodeDraft(NodeKind.USER, doc.cursor, {"role": "user", "content": line.strip()}, preview=line.strip()))
    print("done", flush=True)
doc.close()
"""
PI = [
    {"type": "session", "version": 3, "id": "s1", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/tmp/x"},
    {"type": "message", "id": "a", "parentId": None, "timestamp": "2026-01-01T00:00:01.000Z",
     "message": {"role": "user", "content": [{"type": "text", "text": "Hello from elsewhere"}], "timestamp": 1}},
    {"type": "message", "id": "b", "parentId": "a", "timestamp": "2026-01-01T00:00:02.000Z",
     "message": {"role": "assistant", "content": [{"type": "text", "text": "Hi"}], "provider": "anthropic", "model": "m",
                 "api": "x", "usage": {}, "stopReason": "stop", "timestamp": 2}},
]  # fmt: skip


@pytest.fixture
def windows(settings: QSettings, qtbot: Any) -> Iterator[Windows]:
    opened = Windows(settings)
    yield opened
    for window in list(opened.sessions):
        window.close()
        window.state.client.stop_and_wait(PATIENCE_S)
    if opened.start_view is not None:
        opened.start_view.close()
    QApplication.processEvents()


def wait_loaded(window: MainWindow | None, qtbot: Any) -> MainWindow:
    assert window is not None
    qtbot.waitUntil(lambda: window.state.is_loaded and window.complete, timeout=60_000)
    return window


@pytest.mark.slow
def test_a_session_in_use_is_read_and_followed(windows: Windows, tmp_path: Path, qtbot: Any) -> None:
    path = tmp_path / "used.worldline"
    make(path, 5, 20)
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True)  # fmt: skip
    assert writer.stdin is not None and writer.stdout is not None
    assert writer.stdout.readline() == "open\n"
    window = wait_loaded(windows.open(str(path)), qtbot)
    assert window.state.read_only
    assert "Read only." in window.notices.items["read_only"].text.text()
    assert len(window.state.tree) == 21
    writer.stdin.write("written while you look on\n")
    writer.stdin.flush()
    qtbot.waitUntil(lambda: len(window.state.tree) == 22, timeout=10_000)
    assert window.state.tree.preview(21) == "written while you look on"
    qtbot.waitUntil(lambda: window.state.cursor_row() == 21, timeout=10_000)
    writer.stdin.close()
    writer.wait(PATIENCE_S)
    writer.stdout.close()
    assert str(path) in remembered(windows.settings)
    # The same session again: its window comes to the front, there is no second one.
    assert windows.open(str(path)) is window


@pytest.mark.slow
def test_a_damaged_session_shows_what_is_readable_and_says_what_is_not(
    windows: Windows, tmp_path: Path, qtbot: Any
) -> None:
    path = tmp_path / "torn.worldline"
    make(path, 6, 400)
    # The page that holds a row in the middle.
    at = path.read_bytes().find("näme 200 ".encode())
    assert at > 0
    with path.open("r+b") as file:
        file.seek(at // 4096 * 4096)
        file.write(b"\xff" * 4096)
    window = wait_loaded(windows.open(str(path)), qtbot)
    assert 0 < len(window.state.tree) <= 401
    assert window.state.read_only
    assert window.notices.items["read_only"].text.text() > "Read only. "


@pytest.mark.slow
def test_a_session_of_a_newer_version_is_explained(windows: Windows, tmp_path: Path, qtbot: Any) -> None:
    path = tmp_path / "newer.worldline"
    make(path, 7, 5)
    raw = sqlite3.connect(path)
    raw.execute("PRAGMA user_version = 99")
    raw.commit()
    raw.close()
    window = windows.open(str(path))
    assert window is not None
    qtbot.waitUntil(lambda: bool({"engine", "read_only"} & set(window.notices.items)), timeout=60_000)
    said = " ".join(notice.text.text() for notice in window.notices.items.values())
    assert "newer" in said


@pytest.mark.slow
def test_a_foreign_session_is_imported_and_opened(
    windows: Windows, tmp_path: Path, qtbot: Any, own_home: Path
) -> None:
    file = tmp_path / "pi.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in PI))
    dialog = windows.import_files([str(file)])
    assert dialog.isVisible()
    qtbot.waitUntil(lambda: bool(windows.sessions), timeout=60_000)
    window = wait_loaded(windows.sessions[0], qtbot)
    assert "Hello from elsewhere" in [window.state.tree.preview(row) for row in range(len(window.state.tree))]


def test_what_is_no_session_is_reported_and_an_import_can_be_cancelled(
    windows: Windows, tmp_path: Path, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "noise.jsonl"
    file.write_text("this is no session\n")
    dialog = windows.import_files([str(file)])
    qtbot.waitUntil(lambda: not dialog.bar.isVisible(), timeout=60_000)
    assert dialog.head.text() == "Nothing was imported"
    assert "noise.jsonl" in dialog.text.text()
    dialog.close()
    halt_imports(monkeypatch, tmp_path / "halts", "start")
    dialog = windows.import_files([str(file)])
    job = dialog.job
    with qtbot.waitSignal(job.cancelled, timeout=10_000):
        job.cancel()
    dialog.close()
    assert windows.sessions == []
