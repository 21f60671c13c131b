"""Every entry of every menu does something: it asks the engine, opens something, or changes what is seen."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QMenu, QPlainTextEdit, QPushButton

from tests_support import PATIENCE_S
from worldline.ui import i18n
from worldline.ui.dialogs.small import NoteDialog
from worldline.ui.main_window import MainWindow
from worldline.ui.theme import theme
from worldline.ui.tree.menu import LabelEditor

from . import sample
from .full import complete_window
from .languages import forget_language

ENDS = {"close", "quit"}
"""They end the window, which has tests of its own."""


@pytest.fixture(scope="module")
def window(qapp: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MainWindow]:
    """One window for all of this file: what each test leaves open is closed after it."""
    folder = tmp_path_factory.mktemp("actions")
    with complete_window(folder, session={"scripted_model": True, "root": str(folder)}) as window:
        yield window


@pytest.fixture(autouse=True)
def nothing_leaks(window: MainWindow) -> Iterator[None]:
    yield
    close_what_is_open(window)


def close_what_is_open(window: MainWindow) -> None:
    for widget in QApplication.topLevelWidgets():
        if widget is not window and widget.isVisible():
            widget.close()
    for dialog in window.findChildren(QDialog):
        dialog.close()
    QApplication.processEvents()


class Watch:
    """What an action did: requests, signals, windows, and what is seen."""

    def __init__(self, window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
        self.window = window
        self.said: list[str] = []
        client = window.state.client
        original = client.request

        def request(method: str, *arguments: Any, **more: Any) -> int:
            self.said.append(method)
            return original(method, *arguments, **more)

        monkeypatch.setattr(client, "request", request)
        window.start_asked.connect(lambda: self.said.append("start"))

    def is_idle(self, action: QAction) -> bool:
        """Choose it; whether nothing came of it."""
        self.said.clear()
        before = self.seen()
        action.trigger()
        end = time.monotonic() + PATIENCE_S
        while not self.said and self.seen() == before:
            if time.monotonic() > end:
                return True
            QTest.qWait(5)
        return False

    def seen(self) -> tuple[Any, ...]:
        window, view = self.window, self.window.tree.view
        scene, geometry = view.scene, view.scene.geometry
        focus = QApplication.focusWidget()
        return (
            [type(w).__name__ for w in QApplication.topLevelWidgets() if w.isVisible()],
            [type(d).__name__ for d in window.findChildren(QDialog) if d.isVisible()],
            [pane.isVisible() for pane in window.panes.values()], id(focus),
            geometry.scale, geometry.sideways, geometry.scroll_along, scene.items.filter, scene.items.folding, len(scene.items),
            window.tree.search_bar.isVisible(), window.tree.minimap.wanted, window.tree._hit, scene.current,
            window.state.cursor, window.state.selection, tuple(scene.chosen), theme().name, sorted(window.notices.items),
            QGuiApplication.clipboard().text(), window.places.middle.currentIndex(), len(view.viewport().findChildren(LabelEditor)),
        )  # fmt: skip


def prepare(window: MainWindow, name: str) -> None:
    """The state in which an action means something; nothing of the one before is still on its way."""
    state, view = window.state, window.tree.view
    while state.client._callbacks:
        QTest.qWait(5)
    close_what_is_open(window)
    window.activateWindow()
    window.tree.close_search()
    window.status.first.setFocus()
    view.reset_zoom()
    view.choice.clear()
    state.select("")
    for place in window.panes:
        window.panes[place].show()
    if name in ("compare", "label", "note", "go_here", "cursor", "as_model_sees", "bring_home"):
        view.look_at(8)
    if name == "compare":
        view.choice.toggle(13)
        view.choice.toggle(25)
    if name in ("next_hit", "previous_hit"):
        window.tree.open_search()
        window.tree.search_edit.setText("parser")
    if name in ("forward", "back"):
        state._back.append(sample.uid(4))
        state._forward.append(sample.uid(14))
        state.history_changed.emit()
    if name == "return_home":
        state.status = {**state.status, "branch": "refs/heads/worldline/x/start", "home": "main"}
        state.status_changed.emit(state.status)
    if name == "cursor":
        view._set_scroll(0, 0)
    if name == "fit":
        view.zoom(3)
    if name == "zoom_reset":
        view.zoom(0.5)
    if name == "theme_light":
        theme().set_name("dark")
    elif name.startswith("theme_"):
        theme().set_name("light" if name != "theme_system" else "dark")
    if name in ("stop", "retry_now"):
        window.actions_list[name].setEnabled(True)
    QApplication.processEvents()


def names(window: MainWindow) -> list[str]:
    found = [action.objectName() for action in window.actions_list if action.objectName() not in ENDS]
    # A language is for every window made from then on, and for the tests that come after; it has a test of its own.
    return [name for name in found if not name.startswith("language_")]


def test_the_menu_ticks_the_theme_in_use(window: MainWindow) -> None:
    menu = QMenu()
    window.commands.fill(menu)
    themes = [action for action in menu.findChildren(QMenu)[0].actions() if action.objectName()]
    assert [action.objectName() for action in themes if action.isChecked()] == [f"theme_{theme().name}"]
    # An icon stands in the place of the tick.
    assert not any(action.isIconVisibleInMenu() for action in themes)
    menu.deleteLater()


def test_a_language_is_found_among_the_commands_and_chosen_there(window: MainWindow) -> None:
    try:
        window.actions_list["language_zh_CN"].trigger()
        assert i18n.in_use == "zh_CN" and window.settings.value("language") == "zh_CN"
        window.actions_list["language_en"].trigger()
        assert i18n.in_use == "en" and window.settings.value("language") == "en"
    finally:
        window.settings.remove("language")
        forget_language()


def test_the_keyboard_goes_to_the_message_when_the_line_that_had_it_goes(
    window: MainWindow, qtbot: Any
) -> None:
    window.activateWindow()
    notice = window.notices.say("here", "Something happened.", buttons=[("Back", lambda: None)])
    notice.buttons[0].setFocus()
    qtbot.waitUntil(notice.buttons[0].hasFocus, timeout=30_000)
    window.notices.clear("here")
    edit = window.panes["chat"].composer.edit
    qtbot.waitUntil(edit.hasFocus, timeout=30_000)


def test_every_action_does_something(window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(window, monkeypatch)
    idle = []
    for name in names(window):
        prepare(window, name)
        action = window.actions_list[name]
        assert action.isEnabled(), f"{name} cannot be chosen"
        if watch.is_idle(action):
            idle.append(name)
        close_what_is_open(window)
    theme().set_name("light")
    assert idle == [], idle
    assert len(names(window)) > 50


def test_every_entry_of_a_nodes_menu_does_something(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch(window, monkeypatch)
    window.tree.view.choice.clear()
    window.tree.view.choice.toggle(13)
    window.tree.view.choice.toggle(25)
    # "Go here" last: it moves the cursor.
    count = len([a for a in window.tree.menu.build(10).actions() if not a.isSeparator()])
    idle = []
    for at in range(count):
        prepare(window, "")
        window.tree.view.choice.toggle(13)
        window.tree.view.choice.toggle(25)
        menu = window.tree.menu.build(10)
        action = [a for a in menu.actions() if not a.isSeparator()][count - 1 - at]
        text = action.text()
        if not action.isEnabled():
            continue
        if watch.is_idle(action):
            idle.append(text)
        close_what_is_open(window)
        menu.deleteLater()
    assert idle == []
    assert count >= 10


def test_every_line_of_the_menu_is_an_action_that_exists(window: MainWindow) -> None:
    from worldline.ui.window_actions import _MENU

    missing = [
        name for block in _MENU for name in block if name not in window.actions_list and name not in ENDS
    ]
    assert missing == []


def test_export_asks_for_a_place_and_shows_where_it_went(
    window: MainWindow, tmp_path: Path, qtbot: Any
) -> None:
    dialog = window.exporting.ask(window.state.cursor)
    assert dialog.nameFilters() == list(window.exporting.forms().values())
    dialog.close()
    old = tmp_path / "branch.md"
    old.write_text("older")
    window.exporting.write(window.state.cursor, "markdown", old)
    qtbot.waitUntil(lambda: "export" in window.notices.items, timeout=5000)
    notice = window.notices.items["export"]
    assert str(old) in notice.text.text()
    assert [button.text() for button in notice.buttons] == ["Open", "Show in folder"]
    assert old.read_text() == "# exported\n"
    assert list(tmp_path.iterdir()) == [old]


def test_a_failed_export_keeps_the_older_file(window: MainWindow, tmp_path: Path, qtbot: Any) -> None:
    window.notices.clear("failed")
    old = tmp_path / "refused" / "a.md"
    old.parent.mkdir()
    old.write_text("older")
    window.exporting.write(window.state.cursor, "markdown", old)
    qtbot.waitUntil(lambda: "failed" in window.notices.items, timeout=5000)
    assert old.read_text() == "older"


def test_search_says_why_a_row_was_found(window: MainWindow, qtbot: Any) -> None:
    pane = window.tree
    pane.open_search()
    QTest.keyClicks(pane.search_edit, "quotes")
    qtbot.waitUntil(lambda: pane._hits == [6], timeout=5000)
    QTest.keyClick(pane.search_edit, Qt.Key.Key_Return)
    assert pane.search_why.isVisible()
    assert "quotes are not handled" in pane.search_why.text()
    # A word that is in no preview: the engine finds it in a body, and its snippet is shown.
    pane.search_edit.setText("zyzzyva")
    qtbot.waitUntil(lambda: pane._hits == [3], timeout=5000)
    pane.next_hit()
    assert pane.search_why.text() == "Found in: the zyzzyva of it"
    pane.close_search()
    assert not pane.search_why.isVisible()


def test_filters_say_how_much_they_show(window: MainWindow) -> None:
    pane = window.tree
    menu = pane.filter_button.menu()
    menu.aboutToShow.emit()
    texts = [action.text() for action in menu.actions()]
    counts = pane.view.scene.items.counts()
    for name in ("prompts", "failures", "files", "effects", "labelled"):
        pane.view.scene.items.show(filter_name=name)
        assert len(pane.view.scene.items) == counts[name], name
    pane.choose_filter("all")
    assert texts[0] == f"All nodes  ({len(window.state.tree)})"
    assert f"Failures  ({counts['failures']})" in texts


def test_a_label_is_written_in_place_by_keyboard(window: MainWindow, qtbot: Any) -> None:
    view = window.tree.view
    window.activateWindow()
    view.setFocus()
    view.look_at(8)
    QTest.keyClick(view, Qt.Key.Key_L, Qt.KeyboardModifier.ShiftModifier)
    editor = view.viewport().findChildren(LabelEditor)[-1]
    QTest.keyClicks(editor, "my label")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: 8 in window.state.tree.labels, timeout=5000)
    assert window.state.tree.labels[8].label == "my label"


def test_a_note_is_written_by_keyboard(window: MainWindow, qtbot: Any) -> None:
    view = window.tree.view
    view.look_at(9)
    QTest.keyClick(view, Qt.Key.Key_N, Qt.KeyboardModifier.ShiftModifier)
    dialog = window.findChildren(NoteDialog)[-1]
    QTest.keyClicks(dialog.findChild(QPlainTextEdit), "my note")
    buttons = [one for one in dialog.findChildren(QPushButton) if one.property("role") == "primary"]
    QTest.mouseClick(buttons[0], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: 9 in window.state.tree.labels, timeout=5000)
    assert window.state.tree.labels[9].note == "my note"


def test_a_drill_is_ordered_and_said(window: MainWindow, qtbot: Any) -> None:
    window.notices.clear("drill")
    menu: QMenu = window.drills.menu()
    actions: list[QAction] = menu.actions()
    assert [a.text() for a in actions][:2] == ["Overloaded (529)", "Rate limit, wait 7 s"]
    actions[0].trigger()
    qtbot.waitUntil(lambda: "drill" in window.notices.items, timeout=5000)
    assert "Overloaded (529)" in window.notices.items["drill"].text.text()
    menu.deleteLater()
