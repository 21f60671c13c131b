"""The window on the real engine, a real repository and the scripted model: what the product is for, by clicks."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from worldline.client.process import EngineProcess
from worldline.core.kinds import NodeKind
from worldline.ui.chat.pane import ChatPane
from worldline.ui.dialogs.desk import desk_of
from worldline.ui.main_window import MainWindow
from worldline.ui.session_state import SessionState
from worldline.viewmodel.chat_rows import RowKind

from . import full

pytestmark = pytest.mark.slow


def row_of(window: MainWindow, kind: NodeKind, *, last: bool = False) -> int:
    tree = window.state.tree
    rows = [row for row in range(len(tree)) if tree.kind_of(row) is kind]
    return rows[-1 if last else 0]


def click(window: MainWindow, row: int, qtbot: Any) -> dict[str, Any]:
    """Click a node; when a plan is shown, go on with it. Returns the result of the jump."""
    results: list[dict[str, Any]] = []
    window.state.jumped.connect(results.append)
    window.tree.view.reveal(row)
    QTest.mouseClick(
        window.tree.view.viewport(), Qt.MouseButton.LeftButton, pos=window.tree.view.rect_of(row).center()
    )
    desk = desk_of(window.state)
    qtbot.waitUntil(lambda: bool(results) or desk.plan_dialog is not None, timeout=20_000)
    if not results:
        assert desk.plan_dialog is not None
        desk.plan_dialog.confirmed.emit(desk.plan_dialog.params())
        desk.plan_dialog.close()
        qtbot.waitUntil(lambda: bool(results), timeout=20_000)
    return results[0]


def test_a_click_takes_files_branch_and_chat_back_and_forward(demo: MainWindow, qtbot: Any) -> None:
    state = demo.state
    work = Path(state.info["work_path"])
    good = (work / "shop" / "prices.py").read_text()
    assert (work / "NOTES.md").exists()
    result = click(demo, row_of(demo, NodeKind.USER), qtbot)
    assert result["verified"] == result["of"]
    assert not (work / "NOTES.md").exists()
    assert (work / "shop" / "prices.py").read_text() != good
    branch = subprocess.run(
        ["git", "-C", str(work), "branch", "--show-current"], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert branch.startswith("worldline/")
    assert branch == result["branch"].removeprefix("refs/heads/")
    assert state.cursor == state.tree.uid(0)
    assert result["composer_text"] == "Fix the failing price test."
    left = state.tree.leaf_of(row_of(demo, NodeKind.USER, last=True))
    click(demo, left, qtbot)
    assert (work / "shop" / "prices.py").read_text() == good
    assert (work / "NOTES.md").exists()


def test_killed_while_it_streams_the_session_goes_on(demo: MainWindow, qtbot: Any) -> None:
    state = demo.state
    nodes = len(state.tree)
    with qtbot.waitSignal(state.run_started, timeout=20_000):
        state.request(
            "prompt",
            {"text": "Look first: read the parser and its tests, then fix the failing price test properly."},
        )
    qtbot.waitUntil(lambda: len(state.tree) > nodes + 1, timeout=20_000)
    told = full.engine_lines(demo)
    with qtbot.waitSignal(state.hello, timeout=30_000):
        os.kill(state.client.pid, signal.SIGKILL)
    assert told
    qtbot.waitUntil(
        lambda: "engine" not in demo.notices.items and state.status.get("state") == "ready", timeout=30_000
    )
    assert len(state.tree) > nodes + 1
    qtbot.waitUntil(lambda: not state.tree.live, timeout=10_000)
    assert state.cursor_row() == len(state.tree) - 1


def test_settings_a_file_taken_over_and_a_message_left_out_on_the_real_engine(
    demo: MainWindow, qtbot: Any
) -> None:
    state = demo.state
    # Settings: what is shown is what the engine has, what is changed is what it gets.
    from worldline.ui.dialogs.settings import open_settings

    dialog = open_settings(state, demo, "limits")
    box = dialog.limits_page._boxes["limits", "turns"][0]
    qtbot.waitUntil(lambda: box.value() == 40, timeout=10_000)
    assert dialog.safety_page.why.text()
    box.setValue(7)
    box.editingFinished.emit()
    values: list[dict[str, Any]] = []
    state.request("settings", {}, lambda result: values.append(result["values"]))
    qtbot.waitUntil(lambda: bool(values), timeout=10_000)
    assert values[0]["limits"]["turns"] == 7
    dialog.close()
    # A file of the failed attempt is taken over from the changes pane; what was there is saved and can be had back.
    work = Path(state.info["work_path"])
    good = (work / "shop" / "prices.py").read_text()
    failed = state.tree.leaf_of(row_of(demo, NodeKind.USER))
    nodes = len(state.tree)
    changes = demo.panes["changes"]
    changes._taking.take(
        {"node": state.tree.uid(failed), "path": "shop/prices.py", "hunks": None, "against": ""}
    )  # type: ignore[attr-defined]
    qtbot.waitUntil(lambda: "taken" in demo.notices.items, timeout=20_000)
    assert (work / "shop" / "prices.py").read_text() != good
    assert "shop/prices.py" in demo.notices.items["taken"].text.text() and len(state.tree) > nodes
    # A message is left out for the model: a node says so, and the request of this place no longer has it.
    row = state.tree.row(state.cursor)
    while state.tree.kind_of(row) is not NodeKind.ASSISTANT:
        row = state.tree.parent[row]
    nodes = len(state.tree)
    state.request("context_edit", {"node": state.tree.uid(row)})
    qtbot.waitUntil(lambda: len(state.tree) > nodes, timeout=10_000)
    assert state.tree.kind_of(len(state.tree) - 1) is NodeKind.CONTEXT_EDIT
    assert "failed" not in demo.notices.items


def test_a_prompt_is_typed_answered_gone_back_to_and_sent_again(demo: MainWindow, qtbot: Any) -> None:
    """By keyboard and mouse alone: what is typed becomes a branch, a click takes it back, Enter begins another one."""
    state, chat = demo.state, demo.panes["chat"]
    assert isinstance(chat, ChatPane)
    work = Path(state.info["work_path"])

    def leaves() -> int:
        return sum(not state.tree.children[row] for row in range(len(state.tree)))

    def send() -> None:
        ended: list[Any] = []
        state.run_ended.connect(lambda run, _offers: ended.append(run))
        chat.composer.edit.setFocus()
        QTest.keyClick(chat.composer.edit, Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: bool(ended) and not state.busy, timeout=60_000)

    QTest.keyClicks(chat.composer.edit, "What did you change?")
    send()
    assert state.tree.preview(row_of(demo, NodeKind.USER, last=True)) == "What did you change?"
    assert chat.composer.text() == ""
    qtbot.waitUntil(lambda: chat.chat.path[-1].uid == state.cursor, timeout=10_000)
    assert chat.chat.rows[-1].kind in (RowKind.REPLY, RowKind.STOP)

    before = leaves()
    result = click(demo, row_of(demo, NodeKind.USER), qtbot)
    assert chat.composer.text() == result["composer_text"] == "Fix the failing price test."
    assert chat.chat.path[-1].uid == state.cursor == state.tree.uid(0)
    assert not (work / "NOTES.md").exists()

    send()
    asked = [
        row for row in range(len(state.tree)) if state.tree.preview(row) == "Fix the failing price test."
    ]
    assert len(asked) == 2 and state.tree.parent[asked[0]] == state.tree.parent[asked[1]]
    assert leaves() == before + 1, "the branch that was left stays"
    branch = subprocess.run(
        ["git", "-C", str(work), "branch", "--show-current"], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert branch == result["branch"].removeprefix("refs/heads/")


def test_a_folder_that_is_gone_is_made_anew_from_the_window(
    settings: QSettings, qtbot: Any, tmp_path: Path
) -> None:
    import shutil

    from tests_support import repository_with_own_work, session_in_own_folder

    session = tmp_path / "s.worldline"
    repo = repository_with_own_work(tmp_path / "project")
    folder = session_in_own_folder(repo, session, {"made.txt": "by the agent\n"})
    shutil.rmtree(folder)
    client = EngineProcess(["--session", str(session)])
    window = MainWindow(SessionState(client), settings)
    window.show()
    client.start()
    try:
        qtbot.waitUntil(lambda: "engine" in window.notices.items)
        line = window.notices.items["engine"]
        assert str(folder) in line.text.text() and not folder.exists()
        anew = next(button for button in line.buttons if button.text() == "Make the folder anew")
        with qtbot.waitSignal(window.state.hello):
            anew.click()
        assert (folder / "made.txt").read_text() == "by the agent\n"
        assert "made anew" in window.notices.items["opened"].text.text()
        assert desk_of(window.state).recovery is None, "nothing was interrupted"
    finally:
        window.close()
        client.stop_and_wait(8)
        window.deleteLater()
        QApplication.processEvents()
