"""Answers of the engine that come late, in another order, or never: none takes the place of a newer one."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from worldline.protocol.model import DiffRow, FileChange, FileDiff
from worldline.ui import gallery_data as sample
from worldline.ui.compare.dialog import CompareDialog, _connect
from worldline.ui.dialogs.bring_home import open_bring_home
from worldline.ui.dialogs.desk import Desk
from worldline.ui.dialogs.effects import open_effects
from worldline.ui.dialogs.leaving import Leaving
from worldline.ui.dialogs.small import QuestionDialog
from worldline.ui.diff.pane import ChangesPane
from worldline.ui.diff.view import DiffView
from worldline.ui.opening_files import is_started, open_to_edit
from worldline.ui.session_state import SessionState

from .answering import Asked, Engine, engine, state
from .sample import uid

__all__ = ["engine", "state"]


def changes(*paths: str) -> dict[str, Any]:
    files = [{"path": path, "status": "M", "added": 1, "removed": 1} for path in paths]
    return {"a": "", "b": "", "files": files, "added": 1, "removed": 1}


def diff(path: str, text: str) -> dict[str, Any]:
    change = {"path": path, "status": "M", "added": 1, "removed": 0}
    return {
        "change": change,
        "rows": [{"kind": "@", "text": "@@ -1 +1 @@"}, {"kind": "+", "new": 1, "text": text}],
    }


@pytest.fixture
def owner(qtbot: Any) -> QWidget:
    """What dialogs belong to."""
    widget = QWidget()
    qtbot.addWidget(widget)
    return widget


# The changes --------------------------------------------------------------------------------------------------------


@pytest.fixture
def pane(state: SessionState, qtbot: Any) -> ChangesPane:
    made = ChangesPane(state)
    qtbot.addWidget(made)
    made.resize(500, 600)
    made.show()
    return made


def asked(engine: Engine, qtbot: Any, method: str) -> Asked:
    qtbot.waitUntil(lambda: any(one[0] == method for one in engine.asked), timeout=5000)
    found = engine.take(method)
    assert len(found) == 1
    return found[0]


def test_files_that_change_while_they_are_compared_are_compared_again(
    pane: ChangesPane, engine: Engine, state: SessionState, qtbot: Any
) -> None:
    first = asked(engine, qtbot, "changes")
    state.files_changed.emit(uid(27))
    qtbot.wait(60)
    # One question at a time: a slow engine is not asked at every step of a run.
    assert engine.take("changes") == []
    first[2](changes("old.py"))
    second = asked(engine, qtbot, "changes")
    second[2](changes("new.py"))
    assert pane.files.path == "new.py"
    qtbot.wait(60)
    assert engine.take("changes") == []


def test_a_hunk_is_taken_of_the_file_whose_lines_are_shown(
    pane: ChangesPane, engine: Engine, state: SessionState, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions: list[tuple[str, int]] = []
    monkeypatch.setattr(
        pane._taking, "ask_hunk", lambda path, _c, hunk, **_more: questions.append((path, hunk))
    )
    asked(engine, qtbot, "changes")[2](changes("a.py", "b.py"))
    asked(engine, qtbot, "file_diff")[2](diff("a.py", "of a"))
    qtbot.waitUntil(lambda: pane.panel.shown == "a.py", timeout=5000)
    pane._on_hunk("revert", 0)
    assert questions == [("a.py", 0)]
    pane.files.setCurrentItem(pane.files._items["b.py"])
    late = asked(engine, qtbot, "file_diff")
    # The lines of a.py are still there.
    pane._on_hunk("revert", 0)
    assert questions == [("a.py", 0)]
    late[2](diff("b.py", "of b"))
    qtbot.waitUntil(lambda: pane.panel.shown == "b.py", timeout=5000)
    pane._on_hunk("revert", 0)
    assert questions[1:] == [("b.py", 0)]


def test_a_difference_that_cannot_be_had_is_that_of_the_file_it_is_of(
    pane: ChangesPane, engine: Engine, qtbot: Any
) -> None:
    asked(engine, qtbot, "changes")[2](changes("a.py", "b.py"))
    asked(engine, qtbot, "file_diff")[2]({**diff("a.py", "of a"), "truncated": True})
    qtbot.waitUntil(lambda: pane.panel.shown == "a.py", timeout=5000)
    assert pane.panel._path.text() == "a.py" and pane.panel._rest.isVisible()
    pane.files.setCurrentItem(pane.files._items["b.py"])
    asked(engine, qtbot, "file_diff")[3]({"message": "Its files are gone.", "hint": ""})
    assert pane.panel._path.text() == "b.py" and pane.panel._note.text() == "Its files are gone."
    assert not pane.panel._rest.isVisible(), "there is no more of what is not shown"


def test_nothing_is_offered_to_be_taken_where_it_cannot_be(
    pane: ChangesPane, engine: Engine, state: SessionState, qtbot: Any
) -> None:
    state.info = {**state.info, "read_only": True}
    asked(engine, qtbot, "changes")[2](changes("a.py"))
    asked(engine, qtbot, "file_diff")[2](diff("a.py", "of a"))
    qtbot.waitUntil(lambda: pane.panel.shown == "a.py", timeout=5000)
    for name in ("take", "revert"):
        assert not pane.panel._entries[name].isEnabled() and pane.panel._entries[name].toolTip()
    assert not pane.panel.view.offers


def test_a_long_line_far_below_can_be_reached(qtbot: Any) -> None:
    view = DiffView()
    qtbot.addWidget(view)
    view.resize(400, 300)
    view.show()
    rows = [DiffRow(kind="+", new=n, text="short") for n in range(1, 3000)]
    rows.append(DiffRow(kind="+", new=3000, text="word " * 300))
    view.set_diff(FileDiff(change=FileChange(path="a.txt", status="M"), rows=rows))
    assert view.horizontalScrollBar().maximum() == 0
    view.verticalScrollBar().setValue(view.verticalScrollBar().maximum())
    view.grab()
    qtbot.waitUntil(lambda: view.horizontalScrollBar().maximum() > 5000, timeout=5000)


def test_what_the_agent_wrote_is_opened_and_never_started(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from PySide6.QtGui import QDesktopServices

    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toLocalFile()) or True)
    names = ("a.md", "b.desktop", "c.html", "run")
    for name in names:
        (tmp_path / name).write_text("#!/bin/sh\n")
    (tmp_path / "run").chmod(0o755)
    said = {name: open_to_edit(tmp_path / name) for name in names}
    assert said["a.md"] == "" and opened[0] == str(tmp_path / "a.md")
    assert opened[1:] == [str(tmp_path)] * 3 and all(said[name] for name in names[1:])
    assert "not on disk" in open_to_edit(tmp_path / "gone.md") and len(opened) == 4
    assert not is_started(tmp_path / "a.md")


# Compare ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def compare(state: SessionState, qtbot: Any) -> CompareDialog:
    dialog = CompareDialog(sample.compare(), {}, None)
    qtbot.addWidget(dialog)
    _connect(state, dialog)
    dialog.show()
    return dialog


def test_the_difference_that_is_looked_at_stays(compare: CompareDialog, engine: Engine, qtbot: Any) -> None:
    view = compare.view
    assert view.files.rowCount() >= 2
    engine.take("file_diff")
    view.files.setCurrentCell(1, 0)
    view.files.setCurrentCell(0, 0)
    slow, fast = engine.take("file_diff")
    fast[2](diff(fast[1]["path"], "fast"))
    qtbot.waitUntil(lambda: view.panel.shown == fast[1]["path"], timeout=5000)
    slow[2](diff(slow[1]["path"], "slow"))
    qtbot.wait(50)
    assert view.panel.shown == fast[1]["path"] == view.path()


def test_the_tools_of_the_difference_do_what_they_say(
    compare: CompareDialog, engine: Engine, qtbot: Any
) -> None:
    view = compare.view
    engine.take("file_diff")
    view.panel._space.setEnabled(True)
    view.panel._space.setChecked(True)
    view.panel._on_context()
    assert [(one[1]["ignore_space"], one[1]["context"]) for one in engine.take("file_diff")] == [
        (True, 3),
        (True, 10),
    ]
    view.panel.more_wanted.emit()
    assert engine.take("file_diff")[0][1]["max_rows"] > 1_000_000
    # What cannot be done with an attempt that is not on disk is not offered.
    offered = [entry.objectName() or entry.text() for entry in view.panel.menu.actions()]
    assert [text for text in offered if text] == ["Copy path", "Search this file…"]
    assert not view.panel.view.offers
    view._b.setCurrentIndex(view._a.currentIndex())
    assert "same attempt" in view.panel._note.text() and engine.take("file_diff") == []


def test_a_mark_is_said_to_be_there_when_it_is(compare: CompareDialog, engine: Engine, qtbot: Any) -> None:
    view = compare.view
    view.failed_wanted.emit(view.leaf(), "")
    (mark,) = engine.take("set_label")
    assert view._says.isHidden()
    mark[3]({"message": "The session is open for reading only.", "hint": ""})
    assert "reading only" in view._says.text()
    mark_button = view._buttons[-1][0]
    view._says.hide()
    QApplication.processEvents()
    place = mark_button.mapTo(compare, mark_button.rect().topLeft())
    view.note.setText("why")
    mark_button.click()
    for mark in engine.take("set_label"):
        mark[2]({})
    QApplication.processEvents()
    assert view._says.text().startswith("Marked") and view._says.isVisible()
    assert mark_button.mapTo(compare, mark_button.rect().topLeft()) == place, "not from under the pointer"
    # It stands with its attempt, and is not taken for the note of the next.
    assert view._notes[view._chosen].text() == "why" and view.note.text() == ""
    assert view._notes[view._chosen].accessibleName() == f"{'ABC'[view._chosen]}, note: why"


# Dialogs ------------------------------------------------------------------------------------------------------------


def brought(path: str) -> dict[str, Any]:
    return {"done": False, "entries": [{"path": path, "action": "create"}], "conflicts": [], "note": ""}


def test_only_the_preview_of_the_chosen_way_counts_and_it_is_brought_once(
    state: SessionState, engine: Engine, owner: QWidget
) -> None:
    dialog = open_bring_home(state, uid(9), owner)
    (first, *_more) = engine.take("bring_home")
    dialog._how.buttons()[1].setChecked(True)
    (second,) = engine.take("bring_home")
    assert second[1]["how"] == "commit" and not dialog.go_button.isEnabled()
    second[2](brought("of the commit"))
    first[2](brought("of the changes"))
    assert "of the commit" in dialog.list.item(0).text() and dialog.go_button.isEnabled()
    # Until the preview of another way is there, nothing can be brought.
    dialog._branch.setText("mine")
    dialog._how.buttons()[2].setChecked(True)
    assert not dialog.go_button.isEnabled()
    engine.take("bring_home")[0][2](brought("of the branch"))
    dialog.go_button.click()
    dialog.go_button.click()
    assert [one[1]["dry_run"] for one in engine.take("bring_home")] == [False]
    dialog.close()


def test_what_was_brought_home_is_said_also_when_the_dialog_was_closed_meanwhile(
    state: SessionState, engine: Engine, owner: QWidget
) -> None:
    told: list[str] = []
    failures: list[dict[str, Any]] = []
    state.brought_home.connect(told.append)
    state.failed.connect(failures.append)

    def bring() -> Any:
        dialog = open_bring_home(state, uid(9), owner)
        engine.take("bring_home")[-1][2](brought("a.py"))
        dialog.go_button.click()
        assert dialog._note.text() == "Bringing it…"
        return dialog

    dialog = bring()
    engine.take("bring_home")[0][2]({**brought("a.py"), "done": True})
    assert not dialog.isVisible() and len(told) == 1 and told[0].endswith("as uncommitted changes (1 file).")
    for answer in ({**brought("a.py"), "done": True}, {**brought("a.py"), "note": "Choose for each."}):
        dialog = bring()
        dialog.close()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        assert not isValid(dialog)
        engine.take("bring_home")[0][2](answer)
    assert len(told) == 2 and failures == [{"message": "Choose for each."}]


def test_a_question_that_was_answered_elsewhere_takes_its_dialog_with_it(
    state: SessionState, engine: Engine, owner: QWidget
) -> None:
    desk = Desk(state, owner)
    for key in ("q1", "q2"):
        engine.batch.emit([("question_asked", {"question": {"id": key, "node": uid(9), "text": key}})])
    desk.show_waiting()
    dialog = desk.dialog
    assert isinstance(dialog, QuestionDialog) and dialog.question.id == "q1"
    engine.batch.emit([("question_gone", {"id": "q2"})])
    assert desk.dialog is dialog
    engine.batch.emit([("question_asked", {"question": {"id": "q3", "node": uid(9), "text": "q3"}})])
    engine.batch.emit([("question_gone", {"id": "q1"})])
    assert desk.dialog is None and list(state.questions) == ["q3"]


def test_every_conflict_can_be_decided_and_stays_decided(
    state: SessionState, engine: Engine, owner: QWidget
) -> None:
    dialog = open_bring_home(state, uid(9), owner)
    answer = {**brought("a"), "conflicts": [f"file{n}.py" for n in range(9)]}
    engine.take("bring_home")[-1][2](answer)
    assert len(dialog._choices) == 9
    dialog._choices["file8.py"].setCurrentIndex(1)
    dialog.go_button.click()
    engine.take("bring_home")[0][2](answer)
    assert dialog.params(dry_run=False)["choices"]["file8.py"] == "theirs"
    dialog.close()


def test_the_effects_are_those_of_the_node_that_is_looked_at(
    state: SessionState, engine: Engine, owner: QWidget
) -> None:
    dialog = open_effects(state, owner)
    state.select(uid(9))
    first, second = engine.take("effects")
    effects = {"cursor": uid(9), "here": [], "elsewhere": [], "processes": []}
    running = {"id": "p1", "command": "npm run dev", "started": 0, "running": True, "pid": 1, "node": uid(9)}
    second[2]({**effects, "processes": [running]})
    first[2](effects)
    words = [label.text() for label in dialog.findChildren(type(dialog._problem))]
    assert any("npm run dev" in text for text in words)
    stop = next(one for one in dialog.findChildren(QWidget) if getattr(one, "text", str)() == "Stop")
    stop.click()  # type: ignore[attr-defined]
    stop.click()  # type: ignore[attr-defined]
    (asked_to_stop,) = engine.take("stop_process")
    asked_to_stop[3]({"message": "It has ended already.", "hint": ""})
    assert dialog._problem.text() == "It has ended already."
    dialog.close()


def test_only_the_last_click_is_gone_to(
    state: SessionState, engine: Engine, owner: QWidget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worldline.ui.dialogs.leaving.summarised_on_the_way", lambda *_args: True)
    Leaving(state, owner)
    state.go(uid(9))
    state.go(uid(20))
    first, second = engine.take("jump_plan")
    second[2]({})
    first[2]({})
    assert [one[1]["node"] for one in engine.take("jump")] == [uid(20)]
    stayed: list[int] = []
    state.stayed.connect(lambda: stayed.append(1))
    state.jumping = False
    state.go(uid(9))
    (third,) = engine.take("jump_plan")
    third[3]({"message": "No.", "hint": ""})
    # Whoever waits for the jump to send something hears that it does not come.
    assert stayed == [1]
