"""Buttons that take no click of the mouse right after they moved."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, QTimer
from PySide6.QtWidgets import QAbstractButton, QWidget
from shiboken6 import isValid

MOMENT_MS = 400
"""In which nobody can have seen where a button is now."""
_PRESSES = frozenset({QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick})


class Still(QObject):
    """A line that comes or goes elsewhere in the window moves what is under the pointer: a click that was meant for
    what was there before must not decide. Keys are not kept from anything: they go where the focus is."""

    def __init__(
        self, row: QWidget, buttons: Sequence[QAbstractButton], ms: int = 0, *, new: bool = True
    ) -> None:
        """`row` holds the buttons; moves of it and of all that it lies in count, up to its window. With `new` buttons that
        have just come count as well: nobody knew of them. `ms` is how long, if not a moment."""
        super().__init__(row)
        self._row = row
        self._new = new
        self._buttons: list[QAbstractButton] = []
        self._settled: list[QPoint] = []
        """Where the buttons were when nothing had moved for a while: one that is back there has not moved."""
        self._watched: list[QWidget] = []
        self._moved = QTimer(self, singleShot=True, interval=ms or MOMENT_MS)
        self._moved.timeout.connect(self._settle)
        row.installEventFilter(self)
        self.guard(buttons)

    def guard(self, buttons: Sequence[QAbstractButton]) -> None:
        """These instead of those that there were."""
        for one in filter(isValid, self._buttons):
            one.removeEventFilter(self)
        self._buttons = list(buttons)
        self._settled = []
        for one in self._buttons:
            one.installEventFilter(self)
        if self._new and self._row.isVisible():
            self._moved.start()

    def _settle(self) -> None:
        self._settled = [_place(one) for one in self._buttons] if all(map(isValid, self._buttons)) else []

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

    @property
    def resting(self) -> bool:
        """Nothing has moved for a while: all clicks count."""
        return not self._moved.isActive()

    def _has_moved(self, button: QAbstractButton) -> bool:
        if self.resting:
            return False
        if not self._settled:
            return self._new
        return _place(button) != self._settled[self._buttons.index(button)]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.Move:
            self._moved.start()
        elif kind in _PRESSES and watched in self._buttons:
            assert isinstance(watched, QAbstractButton)
            return self._has_moved(watched)
        elif kind in (QEvent.Type.Show, QEvent.Type.ParentChange) and watched is self._row:
            self._watch()
            self._moved.start()
        return False


def _place(button: QAbstractButton) -> QPoint:
    return button.mapTo(button.window(), QPoint())
