"""Looking for words in the lines of a file that changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from worldline.protocol.model import DiffRow, FileChange, FileDiff
from worldline.ui.diff.file_diff_panel import FileDiffPanel
from worldline.ui.main_window import MainWindow
from worldline.viewmodel.diff_search import MOST, Hit, find


def diff(*texts: str) -> FileDiff:
    rows = [DiffRow(kind="@", text="@@ -1 +1 @@ needle")]
    rows += [DiffRow(kind="+", text=text, new=at) for at, text in enumerate(texts, 1)]
    return FileDiff(change=FileChange(path="a.py", status="A"), rows=rows)


@pytest.fixture
def panel(qtbot: Any) -> FileDiffPanel:
    panel = FileDiffPanel()
    panel._split.setChecked(False)
    qtbot.addWidget(panel)
    panel.resize(500, 400)
    panel.show_diff(diff(*(f"line {n}" for n in range(3_000)), "x" * 400 + " Needle", "a needle, a needle"))
    panel.show()
    return panel


def test_all_places_are_found_and_letters_count_only_where_one_is_large() -> None:
    rows = diff("a needle, a Needle", "nothing").rows
    assert find(rows, "needle") == [Hit(1, 2, 8), Hit(1, 12, 18)]
    assert find(rows, "Needle") == [Hit(1, 12, 18)]
    assert find(rows, "  ") == find(rows, "a.n") == []
    assert len(find(diff("a" * 3 * MOST).rows, "a")) == MOST


def test_each_match_is_marked_and_brought_into_sight(panel: FileDiffPanel, qtbot: Any) -> None:
    view, bar = panel.view, panel.finding
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert bar.isVisible()
    QTest.keyClicks(bar.edit, "needle")
    qtbot.waitUntil(lambda: bar.count.text() == "1/3")
    assert view.selected_text() == "Needle" and view.verticalScrollBar().value() > 10_000
    assert view.horizontalScrollBar().value() > 0, "it stands far to the right"
    QTest.keyClick(bar.edit, Qt.Key.Key_Return)
    assert bar.count.text() == "2/3" and view.selected_text() == "needle"
    QTest.keyClick(bar.edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(bar.edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert bar.count.text() == "3/3", "around the end"
    # Another file: the same words in it.
    panel.show_diff(diff("one needle"))
    assert bar.count.text() == "1/1" and view.selected_text() == "needle"
    QTest.keyClicks(bar.edit, "s")
    qtbot.waitUntil(lambda: bar.count.text() == "no match")
    assert view.selected_text() == ""
    QTest.keyClick(bar.edit, Qt.Key.Key_Escape)
    assert not bar.isVisible() and view.hasFocus()
    panel.show_note("nothing")
    assert not panel.open_search()


def test_beside_each_other_a_match_is_on_the_side_of_its_line(panel: FileDiffPanel, qtbot: Any) -> None:
    panel.view.set_side_by_side(True)
    panel.open_search()
    panel.finding.edit.setText("needle, a")
    panel.finding.search()
    assert panel.view.selected_text() == "needle, a"


def test_the_keyboard_decides_what_is_searched(window_of: Callable[..., MainWindow], qtbot: Any) -> None:
    window = window_of()
    pane = window.panes["changes"]
    panel = pane.panel  # type: ignore[attr-defined]
    panel.show_diff(diff("a needle", "and a needle"))
    pane._split.show()  # type: ignore[attr-defined]
    window.activateWindow()
    panel.view.setFocus()
    qtbot.waitUntil(panel.view.hasFocus)
    window.actions_list["find_in_tree"].trigger()
    assert panel.finding.isVisible() and not window.tree.search_bar.isVisible()
    panel.finding.edit.setText("needle")
    panel.finding.search()
    window.actions_list["next_hit"].trigger()
    assert panel.finding.count.text() == "2/2"
    window.panes["chat"].setFocus()
    QApplication.processEvents()
    window.actions_list["find_in_tree"].trigger()
    assert window.tree.search_bar.isVisible()
