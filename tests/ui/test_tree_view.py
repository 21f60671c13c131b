"""The tree as a person uses it: real clicks and keys on a real widget, an engine that answers."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from tests_support import PATIENCE_S
from worldline.ui.dialogs.small import ExpandDialog
from worldline.ui.theme import theme
from worldline.ui.tree.menu import LabelEditor
from worldline.ui.tree.pane import TreePane
from worldline.ui.tree.view import TreeView

from . import sample


def pane_of(state: Any, qtbot: Any) -> TreePane:
    pane = TreePane(state)
    qtbot.addWidget(pane)
    pane.resize(380, 640)
    pane.show()
    qtbot.waitExposed(pane)
    pane.view.setFocus()
    return pane


def with_overview(state: Any, qtbot: Any, height: int) -> tuple[TreeView, Any]:
    """All rows in a pane too low for them, and its overview."""
    pane = pane_of(state, qtbot)
    pane.resize(300, height)
    pane.view.show_only("all", folding=False)
    pane.view.set_follow(False)
    return pane.view, pane.minimap


def click(view: TreeView, seq: int, modifier: Any = Qt.KeyboardModifier.NoModifier) -> None:
    place = view.rect_of(seq - 1).center()
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, modifier, place)


def test_a_click_goes_there(state: Any, qtbot: Any) -> None:
    view = pane_of(state, qtbot).view
    with qtbot.waitSignal(state.jumped) as jumped:
        click(view, 9)
    assert jumped.args[0]["node"] == sample.uid(9)
    assert state.cursor == sample.uid(9)
    assert state.can_back()
    with qtbot.waitSignal(state.jumped):
        state.go_back()
    assert state.cursor == sample.uid(27)
    assert state.can_forward() and not state.can_back()


def test_back_and_forward_stay_what_they_are_when_a_plan_was_shown_on_the_way(fake: Any, qtbot: Any) -> None:
    from worldline.ui.session_state import SessionState

    nine, ten, start = sample.uid(9), sample.uid(10), sample.uid(27)
    plans = {uid: {"id": "p1", "node": uid} for uid in (nine, start)}
    state = SessionState(fake(plans=plans))
    with qtbot.waitSignal(state.loaded, timeout=10_000):
        state.client.start()

    def confirm(asked: Any) -> None:
        with qtbot.waitSignal(state.jumped):
            state.go(asked.args[0]["node"], {**asked.args[1], "plan": "p1"})

    for uid in (nine, ten):
        with qtbot.waitSignal(state.jumped):
            state.go(uid, {"plan": "p1"})
    for step, there in ((state.go_back, nine), (state.go_back, start), (state.go_forward, nine)):
        with qtbot.waitSignal(state.plan_needed) as asked:
            step()
        confirm(asked)
        assert state.cursor == there
    assert state.can_back() and state.can_forward()
    with qtbot.waitSignal(state.jumped):
        state.go_forward()
    assert state.cursor == ten and not state.can_forward()
    # A plan that was not confirmed leaves no trace.
    with qtbot.waitSignal(state.plan_needed):
        state.go_back()
    with qtbot.waitSignal(state.jumped):
        state.go(start, {"plan": "p1"})
    assert state.can_back() and not state.can_forward()
    state.client.stop_and_wait(PATIENCE_S)


def test_a_plan_that_needs_the_person_is_announced_and_nothing_moves(fake: Any, qtbot: Any) -> None:
    from worldline.ui.session_state import SessionState

    state = SessionState(fake(plans={sample.uid(9): {"id": "p1", "node": sample.uid(9)}}))
    with qtbot.waitSignal(state.loaded, timeout=10_000):
        state.client.start()
    view = pane_of(state, qtbot).view
    with qtbot.waitSignal(state.plan_needed) as asked:
        click(view, 9)
    assert asked.args == [{"id": "p1", "node": sample.uid(9)}, {"node": sample.uid(9)}]
    assert state.cursor == sample.uid(27)
    state.client.stop_and_wait(PATIENCE_S)


def test_arrow_keys_look_and_never_go(state: Any, qtbot: Any) -> None:
    view = pane_of(state, qtbot).view
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Up, Qt.Key.Key_Left):
        QTest.keyClick(view, key)
    assert state.selection == sample.uid(24)
    assert state.cursor == sample.uid(27)
    QTest.keyClick(view, Qt.Key.Key_Escape)
    assert state.selection == ""
    QTest.keyClick(view, Qt.Key.Key_Up)
    with qtbot.waitSignal(state.jumped) as jumped:
        QTest.keyClick(view, Qt.Key.Key_Return)
    assert jumped.args[0]["node"] == sample.uid(26)


def test_a_slash_opens_the_search(state: Any, qtbot: Any) -> None:
    pane = pane_of(state, qtbot)
    QTest.keyClick(pane.view, Qt.Key.Key_Slash)
    assert pane.search_bar.isVisible() and pane.search_edit.text() == ""


def test_keys_between_branches(state: Any, qtbot: Any) -> None:
    view = pane_of(state, qtbot).view
    QTest.keyClick(view, Qt.Key.Key_Left, Qt.KeyboardModifier.ControlModifier)
    assert state.selection == sample.uid(2)
    QTest.keyClick(view, Qt.Key.Key_Right, Qt.KeyboardModifier.ControlModifier)
    assert view.scene.focus_row() == 26
    QTest.keyClick(view, Qt.Key.Key_Home)
    assert state.selection == sample.uid(1)
    QTest.keyClick(view, Qt.Key.Key_End)
    assert state.selection == "" and view.scene.focus_row() == 26


def test_a_folded_run_opens_at_a_click_and_closes_at_enter(state: Any, qtbot: Any) -> None:
    view = pane_of(state, qtbot).view
    assert view.scene.items.is_folded(view.scene.items.item(4))
    click(view, 3)
    assert not view.scene.items.is_folded(view.scene.items.item(4))
    assert state.cursor == sample.uid(27)


def test_a_folded_run_is_compared_by_what_it_came_to(state: Any, qtbot: Any) -> None:
    view = pane_of(state, qtbot).view
    items = view.scene.items
    last = items.last_row(items.item(4))
    assert last > 4
    click(view, 3, Qt.KeyboardModifier.ControlModifier)
    assert last in view.scene.chosen and items.row(items.item(4)) not in view.scene.chosen
    click(view, 3, Qt.KeyboardModifier.ControlModifier)
    assert last not in view.scene.chosen


def test_choosing_for_compare(state: Any, qtbot: Any) -> None:
    view = pane_of(state, qtbot).view
    click(view, 14, Qt.KeyboardModifier.ControlModifier)
    click(view, 26, Qt.KeyboardModifier.ControlModifier)
    assert state.selected == [sample.uid(14), sample.uid(26)]
    click(view, 14, Qt.KeyboardModifier.ControlModifier)
    assert state.selected == [sample.uid(26)]
    QTest.keyClick(view, Qt.Key.Key_Escape)
    assert state.selected == []
    assert state.cursor == sample.uid(27)


def test_a_new_node_moves_nothing(state: Any, qtbot: Any) -> None:
    view = pane_of(state, qtbot).view
    view.set_follow(False)
    QApplication.processEvents()
    before = {row: view.rect_of(row) for row in (0, 8, 13, 26)}
    with qtbot.waitSignal(state.run_ended, timeout=10_000):
        state.request("prompt", {"text": "go on"})
    assert {row: view.rect_of(row) for row in before} == before
    assert len(state.tree) == 29


def test_following_keeps_the_live_node_in_view(state: Any, qtbot: Any) -> None:
    pane = pane_of(state, qtbot)
    pane.resize(380, 300)
    view = pane.view
    view.set_follow(True)
    with qtbot.waitSignal(state.run_ended, timeout=10_000):
        state.request("prompt", {"text": "go on"})
    assert view.viewport().rect().contains(view.rect_of(28).center())
    wheel = QWheelEvent(
        QPointF(50, 50), view.viewport().mapToGlobal(QPointF(50, 50)), QPoint(), QPoint(0, 120),
        Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(view.viewport(), wheel)
    assert not view.follow_live
    assert not pane.follow_button.isChecked()


def test_zoom_keeps_the_place_under_the_pointer(state: Any, qtbot: Any) -> None:
    pane = pane_of(state, qtbot)
    view = pane.view
    pane.fold_button.click()
    place = QPointF(view.rect_of(14).center())
    for factor in (1.3, 0.5, 0.5, 2.0):
        view.zoom(factor, place)
        view.viewport().repaint()
    assert view.scene.geometry.level == 2
    view.fit()
    assert view.viewport().rect().contains(view.rect_of(26).center())
    pane.side_button.click()
    view.viewport().repaint()
    assert view.row_at(QPointF(view.rect_of(26).center())) == 26


def test_filters_by_menu_and_key(state: Any, qtbot: Any) -> None:
    pane = pane_of(state, qtbot)
    pane.choose_filter("failures")
    assert [pane.view.scene.items.row(i) + 1 for i in range(len(pane.view.scene.items))] == [
        9,
        11,
        12,
        13,
        14,
        27,
    ]
    pane.cycle_filter()
    assert pane.filter_button.text() == "Files changed"
    QTest.keyClick(pane.view, Qt.Key.Key_U, Qt.KeyboardModifier.ControlModifier)
    assert len(pane.view.scene.items) == 3
    # What is left out is said, also when no menu was opened for it.
    assert pane.filter_button.text() == "Prompts only" and pane._filter_actions["prompts"].isChecked()


def test_search_with_next_and_previous(state: Any, qtbot: Any) -> None:
    pane = pane_of(state, qtbot)
    pane.open_search()
    QTest.keyClicks(pane.search_edit, "parser.py")
    QTest.keyClick(pane.search_edit, Qt.Key.Key_Return)
    assert pane.search_count.text() == "1/8"
    assert state.selection == sample.uid(4)
    QTest.keyClick(pane.search_edit, Qt.Key.Key_Return)
    assert state.selection == sample.uid(5)
    QTest.keyClick(pane.search_edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert state.selection == sample.uid(4)
    QTest.keyClick(pane.search_edit, Qt.Key.Key_Escape)
    assert not pane.search_bar.isVisible()
    assert pane.view.scene.hits == set()


def test_a_label_in_place(state: Any, qtbot: Any) -> None:
    pane = pane_of(state, qtbot)
    pane.view.look_at(13)
    QTest.keyClick(pane.view, Qt.Key.Key_L, Qt.KeyboardModifier.ShiftModifier)
    editor = pane.view.viewport().findChild(LabelEditor)
    QTest.keyClicks(editor, "dead end")
    with qtbot.waitSignal(state.label_changed):
        QTest.keyClick(editor, Qt.Key.Key_Return)
    assert state.tree.labels[13].label == "dead end"


@pytest.mark.parametrize("escaped", [False, True])
def test_a_label_that_is_left_by_a_click_elsewhere_is_kept_and_one_that_is_escaped_is_not(
    state: Any, qtbot: Any, escaped: bool
) -> None:
    pane = pane_of(state, qtbot)
    pane.activateWindow()
    told: list[str] = []
    state.set_label = lambda uid, what, said, color: told.append(said)
    pane.view.look_at(13)
    QTest.keyClick(pane.view, Qt.Key.Key_L, Qt.KeyboardModifier.ShiftModifier)
    editor = pane.view.viewport().findChild(LabelEditor)
    qtbot.waitUntil(editor.hasFocus)
    QTest.keyClicks(editor, "dead end")
    if escaped:
        QTest.keyClick(editor, Qt.Key.Key_Escape)
    else:
        pane.view.setFocus()
    qtbot.waitUntil(lambda: pane.view.viewport().findChild(LabelEditor) is None)
    assert told == ([] if escaped else ["dead end"])


def test_enter_in_a_label_keeps_it_and_goes_nowhere(state: Any, qtbot: Any) -> None:
    pane = pane_of(state, qtbot)
    gone: list[str] = []
    state.go = gone.append
    pane.view.look_at(13)
    QTest.keyClick(pane.view, Qt.Key.Key_L, Qt.KeyboardModifier.ShiftModifier)
    editor = pane.view.viewport().findChild(LabelEditor)
    assert editor.geometry().left() <= pane.view.words_rect(13).left(), "no half word stays beside the field"
    editor.setText("kept")
    with qtbot.waitSignal(state.label_changed):
        # What a widget lets pass goes on to what is below it, here as with a keyboard.
        QTest.keyClick(editor, Qt.Key.Key_Return)
    assert gone == []


def test_the_overview_covers_neither_the_cursor_nor_what_is_looked_at(state: Any, qtbot: Any) -> None:
    view, minimap = with_overview(state, qtbot, 330)
    qtbot.waitUntil(minimap.isVisible)
    for row in range(len(state.tree)):
        view.reveal(row)
        view.scene.set_cursor(row)
        minimap.refresh()
        assert minimap.isHidden() or not minimap.geometry().intersects(view.rect_of(row)), row
    places = set()
    for row in range(1, len(state.tree), 3):
        view.look_at(row)
        taken = [view.rect_of(one) for one in (row, view.scene.cursor)]
        assert minimap.isHidden() or not any(minimap.geometry().intersects(one) for one in taken), row
        places.add((minimap.isHidden(), minimap.y()))
    assert len({y for hidden, y in places if not hidden}) > 1, "it has moved out of the way"


def test_the_overview_stays_where_it_is_while_it_is_in_nobodys_way(state: Any, qtbot: Any) -> None:
    view, minimap = with_overview(state, qtbot, 420)
    view.scroll_to_item(0)
    view.scene.set_cursor(1)
    minimap.refresh()
    place = minimap.pos()
    view.look_at(2)
    assert minimap.isVisible() and minimap.pos() == place


def test_rows_stay_where_they_are_when_a_line_below_the_panes_goes(state: Any, qtbot: Any) -> None:
    """Who was about to click hit another row: the view was at the end of the tree, or the overview went."""
    view, minimap = with_overview(state, qtbot, 420)
    qtbot.waitUntil(lambda: bool(view.covered))
    high = view.scene.geometry.length(len(view.scene.items)) / 1.5
    above = view.parent().height() - view.viewport().height()  # type: ignore[union-attr]
    for height in (420, round(high) + above - 10):  # there the overview would go with 36 pixels more
        view.parent().resize(300, height)  # type: ignore[union-attr]
        QApplication.processEvents()
        view.verticalScrollBar().setValue(view.verticalScrollBar().maximum())
        before = view.rect_of(len(state.tree) - 1)
        view.parent().resize(300, height + 36)  # type: ignore[union-attr]
        QApplication.processEvents()
        minimap.refresh()
        assert view.covered and view.rect_of(len(state.tree) - 1).top() == before.top(), height


def test_no_words_and_no_counts_of_rows_are_below_the_overview(state: Any, qtbot: Any) -> None:
    view, minimap = with_overview(state, qtbot, 420)
    view.scroll_to_item(0)
    view.scene.set_cursor(1)
    view.look_at(2)
    minimap.refresh()
    assert minimap.isVisible()
    covered = minimap.geometry()
    # Only hidden: the tree goes on to keep clear of it.
    minimap.hide()
    below = view.viewport().grab(covered).toImage()
    colours = {below.pixelColor(x, y).name() for x in range(below.width()) for y in range(below.height())}
    assert colours == {theme().tokens.color("panel").name()}
    minimap.wanted = False
    minimap.refresh()
    below = view.viewport().grab(covered).toImage()
    assert (
        len({below.pixelColor(x, y).name() for x in range(below.width()) for y in range(below.height())}) > 2
    )


def test_the_menu_offers_what_can_be_done(state: Any, qtbot: Any) -> None:
    pane = pane_of(state, qtbot)
    menu = pane.menu.build(13)
    texts = [action.text() for action in menu.actions() if action.text()]
    assert texts[:3] == ["Go here", "Compare with where I am", "Show what changed since here"]
    with qtbot.waitSignal(state.compare_asked) as asked:
        menu.actions()[1].trigger()
    assert asked.args[0] == [sample.uid(14), sample.uid(27)]
    with qtbot.waitSignal(state.as_model_sees_asked):
        next(a for a in menu.actions() if a.text() == "What the model saw").trigger()


def test_the_words_that_are_known_are_copied_where_the_engine_cannot_be_asked(state: Any, qtbot: Any) -> None:
    pane = pane_of(state, qtbot)
    state.client.stop_and_wait(PATIENCE_S)
    QApplication.clipboard().setText("before")
    with qtbot.waitSignal(state.failed):
        pane.menu._copy(1)
    assert QApplication.clipboard().text() == "Fix the parser, tests must pass"


def test_originals_are_asked_about_before_they_are_expanded(state: Any, qtbot: Any) -> None:
    pane = pane_of(state, qtbot)
    sent: list[str] = []
    state.request = lambda method, *_: sent.append(method)
    menu = pane.menu.build(26)
    next(a for a in menu.actions() if a.text().startswith("Expand summaries")).trigger()
    dialog = next(w for w in QApplication.topLevelWidgets() if isinstance(w, ExpandDialog) and w.isVisible())
    assert sent == []
    dialog.confirmed.emit()
    assert sent == ["expand"]
    dialog.reject()


def test_the_card_says_what_a_click_would_do(state: Any, qtbot: Any) -> None:
    pane = pane_of(state, qtbot)
    title, facts, hint = pane.card.facts(24)
    assert title == "run git push origin wip"
    assert "Did something that cannot be undone" in facts
    assert hint.startswith("Click: put the files back")
    assert pane.card.facts(1)[2] == "Click: go back to before this prompt and change it."
    assert pane.card.facts(26)[2] == "You are here."


def test_nodes_are_there_for_a_screen_reader(state: Any, qtbot: Any) -> None:
    view = pane_of(state, qtbot).view
    tree = QAccessible.queryAccessibleInterface(view)
    assert tree.role() == QAccessible.Role.Tree
    assert tree.text(QAccessible.Text.Name) == "Session tree"
    assert tree.childCount() == 15
    names = [tree.child(index).text(QAccessible.Text.Name) for index in range(tree.childCount())]
    assert names[1] == "prompt: Fix the parser, tests must pass, 2 branches start here"
    assert names[2].startswith("6 steps")
    assert names[3] == "step: run pytest -q, failed, checks failed"
    assert names[-1].endswith("you are here")
    last = tree.child(tree.childCount() - 1)
    assert last.role() == QAccessible.Role.TreeItem
    assert last.state().focusable and last.state().active
    assert view.viewport().rect().contains(view.viewport().mapFromGlobal(last.rect().center()))
