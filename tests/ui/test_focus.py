"""The way of the keyboard through dialogs and the window: all of it is reached, in the order in which it is read, and
one sees and hears where one is."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QScrollArea, QWidget

from worldline.ui import tab_order
from worldline.ui.chat.pane import ChatPane
from worldline.ui.chat.row_base import QuietButton
from worldline.ui.dialogs.base import Dialog
from worldline.ui.gallery import GALLERY
from worldline.ui.main_window import MainWindow

from . import full

DIALOGS = [
    "approval", "approval-write", "jump-plan", "question", "branch-summary", "recovery", "lossy", "about", "effects",
    "bring-home", "first-start", "new-session", "settings", "settings-rules", "sessions", "diagnostics",
    "as-model-sees", "storage", "storage-question", "compare", "folders", "folders-question", "session-delete",
]  # fmt: skip


def name_of(widget: QWidget) -> str:
    return widget.accessibleName() or (widget.text() if isinstance(widget, QAbstractButton) else "")


def walk(window: QWidget) -> list[QWidget]:
    """What Tab gives the focus to, until it comes round."""
    found: list[QWidget] = []
    for _ in range(120):
        QTest.keyClick(QApplication.focusWidget() or window, Qt.Key.Key_Tab)
        now = QApplication.focusWidget()
        if now is None or now in found:
            break
        found.append(now)
    return found


def is_seen(window: QWidget, widget: QWidget) -> bool:
    """Whether the picture with the focus on the widget differs from the one without."""
    above = widget.parentWidget()
    while above is not None:
        if isinstance(above, QScrollArea):
            above.ensureWidgetVisible(widget)  # as Tab does
        above = above.parentWidget()
    widget.setFocus(Qt.FocusReason.TabFocusReason)
    QApplication.processEvents()
    focused = window.grab().toImage()
    widget.clearFocus()
    QApplication.processEvents()
    return focused != window.grab().toImage()


@pytest.mark.parametrize("name", DIALOGS)
def test_a_dialog(name: str, qtbot: Any) -> None:
    dialog = GALLERY[name]()
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.activateWindow()
    qtbot.waitUntil(dialog.isActiveWindow)
    assert isinstance(dialog, Dialog)
    order = tab_order.by_place(dialog)
    walked = walk(dialog)
    assert set(walked) == set(order)
    start = order.index(walked[0])
    assert walked == order[start:] + order[:start]
    assert [name_of(one) for one in walked if not name_of(one)] == []
    unseen = [f"{type(one).__name__} {name_of(one)}" for one in walked if not is_seen(dialog, one)]
    assert unseen == []


def test_controls_of_a_line_go_from_left_to_right_and_lines_from_above_to_below(qtbot: Any) -> None:
    dialog = GALLERY["compare"]()
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.show()
    places = [one.mapTo(dialog, QPoint(0, 0)) for one in tab_order.by_place(dialog)]
    for before, after in itertools.pairwise(places):
        assert after.y() > before.y() - tab_order.SAME_LINE and (
            after.x() > before.x() or after.y() > before.y()
        )


@pytest.fixture
def window(tmp_path: Path, qapp: Any) -> Iterator[MainWindow]:
    with full.complete_window(tmp_path) as made:
        yield made


def test_the_window(window: MainWindow, qtbot: Any) -> None:
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    window.tree.view.setFocus()
    stops = tab_order.stops(window, window.parts())
    assert [type(one).__name__ for one in stops if not name_of(one)] == []
    # Buttons of messages are drawn for the message that has the focus; one of them stands for all.
    quiet = [one for one in stops if isinstance(one, QuietButton)][:1]
    rest = [one for one in stops if not isinstance(one, QuietButton)]
    unseen = [f"{type(one).__name__} {name_of(one)}" for one in quiet + rest if not is_seen(window, one)]
    assert unseen == []


def test_the_buttons_of_the_chat_come_before_the_field_below_it(window: MainWindow, qtbot: Any) -> None:
    chat = window.panes["chat"]
    assert isinstance(chat, ChatPane)
    qtbot.waitUntil(lambda: bool(chat.view.findChildren(QuietButton)))
    order = tab_order.stops(window, window.parts())
    inside = [at for at, one in enumerate(order) if chat.view.isAncestorOf(one)]
    first = order.index(chat.view)
    assert len(inside) > 1 and inside == list(range(first, first + len(inside)))
    assert max(inside) < order.index(chat.composer.edit)


def test_the_ring_lets_go_of_a_list_that_is_deleted_with_the_focus(qtbot: Any) -> None:
    import shiboken6
    from PySide6.QtWidgets import QApplication, QLineEdit, QListWidget, QVBoxLayout, QWidget

    from worldline.ui.focus_ring import FocusRing

    window = QWidget()
    qtbot.addWidget(window)
    layout = QVBoxLayout(window)
    parts = [QListWidget(), QLineEdit(), QListWidget()]
    for part in parts:
        layout.addWidget(part)
    ring = FocusRing(window)
    window.show()
    window.activateWindow()
    parts[0].setFocus()
    qtbot.waitUntil(ring.isVisible, timeout=5000)
    shiboken6.delete(parts[0])
    parts[1].setFocus()
    assert not ring.isVisible()
    parts[2].setFocus()
    qtbot.waitUntil(lambda: ring.isVisible() and QApplication.focusWidget() is parts[2], timeout=5000)
