"""How a dialog comes back when its window is made anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QDialog, QWidget

if TYPE_CHECKING:
    from worldline.ui.main_window import MainWindow
    from worldline.ui.session_state import SessionState

How = Callable[["MainWindow", "SessionState"], object]


class Again(QObject):
    """A child of a dialog: how it is opened in the window that takes the place of its own."""

    def __init__(self, dialog: QDialog, how: How) -> None:
        super().__init__(dialog)
        self.how = how


def open_dialogs(window: QWidget) -> list[How]:
    """How the dialogs of a window that are open now are opened again."""
    direct = Qt.FindChildOption.FindDirectChildrenOnly
    return [
        again.how
        for dialog in window.findChildren(QDialog)
        if dialog.isVisible()
        for again in dialog.findChildren(Again, options=direct)
    ]
