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
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeKind, Outcome
from worldline.protocol.model import Body, DiffRow, FileChange, FileDiff
from worldline.ui import tab_order
from worldline.ui.chat.pane import ChatPane
from worldline.ui.chat.row_base import QuietButton
from worldline.ui.chat.view import ChatView
from worldline.ui.dialogs.base import Dialog
from worldline.ui.diff.file_diff_panel import FileDiffPanel
from worldline.ui.gallery import GALLERY
from worldline.ui.main_window import MainWindow
from worldline.ui.shortcuts import ShortcutList
from worldline.ui.syntax.code_view import CodeView
from worldline.viewmodel.chat import ChatModel

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


def beside_a_button(widget: QWidget, qtbot: Any) -> QWidget:
    """A window in which a button comes before the widget: Qt takes the focus there from what is hidden. To be kept."""
    window = QWidget()
    qtbot.addWidget(window)
    layout = QVBoxLayout(window)
    layout.addWidget(QPushButton("Back to where I was"))
    layout.addWidget(widget)
    window.resize(640, 500)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    return window


def test_a_row_that_is_scrolled_out_of_sight_leaves_the_focus_in_the_chat(qtbot: Any) -> None:
    """After a click on the output of a command and some turns of the wheel a space pressed a button of the title line."""
    view = ChatView(ChatModel())
    window = beside_a_button(view, qtbot)
    path = [
        NodeHeader(seq=at, uid=f"{at:016x}", parent=at - 1, kind=NodeKind.TOOL, created=at, preview="x", tool="bash",
                   outcome=Outcome.FAILED)
        for at in range(1, 60)
    ]  # fmt: skip
    view.model.set_path(path)
    block = {"type": "tool_result", "tool_use_id": "t", "content": "one line\n" * 12}
    view.model.set_bodies(
        [
            Body(uid=one.uid, kind="tool", call={"id": "t", "name": "bash", "input": {"command": "ls"}}, detail={},
                 message={"role": "user", "content": [block]})
            for one in path
        ]
    )  # fmt: skip
    view.flush()
    view.follow()
    QApplication.processEvents()
    shown = [one for one in view.findChildren(CodeView) if one.isVisible()]
    QTest.mouseClick(shown[-1], Qt.MouseButton.LeftButton, pos=QPoint(20, 8))
    assert QApplication.focusWidget() is shown[-1]
    view.verticalScrollBar().setValue(0)
    QApplication.processEvents()
    assert not shown[-1].isVisible() and QApplication.focusWidget() is view
    assert window.isActiveWindow()


def test_a_link_that_has_done_its_work_leaves_the_focus_beside_it(qtbot: Any) -> None:
    panel = FileDiffPanel()
    window = beside_a_button(panel, qtbot)
    rows = [DiffRow(kind="+", new=1, text="x")]
    start = FileDiff(change=FileChange(path="a.py", status="M"), rows=rows, truncated=True)
    panel.show_diff(start)
    panel.more_wanted.connect(lambda: panel.show_diff(start.model_copy(update={"truncated": False})))
    link = next(one for one in panel.findChildren(QPushButton) if one.property("role") == "link")
    QTest.mouseClick(link, Qt.MouseButton.LeftButton)
    assert not link.isVisible() and QApplication.focusWidget() is panel.view
    assert window.isActiveWindow()


def test_the_list_of_keys_has_those_of_the_message_and_of_the_changes(qtbot: Any) -> None:
    """They are no actions of a menu, and were nowhere to be found but by trying."""
    parent = QWidget()
    qtbot.addWidget(parent)
    keys = ShortcutList(parent, [])
    found: dict[str, str] = {}
    for at in range(keys.list.topLevelItemCount()):
        head = keys.list.topLevelItem(at)
        assert head is not None
        for index in range(head.childCount()):
            child = head.child(index)
            assert child is not None
            found[f"{head.text(0)}: {child.text(0)}"] = child.text(1)
    assert found["In the message: New line"] == "Shift+Enter"
    assert found["In the message: Interrupt the agent and send"] == "Ctrl+Enter"
    assert found["In the changes: Next change, previous change"] == "N P"
