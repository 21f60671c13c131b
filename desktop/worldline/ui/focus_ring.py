"""A ring around the list or view that has the keyboard: those paint no focus of their own."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRect, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QPlainTextEdit, QTextEdit, QWidget
from shiboken6 import isValid

from worldline.ui.theme import theme


class FocusRing(QWidget):
    """Lies over the window, lets the mouse through, and follows the focus."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()
        self._around: QWidget | None = None
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._moved)
        theme().changed.connect(self.update)

    def _moved(self, _old: QWidget | None, now: QWidget | None) -> None:
        if self._around is not None and isValid(self._around):
            self._around.removeEventFilter(self)
        self._around = None
        wanted = (
            isinstance(now, QAbstractScrollArea)
            and not isinstance(now, QPlainTextEdit | QTextEdit)
            # The tree marks the row that the keys work on.
            and now.objectName() != "tree"
            and now.window() is self.window()
        )
        self.setVisible(wanted)
        if wanted and now is not None:
            self._around = now
            now.installEventFilter(self)
            self._place()

    def _place(self) -> None:
        if self._around is not None and isValid(self._around):
            corner = self._around.mapTo(self.window(), self._around.rect().topLeft())
            self.setGeometry(QRect(corner, self._around.size()))
            self.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Move):
            self._place()
        elif event.type() == QEvent.Type.Hide:
            self.hide()
        return super().eventFilter(watched, event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(QPen(theme().tokens.color("accent"), 2))
        painter.drawRect(self.rect().adjusted(1, 1, -1, -1))
        painter.end()
