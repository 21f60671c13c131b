"""The desktop ends: nobody is asked anything then, and nothing is cut off."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtGui import QGuiApplication, QSessionManager

_USED = frozenset({QEvent.Type.MouseButtonPress, QEvent.Type.KeyPress})
FORGOTTEN_MS = 60_000
"""After an announcement that nothing has followed."""


class Logout(QObject):
    """Whether what closes the windows is the end of the desktop session. Everything is saved as it happens, so there is
    nothing to ask about; a question would keep the computer from shutting down until somebody comes and answers it.

    The desktop announces its end, and can call it off without a word. So an announcement holds until somebody works in a
    window again, and not for long."""

    def __init__(self, app: QGuiApplication) -> None:
        super().__init__(app)
        self._app = app
        self.near = False
        """Windows close without a question, and their agents end in order."""
        self._limit = QTimer(self, singleShot=True, interval=FORGOTTEN_MS)
        self._limit.timeout.connect(self._forget)
        app.commitDataRequest.connect(self._announced)

    def _announced(self, manager: QSessionManager) -> None:
        # At the next login it would start the program with the arguments of the toolkit, which it does not know.
        manager.setRestartHint(QSessionManager.RestartHint.RestartNever)
        self.expect()

    def expect(self) -> None:
        """The desktop has said that it is about to end."""
        self.near = True
        self._limit.start()
        # Every event of the program goes through this filter: it is there for as long as it is needed.
        self._app.installEventFilter(self)

    def _forget(self) -> None:
        self.near = False
        self._limit.stop()
        self._app.removeEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _USED and event.spontaneous():
            self._forget()
        return False
