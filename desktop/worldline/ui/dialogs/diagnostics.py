"""Diagnostics: retries, repairs, fallbacks, cache misses, hooks, timings. Everything can be copied."""

from __future__ import annotations

from functools import partial
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from worldline.protocol.model import Diagnostic
from worldline.ui.again import Again
from worldline.ui.chat import words
from worldline.ui.chat.row_base import ColorLabel, copy_text
from worldline.ui.dialogs.base import Dialog, in_front, while_open
from worldline.ui.inks import ink
from worldline.ui.plain import as_tip
from worldline.ui.session_state import SessionState
from worldline.ui.slices import in_slices
from worldline.ui.tables import quiet

KEPT = 5000
PART = 100


class DiagnosticsPane(QWidget):
    """A table of what happened under the hood; new rows come at the end. Activating a row asks for its node."""

    node_wanted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._items: list[Diagnostic] = []
        self._turn = 0
        """Counts the times that the table was filled: an older filling ends."""
        self._kind = QComboBox(self)
        self._kind.setAccessibleName(self.tr("Kind"))
        self._kind.addItem(self.tr("all kinds"), "")
        self._kind.currentIndexChanged.connect(self._show)
        self.search = QLineEdit(self)
        self.search.setPlaceholderText(self.tr("Search what happened"))
        self.search.setAccessibleName(self.tr("Search what happened"))
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._show)
        self.table = QTableWidget(0, 3, self)
        self.table.setHorizontalHeaderLabels([self.tr("Time"), self.tr("Kind"), self.tr("What happened")])
        self.table.horizontalHeader().setSectionResizeMode(2, QHeaderView.ResizeMode.Stretch)
        quiet(self.table)
        self.table.setSelectionBehavior(QTableWidget.SelectionBehavior.SelectRows)
        self.table.setAccessibleName(self.tr("Diagnostics"))
        self.table.cellActivated.connect(self._activated)
        self._empty = ColorLabel(
            self.tr("Nothing to report. Retries, repairs, fallbacks and cache misses would be listed here."),
            "muted",
            self,
        )
        self._empty.setWordWrap(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        filters = QHBoxLayout()
        filters.addWidget(self._kind)
        filters.addWidget(self.search, 1)
        layout.addLayout(filters)
        layout.addWidget(self._empty)
        layout.addWidget(self.table, 1)
        self._show()

    def set_items(self, items: list[Diagnostic]) -> None:
        self._items = items[-KEPT:]
        for kind in sorted({item.kind for item in items}):
            if self._kind.findData(kind) < 0:
                self._kind.addItem(words.diagnostic(kind), kind)
        self._show()

    def add(self, item: Diagnostic) -> None:
        self._items.append(item)
        if self._kind.findData(item.kind) < 0:
            self._kind.addItem(words.diagnostic(item.kind), item.kind)
        if self._wanted(item):
            bar = self.table.verticalScrollBar()
            at_end = bar.value() >= bar.maximum()
            self._add_row(item)
            if at_end:  # whoever reads further up goes on reading
                self.table.scrollToBottom()
        self._empty.hide()
        self.table.show()

    def _show(self) -> None:
        # Over some frames: a table of thousands of rows takes most of a second.
        self._turn += 1
        self.table.setRowCount(0)
        items = self.shown()
        self.table.setRowCount(len(items))
        turn = self._turn
        steps = [
            partial(self._fill, turn, first, items[first : first + PART])
            for first in range(0, len(items), PART)
        ]
        in_slices(self, [*steps, partial(self._filled, turn)])
        self._empty.setVisible(not self._items)
        self.table.setVisible(bool(self._items))

    def _fill(self, turn: int, first: int, items: list[Diagnostic]) -> None:
        if turn == self._turn:
            for row, item in enumerate(items, first):
                self._set_row(row, item)

    def _filled(self, turn: int) -> None:
        if turn == self._turn:
            self.table.resizeColumnToContents(0)
            self.table.resizeColumnToContents(1)

    def _wanted(self, item: Diagnostic) -> bool:
        wanted = self.search.text().strip().lower()
        text = f"{item.kind} {words.diagnostic(item.kind)} {item.detail}".lower()
        return self._kind.currentData() in ("", item.kind) and wanted in text

    def shown(self) -> list[Diagnostic]:
        """What the filters leave."""
        return [item for item in self._items if self._wanted(item)]

    def _activated(self, row: int, _column: int) -> None:
        cell = self.table.item(row, 0)
        node = str(cell.data(Qt.ItemDataRole.UserRole) or "") if cell is not None else ""
        if node:
            self.node_wanted.emit(node)

    def _add_row(self, item: Diagnostic) -> None:
        row = self.table.rowCount()
        self.table.insertRow(row)
        self._set_row(row, item)

    def _set_row(self, row: int, item: Diagnostic) -> None:
        for column, text in enumerate((words.clock(item.at), words.diagnostic(item.kind), item.detail)):
            cell = QTableWidgetItem(text)
            cell.setToolTip(as_tip(text))
            cell.setData(Qt.ItemDataRole.UserRole, item.node)
            if column < 2:
                ink(cell, "muted")
            self.table.setItem(row, column, cell)

    def as_text(self) -> str:
        """The rows that are shown, as tab-separated text."""
        lines = [
            f"{item.at}\t{item.kind}\t{item.node}\t{item.detail}\t{item.data or ''}" for item in self.shown()
        ]
        return "\n".join(["at\tkind\tnode\tdetail\tdata", *lines])


class DiagnosticsDialog(Dialog):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Diagnostics"), parent, width=820)
        self.resize(820, 520)
        self.setWindowModality(Qt.WindowModality.NonModal)
        self.pane = DiagnosticsPane(self)
        self.body.addWidget(self.pane, 1)
        self.add_button(self.tr("Copy what is shown"), lambda: copy_text(self.pane.as_text()), left=True)
        self.add_button(self.tr("Close"), self.reject)


def open_diagnostics(state: SessionState, parent: QWidget) -> DiagnosticsDialog:
    if (there := in_front(parent, DiagnosticsDialog)) is not None:
        return there
    dialog = DiagnosticsDialog(parent)
    Again(dialog, lambda window, state: open_diagnostics(state, window))

    def answered(result: dict[str, Any]) -> None:
        dialog.pane.set_items([Diagnostic.model_validate(one) for one in result["items"]])

    connection = state.diagnosed.connect(lambda raw: dialog.pane.add(Diagnostic.model_validate(raw)))
    dialog.finished.connect(lambda _code: state.diagnosed.disconnect(connection))
    dialog.pane.node_wanted.connect(state.reveal_asked)
    state.request("diagnostics", {"since": 0}, while_open(dialog, answered))
    dialog.show()
    return dialog
