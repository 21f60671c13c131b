"""The nodes of a run that goes on breathe, unless the person wants no motion."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

from worldline.ui.session_state import SessionState
from worldline.ui.theme import theme

BREATH_MS = 90
STEPS = 24


class Pulse(QObject):
    """`show` gets how far a breath is, 0 to 1, while there are live nodes."""

    def __init__(self, state: SessionState, show: Callable[[float], object], parent: QObject) -> None:
        super().__init__(parent)
        self._state = state
        self._show = show
        self._step = 0
        self._timer = QTimer(self, interval=BREATH_MS)
        self._timer.timeout.connect(self._breathe)

    def begin(self) -> None:
        """Go on until no node is live any more."""
        if self._state.tree.live and not self._timer.isActive() and not theme().reduced_motion:
            self._timer.start()

    def _breathe(self) -> None:
        if not self._state.tree.live or theme().reduced_motion:
            self._timer.stop()
            return
        self._step = (self._step + 1) % STEPS
        self._show(abs(STEPS / 2 - self._step) / (STEPS / 2))
