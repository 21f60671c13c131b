"""The whole window as a screen reader and a keyboard meet it: names, roles, order and visible focus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QApplication, QWidget

from worldline.ui.main_window import MainWindow
from worldline.ui.theme import theme

from .full import complete_window

SILENT = {QAccessible.Role.Client, QAccessible.Role.Window, QAccessible.Role.Pane, QAccessible.Role.Grouping,
          QAccessible.Role.ScrollBar, QAccessible.Role.LayeredPane, QAccessible.Role.Splitter, QAccessible.Role.Border,
          QAccessible.Role.PageTabList, QAccessible.Role.StaticText, QAccessible.Role.Separator,
          QAccessible.Role.ToolBar}  # fmt: skip
"""Roles that hold others or are read by their own text; all others need a name."""


@pytest.fixture(scope="module")
def window(qapp: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MainWindow]:
    theme().set_name("light")
    with complete_window(tmp_path_factory.mktemp("accessibility")) as window:
        yield window


@pytest.fixture(autouse=True)
def nothing_leaks() -> None:
    """The window stays for all tests of this file."""


def walk(face: QAccessibleInterface, depth: int = 0) -> Iterator[QAccessibleInterface]:
    if face is None or not face.isValid() or face.state().invisible or depth > 40:
        return
    yield face
    for index in range(face.childCount()):
        yield from walk(face.child(index), depth + 1)


def stops(window: MainWindow) -> list[QWidget]:
    """What Tab reaches, by pressing it until it comes round."""
    window.activateWindow()
    window.status.first.setFocus()
    found: list[QWidget] = []
    while True:
        # As the key does; editors may keep a Tab for themselves.
        window.focusNextPrevChild(True)
        now = QApplication.focusWidget()
        assert now is not None
        if now in found:
            return found
        found.append(now)


def test_everything_has_a_role_and_what_can_be_used_has_a_name(window: MainWindow) -> None:
    faces = list(walk(QAccessible.queryAccessibleInterface(window)))
    assert len(faces) > 80
    nameless = [
        f"{face.role()} {type(face.object()).__name__} {face.rect()}"
        for face in faces
        if face.role() not in SILENT
        and face.role() != QAccessible.Role.NoRole
        and not face.text(QAccessible.Text.Name).strip()
        and (face.state().focusable or face.role() in (QAccessible.Role.Button, QAccessible.Role.TreeItem))
    ]
    assert nameless == []
    items = [face for face in faces if face.role() == QAccessible.Role.TreeItem]
    names = [face.text(QAccessible.Text.Name) for face in items]
    assert any("you are here" in name for name in names)
    assert any("failed" in name for name in names)
    assert sum(bool(face.state().active) for face in items) == 1


def test_tab_goes_through_the_window_from_above_to_below(window: MainWindow) -> None:
    order: list[str] = []
    walk_round = stops(window)
    first = next(at for at, one in enumerate(walk_round) if window.title_bar.isAncestorOf(one))
    for widget in walk_round[first:] + walk_round[:first]:
        place = next((name for name, pane in window.panes.items() if pane.isAncestorOf(widget)), "")
        place = place or ("status" if window.status.isAncestorOf(widget) else "bar")
        if not order or order[-1] != place:
            order.append(place)
    # Each part of the window is one stretch of the way: nobody is sent to and fro.
    assert order == ["bar", "tree", "chat", "changes", "status"]


def test_the_focus_can_be_seen_everywhere(window: MainWindow) -> None:
    window.activateWindow()
    unseen = []
    for widget in stops(window):
        other = window.status.first if widget is not window.status.first else window.tree.view
        other.setFocus(Qt.FocusReason.TabFocusReason)
        QApplication.processEvents()
        place = QRect(widget.mapTo(window, widget.rect().topLeft()), widget.size())
        before = window.grab(place).toImage()
        widget.setFocus(Qt.FocusReason.TabFocusReason)
        QApplication.processEvents()
        if widget.hasFocus() and window.grab(place).toImage() == before and not hasattr(widget, "document"):
            unseen.append(f"{type(widget).__name__} {widget.objectName()} {widget.accessibleName()}")
    assert unseen == []


def test_news_are_announced(window: MainWindow, qtbot: Any) -> None:
    QAccessible.setActive(True)
    try:
        with qtbot.waitSignal(window.state.run_ended, timeout=20_000):
            window.state.request("prompt", {"text": "go on"})
        notice = window.notices.say("told", "Something happened.")
        face = QAccessible.queryAccessibleInterface(notice.text)
        assert face.text(QAccessible.Text.Name) == "Something happened."
        window.notices.clear("told")
    finally:
        QAccessible.setActive(False)
