"""The language changes while windows are open: every view speaks the new one, and the session goes on."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QInputDialog, QLineEdit, QMenu, QWidget

from tests_support import PATIENCE_S
from worldline.client.process import EngineProcess
from worldline.ui import again, gallery_data, i18n
from worldline.ui.again import Again
from worldline.ui.chat.choices import MessageChoices
from worldline.ui.chat.pane import ChatPane
from worldline.ui.dialogs import opening
from worldline.ui.dialogs.approval import ApprovalDialog
from worldline.ui.dialogs.desk import desk_of
from worldline.ui.dialogs.session_files import SessionFile
from worldline.ui.dialogs.sessions import SessionsDialog
from worldline.ui.dialogs.settings import SettingsDialog
from worldline.ui.dialogs.small import NoteDialog
from worldline.ui.diff.pane import ChangesPane
from worldline.ui.main_window import MainWindow
from worldline.ui.preferences import settings as window_settings
from worldline.ui.session_state import SessionState
from worldline.ui.theme import theme
from worldline.ui.windows import Windows

from . import full, sample
from .languages import forget_language
from .test_untranslated import _texts, english

APPROVAL = gallery_data.approval()
CHINESE = re.compile(r"[\u4e00-\u9fff]")


@pytest.fixture
def english_first(qapp: Any) -> Iterator[None]:
    i18n.install(qapp, "en")
    yield
    forget_language()


@pytest.fixture
def windows(english_first: None, tmp_path: Path, qtbot: Any, monkeypatch: Any) -> Iterator[Windows]:
    monkeypatch.delenv("WORLDLINE_LANG", raising=False)
    made = Windows(QSettings(str(tmp_path / "w.ini"), QSettings.Format.IniFormat))
    yield made
    clients = [window.state.client for window in made.sessions]
    made.close_all()
    for client in clients:
        client.stop_and_wait(PATIENCE_S)
    if made.start_view is not None:
        made.start_view.close()
    made.deleteLater()
    QApplication.processEvents()


def opened(windows: Windows, folder: Path, qtbot: Any, **more: Any) -> MainWindow:
    script = folder / "script.json"
    script.write_text(json.dumps(sample.script(**more)), "utf-8")
    client = EngineProcess([], command=[sys.executable, str(full.ENGINE), str(script)])
    window = windows.open_client(client, opened_with="")
    qtbot.waitUntil(lambda: window.complete and window.state.is_loaded, timeout=30_000)
    return window


def changed(windows: Windows, code: str, qtbot: Any) -> MainWindow:
    """The window after the language was changed."""
    before = windows.sessions[0]
    i18n.change(code)
    qtbot.waitUntil(lambda: windows.sessions[0] is not before, timeout=30_000)
    window = windows.sessions[0]
    qtbot.waitUntil(lambda: window.complete and window.state.is_loaded, timeout=30_000)
    full.answered(window.state, qtbot)
    return window


def menus(window: MainWindow) -> list[QMenu]:
    tree = window.tree
    found = [tree.menu.build(5), tree.menu.build(len(window.state.tree) - 1), window.drills.menu()]
    tree.filter_button.menu().aboutToShow.emit()
    return found


def said(window: MainWindow) -> list[str]:
    """Everything that a window and its menus say."""
    texts = list(_texts(window))
    for row in range(min(30, len(window.state.tree))):
        texts += window.tree.card.facts(row)
    for menu in menus(window):
        texts += _texts(menu)
        menu.deleteLater()
    for action in window.actions_list:
        texts += [action.text(), action.toolTip(), str(action.property("group") or "")]
    for name, part in window.status.parts.items():
        popover = window.status.explain(name)
        texts += [*_texts(popover), *_texts(part)]
        popover.close()
    return [text for text in texts if text]


def not_in(code: str, texts: list[str]) -> list[str]:
    """What is not in this language."""
    if code == "zh_CN":
        return sorted({left for text in texts if (left := english(text))})
    # The names of the languages are written in themselves.
    return sorted({text for text in texts if CHINESE.search(text) and not text.endswith("简体中文")})


VIEWS = (
    "approval", "effects", "question", "recovery", "branch-summary", "bring-home", "first-start", "new-session",
    "settings", "settings-rules", "settings-grants", "sessions", "storage", "diagnostics", "approval-change", "compare-three", "about",
    "as-model-sees", "jump-plan", "folders",
)  # fmt: skip


def test_every_view_speaks_the_new_language_and_then_the_old_one_again(
    windows: Windows, tmp_path: Path, qtbot: Any
) -> None:
    opened(windows, tmp_path, qtbot)
    for code in ("zh_CN", "en"):
        window = changed(windows, code, qtbot)
        assert not_in(code, said(window)) == []
        for name in VIEWS:
            before = set(window.findChildren(QDialog))
            window.views[name]()
            full.answered(window.state, qtbot)
            (dialog,) = set(window.findChildren(QDialog)) - before
            assert not_in(code, list(_texts(dialog))) == [], name
            dialog.close()
            QTest.qWait(0)


def test_the_session_goes_on_where_it_was(windows: Windows, tmp_path: Path, qtbot: Any) -> None:
    window = opened(windows, tmp_path, qtbot)
    pid, cursor = window.state.client.pid, window.state.cursor
    window.state.select(sample.uid(9))
    window.tree.choose_filter("prompts")
    window.tree.view.set_follow(False)
    chat = window.panes["chat"]
    assert isinstance(chat, ChatPane)
    chat.composer.edit.set_text("half a thought")
    chat.composer.add_text("a log\n" * 9000)
    chat.composer.choices.mode.set_value("plan")
    window.state._back.append(sample.uid(3))
    window.resize(1111, 777)

    window = changed(windows, "zh_CN", qtbot)
    assert window.state.client.pid == pid and window.state.client.state == "running"
    assert window.state.cursor == cursor
    qtbot.waitUntil(lambda: window.state.selection == sample.uid(9))
    assert window.tree.view.scene.items.filter == "prompts"
    assert window.tree.filter_button.text() == "仅提示"
    assert not window.tree.view.follow_live
    chat = window.panes["chat"]
    assert isinstance(chat, ChatPane)
    qtbot.waitUntil(lambda: chat.composer.text() == "half a thought")
    assert len(chat.composer.draft().texts) == 1 and chat.composer.choices.mode.value == "plan"
    assert window.state.can_back()
    assert (window.width(), window.height()) == (1111, 777)
    assert len(windows.sessions) == 1
    qtbot.waitUntil(
        lambda: len([w for w in QApplication.topLevelWidgets() if isinstance(w, MainWindow)]) == 1
    )


def test_the_changes_show_the_same_file_against_the_same_step(
    windows: Windows, tmp_path: Path, qtbot: Any
) -> None:
    other = {"path": "src/zebra.py", "status": "M", "added": 1, "removed": 1}
    window = opened(windows, tmp_path, qtbot, more_files=[other])
    pane = window.panes["changes"]
    assert isinstance(pane, ChangesPane)
    pane.compare_with(sample.uid(3))
    qtbot.waitUntil(lambda: pane.files.topLevelItemCount() == 2)
    pane.files.setCurrentItem(pane.files.topLevelItem(1))
    assert pane.files.path == "src/zebra.py"

    after = changed(windows, "zh_CN", qtbot).panes["changes"]
    assert isinstance(after, ChangesPane)
    qtbot.waitUntil(lambda: after.files.topLevelItemCount() == 2)
    assert after.looks() == (sample.uid(3), "src/zebra.py")
    assert after.against.currentData() == sample.uid(3)


def test_open_dialogs_are_opened_again(windows: Windows, tmp_path: Path, qtbot: Any) -> None:
    window = opened(windows, tmp_path, qtbot)
    window.actions_list["settings"].trigger()
    dialog = window.findChild(SettingsDialog)
    assert dialog is not None
    dialog.show_page("appearance")
    box = dialog.appearance_page.language
    box.setCurrentIndex(box.findData("zh_CN"))
    box.activated.emit(box.currentIndex())
    qtbot.waitUntil(lambda: windows.sessions[0] is not window, timeout=30_000)
    again = windows.sessions[0]
    qtbot.waitUntil(lambda: again.findChild(SettingsDialog) is not None, timeout=30_000)
    shown = again.findChild(SettingsDialog)
    assert shown is not None and shown.page == "appearance" and shown.windowTitle() == "设置"
    assert not_in("zh_CN", list(_texts(shown))) == []
    assert window_settings().value("language") == "zh_CN"
    window_settings().remove("language")
    shown.close()


def test_what_waits_for_the_person_still_does(windows: Windows, tmp_path: Path, qtbot: Any) -> None:
    window = opened(windows, tmp_path, qtbot)
    full.say(window.state, ("question_asked", {"question": {"id": "q1", "run": "r", "node": "", "text": "Which one?",
                                                            "choices": ["a", "b"], "multiple": False, "free_text": True}}))  # fmt: skip
    qtbot.waitUntil(lambda: bool(window.state.questions))
    desk_of(window.state).show_waiting()
    window = changed(windows, "zh_CN", qtbot)
    # The answer of this engine to a second greeting knows of no question; a real one's does.
    assert desk_of(window.state) is window.state.findChild(type(desk_of(window.state)))
    assert window.state.client.state == "running"


def test_another_size_of_the_text_is_taken_the_same_way(windows: Windows, tmp_path: Path, qtbot: Any) -> None:
    window = opened(windows, tmp_path, qtbot)
    height = window.title_label.fontMetrics().height()
    try:
        theme().set_larger(4)
        qtbot.waitUntil(lambda: windows.sessions[0] is not window, timeout=30_000)
        again = windows.sessions[0]
        qtbot.waitUntil(lambda: again.complete and again.state.is_loaded, timeout=30_000)
        assert again.title_label.fontMetrics().height() > height
        assert again.panes["chat"].composer.edit.fontMetrics().height() > height
    finally:
        theme().set_larger(0)
        qtbot.waitUntil(
            lambda: windows.sessions[0].complete and windows.sessions[0] is not again, timeout=30_000
        )


def test_the_start_view_too(windows: Windows, qtbot: Any) -> None:
    view = windows.show_start()
    i18n.change("zh_CN")
    qtbot.waitUntil(lambda: windows.start_view is not None and windows.start_view is not view)
    shown = windows.start_view
    assert shown is not None and shown.isVisible()
    assert not_in("zh_CN", list(_texts(shown))) == []


def test_the_same_language_again_changes_nothing(windows: Windows, tmp_path: Path, qtbot: Any) -> None:
    window = opened(windows, tmp_path, qtbot)
    i18n.change("en")
    QTest.qWait(50)
    assert windows.sessions == [window] and window.isVisible()
    assert Qt.WindowState.WindowNoState == window.windowState()


def test_the_state_of_the_old_window_tells_nothing_more(full_state: Any, qtbot: Any) -> None:
    """The engine goes on while widgets of the window before are being deleted."""
    heard: list[str] = []
    full_state.run_started.connect(lambda _run: heard.append("signal"))
    full_state.let_go()
    full_state.request("prompt", {"text": "hello"}, lambda _answer: heard.append("answer"))
    full_state.request("no_such_thing", {}, lambda _: None, lambda _error: heard.append("error"))
    done: list[object] = []
    full_state.client.request("no_such_thing", {}, done.append, done.append)
    qtbot.waitUntil(lambda: bool(done))
    assert heard == []


def test_what_is_written_in_open_dialogs_is_written_in_those_that_take_their_place(
    windows: Windows, tmp_path: Path, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # How long it is kept for dialogs that come late says nothing here: a machine may stand still for longer.
    monkeypatch.setattr(again, "LATE_MS", 3_600_000)
    window = opened(windows, tmp_path, qtbot)
    full.say(window.state, ("approval_asked", {"approval": APPROVAL.model_dump(mode="json")}))
    qtbot.waitUntil(lambda: bool(window.state.approvals))
    desk_of(window.state).show_waiting()
    approval = desk_of(window.state).dialog
    assert isinstance(approval, ApprovalDialog)
    approval._start_edit()
    assert approval._edited is not None
    approval._edited.setPlainText("git push --dry-run")
    approval._ask_reason()
    QTest.keyClicks(approval._reason, "not on a Friday")
    window.tree.menu.edit_note(sample.uid(4))
    note = window.findChild(NoteDialog)
    assert note is not None
    QTest.keyClicks(note._edit, "learnt here")
    window.actions_list["settings"].trigger()
    settings = window.findChild(SettingsDialog)
    assert settings is not None
    settings.show_page("rules")
    qtbot.waitUntil(lambda: bool(settings.rules_page.rules()["ask"]), timeout=30_000)
    QTest.keyClicks(settings.rules_page._edits["allow"], "Bash(make:*)")

    window = changed(windows, "zh_CN", qtbot)
    # The made-up engine forgets what it asked; a real one says it again when it is greeted.
    note_now = window.findChild(NoteDialog)
    assert note_now is not None and note_now is not note
    assert note_now._edit.toPlainText() == "learnt here"
    settings_now = window.findChild(SettingsDialog)
    assert settings_now is not None and settings_now is not settings
    # Also when the answer of the engine has come.
    qtbot.waitUntil(lambda: bool(settings_now.rules_page.rules()["ask"]), timeout=30_000)
    assert settings_now.rules_page.rules()["allow"] == ["Bash(make:*)"]
    full.say(window.state, ("approval_asked", {"approval": APPROVAL.model_dump(mode="json")}))
    qtbot.waitUntil(lambda: bool(window.state.approvals))
    desk_of(window.state).show_waiting()
    approval_now = desk_of(window.state).dialog
    assert isinstance(approval_now, ApprovalDialog) and approval_now is not approval
    assert approval_now.handed_over() == ("not on a Friday", "git push --dry-run")
    # What was written for one call is never written for another.
    other = ApprovalDialog(APPROVAL.model_copy(update={"id": "other"}), parent=window)
    Again(other, lambda *_: None, "other")
    assert other.handed_over() == (None, None)
    for dialog in (approval_now, settings_now, note_now, other):
        dialog.hide()
        dialog.deleteLater()


def test_a_note_comes_back_when_its_step_has_come(
    fake: Callable[..., EngineProcess], settings: QSettings, qtbot: Any
) -> None:
    client = fake()
    window = MainWindow(SessionState(client), settings)
    qtbot.addWidget(window)
    window.show()
    qtbot.waitUntil(lambda: window.complete)
    window.tree.menu.edit_note(sample.uid(4))
    assert window.findChild(NoteDialog) is None
    with qtbot.waitSignal(window.state.loaded):
        client.start()
    (note,) = window.findChildren(NoteDialog)
    note.close()
    window.close()


def test_a_reply_that_is_coming_in_is_shown_from_its_beginning(
    windows: Windows, tmp_path: Path, qtbot: Any
) -> None:
    window = opened(windows, tmp_path, qtbot)
    run = {"uid": "live-run", "prompt": sample.uid(3), "started": 1, "mode": "ask", "model": "m"}
    part = {"run": "live-run", "turn": 1, "block": 0, "kind": "text"}
    full.say(window.state, ("run_started", {"run": run}), ("delta", {**part, "text": "From the "}),
             ("tool_output", {"node": sample.uid(5), "text": "half a line"}))  # fmt: skip
    qtbot.waitUntil(lambda: bool(window.state.streaming.deltas()) and bool(window.state.streaming.outputs()))
    client = window.state.client
    window = changed(windows, "zh_CN", qtbot)
    client.batch.emit([("delta", {**part, "text": "beginning"})])
    chat = window.panes["chat"]
    assert isinstance(chat, ChatPane)
    assert [block.text for block in chat.chat._replies["live:live-run:1"].blocks] == ["From the beginning"]
    assert chat.chat._outputs[sample.uid(5)].lines() == ["half a line"]


def test_an_export_that_goes_on_meanwhile_comes_to_its_place(
    windows: Windows, tmp_path: Path, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = opened(windows, tmp_path, qtbot)
    client, plain, held = window.state.client, window.state.client.request, []

    def request(method: str, params: Any = None, done: Any = None, failed: Any = None) -> int:
        if method == "export":
            Path(params["out"]).write_text("# all")
            held.append(lambda: done({"path": params["out"], "bytes": 5}))
            return 0
        return plain(method, params, done, failed)

    monkeypatch.setattr(client, "request", request)
    place = tmp_path / "out" / "branch.md"
    place.parent.mkdir()
    window.exporting.write(window.state.cursor, "markdown", place)
    window = changed(windows, "zh_CN", qtbot)
    held[0]()
    assert list(place.parent.iterdir()) == [place] and place.read_text() == "# all"
    assert str(place) in window.notices.items["export"].text.text()


def test_new_titles_that_are_being_typed_are_kept(windows: Windows, tmp_path: Path, qtbot: Any) -> None:
    window = opened(windows, tmp_path, qtbot)
    window.actions_list["rename"].trigger()
    own = window.findChild(QInputDialog)
    assert own is not None
    QTest.keyClicks(own.findChild(QLineEdit), " of mine")
    whole = own.textValue()
    opening.sessions(window, window.state)
    listed = window.findChild(SessionsDialog)
    assert listed is not None
    listed.rename_session(SessionFile(tmp_path / "a.worldline", "An old title", 0.0, 1))
    other = listed.findChild(QInputDialog)
    QTest.keyClicks(other.findChild(QLineEdit), "A new title")

    window = changed(windows, "zh_CN", qtbot)
    listed_now = window.findChild(SessionsDialog)
    assert listed_now is not None and listed_now is not listed
    other_now = listed_now.findChild(QInputDialog)
    own_now = next(one for one in window.findChildren(QInputDialog) if one is not other_now)
    assert whole.endswith(" of mine") and own_now.textValue() == whole
    assert other_now.textValue() == "A new title"
    for dialog in (other_now, own_now, listed_now):
        dialog.close()


def test_the_effort_of_a_model_is_said_in_the_language_of_the_window(qtbot: Any) -> None:
    i18n.install(QApplication.instance(), "zh_CN")  # type: ignore[arg-type]
    owner = QWidget()
    qtbot.addWidget(owner)
    choices = MessageChoices(owner)
    choices.set_models([{"id": "m", "name": "M", "efforts": ["high", "of another service"]}], "m")
    assert [one.text() for one in choices.effort.menu().actions()] == ["高", "of another service"]
    assert choices.effort.value == "high"
