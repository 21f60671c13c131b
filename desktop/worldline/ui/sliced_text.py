"""A read-only text field for megabytes: they go in over some frames, so that the window never waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from worldline.ui.theme import theme

SLICE = 40_000
"""Characters that go in at once: about ten milliseconds."""
LONG_LINE = 4_000
"""A text field lays out a line as a whole; longer ones are broken for reading. What is copied as a whole is not."""


class SlicedText(QPlainTextEdit):
    """What is shown follows what was given; `whole` is all of that, also before it is shown."""

    completed = Signal()
    """All of it is shown by now."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setFont(theme().font_code())
        self._sources: deque[Iterator[str]] = deque()
        """They give what has not been shown yet."""
        self._made: list[str] = []
        """What they have given so far."""
        self._piece, self._at = 0, 0
        """What is shown ends in this piece, at this character."""
        self._timer = QTimer(self, singleShot=True, interval=1)
        self._timer.timeout.connect(self._go_on)

    def set_pieces(self, pieces: Iterator[str]) -> None:
        """Show another text from its beginning; it may be made while it is shown."""
        self._timer.stop()
        self._sources = deque([pieces])
        self._made, self._piece, self._at = [], 0, 0
        self.clear()
        self._go_on()

    def add(self, text: str) -> None:
        """More of the same text."""
        self._sources.append(iter((text,)))
        if not self._timer.isActive():
            self._go_on()

    def finish(self) -> None:
        """Put in at once what is left: whoever searches wants all of it."""
        self._timer.stop()
        while not self.all_shown:
            self._slice()

    @property
    def whole(self) -> str:
        while self._make():
            pass  # a piece each time
        return "".join(self._made)

    @property
    def all_shown(self) -> bool:
        return not self._left()

    def _make(self) -> bool:
        """Take one more piece from the sources; False = there is none."""
        while self._sources:
            piece = next(self._sources[0], None)
            if piece is not None:
                self._made.append(piece)
                return True
            self._sources.popleft()
        return False

    def _left(self) -> bool:
        """Stand where there is something to be shown; False = there is nothing."""
        while self._piece < len(self._made) or self._make():
            if self._at < len(self._made[self._piece]):
                return True
            self._piece, self._at = self._piece + 1, 0
        return False

    def _go_on(self) -> None:
        self._slice()
        if not self.all_shown:
            self._timer.start()
        else:
            self.completed.emit()

    def _slice(self) -> None:
        first = self.document().isEmpty()
        parts, room = [], SLICE
        while room and self._left():
            part = self._made[self._piece][self._at : self._at + room]
            self._at += len(part)
            parts.append(part)
            room -= len(part)
        # A cursor of its own: what is selected and where one reads stay as they are.
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(_broken("".join(parts), cursor.positionInBlock()))
        if first:
            self.moveCursor(QTextCursor.MoveOperation.Start)


def _broken(text: str, column: int) -> str:
    """The text with its longest lines broken. `column`: how much of its first line is there already."""
    if max(map(len, text.split("\n")), default=0) + column <= LONG_LINE:
        return text
    lines = []
    for number, line in enumerate(text.split("\n")):
        room = max(0, LONG_LINE - column) if number == 0 else LONG_LINE
        parts = [line[:room]] if room or not line else []
        parts += [line[at : at + LONG_LINE] for at in range(room, len(line), LONG_LINE)]
        # The line that is there already is full: what follows begins a new one.
        lines.append(("" if room or not line else "\n") + "\n".join(parts))
    return "\n".join(lines)
