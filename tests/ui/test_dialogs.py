"""Dialogs by click and key: what they send."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QWidget

from worldline.protocol.commands import BringHomeResult, Compare, Effects, View
from worldline.protocol.model import PlanEntry, ProcessInfo, ProcessPort
from worldline.provider.failure_words import describe
from worldline.provider.model import Exchange
from worldline.ui import gallery_data as sample_data
from worldline.ui import i18n
from worldline.ui.chat import words
from worldline.ui.compare.dialog import CompareDialog, open_compare
from worldline.ui.dialogs import jump_plan
from worldline.ui.dialogs.base import Dialog
from worldline.ui.dialogs.bring_home import BringHomeDialog
from worldline.ui.dialogs.diagnostics import open_diagnostics
from worldline.ui.dialogs.effects import open_effects
from worldline.ui.dialogs.first_start import FirstStartDialog
from worldline.ui.dialogs.jump_plan import JumpPlanDialog
from worldline.ui.dialogs.model_view import ModelViewDialog, open_model_view
from worldline.ui.dialogs.new_session import NewSessionDialog
from worldline.ui.dialogs.settings import SettingsDialog, open_settings
from worldline.ui.dialogs.settings_grants import GrantsPage
from worldline.ui.dialogs.small import BranchSummaryDialog
from worldline.ui.session_state import SessionState
from worldline.viewmodel import engine_words
from worldline.viewmodel.status import stop_words

from . import full, sample


@pytest.fixture
def state(full_state: SessionState) -> SessionState:
    return full_state


@pytest.fixture
def window(qtbot: Any) -> QWidget:
    widget = QWidget()
    qtbot.addWidget(widget)
    widget.show()
    return widget


def test_a_jump_plan_carries_the_choices_and_enter_alone_touches_nothing(qtbot: Any) -> None:
    dialog = JumpPlanDialog(sample_data.jump_plan(), "Fix the parser")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    sent: list[dict[str, Any]] = []
    dialog.confirmed.connect(sent.append)
    dialog.show()
    QTest.keyClick(dialog, Qt.Key.Key_Return)
    assert sent == [] and not dialog.isVisible()
    dialog.show()
    dialog._choices["README.md"].setCurrentIndex(1)
    assert dialog._processes is not None
    dialog._processes.setCurrentIndex(1)
    dialog.go_button.click()
    assert sent == [
        {"node": f"{2:016x}", "plan": "p1", "choices": {"README.md": "restore"}, "processes": "leave"}
    ]


def test_of_what_a_command_in_the_background_may_have_changed_a_plan_does_not_say_that_it_is_yours(
    qtbot: Any,
) -> None:
    plan = sample_data.jump_plan()
    plan.entries = [
        PlanEntry(path=f"f{n}", action="keep_mine", choice="keep", unsure=n != 1) for n in range(8)
    ]
    dialog = JumpPlanDialog(plan, "Fix the parser")
    qtbot.addWidget(dialog)
    labels = [label.text() for label in dialog.findChildren(QLabel)]
    assert labels.count("Stays: changed by you, or by a command in the background") == 5
    assert labels.count("Stays: you changed it") == 1
    assert any("2 more file" in said and "changed by you or in the background" in said for said in labels)
    box = dialog._choices["f0"]
    assert box.itemText(0) == "keep as it is" and dialog._choices["f1"].itemText(0) == "keep mine"
    box.setCurrentIndex(1)
    labels = [label.text() for label in dialog.findChildren(QLabel)]
    assert "Will be put back (what is there is saved first)" in labels


def test_what_is_not_listed_of_a_plan_is_counted(qtbot: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jump_plan, "LISTED", 2)
    dialog = JumpPlanDialog(sample_data.jump_plan(), "Fix the parser")
    qtbot.addWidget(dialog)
    dialog._show([PlanEntry(path=f"a{n}\u202e", action="delete") for n in range(5)])
    said = [dialog._list.item(at).text() for at in range(dialog._list.count())]
    assert said == ["− a0▯", "− a1▯", "… and 3 more"]


def test_settings_are_sent_as_they_are_made_and_found_by_search(
    state: SessionState, window: QWidget, qtbot: Any
) -> None:
    dialog = open_settings(state, window, "rules")
    qtbot.waitUntil(lambda: dialog.rules_page.rules()["ask"] == ["Bash(git push:*)"], timeout=5000)
    dialog.rules_page.try_line.setText("git push")
    qtbot.waitUntil(lambda: "Bash(git push:*)" in dialog.rules_page.verdict.text(), timeout=5000)
    dialog.rules_page._edits["deny"].setPlainText("Bash(npm publish:*)\n\n")
    dialog.rules_page.changed.emit({"permissions": dialog.rules_page.rules()})
    answers: list[dict[str, Any]] = []
    state.request("settings", {}, answers.append)
    qtbot.waitUntil(lambda: bool(answers), timeout=5000)
    assert answers[0]["values"]["permissions"]["deny"] == ["Bash(npm publish:*)"]
    dialog.search.setText("keyring")
    hidden = [dialog.list.item(at).isHidden() for at in range(dialog.list.count())]
    assert hidden.count(False) == 1 and not hidden[1] and dialog.list.currentRow() == 1
    dialog.close()


def test_a_key_is_written_and_never_shown(state: SessionState, window: QWidget, qtbot: Any) -> None:
    dialog = open_settings(state, window, "key")
    wanted: list[str] = []
    dialog.key_page.credential_wanted.connect(wanted.append)
    dialog.key_page.secret.setText("sk-secret")
    dialog.key_page._save()
    # Until the keyring has it the field keeps it: it was typed once.
    assert wanted == ["sk-secret"] and dialog.key_page.secret.text() == "sk-secret"
    dialog.key_page.kept({"source": "keyring"})
    assert dialog.key_page.secret.text() == ""
    dialog.close()


def test_compare_asks_for_the_diff_and_acts_on_the_chosen_attempt(
    state: SessionState, window: QWidget, qtbot: Any
) -> None:
    open_compare(state, [sample.uid(14), sample.uid(26)], window)
    qtbot.waitUntil(
        lambda: any(isinstance(w, CompareDialog) for w in QApplication.topLevelWidgets()), timeout=5000
    )
    dialog = next(w for w in QApplication.topLevelWidgets() if isinstance(w, CompareDialog))
    qtbot.waitUntil(lambda: bool(dialog.view.panel.view.model.rows), timeout=5000)
    dialog.view._which.setCurrentIndex(1)
    assert dialog.view._buttons[0][0].text() == "Continue B"
    dialog.view.note.setText("wrong idea")
    with qtbot.waitSignal(state.label_changed):
        dialog.view._buttons[3][0].click()
    with qtbot.waitSignal(state.jumped):
        dialog.view._buttons[0][0].click()
    assert state.cursor == sample.uid(26)


def test_up_to_four_attempts_are_in_columns(qtbot: Any) -> None:
    compare: Compare = sample_data.compare()
    dialog = CompareDialog(compare, {header.uid: header for header in sample_data.path()})
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    assert dialog.view.steps.columnCount() == 3 and dialog.view.files.columnCount() == 4
    assert dialog.view.leaf() == compare.attempts[1].leaf, "the attempt that completed is offered first"


def test_the_node_where_attempts_part_has_not_failed(qtbot: Any) -> None:
    compare = sample_data.compare()
    first = compare.attempts[0].model_copy(
        update={
            "path": [],
            "title": "",
            "outcome": "failed",
            "stop_reason": "unknown",
            "files": [],
            "steps": 0,
        }
    )
    other = compare.attempts[1].model_copy(update={"files": []})
    dialog = CompareDialog(compare.model_copy(update={"attempts": [first, other]}), {})
    qtbot.addWidget(dialog)
    said = [label.text() for label in dialog.view.findChildren(QLabel)]
    assert "Where they part" in said and "Ended for an unknown reason" not in said and "✗" not in said
    assert "None of them has changed a file." in said
    halfway = compare.attempts[0].model_copy(update={"outcome": "", "stop_reason": ""})
    other_dialog = CompareDialog(compare.model_copy(update={"attempts": [halfway, other]}), {})
    qtbot.addWidget(other_dialog)
    assert "no end of a run" in [label.text() for label in other_dialog.view.findChildren(QLabel)]
    take = next(b for b in dialog.view.findChildren(QPushButton) if b.text().startswith("Take file"))
    assert not take.isEnabled()


def test_bring_home_previews_before_it_can_be_done(qtbot: Any) -> None:
    dialog = BringHomeDialog("n", "main", "message")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.show()
    previews: list[dict[str, Any]] = []
    done: list[dict[str, Any]] = []
    dialog.preview_wanted.connect(previews.append)
    dialog.confirmed.connect(done.append)
    assert not dialog.go_button.isEnabled()
    dialog._how.buttons()[1].click()
    assert previews[-1]["how"] == "commit" and previews[-1]["dry_run"] is True and dialog._message.isVisible()
    dialog.show_preview(
        BringHomeResult.model_validate(
            {"entries": [{"path": "a", "action": "overwrite"}], "conflicts": ["a"]}
        )
    )
    dialog._choices["a"].setCurrentIndex(1)
    dialog.go_button.click()
    assert done[0]["dry_run"] is False and done[0]["choices"] == {"a": "theirs"}


def test_a_conflict_can_be_decided_in_every_way_of_bringing_home(qtbot: Any) -> None:
    dialog = BringHomeDialog("n", "main", "message")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    previews: list[dict[str, Any]] = []
    dialog.preview_wanted.connect(previews.append)
    entries = [{"path": "a", "action": "conflict"}, {"path": "b", "action": "keep_mine"}]
    found = BringHomeResult.model_validate({"entries": entries, "conflicts": ["a"]})
    dialog.show_preview(found)
    dialog._choices["a"].setCurrentIndex(1)
    dialog._how.buttons()[1].click()
    # A preview that is told the decision would not list the conflict any more.
    assert previews[-1]["how"] == "commit" and previews[-1]["choices"] == {}
    dialog.show_preview(found)
    assert dialog._choices["a"].currentData() == "theirs"
    dialog.show_preview(BringHomeResult.model_validate({"entries": entries}))
    assert dialog._note.text().startswith("1 file")


def test_what_was_decided_can_be_decided_anew_when_it_led_to_nothing(qtbot: Any) -> None:
    dialog = BringHomeDialog("n", "main", "message")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    entries = [{"path": "a", "action": "conflict"}]
    dialog.show_preview(BringHomeResult.model_validate({"entries": entries, "conflicts": ["a"]}))
    kept = {"entries": [{"path": "a", "action": "keep_mine"}], "note": "There is nothing to commit."}
    dialog.show_preview(BringHomeResult.model_validate(kept), tried=True)
    assert dialog._note.text() == "There is nothing to commit." and dialog.go_button.isEnabled()
    dialog._choices["a"].setCurrentIndex(1)
    assert dialog.params(dry_run=False)["choices"] == {"a": "theirs"}


def test_a_branch_to_merge_can_be_named_and_brought(qtbot: Any) -> None:
    dialog = BringHomeDialog("n", "main", "message")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.activateWindow()
    previews: list[dict[str, Any]] = []
    dialog.preview_wanted.connect(previews.append)
    dialog._how.buttons()[2].click()
    assert previews == [] and "name" in dialog._note.text() and not dialog.go_button.isEnabled()
    QTest.keyClicks(dialog._branch, "mine")
    qtbot.waitUntil(lambda: bool(previews), timeout=30_000)
    assert previews[-1]["branch"] == "mine"
    dialog.show_preview(BringHomeResult.model_validate({"entries": [{"path": "a", "action": "create"}]}))
    assert dialog.go_button.isEnabled()
    QTest.keyClicks(dialog._branch, "2")
    assert not dialog.go_button.isEnabled()
    qtbot.waitUntil(lambda: previews[-1]["branch"] == "mine2", timeout=30_000)
    dialog._branch.setFocus()
    qtbot.waitUntil(dialog._branch.hasFocus, timeout=30_000)
    done: list[dict[str, Any]] = []
    dialog.confirmed.connect(done.append)
    # Neither lost by Enter nor brought before its preview is there.
    QTest.keyClick(dialog._branch, Qt.Key.Key_Return)
    assert dialog.isVisible() and done == []
    dialog.show_preview(BringHomeResult.model_validate({"entries": [{"path": "a", "action": "create"}]}))
    QTest.keyClick(dialog._branch, Qt.Key.Key_Return)
    assert dialog.isVisible() and [one["branch"] for one in done] == ["mine2"]


def test_a_new_session_explains_the_folder(qtbot: Any, tmp_path: Path) -> None:
    dialog = NewSessionDialog()
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    assert not dialog._go.isEnabled()
    dialog.folder.setText(str(tmp_path))
    assert (
        dialog._go.isEnabled()
        and not dialog.isolated.isEnabled()
        and "not in a git repository" in dialog._says.text()
    )
    (tmp_path / ".git").mkdir()
    dialog.folder.setText("")
    dialog.folder.setText(str(tmp_path))
    dialog.isolated.setChecked(True)
    assert dialog.values() == {"folder": str(tmp_path), "mode": "isolated", "title": ""}
    dialog.folder.setText(str(Path.home()))
    assert not dialog._go.isEnabled() and "home folder" in dialog._says.text()


def test_first_start_needs_what_the_way_needs(qtbot: Any) -> None:
    dialog = FirstStartDialog()
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.show()
    chosen: list[dict[str, str]] = []
    dialog.chosen.connect(chosen.append)
    dialog._ways.buttons()[1].click()
    dialog._go.click()
    assert chosen == [] and dialog.isVisible()
    dialog.secret.setText("sk-x")
    dialog._go.click()
    assert chosen[0]["way"] == "key" and chosen[0]["secret"] == "sk-x"


def test_first_start_shows_the_language_of_the_window(qtbot: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(i18n, "in_use", "zh_CN")
    dialog = FirstStartDialog()
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    assert dialog.language.currentData() == "zh_CN"


def test_a_missing_key_is_not_called_a_refused_one() -> None:
    missing, refused = (describe(kind, Exchange("http_error")).sentence for kind in ("no_key", "auth"))
    assert words.stop_title("auth_error", missing) == "There is no key for the model"
    assert words.stop_title("auth_error", refused) == "The key was not accepted"
    assert stop_words("auth_error", missing) == "there is no key"
    engine_words.use("zh_CN")
    try:
        assert stop_words("auth_error", engine_words.say(missing)) == "there is no key"
        assert stop_words("auth_error", engine_words.say(refused)) == "the key was refused"
    finally:
        engine_words.use("en")


def test_a_branch_summary_is_none_unless_asked_for(qtbot: Any) -> None:
    dialog = BranchSummaryDialog(3)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    chosen: list[str] = []
    dialog.chosen.connect(chosen.append)
    dialog._go()
    QTest.keyClicks(dialog._own, "why")
    dialog._go()
    assert chosen == ["none", "why"]


def test_the_model_view_and_diagnostics_show_and_copy(
    state: SessionState, window: QWidget, qtbot: Any
) -> None:
    open_model_view(state, state.cursor, window)
    qtbot.waitUntil(
        lambda: any(isinstance(w, ModelViewDialog) for w in QApplication.topLevelWidgets()), timeout=5000
    )
    view = next(w for w in QApplication.topLevelWidgets() if isinstance(w, ModelViewDialog))
    said = " ".join(label.text() for label in view.findChildren(QLabel))
    assert "1 message(s)" in said
    assert view.parts.count() == 2 and "Made for the request" in view.parts.item(1).toolTip()
    view.close()
    diagnostics = open_diagnostics(state, window)
    qtbot.waitUntil(lambda: diagnostics.pane.table.rowCount() == 1, timeout=5000)
    full.say(state, ("diagnosed", {"diagnostic": {"id": 2, "kind": "repair", "at": 1, "detail": "Mended."}}))
    qtbot.waitUntil(lambda: diagnostics.pane.table.rowCount() == 2, timeout=5000)
    assert "Mended." in diagnostics.pane.as_text()
    assert (
        open_diagnostics(state, window) is diagnostics
    )  # Asked for again: the one that is there comes to the front.
    diagnostics.close()


def test_a_large_request_is_shown_and_copied_a_piece_at_a_time(qtbot: Any) -> None:
    messages = [{"role": "user", "content": f"message {n}"} for n in range(3_000)]
    large = {
        "role": "assistant",
        "z": 1,
        "content": [{"type": "text", "text": f"{n} é " * 40} for n in range(4_000)],
    }
    request = {"model": "m", "messages": [large, *messages]}
    view = View(request=request, origin=["n"] * 3_001, tokens=1, bytes=1)
    asked: list[str] = []
    dialog = ModelViewDialog(view, lambda node: asked.append(node) or node)  # type: ignore[func-returns-value]
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    assert 0 < dialog.parts.count() < 3_000 and len(asked) < 3_000, "the first rows do not wait for the last"
    qtbot.waitUntil(lambda: dialog.parts.count() == 3_002)
    dialog.parts.setCurrentRow(1)
    assert not dialog.json.all_shown and len(dialog.json._made) < 10, (
        "not all of it was written for its beginning"
    )
    # The order of the request, and all of it, when it is asked for.
    assert dialog.json.whole == json.dumps(large, ensure_ascii=False, indent=2)
    dialog.copy_button.click()
    assert not dialog.copy_button.isEnabled()
    qtbot.waitUntil(dialog.copy_button.isEnabled)
    assert QApplication.clipboard().text() == json.dumps(request, ensure_ascii=False, indent=2)


def test_return_to_my_branch_says_both_ways_and_harms_nothing_by_default(qtbot: Any) -> None:
    from worldline.ui.dialogs.return_home import ReturnHomeDialog

    dialog = ReturnHomeDialog("main", "refs/heads/worldline/x-1/start")
    qtbot.addWidget(dialog)
    assert "main" in dialog.windowTitle() and dialog.files() == "keep"
    chosen: list[dict[str, Any]] = []
    dialog.confirmed.connect(chosen.append)
    dialog._files.buttons()[1].setChecked(True)
    dialog._go()
    assert chosen == [{"files": "back"}]


def test_a_server_that_still_runs_is_opened_in_the_browser_by_the_person(
    state: SessionState, window: QWidget, qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = [ProcessPort(port=5173)]
    process = ProcessInfo(id="p1", pid=4711, command="npm run dev", node="", started=0, ports=ports)
    asked: list[dict[str, Any]] = []
    opened: list[str] = []

    def request(method: str, params: dict[str, Any], done: Any = None, *_: Any) -> None:
        if method == "show_port":
            asked.append(params)
            process.ports[0].shown = 5173 if params["show"] else 0
            done({"url": "http://127.0.0.1:5173/" if params["show"] else ""})
        else:
            listed = Effects(cursor="c", here=[], elsewhere=[], processes=[process])
            done(listed.model_dump())

    monkeypatch.setattr(state, "request", request)
    monkeypatch.setattr(
        "worldline.ui.dialogs.effects.QDesktopServices.openUrl", lambda url: opened.append(url.toString())
    )
    dialog = open_effects(state, window)

    def buttons() -> dict[str, QPushButton]:
        return {b.text(): b for b in dialog.findChildren(QPushButton) if b.isVisibleTo(dialog)}

    assert {"Stop", "Open in browser"} <= buttons().keys() and "Close again" not in buttons()
    buttons()["Open in browser"].click()
    assert asked == [{"id": "p1", "port": 5173, "show": True}] and opened == ["http://127.0.0.1:5173/"]
    qtbot.waitUntil(lambda: "Close again" in buttons(), timeout=5000)
    assert any("http://127.0.0.1:5173/" in label.text() for label in dialog.findChildren(QLabel))
    buttons()["Close again"].click()
    assert asked[-1]["show"] is False and len(opened) == 1
    qtbot.waitUntil(lambda: "Close again" not in buttons(), timeout=5000)
    dialog.close()


def test_enter_in_a_field_goes_on_or_does_nothing_and_never_leaves(qtbot: Any, tmp_path: Path) -> None:
    """The default of most dialogs is the way out: what was written went with it. Where it was none, nothing happened."""

    def enter(dialog: Any, field: QLineEdit) -> None:
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        qtbot.addWidget(dialog)
        dialog.show()
        field.setFocus()
        QTest.keyClick(field, Qt.Key.Key_Return)

    first = FirstStartDialog()
    first._ways.buttons()[2].click()
    first.base_url.setText("http://127.0.0.1:1")
    chosen: list[dict[str, str]] = []
    first.chosen.connect(chosen.append)
    enter(first, first.base_url)
    assert [one["base_url"] for one in chosen] == ["http://127.0.0.1:1"]
    new = NewSessionDialog()
    new.folder.setText(str(tmp_path))
    wanted: list[Any] = []
    new.chosen.connect(wanted.append)
    enter(new, new.title)
    assert len(wanted) == 1
    summary = BranchSummaryDialog(3)
    summaries: list[str] = []
    summary.chosen.connect(summaries.append)
    QTest.keyClicks(summary._own, "why it failed")
    enter(summary, summary._own)
    assert summaries == ["why it failed"]
    leaving = Dialog("Something")
    field = QLineEdit(leaving)
    leaving.body.addWidget(field)
    leaving.add_cancel()
    enter(leaving, field)
    assert leaving.isVisible()


def test_permissions_are_listed_and_taken_back(state: SessionState, window: QWidget, qtbot: Any) -> None:
    dialog = open_settings(state, window, "grants")
    page = dialog.grants_page
    qtbot.waitUntil(lambda: set(page.buttons) == {"g1", "g2"}, timeout=30_000)
    said = [label.text() for label in page.findChildren(QLabel)]
    assert "ls ▯ x" in said and not page.none.isVisible()
    assert any(
        text.startswith("For this session: every call of t, with any arguments. Given 20") for text in said
    )
    button = page.buttons["g1"]
    assert "ls ▯ x" in button.accessibleName() and "this session" in button.accessibleDescription()
    button.setFocus()
    QTest.keyClick(button, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: set(page.buttons) == {"g2"}, timeout=30_000)
    page.buttons["g2"].click()
    qtbot.waitUntil(lambda: page.none.isVisibleTo(page), timeout=30_000)
    dialog.close()


def test_the_keyboard_stays_in_the_list_of_permissions_while_they_are_taken_back(qtbot: Any) -> None:
    dialog = SettingsDialog()
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.activateWindow()
    dialog.show_page("grants")
    page = dialog.grants_page
    items = [{"id": key, "scope": "session", "what": key, "reach": "exactly this", "at": 1} for key in "abc"]
    page.show_grants({"grants": items})
    qtbot.waitUntil(lambda: dialog.isActiveWindow() and page.buttons["b"].isVisible(), timeout=30_000)
    page.buttons["b"].setFocus()
    for pressed, following in (("b", "c"), ("c", "a")):
        QTest.keyClick(page.buttons[pressed], Qt.Key.Key_Space)
        items = [item for item in items if item["id"] != pressed]
        page.show_grants({"grants": items})
        assert page.buttons[following].hasFocus()
    QTest.keyClick(page.buttons["a"], Qt.Key.Key_Space)
    page.show_grants({"grants": []})
    assert dialog.focusWidget() is not None and page.none.isVisible()


def test_a_permission_that_could_not_be_taken_back_stays_in_the_list(qtbot: Any) -> None:
    page = GrantsPage()
    qtbot.addWidget(page)
    wanted: list[str] = []
    page.remove_wanted.connect(wanted.append)
    items = [{"id": "a", "scope": "branch", "what": "x", "reach": "exactly this", "at": 1}]
    page.show_grants({"grants": items})
    page.buttons["a"].click()
    assert wanted == ["a"] and not page.buttons["a"].isEnabled(), "until it is answered"
    page.show_grants({"grants": items})
    page.show_problem("The session is only being read.")
    assert page.buttons["a"].isEnabled() and page.problem.isVisibleTo(page)
