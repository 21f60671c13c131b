"""The window: places, bars, status, palette, keys, closing; driven with clicks on a process that answers."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, QSettings, Qt, QUrl
from PySide6.QtGui import QAccessible, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from tests_support import PATIENCE_S
from worldline.client.process import EngineProcess
from worldline.ui import gallery_data, main_window
from worldline.ui.chat.pane import ChatPane
from worldline.ui.dialogs.desk import desk_of
from worldline.ui.dialogs.new_session import NewSessionDialog
from worldline.ui.main_window import MainWindow
from worldline.ui.notices import Notices
from worldline.ui.session_state import SessionState
from worldline.ui.still import Still
from worldline.ui.theme import theme
from worldline.ui.tree.hover import HoverCard
from worldline.viewmodel import tree_text

from . import full, sample
from .looking import row_on_screen

Open = Callable[..., MainWindow]


def test_a_session_is_seen_as_a_whole(window_of: Open) -> None:
    window = window_of()
    assert window.title_label.text() == "fix-parser"
    assert "isolated worktree" in window.place_label.text()
    assert window.windowTitle() == "fix-parser — Worldline"
    assert all(window.panes[place].isVisible() for place in ("tree", "chat", "changes"))
    texts = {name: part.segment.text for name, part in window.status.parts.items()}
    assert texts == {
        "state": "Ready · last: completed", "model": "sonnet-5.5", "context": "41k/1M · 0.3 MB", "cost": "$0.42",
        "cache": "cache 91 %", "sandbox": "sandbox: complete", "effects": "⚠ 1 cannot be undone", "saved": "saved",
    }  # fmt: skip


def test_what_a_window_asks_by_itself_is_answered_here(window_of: Open, qtbot: Any) -> None:
    """Else a "no … here" of the made-up engine comes as a line at any moment, into whatever test looks at lines."""
    window = window_of()
    window.tree.view.look_at(8)
    window.state.go(sample.uid(9))
    answered: list[Any] = []
    window.state.request("runs", {}, answered.append)
    qtbot.waitUntil(lambda: bool(answered))
    assert not window.notices.items.keys() & {"failed"}


def test_every_number_can_be_clicked_and_explains_itself(window_of: Open, qtbot: Any) -> None:
    window = window_of()
    for name, part in window.status.parts.items():
        QTest.mouseClick(part, Qt.MouseButton.LeftButton)
        popover = window.status.popover
        assert popover is not None and popover.isVisible(), name
        assert popover.accessibleName()
        QTest.keyClick(popover, Qt.Key.Key_Escape)
        qtbot.waitUntil(lambda: window.status.popover is None)


def test_what_was_done_outside_is_listed_in_a_session_that_is_opened_again(
    window_of: Open, qtbot: Any
) -> None:
    pushed = {"id": 3, "kind": "vcs_remote", "reversibility": "compensatable", "evidence": "observed",
              "summary": "pushed origin/wip", "node": "", "at": 1, "status": "open"}  # fmt: skip
    undone = {**pushed, "id": 4, "summary": "wrote /tmp/x", "status": "undone"}
    window = window_of(effects=[pushed, undone], status={"effects": 1})
    qtbot.waitUntil(lambda: bool(window.state.effects), timeout=5_000)
    popover = window.status.explain("effects")
    shown = " ".join(label.text() for label in popover.findChildren(QLabel))
    assert "pushed origin/wip" in shown and "wrote /tmp/x" not in shown
    popover.close()


def test_a_retry_is_a_sentence_with_buttons(window_of: Open, qtbot: Any) -> None:
    import time

    retry_at = int(time.time() * 1000) + 8_000
    window = window_of(status={**sample.STATUS, "state": "retrying", "retry_attempt": 2, "retry_of": 5,
                               "retry_at": retry_at, "retry_why": "Overloaded"})  # fmt: skip
    assert window.status.first.segment.text.startswith("Overloaded. Trying again in ")
    assert window.status.first.segment.text.endswith("s (2 of 5).")
    assert list(window.status.buttons) == ["retry_now", "stop"]
    failed: list[dict[str, Any]] = []
    window.state.failed.connect(failed.append)
    QTest.mouseClick(window.status.buttons["retry_now"], Qt.MouseButton.LeftButton)
    # This engine knows no retry_now, and says so: the click has reached it.
    qtbot.waitUntil(lambda: any("retry_now" in error["message"] for error in failed))


def lower(widget: QWidget, edge: int) -> int:
    """How far down in its window the upper (0) or the lower (1) edge of a widget is."""
    return widget.mapTo(widget.window(), QPoint(0, widget.height() * edge)).y()


@pytest.mark.parametrize("width", [1280, 1000, 700])
def test_a_line_that_comes_or_goes_leaves_the_message_where_it_is(
    window_of: Open, qtbot: Any, width: int
) -> None:
    """Who was writing, or about to click there, had the field and its buttons move."""
    window = window_of(width=width)
    composer, view, lines = window.panes["chat"].composer, window.panes["chat"].view, window.notices  # type: ignore[attr-defined]
    before, room = composer.mapTo(window, QPoint()), view.height()
    window.notices.say("a", "Something happened.")
    qtbot.waitUntil(lambda: lines.isVisible() and view.height() < room)
    assert composer.mapTo(window, QPoint()) == before and lower(lines, 1) <= before.y()
    window.notices.clear("a")
    qtbot.waitUntil(lambda: view.height() == room)
    assert composer.mapTo(window, QPoint()) == before


def test_many_lines_in_a_small_window_leave_the_message_its_room(window_of: Open, qtbot: Any) -> None:
    window = window_of(width=480, height=360)
    composer, view, lines = window.panes["chat"].composer, window.panes["chat"].view, window.notices  # type: ignore[attr-defined]
    before = composer.geometry()
    for number in range(4):
        notice = lines.say(str(number), "Something happened, and it takes many words to say what. " * 3,
                           buttons=[("Do it", window.close)])  # fmt: skip
    bar = lines.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0 and bar.value() == bar.maximum())
    assert composer.geometry() == before and view.height() > 20
    qtbot.waitUntil(lambda: lower(notice.buttons[0], 1) <= lower(lines, 1))  # the newest is seen
    window.resize(480, 900)
    qtbot.waitUntil(lambda: bar.maximum() == 0)
    for number in range(4):
        lines.clear(str(number))
    qtbot.waitUntil(lambda: not lines.isVisible())


def test_a_button_of_a_line_that_is_scrolled_away_is_seen_when_it_has_the_keyboard(
    window_of: Open, qtbot: Any
) -> None:
    window = window_of(width=480, height=360)
    lines = window.notices
    first = lines.say("first", "Something happened.", buttons=[("Do it", window.close)]).buttons[0]
    for number in range(4):
        lines.say(str(number), "Something happened, and it takes many words to say what. " * 3)
    bar = lines.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0 and bar.value() == bar.maximum())
    assert lower(first, 1) <= lower(lines, 0), "above what is in sight"
    window.activateWindow()
    first.setFocus()
    qtbot.waitUntil(lambda: lower(lines, 0) <= lower(first, 0) and lower(first, 1) <= lower(lines, 1))


def test_lines_are_seen_whatever_is_in_front(window_of: Open, qtbot: Any) -> None:
    window = window_of(width=1000)
    window.notices.say("a", "Something happened.")
    qtbot.waitUntil(window.notices.isVisible)
    window.places.show_pane("changes")
    qtbot.waitUntil(
        lambda: window.notices.isVisible() and lower(window.places.splitter, 1) <= lower(window.notices, 0)
    )
    window.places.show_pane("chat")
    chat = window.panes["chat"]
    qtbot.waitUntil(lambda: window.notices.isVisible() and chat.isAncestorOf(window.notices))
    window.resize(1280, 800)
    window.places.toggle_pane("chat")
    qtbot.waitUntil(lambda: window.notices.isVisible() and not chat.isAncestorOf(window.notices))


@pytest.mark.parametrize("width", [340, 1200])
def test_buttons_of_a_line_leave_its_text_room(qtbot: Any, width: int) -> None:
    """Beside three buttons in the column of the chat it was one word in each row."""
    owner = QWidget()
    qtbot.addWidget(owner)
    layout = QVBoxLayout(owner)
    lines = Notices(owner)
    layout.addWidget(lines)
    layout.addStretch(1)
    owner.resize(width, 500)
    owner.show()
    notice = lines.say("a", "The folder of this session is not there any more, and what was in it is nowhere else.",
                       buttons=[("Make the folder anew", print), ("Try again", print), ("Other sessions…", print)])  # fmt: skip
    low = width < 1000
    qtbot.waitUntil(lambda: (lower(notice.text, 1) <= lower(notice.buttons[0], 0)) is low)
    assert notice.text.width() >= 200


def test_narrow_and_small_windows_keep_everything_within_reach(window_of: Open, qtbot: Any) -> None:
    window = window_of()
    window.resize(1000, 700)
    QApplication.processEvents()
    assert window.places.layout_name == "narrow"
    assert window.places.middle.indexOf(window.panes["changes"]) == 1
    window.places.show_pane("changes")
    assert window.places.middle.currentWidget() is window.panes["changes"]
    window.resize(700, 600)
    QApplication.processEvents()
    assert window.places.layout_name == "small"
    assert not window.tree.isVisible()
    QTest.mouseClick(window.drawer_button, Qt.MouseButton.LeftButton)
    assert window.tree.isVisible()
    window.notices.say("a", "Something happened.")
    shade, tree, lines = window.places.shade, window.tree, window.notices
    # A line is not under the drawer.
    qtbot.waitUntil(lambda: lower(shade, 1) <= lower(lines, 0) > 0)
    qtbot.waitUntil(lambda: tree.geometry().bottom() == shade.geometry().bottom())
    QTest.mouseClick(window.places.shade, Qt.MouseButton.LeftButton)
    assert not window.tree.isVisible()
    window.resize(1300, 800)
    QApplication.processEvents()
    assert window.places.layout_name == "wide"
    assert all(window.panes[place].isVisible() for place in ("tree", "chat", "changes"))
    assert window.places.splitter.indexOf(window.tree) == 0


def test_sizes_of_panes_are_kept_for_each_workspace(window_of: Open, settings: QSettings) -> None:
    first = window_of()
    first.places.splitter.setSizes([400, 500, 380])
    wanted = first.places.splitter.sizes()
    first.close()
    assert window_of().places.splitter.sizes() == wanted


def test_sizes_that_were_chosen_stay_whatever_is_told_of_the_session(window_of: Open) -> None:
    window = window_of()
    splitter = window.places.splitter
    splitter.setSizes([420, 480, 370])
    wanted = splitter.sizes()
    window.state.client.batch.emit([("title_changed", {"title": "Another name"})])
    assert window.title_label.text() == "Another name" and splitter.sizes() == wanted


def test_sizes_that_were_chosen_are_there_again_in_a_window_that_was_narrow_for_a_while(
    window_of: Open,
) -> None:
    window = window_of()
    splitter = window.places.splitter
    splitter.setSizes([420, 480, 370])
    wanted = splitter.sizes()
    splitter.splitterMoved.emit(420, 1)
    window.resize(1000, 700)
    QApplication.processEvents()
    assert window.places.layout_name == "narrow"
    window.resize(1280, 800)
    QApplication.processEvents()
    assert splitter.sizes() == wanted


def test_the_palette_finds_and_does(window_of: Open, qtbot: Any) -> None:
    window = window_of()
    palette = window.commands.open_palette()
    QTest.keyClicks(palette.edit, "whole tree")
    assert palette.list.currentItem().data(Qt.ItemDataRole.AccessibleTextRole) == "Show the whole tree"
    with qtbot.waitSignal(window.actions_list["fit"].triggered):
        QTest.keyClick(palette.edit, Qt.Key.Key_Return)
    palette = window.commands.open_palette()
    QTest.keyClicks(palette.edit, "qqqq")
    assert palette.none.isVisible()
    palette.close()


def test_no_two_actions_share_a_key(window_of: Open) -> None:
    window = window_of()
    seen: dict[str, str] = {}
    for action in window.actions_list:
        for keys in action.shortcuts():
            text = keys.toString()
            assert text not in seen, f"{text}: {seen[text]} and {action.text()}"
            seen[text] = action.text()


def test_a_jump_says_what_it_did_and_leads_back(window_of: Open, qtbot: Any) -> None:
    window = window_of()
    with qtbot.waitSignal(window.state.jumped):
        QTest.mouseClick(window.tree.view.viewport(), Qt.MouseButton.LeftButton,
                         pos=window.tree.view.rect_of(8).center())  # fmt: skip
    notice = window.notices.items["jump"]
    assert notice.text.text() == (
        "At “run pytest -q” on worldline/fix-parser/3 · 14 file(s) put back and verified"
    )
    qtbot.waitUntil(lambda: notice.findChildren(Still)[0].resting)
    with qtbot.waitSignal(window.state.jumped):
        QTest.mouseClick(notice.buttons[0], Qt.MouseButton.LeftButton)
    assert window.state.cursor == sample.uid(27)
    assert window.actions_list["forward"].isEnabled()


def test_where_one_came_to_is_not_said_any_more_when_one_goes_on(window_of: Open, qtbot: Any) -> None:
    window = window_of()
    with qtbot.waitSignal(window.state.jumped):
        QTest.mouseClick(window.tree.view.viewport(), Qt.MouseButton.LeftButton,
                         pos=window.tree.view.rect_of(8).center())  # fmt: skip
    assert "jump" in window.notices.items
    with qtbot.waitSignal(window.state.run_started, timeout=60_000):
        window.state.request("prompt", {"text": "go on"})
    assert "jump" not in window.notices.items


def test_looking_is_said_to_be_looking(window_of: Open) -> None:
    window = window_of()
    chat = window.panes["chat"]
    rows = window.tree.view.geometry()
    window.tree.view.look_at(8)
    assert chat.head._looking.isVisible() and "still as they were" in chat.head._looking.toolTip()
    assert not window.notices.items, [n.text.text() for n in window.notices.items.values()]
    assert chat.head.property("role") == "looking"
    assert window.tree.view.geometry() == rows, "nothing moves"
    window.state.select("")
    assert not chat.head._looking.isVisible() and chat.head.property("role") == ""


def test_a_line_that_comes_or_goes_moves_no_row_of_the_tree(window_of: Open, qtbot: Any) -> None:
    window = window_of(width=1280, height=640)
    view = window.tree.view
    QTest.qWait(30)
    before = [view.mapTo(window, view.rect_of(row).center()) for row in (5, window.state.cursor_row())]
    window.notices.say("a", "Something happened.")
    QTest.qWait(30)
    assert [
        view.mapTo(window, view.rect_of(row).center()) for row in (5, window.state.cursor_row())
    ] == before
    window.notices.clear("a")
    QTest.qWait(30)
    assert [
        view.mapTo(window, view.rect_of(row).center()) for row in (5, window.state.cursor_row())
    ] == before


def test_banners(window_of: Open) -> None:
    window = window_of(
        session={"scripted_model": True, "read_only": True, "read_only_why": "It is open elsewhere."}
    )
    assert window.notices.items["demo"].text.text().startswith("The model is scripted")
    assert window.notices.items["read_only"].text.text() == "Read only. It is open elsewhere."
    chat = window.panes["chat"]
    assert isinstance(chat, ChatPane)
    # A reason of several lines would be cut off there, and stay when it is none any more.
    assert chat.composer.edit.placeholderText() == "This session is open for reading only."
    window.state.go(sample.uid(9))
    assert window.state.cursor == sample.uid(27)
    assert window.state.selection == sample.uid(9)


def test_settings_that_do_not_count_are_said_with_a_way_to_them(window_of: Open, qtbot: Any) -> None:
    window = window_of(problems=["`limits` has a value of the wrong type.", "two", "three", "four"])
    notice = window.notices.items["problems"]
    assert notice.text.text() == "`limits` has a value of the wrong type.\ntwo\nthree\n… and 1 more"
    assert [button.text() for button in notice.buttons] == ["Open settings"]
    window.state.problems.emit([])
    assert "problems" not in window.notices.items


def test_after_a_crash_one_dialog_says_it_and_no_line_repeats_it(window_of: Open, qtbot: Any) -> None:
    window = window_of(recovered="The program ended in the middle of 1 step (run make).")
    desk = desk_of(window.state)
    first = desk.recovery
    assert first is not None and first.isVisible()
    assert "recovered" not in window.notices.items
    window.state.recovered.emit("Again.")
    assert desk.recovery is not None and desk.recovery is not first and not first.isVisible()
    desk.recovery.accept()
    assert desk.recovery is None


def test_a_session_that_nobody_writes_any_more_can_be_opened_for_writing(window_of: Open, qtbot: Any) -> None:
    window = window_of(session={"read_only": True, "read_only_why": "It is open elsewhere."})
    window.state.client.batch.emit([("writer_changed", {"lives": False})])
    notice = window.notices.items["read_only"]
    assert [button.text() for button in notice.buttons] == ["Open for writing"]
    window.state.client.batch.emit([("writer_changed", {"lives": True})])
    (new,) = window.notices.items["read_only"].buttons
    assert new.text() == "New session…", "in the same folder, beside the one that is open elsewhere"
    new.click()
    (dialog,) = window.findChildren(NewSessionDialog)
    assert dialog.isVisible() and dialog.folder.text() == window.state.info["root"]
    dialog.close()
    window.state.client.batch.emit([("writer_changed", {"lives": False})])
    before = window.state.client.pid
    with qtbot.waitSignal(window.state.hello, timeout=15_000):
        window.notices.items["read_only"].buttons[0].click()
    assert window.state.client.pid != before and window.state.client.state == "running"


def test_a_sandbox_that_does_not_start_is_a_line_until_it_does(window_of: Open) -> None:
    window = window_of()
    window.state._set_status({**sample.STATUS, "sandbox_problem": "The sandbox does not start: bwrap: no."})
    line = window.notices.items["sandbox"]
    assert "bwrap: no." in line.text.text()
    window.state._set_status({**window.state.status, "cost": 1.0})
    assert window.notices.items["sandbox"] is line
    window.state._set_status({**sample.STATUS, "sandbox_problem": ""})
    assert "sandbox" not in window.notices.items


def test_a_session_that_is_found_damaged_is_shown_and_not_written(window_of: Open) -> None:
    window = window_of()
    assert "read_only" not in window.notices.items
    why = "s.worldline is damaged (x). It is not written to any more. `worldline recover s.worldline --out NEW` saves what is readable into a new session."
    window.state.client.batch.emit([("writing_ended", {"why": why})])
    line = window.notices.items["read_only"]
    assert "is damaged" in line.text.text() and "worldline recover" in line.text.text()
    assert not line.close_button.isVisible() and window.state.read_only
    assert window.findChild(ChatPane).composing.composer.edit.isReadOnly()


def test_an_engine_that_dies_is_said_and_comes_back(window_of: Open, qtbot: Any) -> None:
    window = window_of()
    told = full.engine_lines(window)
    with qtbot.waitSignal(window.state.hello, timeout=15_000):
        os.kill(window.state.client.pid, signal.SIGKILL)
    assert told[0].startswith("The engine stopped. Nothing saved is lost.")
    qtbot.waitUntil(lambda: "engine" not in window.notices.items, timeout=10_000)
    assert len(window.state.tree) == 27


def test_nothing_is_offered_while_the_engine_starts_again_that_needs_one(window_of: Open, qtbot: Any) -> None:
    window = window_of()
    composer = window.findChild(ChatPane).composing.composer
    asked: list[dict[str, Any]] = []
    composer.send.connect(asked.append)
    seen: list[tuple[bool, bool, bool, str, str]] = []

    def look(_state: str) -> None:
        if window.state.client.state == "restarting":
            composer.edit.submitted.emit()
            seen.append(
                (composer._stop.isHidden(), composer._interrupt.isHidden(), composer._go.isEnabled(),
                 composer._go.text(), composer._note.text())
            )  # fmt: skip

    window.state.engine_state_changed.connect(look)
    with qtbot.waitSignal(window.state.run_started, timeout=60_000):
        window.state.request("prompt", {"text": "forever"})
    composer.edit.set_text("and then this")
    assert not composer._stop.isHidden() and window.actions_list["stop"].isEnabled()
    with qtbot.waitSignal(window.state.hello, timeout=60_000):
        os.kill(window.state.client.pid, signal.SIGKILL)
        qtbot.waitUntil(lambda: bool(seen), timeout=60_000)
        assert not window.actions_list["stop"].isEnabled() and "●" not in window.windowTitle()
    why = "The engine is starting again. What you write stays here until you can send it."
    assert seen == [(True, True, False, "Send", why)] and asked == []
    # It is there again: what was written waits, and the reason is gone.
    qtbot.waitUntil(lambda: composer._go.isEnabled(), timeout=60_000)
    assert composer.text() == "and then this" and composer._note.isHidden()


def test_what_was_brought_home_is_a_line(window_of: Open) -> None:
    window = window_of()
    window.state.brought_home.emit("Brought to /shop as uncommitted changes (2 files).")
    assert window.notices.items["brought_home"].text.text().startswith("Brought to /shop")


def test_the_icon_of_the_window_follows_the_theme(window_of: Open) -> None:
    window = window_of()

    def inked() -> set[str]:
        image = window.windowIcon().pixmap(64).toImage()
        pixels = (image.pixelColor(x, y) for x in range(64) for y in range(64))
        return {color.name() for color in pixels if color.alpha() == 255}

    light, token = inked(), theme().tokens.color("accent").name()
    assert token in light
    theme().set_name("dark")
    assert theme().tokens.color("accent").name() in inked() and token not in inked()


def test_a_session_that_cannot_be_opened_says_what_to_do(fake: Any, settings: QSettings, qtbot: Any) -> None:
    from worldline.ui.session_state import SessionState

    client = fake(refuse="The session is open elsewhere.")
    window = MainWindow(SessionState(client), settings)
    window.opened_with = "/home/me/sessions/shop-3cee.worldline"
    qtbot.addWidget(window)
    with qtbot.waitSignal(window.state.refused, timeout=10_000):
        window.show()
        client.start()
    assert window.title_label.text() == "shop-3cee", "it is not being opened any more"
    notice = window.notices.items["engine"]
    assert notice.text.text() == "The session is open elsewhere. Close it."
    assert [button.text() for button in notice.buttons] == ["New session…", "Try again", "Other sessions…"]
    window.close()


def test_a_folder_in_which_another_session_works_can_have_a_new_one(
    fake: Any, settings: QSettings, qtbot: Any, tmp_path: Path
) -> None:
    client = fake(refuse="Another session works there already.")
    window = MainWindow(SessionState(client), settings)
    window.opened_with = str(tmp_path)
    qtbot.addWidget(window)
    with qtbot.waitSignal(window.state.refused, timeout=10_000):
        window.show()
        client.start()
    buttons = window.notices.items["engine"].buttons
    buttons[0].click()
    (dialog,) = window.findChildren(NewSessionDialog)
    assert dialog.folder.text() == str(tmp_path)
    dialog.close()
    window.close()


def test_what_waits_is_told_when_nobody_looks(window_of: Open, qtbot: Any) -> None:
    window = window_of()
    other = QLineEdit()
    qtbot.addWidget(other)
    other.show()
    other.activateWindow()
    qtbot.waitUntil(lambda: not window.isActiveWindow())
    with qtbot.waitSignal(window.state.run_ended, timeout=10_000):
        window.state.request("prompt", {"text": "go on"})
    assert window.talk.notified == ["The agent ended: completed"]


def test_a_dropped_folder_is_opened(window_of: Open, qtbot: Any, tmp_path: Any) -> None:
    window = window_of()
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path))])
    event = QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton,
                       Qt.KeyboardModifier.NoModifier)  # fmt: skip
    with qtbot.waitSignal(window.dropped) as asked:
        window.dropEvent(event)
    assert asked.args == [[str(tmp_path)]]


def test_closing_ends_the_engine_in_order(
    window_of: Open, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main_window, "CLOSE_LIMIT_S", 3_600.0)  # it is not killed however long it takes
    window = window_of()
    process = window.state.client._link.process  # type: ignore[union-attr]
    with qtbot.waitSignal(window.closed, timeout=10_000):
        window.close()
    assert process.returncode == 0


def test_everything_that_can_be_focused_has_a_name(window_of: Open) -> None:
    window = window_of()
    nameless = []
    for widget in (
        window.findChildren(QAbstractButton) + window.findChildren(QLineEdit) + window.findChildren(QComboBox)
    ):
        if not widget.isVisible() or widget.focusPolicy() == Qt.FocusPolicy.NoFocus:
            continue
        interface = QAccessible.queryAccessibleInterface(widget)
        if not interface.text(QAccessible.Text.Name).strip():
            nameless.append(
                f"{type(widget).__name__} {widget.objectName()} in {type(widget.parent()).__name__}"
            )
    assert nameless == []


def test_what_cannot_be_opened_is_said_where_one_would_write(
    fake: Callable[..., EngineProcess], settings: QSettings, qtbot: Any
) -> None:
    window = MainWindow(SessionState(fake(refuse="This is the home folder.")), settings)
    with qtbot.waitSignal(window.state.refused):
        window.show()
        window.state.client.start()
    qtbot.waitUntil(lambda: isinstance(window.panes["chat"], ChatPane))
    chat = window.panes["chat"]
    assert isinstance(chat, ChatPane)
    qtbot.waitUntil(lambda: not chat.composer.isEnabled())
    empty = chat.view.empty
    assert "home folder" in empty.why.text() and empty.title.text() == "This cannot be opened."
    assert not any(way.isVisible() for way in empty._ways)
    # Another try may succeed.
    window.state.hello.emit({})
    assert chat.composer.isEnabled() and empty.title.text() == "What should be done?" and not empty.why.text()
    window.close()
    window.state.client.stop_and_wait(PATIENCE_S)
    window.deleteLater()
    QApplication.processEvents()


@pytest.mark.parametrize("buttons", [0, 3])
def test_a_line_above_the_status_is_as_high_as_its_text(window_of: Open, qtbot: Any, buttons: int) -> None:
    window = window_of()
    long = (
        "The folder of this session, /home/me/.local/share/worldline/worktrees/shop-3cee, is not there. " * 3
    )
    notice = window.notices.say(
        "a", long, buttons=[("Make the folder anew", window.close)] * buttons, closable=False
    )
    short = window.notices.say("b", "One line.")

    def fits() -> None:
        text = notice.text
        assert text.height() >= text.heightForWidth(text.width()) > text.fontMetrics().height()
        assert short.height() < notice.height()

    qtbot.waitUntil(fits, timeout=30_000)


def test_a_push_that_was_countered_says_so_on_its_step(window_of: Open, qtbot: Any) -> None:
    pushed = {"id": 3, "kind": "vcs_remote", "reversibility": "compensatable", "evidence": "observed",
              "summary": "pushed origin/wip", "node": sample.uid(25), "at": 1, "status": "countered"}  # fmt: skip
    window = window_of(effects=[pushed], status={"effects_countered": 1})
    view = window.findChild(ChatPane).view

    def facts() -> str:
        card = row_on_screen(view, sample.uid(25))
        return " ".join(label.text() for label in card.findChildren(QLabel)) if card is not None else ""

    qtbot.waitUntil(lambda: "↶ was countered" in facts(), timeout=30_000)
    assert "cannot be undone" not in facts()
    row = window.state.tree.row(sample.uid(25))
    hover = window.findChildren(HoverCard)[0]
    assert tree_text.row_text(window.state.tree, row).badges == [("↶", "muted")]
    assert "which was countered" in hover.facts(row)[1]
    countered = window.tree.view.grab().toImage()
    window.state.client.batch.emit([("effect_changed", {"effect": {**pushed, "id": 4, "status": "open"}})])
    view.flush()
    assert "⚠ cannot be undone" in facts() and "countered" not in facts()
    assert "which was countered" not in hover.facts(row)[1]
    assert window.tree.view.grab().toImage() != countered


def test_a_plan_is_for_the_place_that_the_tree_names(window_of: Open) -> None:
    window = window_of()
    desk = desk_of(window.state)
    root = window.state.tree.uid(0)
    plan = gallery_data.jump_plan().model_copy(update={"node": root})
    desk.show_plan(plan.model_dump(mode="json"), {})
    dialog = desk.plan_dialog
    assert dialog is not None and dialog.windowTitle() == "Go to “Start of the session”"
    dialog.reject()


def test_that_nothing_waits_is_not_said_any_longer_when_something_does(window_of: Open) -> None:
    window = window_of()
    desk = desk_of(window.state)
    desk.nothing_waits.emit()
    assert "nothing_waits" in window.notices.items
    window.state.question_asked.emit({"id": "q", "run": "r", "node": "", "text": "Which?", "choices": []})
    assert "nothing_waits" not in window.notices.items
