"""Every view and dialog with sample data: it opens, it is accessible, it can be left, and it obeys the house rules."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QComboBox,
    QDialog,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QSlider,
    QWidget,
)

from worldline.ui.dialogs.base import Dialog
from worldline.ui.gallery import DIALOGS, GALLERY, PARTS
from worldline.ui.theme import theme

UI = Path(__file__).resolve().parents[2] / "desktop" / "worldline" / "ui"
INTERACTIVE = (
    QAbstractButton,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QAbstractItemView,
    QAbstractSpinBox,
    QSlider,
)


def open_one(name: str, qtbot: Any) -> QWidget:
    widget = GALLERY[name]()
    widget.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(widget)
    widget.show()
    qtbot.waitExposed(widget)
    return widget


@pytest.fixture(params=sorted(GALLERY))
def shown(request: pytest.FixtureRequest, qtbot: Any) -> QWidget:
    return open_one(request.param, qtbot)


@pytest.fixture(params=sorted(DIALOGS))
def dialog(request: pytest.FixtureRequest, qtbot: Any) -> Dialog:
    found = open_one(request.param, qtbot)
    assert isinstance(found, Dialog)
    return found


def test_everything_that_can_be_used_has_a_name_and_a_role(shown: QWidget) -> None:
    nameless = []
    for widget in shown.findChildren(QWidget):
        if (
            not isinstance(widget, INTERACTIVE)
            or not widget.isVisibleTo(shown)
            or widget.objectName().startswith("qt_")
        ):
            continue
        if isinstance(widget.parentWidget(), QComboBox | QAbstractSpinBox | QAbstractItemView):
            continue
        face = QAccessible.queryAccessibleInterface(widget)
        assert face is not None
        name = face.text(QAccessible.Text.Name)
        if not name.strip() or face.role() == QAccessible.Role.NoRole:
            nameless.append(f"{type(widget).__name__} in {type(widget.parentWidget()).__name__}")
    assert nameless == []


def test_text_fits(shown: QWidget) -> None:
    """No button is narrower than its words and the room around them, no wrapped label lower than its text."""
    from PySide6.QtWidgets import QLabel

    cut = []
    for button in shown.findChildren(QPushButton):
        if button.isVisible() and button.text() and button.sizeHint().width() > button.width():
            cut.append(button.text())
    for label in shown.findChildren(QLabel):
        if (
            label.isVisible()
            and label.wordWrap()
            and label.text()
            and label.heightForWidth(label.width()) > label.height() + 1
        ):
            cut.append(label.text())
    assert cut == []


def test_dialogs_are_left_by_escape_and_nothing_dangerous_is_the_default(dialog: Dialog) -> None:
    for button in dialog.findChildren(QPushButton):
        if button.isDefault():
            assert button.property("role") != "danger"
            assert not any(word in button.text() for word in ("Allow", "Go and fork", "Bring it", "Delete"))
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


def test_a_part_of_a_window_is_no_dialog(qtbot: Any) -> None:
    for name in PARTS:
        assert not isinstance(open_one(name, qtbot), QDialog), f"{name} belongs to DIALOGS"


@pytest.mark.parametrize("name", ["chat", "approval"])
def test_it_can_be_drawn_in_every_theme(name: str, qtbot: Any) -> None:
    widget = GALLERY[name]()
    widget.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(widget)
    widget.show()
    for one in ("dark", "light"):
        theme().set_name(one)  # type: ignore[arg-type]
        assert not widget.grab().isNull()


def test_no_dialog_is_executed_and_no_colour_is_written_by_hand() -> None:
    wrong = []
    for folder in ("chat", "diff", "dialogs", "compare", "markdown", "syntax"):
        for path in (UI / folder).rglob("*.py"):
            text = path.read_text("utf-8")
            if re.search(r"\.exec\(\)", text):
                wrong.append(f"{path.name}: exec")
            if re.search(r"QColor\(\s*[\"']#", text):
                wrong.append(f"{path.name}: colour")
    assert wrong == []


def test_lines_of_a_dialog_stay_together_in_a_large_window(dialog: Dialog) -> None:
    before = [dialog.body.itemAt(at).geometry().height() for at in range(dialog.body.count())]
    dialog.resize(1600, 1200)
    QTest.qWait(1)
    for at in range(dialog.body.count()):
        item, stretch = dialog.body.itemAt(at), dialog.body.stretch(at)
        if item.widget() is None or stretch or item.expandingDirections() & Qt.Orientation.Vertical:
            continue
        assert item.geometry().height() <= before[at], item.widget()
