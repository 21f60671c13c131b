"""How all tables look: no grid, heads at the left, rows that are chosen as a whole."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QTableWidget

from worldline.ui.inks import inked


def quiet(table: QTableWidget, *, row_height: int = 28) -> QTableWidget:
    """Make a table that is read and not written."""
    header = table.horizontalHeader()
    header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    header.setHighlightSections(False)
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(row_height)
    table.setShowGrid(False)
    table.setWordWrap(False)
    table.setTabKeyNavigation(False)
    inked(table)
    table.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
    for key, at in ((Qt.Key.Key_Home, 0), (Qt.Key.Key_End, -1)):
        shortcut = QShortcut(QKeySequence(key), table)
        shortcut.setContext(Qt.ShortcutContext.WidgetShortcut)
        shortcut.activated.connect(partial(_go, table, at))
    return table


def _go(table: QTableWidget, at: int) -> None:
    """To the first row (0) or the last (-1) that is seen: by itself a table goes to an end of the row."""
    rows = [row for row in range(table.rowCount()) if not table.isRowHidden(row)]
    if rows:
        table.setCurrentCell(rows[at], max(0, table.currentColumn()))
