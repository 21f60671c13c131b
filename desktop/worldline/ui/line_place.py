"""Where the quiet lines of a window are: over the message that is being written, or below the panes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable
from weakref import ref

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QVBoxLayout, QWidget
from shiboken6 import isValid

from worldline.ui.notices import Notices


@runtime_checkable
class TakesLines(Protocol):
    """A pane with a place for the lines of the window."""

    def take_lines(self, lines: QWidget) -> None:
        """Show them where they move neither what is written in nor another pane."""
        ...


class LinePlace(QObject):
    """Keeps them where they are seen. Below the panes a line that comes or goes makes all of them less or more high: the
    field somebody writes in moved under the pointer. In the chat only the conversation gives room, as it does anyway
    when text comes; while the chat is not to be seen (another pane is in front, or it is not made yet), they are below."""

    def __init__(self, lines: Notices, below: QVBoxLayout, at: int, shade: QWidget) -> None:
        """`at`: where in `below` they are while no chat shows them. `shade`: what lies over the chat when it is seen."""
        super().__init__(lines)
        self._lines, self._below, self._at, self._shade = lines, below, at, shade
        self._chat: Callable[[], QWidget | None] = lambda: None
        """Not held: what a window was made of goes with it."""
        self._inside = False
        below.insertWidget(at, lines)
        shade.installEventFilter(self)

    def follow(self, chat: QWidget) -> None:
        """This is the pane of the chat from now on."""
        if (before := self._chat()) is not None and isValid(before):
            before.removeEventFilter(self)
        self._chat = ref(chat)
        self._inside = False
        chat.installEventFilter(self)
        self._put()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show:
            self._put()
        elif event.type() == QEvent.Type.Hide:
            # Not yet: what is being hidden still counts as seen.
            QTimer.singleShot(0, self, self._put)
        return False

    def _put(self) -> None:
        chat = self._chat()
        if chat is None or not isValid(chat):
            return  # the window is coming or going
        # Seen in the window, even if that is hidden itself.
        inside = isinstance(chat, TakesLines) and chat.isVisibleTo(chat.window()) and self._shade.isHidden()
        if inside == self._inside:
            return
        self._inside = inside
        if inside:
            assert isinstance(chat, TakesLines)
            chat.take_lines(self._lines)
        else:
            self._below.insertWidget(self._at, self._lines)
        self._lines.setVisible(bool(self._lines.items))
