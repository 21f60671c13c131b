"""What a person sees of the chat: rows and their parts are found by what is on screen, not by the books of the view."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from worldline.ui.chat.row_base import RowWidget
from worldline.ui.chat.view import ChatView
from worldline.ui.markdown.view import MarkdownView


def row_on_screen(view: ChatView, key: str) -> RowWidget | None:
    """The row of this node, if some of it is in sight."""
    sight = view.viewport().rect()
    return next(
        (
            row
            for row in view.viewport().findChildren(RowWidget)
            if row.isVisible() and row.row.key == key and row.geometry().intersects(sight)
        ),
        None,
    )


def parts_on_screen(view: MarkdownView) -> list[QWidget]:
    """The parts of a message that are shown, from top to bottom."""
    direct = Qt.FindChildOption.FindDirectChildrenOnly
    return sorted(
        (one for one in view.findChildren(QWidget, options=direct) if one.isVisible()), key=QWidget.y
    )
