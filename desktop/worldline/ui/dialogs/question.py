"""A question before something is done that one may not want."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from worldline.ui.theme import theme


def ask_first(
    parent: QWidget, title: str, question: str, more: str, yes: str, act: Callable[[], object],
    *, role: QMessageBox.ButtonRole = QMessageBox.ButtonRole.AcceptRole,
) -> QMessageBox:  # fmt: skip
    """Shown, not waited for: `act` is called when `yes` is clicked. Cancel is the default, and what Escape does."""
    box = QMessageBox(parent)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowTitle(title)
    box.setText(question)
    box.setInformativeText(more)
    do = box.addButton(yes, role)
    cancel = box.addButton(QMessageBox.StandardButton.Cancel)
    box.setDefaultButton(cancel)
    box.setEscapeButton(cancel)

    def stay_safe() -> None:
        # Another style lays the buttons out anew, and then the first one is what Enter means.
        box.setDefaultButton(cancel)
        cancel.setFocus()

    theme().changed.connect(stay_safe)
    box.destroyed.connect(lambda: theme().changed.disconnect(stay_safe))
    box.finished.connect(lambda _code: act() if box.clickedButton() is do else None)
    box.open()
    return box
