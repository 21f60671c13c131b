"""The approval dialog by keyboard: what allows, what denies, what neither."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton

from tests_support import PATIENCE_S
from worldline.protocol.model import Approval, DiffRow
from worldline.ui import gallery_data as sample
from worldline.ui.dialogs import approval
from worldline.ui.dialogs.approval import ApprovalDialog
from worldline.ui.dialogs.desk import Desk
from worldline.ui.dialogs.marked_command import COLUMNS, MarkedCommand, wrapped

from . import full

PATIENCE_MS = int(PATIENCE_S * 1000)
CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def dialog(qtbot: Any) -> ApprovalDialog:
    made = ApprovalDialog(sample.approval(), 2)
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    made.show()
    qtbot.waitExposed(made)
    qtbot.waitUntil(lambda: not made.inert, timeout=3000)
    return made


def answers(dialog: ApprovalDialog) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    dialog.answered.connect(found.append)
    return found


def test_focus_is_on_deny_and_nothing_is_the_default(dialog: ApprovalDialog) -> None:
    assert dialog.focusWidget() is dialog.deny_button
    assert not any(button.isDefault() or button.autoDefault() for button in dialog.findChildren(QPushButton))


def test_enter_never_allows_wherever_the_focus_is(dialog: ApprovalDialog, qtbot: Any) -> None:
    found = answers(dialog)
    for widget in [dialog.allow_button, *dialog._scopes.buttons(), dialog._edit]:
        widget.setFocus()
        QTest.keyClick(widget, Qt.Key.Key_Return)
        assert found == []
    dialog.deny_button.setFocus()
    QTest.keyClick(dialog.deny_button, Qt.Key.Key_Return)
    assert [one["decision"] for one in found] == ["deny"]


def test_ctrl_enter_allows_with_the_scope_and_the_digest_that_was_shown(dialog: ApprovalDialog) -> None:
    found = answers(dialog)
    dialog._scopes.buttons()[2].click()
    QTest.keyClick(dialog, Qt.Key.Key_Return, CTRL)
    assert found[0]["decision"] == "allow" and found[0]["scope"] == "session"
    assert found[0]["digest"] == sample.approval().digest and found[0]["edited_input"] is None


def test_nothing_is_allowed_in_the_moment_in_which_a_request_appears(qtbot: Any) -> None:
    made = ApprovalDialog(sample.approval())
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    found = answers(made)
    made.show()
    QTest.keyClick(made, Qt.Key.Key_Return, CTRL)
    made.allow_button.click()
    assert found == [] and not made.allow_button.isEnabled()
    qtbot.waitUntil(lambda: not made.inert, timeout=3000)
    QTest.keyClick(made, Qt.Key.Key_Return, CTRL)
    assert [one["decision"] for one in found] == ["allow"]


def test_the_text_of_a_write_can_be_edited_and_goes_back_as_that_argument(qtbot: Any) -> None:
    approval = sample.approval_write().model_copy(
        update={"editable": True, "input": {"path": "a.py", "content": "x = 1"}}
    )
    made = ApprovalDialog(approval)
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    found = answers(made)
    made.show()
    qtbot.waitUntil(lambda: not made.inert, timeout=3000)
    made._edit.click()
    editor = made.findChild(QPlainTextEdit)
    assert editor is not None
    editor.setPlainText("x = 2")
    QTest.keyClick(made, Qt.Key.Key_Return, CTRL)
    assert found[0]["edited_input"] == {"path": "a.py", "content": "x = 2"}


def test_escape_denies(dialog: ApprovalDialog) -> None:
    found = answers(dialog)
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert [one["decision"] for one in found] == ["deny"]


def test_closing_the_window_answers_nothing(dialog: ApprovalDialog) -> None:
    found = answers(dialog)
    dialog.close()
    assert found == []


def test_a_reason_goes_with_a_denial(dialog: ApprovalDialog) -> None:
    found = answers(dialog)
    dialog._with_reason.click()
    QTest.keyClicks(dialog._reason, "use a branch of your own")
    QTest.keyClick(dialog._reason, Qt.Key.Key_Return)
    assert found[0]["decision"] == "deny" and found[0]["reason"] == "use a branch of your own"


def test_an_edited_command_is_what_is_allowed_and_escape_only_leaves_the_editing(
    dialog: ApprovalDialog,
) -> None:
    found = answers(dialog)
    dialog._edit.click()
    edit = dialog.findChildren(QPlainTextEdit)[-1]
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert found == [] and dialog.isVisible()
    dialog._edit.click()
    edit = next(one for one in dialog.findChildren(QPlainTextEdit) if one.isVisible())
    edit.setPlainText("git push origin wip --dry-run")
    QTest.keyClick(edit, Qt.Key.Key_Return, CTRL)
    dialog._allow() if not found else None
    assert found[0]["edited_input"] == {"command": "git push origin wip --dry-run"}


def test_everything_that_matters_is_said(dialog: ApprovalDialog) -> None:
    from PySide6.QtWidgets import QLabel

    said = " ".join(label.text() for label in dialog.findChildren(QLabel))
    for text in (
        "changes the remote repository",
        "it publishes to https://github.com/me/shop.git",
        "old position",
        "CI runs",
        "1 of 2 waiting",
    ):
        assert text in said
    assert any("Bash(git push origin wip)" in button.text() for button in dialog._scopes.buttons())


def test_a_queue_is_worked_off_and_typing_is_not_disturbed(
    tmp_path: Path, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = full.open_state(tmp_path, qtbot)
    window = QPlainTextEdit()
    qtbot.addWidget(window)
    window.show()
    window.setFocus()
    qtbot.waitUntil(window.hasFocus)
    desk = Desk(state, window)
    try:
        for number in (1, 2):
            with qtbot.waitSignal(state.approval_asked):
                full.say(state, ("approval_asked", {"approval": sample.approval(number).model_dump()}))
        assert desk.dialog is None and window.hasFocus()
        desk.show_waiting()
        first = desk.dialog
        assert isinstance(first, ApprovalDialog) and first.approval.id == "a1"
        qtbot.waitUntil(lambda: not first.inert)
        monkeypatch.setattr(approval, "GRACE_MS", 3_600_000)  # the hand is faster than that
        with qtbot.waitSignal(state.info_changed) as told:
            QTest.keyClick(first, Qt.Key.Key_Return, CTRL)
        assert '"a1"' in told.args[0]["title"] and '"allow"' in told.args[0]["title"]
        second = desk.dialog
        assert isinstance(second, ApprovalDialog) and second.approval.id == "a2"
        # The same keys once more, by a hand that was too fast, decide nothing about the next one.
        QTest.keyClick(second, Qt.Key.Key_Return, CTRL)
        assert desk.dialog is second and list(state.approvals) == ["a2"]
        # Gone by itself (a time-out): the dialog goes too, without an answer.
        with qtbot.waitSignal(state.approval_gone):
            full.say(state, ("approval_gone", {"id": "a2", "why": "timeout"}))
        qtbot.waitUntil(lambda: desk.dialog is None)
    finally:
        state.client.stop_and_wait(PATIENCE_S)


def test_nothing_of_a_long_command_hides_behind_a_scroll_bar(qtbot: Any) -> None:
    command = "set -e\n" + "echo a && " * 30 + "curl -X POST https://ci.example.org/" + "x" * 120
    starts = wrapped(command)
    ends = [*starts[1:], len(command)]
    shown = [command[a:b] for a, b in zip(starts, ends, strict=True)]
    assert "".join(shown) == command and all(len(line) <= COLUMNS + 1 for line in shown)
    made = ApprovalDialog(
        sample.approval().model_copy(update={"command": command, "marks": [(307, 311, "network")]})
    )
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    made.show()
    view = made.findChild(MarkedCommand)
    assert view is not None and not view._bar.isVisible() and view.text() == command
    made.grab()
    view._selection = ((0, 0), (len(starts) - 1, len(shown[-1])))
    assert view.selected_text() == command


def long_write(rows: int, *, left: int = 0) -> Approval:
    asked = sample.approval_write()
    assert asked.diff is not None
    asked.diff.rows = [DiffRow(kind="+", new=n, text=f"line {n}") for n in range(1, rows + 1)]
    asked.diff.change.added, asked.diff.change.removed = rows + left, 0
    asked.diff.truncated = left > 0
    return asked


def test_a_long_change_is_allowed_only_once_its_end_was_in_sight(qtbot: Any) -> None:
    made = ApprovalDialog(long_write(400))
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(made)
    found = answers(made)
    made.show()
    qtbot.waitUntil(lambda: not made._grace.isActive() and made.unread.isVisible(), timeout=PATIENCE_MS)
    view = made._marked
    assert view is not None and [line.text for line in view.lines()][-1].endswith("line 400"), (
        "all of it is there"
    )
    assert made.inert and not made.allow_button.isEnabled()
    assert "more line" in made.unread.text() and int(made.unread.text().split()[0]) > 100
    QTest.keyClick(made, Qt.Key.Key_Return, CTRL)
    assert found == []
    QTest.keyClick(made, Qt.Key.Key_End)
    assert not made.inert and made.allow_button.isEnabled() and not made.unread.isVisible()
    QTest.keyClick(made, Qt.Key.Key_Return, CTRL)
    assert [one["decision"] for one in found] == ["allow"]


def test_what_is_left_out_of_a_change_is_counted(qtbot: Any) -> None:
    made = ApprovalDialog(long_write(30, left=1234))
    qtbot.addWidget(made)
    assert any("1234 more changed line" in label.text() for label in made.findChildren(QLabel))


def test_how_far_a_lasting_permission_goes_is_said(dialog: ApprovalDialog, qtbot: Any) -> None:
    said = "“This branch” and “this session” allow: exactly this command"
    assert any(label.text().startswith(said) for label in dialog.findChildren(QLabel))
    once = sample.approval()
    once.scopes, once.reach = ["once"], ""
    made = ApprovalDialog(once)
    qtbot.addWidget(made)
    assert not any("this session" in label.text() for label in made.findChildren(QLabel))


@pytest.mark.parametrize(
    ("scope", "said"), [("session", "“This session” allows: "), ("branch", "“This branch” allows: ")]
)
def test_only_choices_that_are_offered_are_named(qtbot: Any, scope: str, said: str) -> None:
    one = sample.approval()
    one.scopes = ["once", scope]  # type: ignore[list-item]
    made = ApprovalDialog(one)
    qtbot.addWidget(made)
    labels = [label.text() for label in made.findChildren(QLabel)]
    assert [text for text in labels if text.startswith("“This")] == [said + one.reach + "."]
