"""How all tables look: no grid, heads at the left, rows that are chosen as a whole."""

from __future__ import annotations

from PySide6.QtCore import Qt
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
    return table
