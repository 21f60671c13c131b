"""Closing a window by hand: what goes on in it ends after a question only; clicks on what has just moved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox, QPushButton, QTableWidget, QVBoxLayout, QWidget

from worldline.ui import gallery_data
from worldline.ui.chat.still import Still
from worldline.ui.dialogs.base import Dialog
from worldline.ui.main_window import MainWindow
from worldline.ui.tables import quiet

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


def test_keys_to_close_and_to_quit_are_in_the_menu(window_of: Open) -> None:
    window = window_of()
    keys = {name: window.actions_list[name].shortcut().toString() for name in ("close", "quit")}
    assert keys == {"close": "Ctrl+W", "quit": "Ctrl+Q"}


# Buttons that moved --------------------------------------------------------------------------------------------------


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
    still._moved.invalidate()
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


def test_a_moment_later_it_does(qtbot: Any) -> None:
    _owner, button, clicked = moving(qtbot, 1)

    def again() -> bool:
        QTest.mouseClick(button, Qt.MouseButton.LeftButton)
        return len(clicked) > 1

    qtbot.waitUntil(again, timeout=30_000)


def test_a_notice_that_goes_does_not_click_an_approval(
    window_of: Open, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worldline.ui.chat.ask_rows.GRACE_MS", LONG_MS)
    window = window_of()
    view = window.panes["chat"].view  # type: ignore[attr-defined]
    view.model.approval_asked(gallery_data.approval())
    window.notices.say("a", "Something happened.")
    view.follow()
    qtbot.waitUntil(lambda: any(one.findChildren(Still) for one in view.widgets()))
    row = next(one for one in view.widgets() if one.findChildren(Still))
    QApplication.processEvents()
    answers: list[Any] = []
    view.signals.approve.connect(answers.append)
    deny = next(one for one in row.findChildren(QPushButton) if one.text() == "Deny")
    row.findChildren(Still)[0]._moved.invalidate()
    before = deny.mapToGlobal(deny.rect().center())
    window.notices.clear("a")
    qtbot.waitUntil(lambda: deny.mapToGlobal(deny.rect().center()) != before)
    QTest.mouseClick(deny, Qt.MouseButton.LeftButton)
    assert answers == []


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
