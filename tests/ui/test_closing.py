"""Closing a window by hand: what goes on in it ends after a question only; clicks on what has just moved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QMessageBox,
    QPushButton,
    QRadioButton,
    QTableWidget,
    QVBoxLayout,
    QWidget,
)

from worldline.ui import gallery_data
from worldline.ui.dialogs.base import Dialog
from worldline.ui.main_window import MainWindow
from worldline.ui.still import Still
from worldline.ui.tables import quiet
from worldline.ui.theme import theme

Open = Callable[..., MainWindow]
LONG_MS = 3_600_000


def box_of(window: MainWindow) -> QMessageBox | None:
    return next((one for one in window.findChildren(QMessageBox) if one.isVisible()), None)


def pressed(box: QMessageBox, text: str) -> None:
    next(one for one in box.buttons() if one.text() == text).click()


@pytest.mark.parametrize("action", ["close", "quit"])
def test_a_window_in_which_nothing_goes_on_closes_without_a_question(window_of: Open, action: str) -> None:
    window = window_of()
    window.actions_list[action].trigger()
    assert window.closing and box_of(window) is None


@pytest.mark.parametrize("action", ["close", "quit"])
def test_what_waits_is_named_before_it_ends_and_escape_stays(window_of: Open, action: str) -> None:
    window = window_of()
    state = window.state
    state.approvals["a"] = gallery_data.approval().model_dump()
    window.actions_list[action].trigger()
    box = box_of(window)
    assert box is not None and not window.closing
    command = gallery_data.approval().command
    assert command and command[:40] in box.informativeText()
    window.ask_to_close()
    assert len([one for one in window.findChildren(QMessageBox) if one.isVisible()]) == 1, "asked once"
    QTest.keyClick(box, Qt.Key.Key_Escape)
    assert not window.closing and window.isVisible() and box_of(window) is None
    window.actions_list[action].trigger()
    box = box_of(window)
    assert box is not None
    QTest.keyClick(box, Qt.Key.Key_Return)  # Cancel is the default
    assert not window.closing
    window.actions_list[action].trigger()
    box = box_of(window)
    assert box is not None
    pressed(box, "Close and end it")
    assert window.closing


def test_a_run_is_asked_about_unless_another_window_has_it(window_of: Open) -> None:
    window = window_of()
    state = window.state
    state.run = {"uid": "r1", "prompt": ""}
    window.ask_to_close()
    box = box_of(window)
    assert box is not None and "at work: fix-parser" in box.informativeText()
    box.reject()
    state.info = {**state.info, "read_only": True}
    window.ask_to_close()
    assert window.closing and box_of(window) is None


def test_cancel_stays_the_default_when_the_desktop_turns_dark(window_of: Open) -> None:
    """The toolkit lays the buttons out anew then, and would make the first one that of Enter."""
    window = window_of()
    window.state.run = {"uid": "r1", "prompt": ""}
    window.ask_to_close()
    theme().set_name("dark")
    QApplication.processEvents()
    box = box_of(window)
    assert box is not None
    QTest.keyClick(box.focusWidget() or box, Qt.Key.Key_Return)
    assert not window.closing and box_of(window) is None
    theme().set_name("light")  # the box is gone, and nobody misses it


BACKGROUND = {"id": "p1", "pid": 4711, "command": "npm run dev", "node": "", "started": 1, "running": True}


def test_commands_in_the_background_are_named(window_of: Open, qtbot: Any) -> None:
    window = window_of(status={"processes": 1}, processes=[BACKGROUND])
    qtbot.waitUntil(lambda: bool(window.state.processes))
    window.ask_to_close()
    qtbot.waitUntil(lambda: box_of(window) is not None)
    box = box_of(window)
    assert box is not None and "Runs in the background: npm run dev" in box.informativeText()
    box.reject()
    started = {**BACKGROUND, "id": "p2", "command": "make watch"}
    window.state._on_process_changed({"process": started})
    window.state.info = {**window.state.info, "read_only": True}
    window.ask_to_close()
    qtbot.waitUntil(lambda: window.closing)
    assert box_of(window) is None, "one who only reads along ends nothing"


def test_a_command_that_has_ended_unnoticed_is_not_asked_about(window_of: Open, qtbot: Any) -> None:
    """The engine sees the end of one when it looks; it is asked to before the person is."""
    window = window_of()
    window.state._on_process_changed({"process": BACKGROUND})
    window.ask_to_close()
    assert not window.closing
    qtbot.waitUntil(lambda: window.closing)
    assert box_of(window) is None


def test_a_command_that_ends_is_not_named(window_of: Open) -> None:
    window = window_of()
    window.state._on_process_changed({"process": BACKGROUND})
    window.state._on_process_changed({"process": {**BACKGROUND, "running": False}})
    window.ask_to_close()
    assert window.closing


def test_keys_to_close_and_to_quit_are_in_the_menu(window_of: Open) -> None:
    window = window_of()
    keys = {name: window.actions_list[name].shortcut().toString() for name in ("close", "quit")}
    assert keys == {"close": "Ctrl+W", "quit": "Ctrl+Q"}


# Buttons that moved --------------------------------------------------------------------------------------------------


def settle(still: Still) -> None:
    """As if nothing had moved for a while."""
    still._moved.stop()
    still._moved.timeout.emit()


def moving(qtbot: Any, ms: int) -> tuple[QWidget, QPushButton, list[bool]]:
    """A row with a button below something of 36 pixels that can go."""
    owner = QWidget()
    qtbot.addWidget(owner)
    layout = QVBoxLayout(owner)
    above, around = QWidget(owner), QWidget(owner)
    above.setFixedHeight(36)
    layout.addWidget(above)
    layout.addWidget(around, 1)
    row = QWidget(around)
    button = QPushButton("Allow", row)
    clicked: list[bool] = []
    button.clicked.connect(lambda: clicked.append(True))
    still = Still(row, [button], ms)
    row.resize(200, 60)
    owner.show()
    QApplication.processEvents()
    settle(still)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert len(clicked) == 1, "what stays where it was takes clicks"
    before = button.mapToGlobal(button.rect().center())
    above.hide()
    QApplication.processEvents()
    assert button.mapToGlobal(button.rect().center()) != before
    return owner, button, clicked


def test_what_has_just_moved_under_the_pointer_takes_no_click(qtbot: Any) -> None:
    _owner, button, clicked = moving(qtbot, LONG_MS)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    QTest.mouseDClick(button, Qt.MouseButton.LeftButton)
    assert len(clicked) == 1
    button.setFocus()
    QTest.keyClick(button, Qt.Key.Key_Space)
    assert len(clicked) == 2, "keys go where the focus is"


def test_what_is_back_where_it_was_has_not_moved(qtbot: Any) -> None:
    owner, button, clicked = moving(qtbot, LONG_MS)
    owner.layout().itemAt(0).widget().show()  # type: ignore[union-attr]
    QApplication.processEvents()
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert len(clicked) == 2


def test_a_moment_later_it_does(qtbot: Any) -> None:
    _owner, button, clicked = moving(qtbot, 1)

    def again() -> bool:
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
        return len(clicked) > 1

    qtbot.waitUntil(again, timeout=30_000)


def asked(window: MainWindow, what: str) -> tuple[QWidget, QPushButton, list[Any]]:
    """A row of the chat that wants to know something, a button of it that decides, and what was decided."""
    view = window.panes["chat"].view  # type: ignore[attr-defined]
    answers: list[Any] = []
    if what == "approval":
        view.model.approval_asked(gallery_data.approval())
        view.signals.approve.disconnect()
        view.signals.approve.connect(answers.append)
    elif what == "question":
        view.model.question_asked(gallery_data.question())
        view.signals.answer.disconnect()
        view.signals.answer.connect(answers.append)
    else:
        view.model.set_path(gallery_data.path())
        view.model.run_changed(gallery_data.run_stopped(), ["backtrack"])
        view.signals.offer.disconnect()
        view.signals.offer.connect(lambda *offer: answers.append(offer))
    view.follow()
    text = {"approval": "Deny", "question": "Answer", "end": "Go back and fork"}[what]
    for row in view.widgets():
        for button in row.findChildren(QPushButton):
            if button.text() == text:
                return row, button, answers
    raise AssertionError(f"no button {text}")


@pytest.mark.parametrize("what", ["approval", "question", "end"])
def test_a_notice_that_goes_does_not_decide(
    window_of: Open, qtbot: Any, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr("worldline.ui.still.MOMENT_MS", LONG_MS)
    window = window_of()
    window.notices.say("a", "Something happened.")
    row, button, answers = asked(window, what)
    still = row.findChildren(Still)[0]
    QApplication.processEvents()
    for choice in row.findChildren(QRadioButton):
        choice.setChecked(True)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert answers == [], "it has just come: nobody can have read it"
    settle(still)
    before = button.mapToGlobal(button.rect().center())
    window.notices.clear("a")
    qtbot.waitUntil(lambda: button.mapToGlobal(button.rect().center()) != before)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert answers == []
    settle(still)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert len(answers) == 1


def test_a_click_at_what_was_below_the_message_sends_nothing(window_of: Open, qtbot: Any) -> None:
    """Where another button was, that of the message is now."""
    window = window_of()
    composer = window.panes["chat"].composer  # type: ignore[attr-defined]
    composer.edit.set_text("not finished y")
    sent: list[Any] = []
    composer.send.connect(lambda *one: sent.append(one))
    window.status.setFixedHeight(80)
    QApplication.processEvents()
    still = composer.findChildren(Still)[0]
    still._moved.setInterval(LONG_MS)
    settle(still)
    send = composer._go
    before = send.mapToGlobal(send.rect().center())
    window.status.setFixedHeight(40)
    qtbot.waitUntil(lambda: send.mapToGlobal(send.rect().center()) != before)
    QTest.mouseClick(send, Qt.MouseButton.LeftButton)
    assert sent == []
    settle(still)
    QTest.mouseClick(send, Qt.MouseButton.LeftButton)
    assert len(sent) == 1


def test_a_click_at_the_message_does_not_hit_a_line_that_has_just_come(
    window_of: Open, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worldline.ui.still.MOMENT_MS", LONG_MS)
    window = window_of()
    done: list[bool] = []
    notice = window.notices.say(
        "gone", "The folder is gone.", buttons=[("Make it anew", lambda: done.append(True))]
    )
    still = notice.findChildren(Still)[0]
    qtbot.waitUntil(notice.isVisible)
    QTest.mouseClick(notice.buttons[0], Qt.MouseButton.LeftButton)
    assert done == []
    settle(still)
    QTest.mouseClick(notice.buttons[0], Qt.MouseButton.LeftButton)
    assert done == [True]


# Enter --------------------------------------------------------------------------------------------------------------


def test_enter_presses_the_button_that_has_the_keyboard(qtbot: Any) -> None:
    dialog = Dialog("Remove the folder?")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.add_cancel()
    remove = dialog.add_button("Remove", dialog.accept, role="danger")
    ends: list[int] = []
    dialog.finished.connect(ends.append)
    dialog.show()
    QTest.keyClick(dialog.focusWidget() or dialog, Qt.Key.Key_Return)
    assert ends == [0], "Cancel has it first"
    dialog.show()
    remove.setFocus()
    QTest.keyClick(remove, Qt.Key.Key_Return)
    assert ends == [0, 1]
    dialog.show()
    remove.setFocus()
    QTest.keyClick(remove, Qt.Key.Key_Enter, Qt.KeyboardModifier.KeypadModifier)
    assert ends == [0, 1, 1]


def test_home_and_end_go_to_the_first_and_the_last_row_of_a_table(qtbot: Any) -> None:
    table = quiet(QTableWidget(4, 2))
    qtbot.addWidget(table)
    table.hideRow(3)
    table.show()
    table.activateWindow()
    table.setFocus()
    table.setCurrentCell(1, 0)
    qtbot.waitUntil(table.hasFocus)
    QTest.keyClick(table, Qt.Key.Key_End)
    assert table.currentRow() == 2
    QTest.keyClick(table, Qt.Key.Key_Home)
    assert table.currentRow() == 0
