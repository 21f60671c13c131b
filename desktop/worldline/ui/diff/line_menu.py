"""What can be done with a line of a diff."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu

from worldline.core.background import UNSURE

translate = QCoreApplication.translate

if TYPE_CHECKING:
    from worldline.ui.diff.view import DiffView


def show_menu(view: DiffView, at: int, place: QPoint) -> None:
    """`at`: index of the line in the rows of the diff; `place`: where on the screen."""
    menu = QMenu(view)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    copy = menu.addAction(translate("DiffView", "Copy"))
    copy.triggered.connect(lambda: QGuiApplication.clipboard().setText(view.selected_text()))
    copy.setEnabled(bool(view.selected_text()))
    menu.addAction(translate("DiffView", "Search this file…")).triggered.connect(view.search_asked)
    if view.offers:
        hunk = view.model.hunk_of(at)
        menu.addSeparator()
        take = menu.addAction(translate("DiffView", "Take this hunk"))
        take.triggered.connect(lambda: view.hunk_action.emit("take", hunk))
        take.setEnabled(view.can_take and view.whole_hunks)
        revert = menu.addAction(translate("DiffView", "Revert this hunk (what is there is saved first)"))
        revert.triggered.connect(lambda: view.hunk_action.emit("revert", hunk))
        revert.setEnabled(view.whole_hunks)
    author = view.model.rows[at].author
    if author and author not in ("user", UNSURE):
        menu.addSeparator()
        menu.addAction(translate("DiffView", "Go to the step that wrote this")).triggered.connect(
            lambda: view.author_clicked.emit(author)
        )
    menu.popup(place)
