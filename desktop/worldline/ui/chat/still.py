"""Buttons that take no click of the mouse right after they moved."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QElapsedTimer, QEvent, QObject
from PySide6.QtWidgets import QAbstractButton, QWidget
from shiboken6 import isValid

_PRESSES = frozenset({QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick})


class Still(QObject):
    """A line that comes or goes elsewhere in the window moves what is under the pointer: a click that was meant for
    what was there before must not decide. Keys are not kept from anything: they go where the focus is."""

    def __init__(self, row: QWidget, buttons: Sequence[QAbstractButton], ms: int) -> None:
        """`row` holds the buttons; moves of it and of all that it lies in count, up to its window."""
        super().__init__(row)
        self._row = row
        self._buttons = list(buttons)
        self._ms = ms
        self._watched: list[QWidget] = []
        self._moved = QElapsedTimer()
        row.installEventFilter(self)
        for button in self._buttons:
            button.installEventFilter(self)

    def _watch(self) -> None:
        """What the row lies in is known when it is shown; rows are put elsewhere later."""
        for one in filter(isValid, self._watched):
            one.removeEventFilter(self)
        self._watched = []
        around = self._row.parentWidget()
        while around is not None and not around.isWindow():
            around.installEventFilter(self)
            self._watched.append(around)
            around = around.parentWidget()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.Move:
            self._moved.start()
        elif kind in _PRESSES and watched in self._buttons:
            return self._moved.isValid() and not self._moved.hasExpired(self._ms)
        elif kind in (QEvent.Type.Show, QEvent.Type.ParentChange) and watched is self._row:
            self._watch()
        return False
