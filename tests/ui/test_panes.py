"""Chat and changes on a session: what they show, ask and send."""

from __future__ import annotations

import base64
import gc
import importlib
import weakref
from pathlib import Path
from typing import Any

import pytest
import shiboken6
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from worldline.core import paths
from worldline.ui import gallery_data as gallery
from worldline.ui import panes, preferences
from worldline.ui.chat.drafts import Drafts
from worldline.ui.chat.message_rows import ReplyRow, UserRow
from worldline.ui.chat.pane import ChatPane
from worldline.ui.dialogs.settings import open_settings
from worldline.ui.diff.pane import ChangesPane
from worldline.ui.session_state import SessionState
from worldline.viewmodel.chat_rows import RowKind
from worldline.viewmodel.drafts import Draft

from . import full, sample
from .looking import row_on_screen


@pytest.fixture
def state(full_state: SessionState) -> SessionState:
    return full_state


@pytest.fixture
def chat(state: SessionState, qtbot: Any) -> ChatPane:
    pane = ChatPane(state)
    pane.resize(560, 700)
    qtbot.addWidget(pane)
    pane.show()
    qtbot.waitExposed(pane)
    state.loaded.emit()
    return pane


@pytest.fixture
def changes(state: SessionState, qtbot: Any) -> ChangesPane:
    pane = ChangesPane(state)
    pane.resize(420, 600)
    qtbot.addWidget(pane)
    pane.show()
    return pane


def test_what_is_written_before_a_place_was_chosen_for_it_is_the_message(tmp_path: Path) -> None:
    with full.complete_window(tmp_path) as window:
        chat = window.panes["chat"]
        assert isinstance(chat, ChatPane)
        found = []
        for place in (window.focusWidget() or window, window.tree.view, chat.view, window.title_bar):
            place.setFocus()
            QTest.keyClick(place, "h")
            QTest.keyClick(QApplication.focusWidget() or place, "i")
            QTest.keyClick(place, "d", Qt.KeyboardModifier.ControlModifier)
            found.append(chat.composer.text())
            chat.composer.edit.clear()
    assert found == ["hi"] * 4


def test_the_path_to_the_cursor_is_shown_with_its_bodies(chat: ChatPane, qtbot: Any) -> None:
    assert [row.uid for row in chat.chat.rows if row.kind is RowKind.USER][-1] == sample.uid(27)
    assert all(row.uid != sample.uid(8) for row in chat.chat.rows), "another attempt is not part of this path"
    assert any(row.key == f"fork:{sample.uid(2)}" for row in chat.chat.rows)

    def read() -> None:
        row = row_on_screen(chat.view, sample.uid(26))
        assert isinstance(row, ReplyRow) and row._view.text() == "whole text of Pushed. CI is running."

    qtbot.waitUntil(lambda: read() is None, timeout=5000)


def test_looking_at_another_node_shows_its_path_and_offers_to_go_there(chat: ChatPane, qtbot: Any) -> None:
    chat.state.select(sample.uid(9))
    assert chat.chat.path[-1].uid == sample.uid(9) and chat.head._go.isVisible() and not chat.chat.live
    with qtbot.waitSignal(chat.state.jumped):
        chat.head._go.click()
    assert chat.state.cursor == sample.uid(9) and chat.chat.path[-1].uid == sample.uid(9)
    assert not chat.head._back_to.isVisible()


def test_a_prompt_is_sent_streamed_and_stored(chat: ChatPane, qtbot: Any) -> None:
    chat.composer.edit.setFocus()
    chat.composer.edit.set_text("add a changelog")
    with qtbot.waitSignal(chat.state.run_ended, timeout=10_000):
        QTest.keyClick(chat.composer.edit, Qt.Key.Key_Return)
    kinds = [row.kind for row in chat.chat.rows][-2:]
    assert kinds == [RowKind.USER, RowKind.REPLY]
    qtbot.waitUntil(lambda: chat.composer.text() == "")
    assert not chat.composer.running and chat.composer.edit.history[-1] == "add a changelog"


def test_stop_ends_a_run_and_the_end_is_told_as_the_persons_own(chat: ChatPane, qtbot: Any) -> None:
    chat.composer.edit.set_text("forever")
    with qtbot.waitSignal(chat.state.run_started, timeout=10_000):
        chat.composer.edit.submitted.emit()
    qtbot.waitUntil(lambda: any(row.kind is RowKind.LIVE for row in chat.chat.rows))
    assert chat.composer.running
    with qtbot.waitSignal(chat.state.run_ended, timeout=10_000):
        chat.composer._stop.click()
    stop = chat.chat.rows[-1]
    assert stop.kind is RowKind.STOP and stop.run is not None and stop.run.stop_reason == "aborted"


def test_an_approval_waits_above_the_composer_and_in_the_chat(chat: ChatPane, qtbot: Any) -> None:
    chat.composer.edit.setFocus()
    full.say(chat.state, ("approval_asked", {"approval": gallery.approval().model_dump()}))
    qtbot.waitUntil(chat.waiting.isVisible)
    assert "git push origin wip" in chat.waiting._label.text()
    assert chat.chat.rows[-1].kind is RowKind.APPROVAL and chat.composer.edit.hasFocus()
    with qtbot.waitSignal(chat.state.info_changed) as told:
        chat.view.signals.approve.emit(
            {"id": "a1", "digest": "d" * 8, "decision": "deny", "scope": "once", "reason": ""}
        )
    assert '"deny"' in told.args[0]["title"]
    qtbot.waitUntil(lambda: not chat.waiting.isVisible())


def test_edit_and_resend_goes_to_the_prompt(chat: ChatPane, qtbot: Any) -> None:
    with qtbot.waitSignal(chat.state.jumped):
        chat.view.signals.edit_prompt.emit(sample.uid(24), "Push it so that CI runs")
    assert chat.state.cursor == sample.uid(24)


def test_completion_comes_from_the_engine(chat: ChatPane, qtbot: Any) -> None:
    chat.composer.edit.setFocus()
    qtbot.waitUntil(chat.composer.edit.hasFocus)
    QTest.keyClicks(chat.composer.edit, "@lex")
    qtbot.waitUntil(chat.composer.edit._list.isVisible)
    QTest.keyClick(chat.composer.edit, Qt.Key.Key_Tab)
    assert chat.composer.text() == "@src/lexer.py "


def test_the_draft_of_a_session_is_kept_with_what_was_pasted(chat: ChatPane, qtbot: Any) -> None:
    drafts = chat.composing.drafts
    qtbot.waitUntil(lambda: not drafts._looking)
    chat.composer.edit.set_text("half a thought")
    chat.composer.add_text("a log\n" * 9000)
    chat.composer.add_image("image/png", "iVBORw0KGgo=")
    chat.hide()  # as when the window closes; nothing else is done for it
    drafts.settled()
    again = ChatPane(chat.state)
    qtbot.addWidget(again)
    qtbot.waitUntil(lambda: again.composer.text() == "half a thought")
    assert again.composer.draft() == chat.composer.draft()
    assert "a log" in again.composer.message()


def test_a_draft_of_an_older_version_is_taken_over_once(qtbot: Any) -> None:
    """It was kept among the settings of the window."""
    session = str(paths.data_home() / "sessions" / "预览.worldline")
    key = f"drafts/{base64.urlsafe_b64encode(session.encode()).decode()}"
    preferences.settings().setValue(key, "half a message")
    written = Draft()
    drafts = Drafts(lambda: written)
    found: list[Draft] = []

    def take(draft: Draft) -> None:
        nonlocal written
        found.append(draft)
        written = draft

    drafts.found.connect(take)
    drafts.open(session)
    qtbot.waitUntil(lambda: bool(found))
    assert preferences.settings().value(key) == "half a message", "until it is kept elsewhere"
    drafts.flush()
    qtbot.waitUntil(lambda: not preferences.settings().contains(key))
    drafts.settled()

    again: list[Draft] = []
    later = Drafts(Draft)
    later.found.connect(again.append)
    later.open(session)
    qtbot.waitUntil(lambda: bool(again))
    assert again == found == [Draft("half a message")]


def test_a_message_that_was_sent_leaves_no_draft(chat: ChatPane, qtbot: Any) -> None:
    drafts = chat.composing.drafts
    qtbot.waitUntil(lambda: not drafts._looking)
    chat.composer.add_text("a log\n" * 9000)
    drafts.flush()
    drafts.settled()
    assert drafts._folder is not None and drafts._folder.load() is not None
    QTest.keyClick(chat.composer.edit, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: not chat.composer.draft())
    drafts.settled()
    assert not drafts._folder.folder.exists()


def test_words_written_while_an_old_draft_is_read_stay(chat: ChatPane, qtbot: Any) -> None:
    chat.composer.edit.set_text("new words")
    chat.composer.restore(Draft("old words", ["a paste"], []))
    assert chat.composer.draft() == Draft("new words", ["a paste"], [])
    assert chat.composer.edit.history[-1] == "old words"


def test_it_is_said_when_a_draft_cannot_be_kept(chat: ChatPane, qtbot: Any) -> None:
    chat.composing.drafts.failed.emit("No space left on device")
    assert "No space left on device" in chat.composer._note.text()
    chat.composing.drafts.left_out.emit(0)
    assert chat.composer._note.isHidden()


def test_models_are_offered_with_their_efforts(chat: ChatPane, qtbot: Any) -> None:
    chat.composing.ask_models()
    qtbot.waitUntil(lambda: chat.composer.choices.model.value == "sonnet-5.5")
    assert chat.composer.choices.effort.value == "high"


def test_the_effort_of_the_settings_is_that_of_the_composer_until_another_is_chosen(
    chat: ChatPane, qtbot: Any
) -> None:
    composer, state = chat.composer, chat.state
    chat.composing.ask_models()
    qtbot.waitUntil(lambda: composer.choices.effort.value == "high")
    dialog = open_settings(state, chat)
    composer.send.disconnect()

    def said(effort: str) -> None:
        with qtbot.waitSignal(state.settings_saved):
            dialog.model_page.changed.emit({"effort": effort})
        qtbot.waitUntil(lambda: composer.choices.effort.value == effort)

    def sent() -> tuple[str, str]:
        composer.edit.set_text("go on")
        with qtbot.waitSignal(composer.send) as params:
            composer._send("now")
        return params.args[0]["model"], params.args[0]["effort"]

    said("low")
    assert sent() == ("sonnet-5.5", "low")
    # What is chosen here counts more, also after the engine had to start again and where there is no room to show it.
    composer.choices.effort._choose("medium")
    state.hello.emit({})
    answers: list[dict[str, Any]] = []
    state.request("models", {}, answers.append)
    qtbot.waitUntil(lambda: bool(answers))
    composer.choices.effort.hide()
    assert sent() == ("sonnet-5.5", "medium")
    # What is said in the settings afterwards counts more than that.
    said("low")
    assert sent() == ("sonnet-5.5", "low")
    dialog.close()


def test_the_disk_is_looked_at_again_whenever_the_person_comes_back(changes: ChangesPane, qtbot: Any) -> None:
    asked: list[dict[str, Any]] = []
    send = changes.state.client.request

    def listen(method: str, params: Any = None, *more: Any) -> int:
        if method == "changes":
            asked.append(dict(params))
        return int(send(method, params, *more))

    changes.state.client.request = listen  # type: ignore[method-assign]
    changes.against.setCurrentIndex(changes.against.findData("disk"))
    changes._on_against(0)
    qtbot.waitUntil(lambda: len(asked) == 1 and not changes._asked)
    assert asked[0]["b"] == "disk"
    changes._show_changes(None)
    assert "on disk are as they were" in changes._note.text()
    changes.activateWindow()
    qtbot.waitUntil(changes.isActiveWindow)
    QApplication.sendEvent(changes, QEvent(QEvent.Type.ActivationChange))
    qtbot.waitUntil(lambda: len(asked) >= 2)
    changes.state.client.request = send  # type: ignore[method-assign]


def test_changes_follow_what_is_looked_at_and_late_answers_are_not_shown(
    changes: ChangesPane, qtbot: Any
) -> None:
    qtbot.waitUntil(lambda: changes.files.path == "src/of_001b.py", timeout=5000)
    for seq in (20, 21, 22, 20):
        changes.state.select(sample.uid(seq))
    qtbot.waitUntil(lambda: changes.files.path == "src/of_0014.py", timeout=5000)
    qtbot.waitUntil(lambda: changes.panel._path.text() == "src/of_0014.py", timeout=5000)
    # Known answers are shown at once.
    changes.state.select("")
    assert changes.files.path == "src/of_001b.py"


def test_a_message_is_shown_on_demand(chat: ChatPane) -> None:
    chat.state.reveal_asked.emit(sample.uid(2))
    assert isinstance(row_on_screen(chat.view, sample.uid(2)), UserRow)


def test_changes_choose_what_fits_the_step_until_the_person_chooses(
    changes: ChangesPane, state: SessionState, qtbot: Any
) -> None:
    # The cursor is a prompt, which changed nothing: what its attempt has changed so far is shown, and says so.
    qtbot.waitUntil(lambda: changes.compared.pair() == (sample.uid(2), sample.uid(27)))
    assert changes.against.currentData() == "attempt"
    state.select(sample.uid(20))
    assert changes.compared.pair() == ("parent", sample.uid(20)) and changes.against.currentData() == "parent"
    changes.against.setCurrentIndex(changes.against.findData("base"))
    changes.against.activated.emit(changes.against.currentIndex())
    state.select(sample.uid(21))
    assert changes.compared.pair() == ("base", sample.uid(21)), "what was chosen by hand stays"
    changes.against.setCurrentIndex(0)
    changes.against.activated.emit(0)
    assert changes.compared.pair() == ("parent", sample.uid(21))


def test_changes_are_compared_with_any_node(changes: ChangesPane, state: SessionState, qtbot: Any) -> None:
    state.select(sample.uid(20))
    state.changes_since_asked.emit(sample.uid(5))
    assert changes.compared.pair() == (sample.uid(5), sample.uid(20))
    assert changes.against.currentData() == sample.uid(5) and changes.against.currentText().startswith("vs “")
    # It stays for other steps; asked for on the step that is looked at, where the person is counts.
    state.select(sample.uid(21))
    assert changes.compared.pair() == (sample.uid(5), sample.uid(21))
    state.changes_since_asked.emit(sample.uid(21))
    assert changes.compared.pair() == (sample.uid(21), state.cursor)
    assert changes.against.findData(sample.uid(5)) < 0, "one at a time joins the choices"
    state.select(sample.uid(21))
    changes._show_changes(None)
    assert "others are compared with" in changes._note.text()
    changes.against.setCurrentIndex(0)
    changes.against.activated.emit(0)
    assert changes.compared.pair() == ("parent", sample.uid(21))


def test_a_message_can_be_left_out_for_the_model_or_replaced(chat: ChatPane, qtbot: Any) -> None:
    from worldline.ui.chat.message_menu import message_menu
    from worldline.ui.dialogs.small import NoteDialog

    asked: list[tuple[str, Any]] = []
    send = chat.state.client.request
    chat.state.client.request = lambda method, params=None, *more: (  # type: ignore[method-assign]
        asked.append((method, params)) or send(method, params, *more)  # type: ignore[func-returns-value]
    )
    row = chat.chat.row(sample.uid(26))
    assert row is not None
    menu = message_menu(chat.state, row, chat)
    actions = {action.text(): action for action in menu.actions()}
    actions["Leave this out for the model"].trigger()
    assert ("context_edit", {"node": sample.uid(26)}) in asked
    actions["Tell the model something else instead…"].trigger()
    dialog = chat.window().findChild(NoteDialog)
    assert dialog is not None
    dialog._edit.setPlainText("It was pushed.")
    dialog._save()
    assert ("context_edit", {"node": sample.uid(26), "replacement": "It was pushed."}) in asked
    menu.close()


def test_a_pane_that_comes_late_takes_over_what_was_announced_before(state: SessionState, qtbot: Any) -> None:
    """Panes are made after the first paint; a fast engine has greeted and asked by then."""
    with qtbot.waitSignal(state.approval_asked):
        full.say(state, ("approval_asked", {"approval": gallery.approval(1).model_dump()}))
    pane = ChatPane(state)
    qtbot.addWidget(pane)
    pane.show()
    qtbot.waitUntil(lambda: pane.composer.choices.model.text() == "Sonnet 5.5")
    assert pane.waiting.isVisible() and pane.chat.row("approval:a1") is not None
    assert pane.composer.edit.history, "prompts of the session can be had again"


def test_lines_of_very_many_files_follow_the_list(
    changes: ChangesPane, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    qtbot.waitUntil(lambda: changes.files.path != "", timeout=5000)
    waiting: dict[str, Any] = {}

    def request(method: str, params: Any, answered: Any, refused: Any = None) -> None:
        waiting[method] = (params, answered, refused)

    monkeypatch.setattr(changes.state, "request", request)
    changes._changes.clear()
    changes._ask()
    params, answered, _ = waiting["changes"]
    files = [{"path": f"f{n}", "status": "A", "new_size": 4} for n in range(3)]
    answered({**params, "files": files, "added": 0, "removed": 0, "counted": False})
    assert "counting" in changes._totals.text() and changes.files.topLevelItemCount() == 3
    params, answered, refused = waiting.pop("line_counts")
    refused({"message": "Another comparison was asked for."})
    changes._refresh()  # looked at again: asked for again
    params, answered, _ = waiting["line_counts"]
    answered({**params, "files": {"f0": [2, 1], "f2": [5, 0]}})
    assert "+7 −1" in changes._totals.text()
    known = changes._changes[changes.compared.pair()]
    assert known.counted and [f.added for f in known.files] == [2, 0, 5]


def test_lines_that_were_counted_later_stay_with_their_rows(state: SessionState) -> None:
    tree = state.tree
    uid, header = tree.uid(2), tree.uid(3)
    ended: list[int] = []
    state.node_ended.connect(ended.append)
    state._on_batch([("lines_counted", {"nodes": {uid: [70, 6], "f" * 16: [1, 1]}})])
    assert (tree.added[2], tree.removed[2], ended) == (70, 6, [3])
    state._on_batch([("lines_counted", {"nodes": {uid: [70, 6]}})])
    assert ended == [3]
    state._take_all_lines({"nodes": {header: [1, 2]}})
    assert (tree.added[3], tree.removed[3]) == (1, 2)


def test_a_window_that_goes_while_it_warms_up_does_not_leave_the_collector_off(qtbot: Any) -> None:
    owner = QObject()
    warmer = panes.Warmer(owner)
    warmer.start()
    thread = warmer._thread
    shiboken6.delete(owner)
    thread.join(30)
    QApplication.processEvents()
    assert gc.isenabled()


def test_only_the_first_window_of_a_process_freezes_what_is_there(qtbot: Any) -> None:
    """A later one would freeze what a window that has gone has left."""
    for name in panes.LIBRARIES:
        importlib.import_module(name)
    owner, frozen = QObject(), gc.get_freeze_count()
    left = QObject()
    left.itself = left  # type: ignore[attr-defined]
    gone = weakref.ref(left)
    del left
    warmer = panes.Warmer(owner)
    with qtbot.waitSignal(warmer.done):
        warmer.start()
        assert gc.isenabled()
    assert gc.get_freeze_count() == frozen
    gc.collect()
    assert gone() is None


def test_a_refusal_goes_when_the_next_run_begins(tmp_path: Path, qtbot: Any) -> None:
    with full.complete_window(tmp_path) as window:
        window.state.failed.emit({"message": "The disk is full.", "hint": "Make room."})
        said = "failed" in window.notices.items
        window.state.run_started.emit({"uid": "r", "prompt": "", "started": 1})
        left = "failed" in window.notices.items
    assert said and not left
