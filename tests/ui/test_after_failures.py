"""What the window shows and keeps when something was refused, broke off, or changed in another place meanwhile."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QWidget

from worldline.core.kinds import Outcome
from worldline.protocol.events import Delta
from worldline.protocol.model import RunInfo
from worldline.ui import gallery_data
from worldline.ui.chat.composing import Composing
from worldline.ui.chat.offers import act_on_offer
from worldline.ui.chat.opening import whole_output
from worldline.ui.chat.pane import ChatPane
from worldline.ui.dialogs.approval import ApprovalDialog
from worldline.ui.dialogs.desk import Desk
from worldline.ui.dialogs.session_files import session_paths
from worldline.ui.dialogs.sessions import SessionsDialog
from worldline.ui.dialogs.settings import SettingsDialog, open_settings
from worldline.ui.dialogs.settings_pages import ModelPage
from worldline.ui.dialogs.settings_rules import RulesPage
from worldline.ui.dialogs.storage_session import open_storage
from worldline.ui.dialogs.text_viewer import TextViewer
from worldline.ui.exporting import NAME_BYTES, file_name
from worldline.ui.main_window import MainWindow
from worldline.ui.pictures import Decoder, size_of
from worldline.ui.recents import recent_sessions
from worldline.ui.session_state import SessionState
from worldline.ui.tree.view import TreeView
from worldline.viewmodel.chat import ChatModel
from worldline.viewmodel.chat_rows import RowKind
from worldline.viewmodel.rules import merged

from .answering import Engine, engine, state
from .sample import uid
from .test_windows import files, let_go

__all__ = ["engine", "state"]
NO = {"message": "No.", "hint": "Do this.", "kind": "refused"}


@pytest.fixture
def owner(qtbot: Any) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    return made


# Sending ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def composing(state: SessionState, engine: Engine, owner: QWidget) -> Composing:
    made = Composing(state, owner)
    engine.asked.clear()
    return made


def test_a_message_is_sent_once_however_often_enter_is_pressed(composing: Composing, engine: Engine) -> None:
    edit = composing.composer.edit
    edit.insertPlainText("do it")
    for _ in range(3):
        QTest.keyClick(edit, Qt.Key.Key_Return)
    (prompt,) = engine.take("prompt")
    prompt[3](NO)
    # It was refused: the words are there, and can be sent again.
    assert edit.toPlainText() == "do it"
    QTest.keyClick(edit, Qt.Key.Key_Return)
    (prompt,) = engine.take("prompt")
    prompt[2]({"run": "r", "node": uid(28), "queued": 0})
    assert edit.toPlainText() == ""


def test_what_is_written_while_a_message_is_on_its_way_stays(composing: Composing, engine: Engine) -> None:
    composer = composing.composer
    composer.edit.insertPlainText("👍 do it")
    composer.add_image("image/png", "AAAA")
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    composer.edit.insertPlainText(" and then")
    composer.add_image("image/png", "BBBB")
    (prompt,) = engine.take("prompt")
    prompt[2]({})
    assert composer.edit.toPlainText() == " and then"
    assert [one["data"] for one in composer.draft().images] == ["BBBB"]


# Going --------------------------------------------------------------------------------------------------------------


def test_a_step_back_of_the_agent_can_be_gone_back_from(
    state: SessionState, engine: Engine, owner: QWidget
) -> None:
    act_on_offer(state, owner, "backtrack")
    (step,) = engine.take("backtrack")
    step[2]({"result": {"node": uid(9), "cursor": uid(9)}})
    assert state.cursor == uid(9) and state.can_back()
    state.go_back()
    assert engine.take("jump")[0][1]["node"] == uid(27)
    state.jumping = False
    plans: list[Any] = []
    state.plan_needed.connect(lambda _plan, again: plans.append(again))
    act_on_offer(state, owner, "backtrack")
    engine.take("backtrack")[0][2]({"plan": {"node": uid(8)}})
    assert plans == [{"node": uid(8)}]


def test_the_tree_marks_where_one_is_after_a_refused_jump(
    state: SessionState, engine: Engine, qtbot: Any
) -> None:
    view = TreeView(state)
    qtbot.addWidget(view)
    view.activate(8)
    assert view.scene.current == 8
    engine.take("jump")[0][3](NO)
    assert view.scene.focus_row() == state.cursor_row()
    state.select(uid(5))
    view.activate(8)
    engine.take("jump")[0][3](NO)
    assert view.scene.current == 4


# What waits ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def desk(state: SessionState, qtbot: Any) -> Desk:
    window = QWidget()
    qtbot.addWidget(window)
    window.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    window.edit = QLineEdit(window)  # type: ignore[attr-defined]
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=5000)
    window.setFocus()
    return Desk(state, window)


def waiting(number: int) -> dict[str, Any]:
    return {**gallery_data.approval().model_dump(mode="json"), "id": f"a{number}"}


def close(desk: Desk) -> None:
    if desk.dialog is not None:
        desk.dialog.done(0)


def test_an_answer_that_was_refused_leaves_the_call_to_be_found(
    desk: Desk, state: SessionState, engine: Engine, qtbot: Any
) -> None:
    state._asked(waiting(1))
    assert isinstance(desk.dialog, ApprovalDialog)
    desk.dialog._deny()
    assert state.approvals == {}
    (answer,) = engine.take("answer_approval")
    answer[3](NO)
    assert list(state.approvals) == ["a1"]
    desk.show_waiting()
    assert isinstance(desk.dialog, ApprovalDialog)
    desk.dialog._deny()
    (answer,) = engine.take("answer_approval")
    answer[3]({**NO, "kind": "gone"})
    assert state.approvals == {}
    close(desk)


def test_the_next_call_takes_no_keys_from_somebody_who_types(
    desk: Desk, state: SessionState, engine: Engine, qtbot: Any
) -> None:
    state._asked(waiting(1))
    state._asked(waiting(2))
    assert isinstance(desk.dialog, ApprovalDialog)
    edit: QLineEdit = desk.window.edit  # type: ignore[attr-defined]
    desk.window.activateWindow()
    edit.setFocus()
    qtbot.waitUntil(edit.hasFocus, timeout=5000)
    # Nobody answered in time.
    state._on_approval_gone({"id": "a1", "why": "timeout"})
    assert desk.dialog is None and edit.hasFocus()
    desk.show_waiting()
    state._asked(waiting(3))
    desk.dialog._deny()  # type: ignore[union-attr]
    # Answered by the person: the next one is shown.
    assert isinstance(desk.dialog, ApprovalDialog) and desk.dialog.approval.id == "a3"
    close(desk)


def test_the_last_interrupted_rows_are_found_without_looking_at_each(state: SessionState) -> None:
    rows = [3, 5, 6, 7, 12, 20, 26]
    from worldline.viewmodel.tree_model import OUTCOME_CODE

    for row in rows:
        state.tree.outcome[row] = OUTCOME_CODE[Outcome.INTERRUPTED]
    assert state.tree.last_with(Outcome.INTERRUPTED, 5) == rows[-5:]
    assert state.tree.last_with(Outcome.ABORTED, 5) == []


# The chat after its engine has died ---------------------------------------------------------------------------------


def test_half_a_reply_of_an_engine_that_died_goes(qtbot: Any) -> None:
    model = ChatModel()
    model.deltas([Delta(run="r1", turn=1, block=0, kind="text", text="half a rep")])
    model.deltas([Delta(run="r2", turn=1, block=0, kind="text", text="going on")])
    model.set_runs(
        [
            RunInfo(uid="r1", prompt=uid(1), started=1, ended=2, stop_reason="interrupted"),
            RunInfo(uid="r2", prompt=uid(2), started=3),
        ]
    )
    live = [row for row in model.rows if row.kind is RowKind.LIVE]
    assert [row.blocks[0].text for row in live] == ["going on"]


def test_texts_that_were_not_answered_are_asked_for_again(
    state: SessionState, engine: Engine, qtbot: Any
) -> None:
    pane = ChatPane(state)
    qtbot.addWidget(pane)
    pane.resize(500, 600)
    pane.show()
    qtbot.waitUntil(lambda: any(one[0] == "bodies" for one in engine.asked), timeout=5000)
    first = engine.take("bodies")
    wanted = {uid for one in first for uid in one[1]["nodes"]}
    for one in first:
        one[3]({**NO, "kind": "engine_gone"})
    state.loaded.emit()
    qtbot.waitUntil(lambda: any(one[0] == "bodies" for one in engine.asked), timeout=5000)
    assert {uid for one in engine.take("bodies") for uid in one[1]["nodes"]} == wanted


def test_a_picture_that_was_cut_off_is_shown_as_none(qtbot: Any) -> None:
    picture = QImage(4, 4, QImage.Format.Format_RGB32)
    assert not size_of("abc").isValid() and not size_of("not base64 at all!").isValid()
    decoder = Decoder()
    got: list[list[QImage]] = []
    decoder.done.connect(got.append)
    decoder.start(["abc", base64.b64encode(b"no picture").decode()])
    assert [one.isNull() for one in got[0]] == [True, True] and not picture.isNull()


def test_the_rest_of_an_output_can_be_asked_for_again(
    state: SessionState, engine: Engine, owner: QWidget, qtbot: Any
) -> None:
    whole_output(state, owner, "hash")
    viewer = owner.findChild(TextViewer)
    assert viewer is not None
    engine.take("blob")[0][2]({"data": base64.b64encode(b"begin").decode(), "total": 100})
    viewer._more.click()
    engine.take("blob")[0][3](NO)
    assert viewer._note.text() == "No. Do this." and viewer._more.isEnabled()
    viewer._more.click()
    assert engine.take("blob")[0][1]["offset"] == 5
    viewer.close()


# Settings -----------------------------------------------------------------------------------------------------------

VALUES = {"mode": "ask", "permissions": {"ask": ["Bash(git push:*)"]}}


@pytest.fixture
def settings_dialog(state: SessionState, engine: Engine, owner: QWidget) -> SettingsDialog:
    owner.show()
    dialog = open_settings(state, owner)
    engine.take("settings")[0][2]({"values": VALUES})
    engine.take("credential")
    return dialog


def test_rules_that_are_being_written_survive_another_setting(
    settings_dialog: SettingsDialog, engine: Engine, qtbot: Any
) -> None:
    page = settings_dialog.rules_page
    assert not page.unsaved
    page._edits["allow"].setPlainText("Bash(make:*)")
    settings_dialog.model_page.changed.emit({"mode": "work"})
    engine.take("set_settings")[0][2]({"values": {**VALUES, "mode": "work"}})
    assert page.rules()["allow"] == ["Bash(make:*)"] and page.unsaved
    # Closing asks, and Escape in the question goes on editing.
    settings_dialog.reject()
    assert settings_dialog.isVisible() and settings_dialog.question is not None
    settings_dialog.question.reject()
    assert settings_dialog.isVisible() and settings_dialog.page == "rules"
    settings_dialog.reject()
    save = next(one for one in settings_dialog.question.findChildren(QWidget) if _says(one) == "Save rules")
    save.click()  # type: ignore[attr-defined]
    # An approval has written a rule meanwhile.
    there = {"ask": ["Bash(git push:*)"], "allow": ["Bash(ls:*)"]}
    engine.take("settings")[-1][2]({"values": {**VALUES, "permissions": there}})
    (saved,) = engine.take("set_settings")
    assert saved[1]["values"]["permissions"]["allow"] == ["Bash(make:*)", "Bash(ls:*)"]
    qtbot.waitUntil(lambda: not settings_dialog.isVisible(), timeout=5000)


def test_rules_of_this_folder_are_shown_apart_and_taken_back_where_they_stand(
    settings_dialog: SettingsDialog, engine: Engine
) -> None:
    page = settings_dialog.rules_page
    told = {
        "values": {**VALUES, "permissions": {"ask": ["Bash(git push:*)"], "deny": ["Bash(rm:*)"], "allow": ["Bash(ls:*)"]}},
        "rules": {"own": {"ask": ["Bash(git push:*)"]}, "here": {"allow": ["Bash(ls:*)"], "deny": ["Bash(dd:*)"], "ask": ["Bash(w:*)"]},
                  "project": {"deny": ["Bash(rm:*)"]}},
        "folder": "/p",
    }  # fmt: skip
    settings_dialog.model_page.changed.emit({"mode": "work"})
    engine.take("set_settings")[0][2](told)
    assert page.rules() == {"deny": [], "ask": ["Bash(git push:*)"], "allow": [], "here": ["Bash(ls:*)"]}
    assert not page.unsaved and "Bash(rm:*)" in page.of_project.text()
    page.try_line.setText("ls")
    tried = engine.take("test_rule")[-1][1]["rules"]
    assert tried == {
        "deny": ["Bash(rm:*)", "Bash(dd:*)"], "ask": ["Bash(git push:*)", "Bash(w:*)"], "allow": ["Bash(ls:*)"],
    }  # fmt: skip
    assert "deny: Bash(dd:*), ask: Bash(w:*)" in page.of_folder.text()
    page._edits["here"].setPlainText("")
    page.save()
    engine.take("settings")[-1][2](told)
    (saved,) = engine.take("set_settings")
    assert saved[1]["values"] == {
        "permissions": {"deny": [], "ask": ["Bash(git push:*)"], "allow": []},
        "projects": {"/p": {"permissions": {"allow": []}}},
    }


def _says(widget: QWidget) -> str:
    text = getattr(widget, "text", None)
    return str(text()) if callable(text) else ""


def test_rules_that_were_taken_along_are_held_against_those_of_the_engine(qtbot: Any) -> None:
    page = RulesPage()
    qtbot.addWidget(page)
    page._edits["ask"].setPlainText("Bash(git push:*)")
    page.load(VALUES)
    assert not page.unsaved, "the dialog before showed nothing else"
    page = RulesPage()
    qtbot.addWidget(page)
    page._edits["ask"].setPlainText("Bash(rm:*)")
    page.load(VALUES)
    assert page.unsaved and page.rules()["ask"] == ["Bash(rm:*)"]


def test_what_was_taken_away_stays_away() -> None:
    known, wanted = {"allow": ["a", "b"]}, {"allow": ["b", "c"]}
    assert merged(known, wanted, {"allow": ["a", "b", "new"]}) == {"allow": ["b", "c", "new"]}
    assert merged(known, wanted, {}) == {"allow": ["b", "c"]}


def test_a_verdict_is_about_the_command_in_the_line(settings_dialog: SettingsDialog, engine: Engine) -> None:
    page = settings_dialog.rules_page
    page.try_line.setText("git p")
    page.try_line.setText("git push")
    first, second = engine.take("test_rule")
    second[2]({"decision": "ask", "parts": [], "why": "x"})
    first[2]({"decision": "allow", "parts": []})
    assert page.verdict.text() == "is asked for: x"
    page.try_line.setText("")
    assert page.verdict.text() == ""
    settings_dialog.reject()


def test_a_model_that_the_service_does_not_name_stays_the_chosen_one(
    settings_dialog: SettingsDialog, engine: Engine
) -> None:
    page = settings_dialog.model_page
    page.load({"model": "my-own", "chain": [{"model": "other", "base_url": "http://127.0.0.1:1"}, "haiku"]})
    engine.take("models")[0][2]({"models": [{"id": "sonnet"}, {"id": "opus"}], "chain": ["opus"]})
    assert page.model.currentData() == "my-own"
    # The order can be changed by keyboard, and an address stays with its model.
    page.chain.setCurrentRow(0)
    QTest.keyClick(page.chain, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    (saved,) = engine.take("set_settings")
    assert saved[1]["values"]["chain"] == ["haiku", {"model": "other", "base_url": "http://127.0.0.1:1"}]
    settings_dialog.reject()


def test_a_number_that_is_being_typed_is_not_taken_away(settings_dialog: SettingsDialog, qtbot: Any) -> None:
    settings_dialog.show_page("limits")
    box = next(iter(settings_dialog.limits_page._boxes.values()))[0]
    box.setFocus()
    qtbot.waitUntil(box.hasFocus, timeout=5000)
    box.selectAll()
    QTest.keyClicks(box, "77")
    settings_dialog.load(VALUES)
    assert box.lineEdit().text().startswith("77")
    settings_dialog.reject()


def test_a_reminder_that_was_not_saved_is_shown_as_it_was(
    state: SessionState, engine: Engine, owner: QWidget, qtbot: Any
) -> None:
    dialog = open_storage(state, owner)
    engine.take("retention")[0][2]({"days": 90, "nodes": []})
    engine.take("storage")[0][3](NO)
    assert dialog.total.text() == "No. Do this."
    dialog.keep.setCurrentIndex(dialog.keep.findData(30))
    dialog.retention_wanted.emit(30)
    engine.take("set_settings")[0][3](NO)
    assert dialog.keep.currentData() == 90 and dialog.what.text() == "No. Do this."
    dialog.close()


# Files --------------------------------------------------------------------------------------------------------------


def test_names_that_lead_nowhere_stop_no_list(
    tmp_path: Path, own_home: Path, settings: Any, qtbot: Any
) -> None:
    from worldline.core import paths

    folder = paths.sessions_dir()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gone.worldline").symlink_to(tmp_path / "nowhere")
    (folder / "ring.worldline").symlink_to(folder / "ring.worldline")
    assert len(session_paths(folder)) == 2
    assert recent_sessions(settings) == []
    dialog = SessionsDialog(None, folder)
    qtbot.addWidget(dialog)
    qtbot.waitUntil(lambda: dialog.list.count() == 2, timeout=5000)
    assert all("Cannot be read" in dialog.list.item(row).text() for row in range(2))


def test_several_sessions_and_foreign_files_can_be_dropped_at_once(
    tmp_path: Path, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("a.worldline", "b.worldline", "c.jsonl")
    places = [tmp_path / name for name in names]
    for place in places:
        place.write_text("")
    dialog = SessionsDialog(None, tmp_path / "empty")
    qtbot.addWidget(dialog)
    opened: list[str] = []
    imported: list[list[str]] = []
    dialog.opened.connect(opened.append)
    monkeypatch.setattr(dialog.importing, "start", imported.append)
    let_go(dialog, *files(*places))
    assert opened == [str(one) for one in places[:2]] and imported == [[str(places[2])]]


@pytest.mark.parametrize("title", ["", "..", "a/b\\c:d", "名" * 100, "👍" * 100, "x\u202ey\n", "plain"])
def test_any_title_gives_a_name_for_a_file(title: str, tmp_path: Path) -> None:
    name = file_name(title)
    assert 0 < len(name.encode()) <= NAME_BYTES and name.isprintable()
    (tmp_path / f".{name}.1234567.worldline").write_text("fits")


def test_an_export_that_cannot_be_put_in_its_place_is_said(
    window_of: Callable[..., MainWindow], tmp_path: Path, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = window_of()
    place = tmp_path / "here.md"
    place.mkdir()

    def export(method: str, params: dict[str, Any], done: Callable[[Any], None], *_more: Any) -> None:
        if method != "export":
            return
        Path(params["out"]).write_text("# all")
        done({"path": params["out"]})

    monkeypatch.setattr(window.state.client, "request", export)
    window.exporting.write(uid(9), "markdown", place)
    assert "could not be written" in window.notices.items["export"].text.text()
    assert list(tmp_path.glob(".export-*")) == []


def test_an_address_of_the_environment_is_named_where_none_is_written(
    qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the one that is used then, and may hold a password."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://me:secret@example.org")
    page = ModelPage()
    qtbot.addWidget(page)
    said = [page.base_url.placeholderText(), *(label.text() for label in page.findChildren(QLabel))]
    assert any("address in ANTHROPIC_BASE_URL" in text for text in said)
    assert not any("secret" in text for text in said)
