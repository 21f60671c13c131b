"""Quiet lines above the message: what just happened, what is unusual. They never take the focus."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAccessible, QAccessibleEvent, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from worldline.ui import icons
from worldline.ui.labels import WrapLabel
from worldline.ui.plain import as_label
from worldline.ui.still import Still
from worldline.ui.theme import SPACE_L, SPACE_S, SPACE_XS, theme

Button = tuple[str, Callable[[], object]]
LEAST_HEIGHT = 36
"""Pixels: of a line of one row."""
FOR_THE_REST = 320
"""Pixels of the height of a window that are never theirs: bars, message and a little of the conversation."""
LEAST_CHARS = 32
"""Of the text that must fit into a line beside the buttons."""


class Notice(QFrame):
    def __init__(
        self, text: str, icon: str, color: str, buttons: Sequence[Button], *, closable: bool, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.setProperty("role", "notice")
        rows = QVBoxLayout(self)
        rows.setContentsMargins(SPACE_L, SPACE_XS, SPACE_S, SPACE_XS)
        rows.setSpacing(0)
        self._row = row = QHBoxLayout()
        row.setSpacing(SPACE_S)
        rows.addLayout(row)
        self._below = QHBoxLayout()
        self._below.addStretch(1)
        rows.addLayout(self._below)
        self._icon, self._color = icon, color
        self._picture = QLabel(self)
        row.addWidget(self._picture, 0, Qt.AlignmentFlag.AlignVCenter)
        self.text = WrapLabel(text, self)
        self.text.setWordWrap(True)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)  # of a label that wraps; a new policy forgets it
        self.text.setSizePolicy(policy)
        row.addWidget(self.text, 1)
        self.buttons: list[QPushButton] = []
        self._choices = QWidget(self)
        choices = QHBoxLayout(self._choices)
        choices.setContentsMargins(0, 0, 0, 0)
        choices.setSpacing(SPACE_S)
        for label, call in buttons:
            button = QPushButton(as_label(label), self)
            button.setProperty("role", "link")
            button.clicked.connect(lambda _checked=False, call=call: call())
            choices.addWidget(button)
            self.buttons.append(button)
        row.addWidget(self._choices)
        self._choices.setVisible(bool(buttons))
        self.close_button = QToolButton(self)
        self.close_button.setAccessibleName(self.tr("Close this line"))
        self.close_button.setVisible(closable)
        row.addWidget(self.close_button)
        Still(self, (*self.buttons, self.close_button))
        theme().changed.connect(self._recolour)
        self._recolour()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Beside many buttons a narrow line would have a word in each row: they go below it."""
        super().resizeEvent(event)
        text, choices = self.text, self._choices
        least = min(text.fontMetrics().averageCharWidth() * LEAST_CHARS, text.sizeHint().width())
        others = sum(one.sizeHint().width() + SPACE_S for one in (self._picture, self.close_button, choices))
        beside = event.size().width() - SPACE_L - SPACE_S - others >= least
        if beside != (self._row.indexOf(choices) >= 0):
            if beside:
                self._row.insertWidget(2, choices)
            else:
                self._below.addWidget(choices)

    def _recolour(self) -> None:
        self._picture.setPixmap(icons.pixmap(self._icon, self._color, ratio=self.devicePixelRatioF()))
        self.close_button.setIcon(icons.icon("close", "muted"))


class Notices(QScrollArea):
    """The lines of one window, by key: a new one with the same key replaces the old one. As high as they are, but never so
    high that they push away what they stand over: then they scroll, and the newest is seen."""

    focus_left = Signal()
    """A line that had the keyboard has gone: Qt would hand it to whatever comes next in the window."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.items: dict[str, Notice] = {}
        self._inside = inside = QWidget()
        self._layout = QVBoxLayout(inside)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)
        self.setWidget(inside)
        self.verticalScrollBar().rangeChanged.connect(
            lambda _low, end: self.verticalScrollBar().setValue(end)
        )
        self.hide()
        parent.window().installEventFilter(self)

    def _needed(self, width: int) -> int:
        return self._layout.totalHeightForWidth(width)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        high = self.window().height()
        return min(self._needed(width), max(LEAST_HEIGHT, min(high * 2 // 5, high - FOR_THE_REST)))

    def sizeHint(self) -> QSize:
        width = self.width() or 400
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(0, min(LEAST_HEIGHT, self._needed(self.width() or 400)))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # Of the window: how high they may be depends on it. Of the lines inside: they are higher or lower now. Of a button:
        # Qt scrolls to it from another line only, and not when the keyboard comes from outside.
        if (
            event.type() == QEvent.Type.FocusIn
            and isinstance(watched, QWidget)
            and self.isAncestorOf(watched)
        ):
            self.ensureWidgetVisible(watched, 0, 0)
        elif self.items and (
            (event.type() == QEvent.Type.LayoutRequest and watched is self._inside)
            # A request of the window is answered by no new one: it would ask for ever.
            or (event.type() == QEvent.Type.Resize and watched is not self._inside)
        ):
            self.updateGeometry()
        return super().eventFilter(watched, event)

    def say(
        self,
        key: str,
        text: str,
        *,
        icon: str = "info",
        color: str = "accent",
        buttons: Sequence[Button] = (),
        closable: bool = True,
        seconds: float = 0,
    ) -> Notice:
        """Show a line; `seconds` > 0 takes it away by itself."""
        self.clear(key)
        notice = Notice(text, icon, color, buttons, closable=closable, parent=self._inside)
        notice.close_button.clicked.connect(lambda *_args: self.clear(key))
        for button in (*notice.buttons, notice.close_button):
            button.installEventFilter(self)
        self.items[key] = notice
        self._layout.addWidget(notice)
        notice.show()
        self.updateGeometry()
        self.show()
        if seconds > 0:
            QTimer.singleShot(int(seconds * 1000), notice, lambda: self._expire(key, notice))
        if QAccessible.isActive():
            QAccessible.updateAccessibility(QAccessibleEvent(notice.text, QAccessible.Event.Alert))
        return notice

    def _expire(self, key: str, notice: Notice) -> None:
        if self.items.get(key) is notice:
            self.clear(key)

    def clear(self, key: str) -> None:
        notice = self.items.pop(key, None)
        if notice is not None:
            focus = QApplication.focusWidget()
            had_focus = focus is not None and notice.isAncestorOf(focus)
            self._layout.removeWidget(notice)
            notice.hide()
            notice.deleteLater()
            self.updateGeometry()
            if had_focus:
                self.focus_left.emit()
        if not self.items:
            self.hide()
