"""A read-only text field for megabytes: they go in over some frames, so that the window never waits."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from worldline.ui.theme import theme

SLICE = 40_000
"""Characters that go in at once: about ten milliseconds."""
LONG_LINE = 4_000
"""A text field lays out a line as a whole; longer ones are broken for reading. What is copied as a whole is not."""


class SlicedText(QPlainTextEdit):
    """`whole` is all that was given; what is shown follows it."""

    completed = Signal()
    """All of it is shown by now."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setFont(theme().font_code())
        self.whole = ""
        self._shown = 0
        self._timer = QTimer(self, singleShot=True, interval=1)
        self._timer.timeout.connect(self._go_on)

    def set_whole(self, text: str) -> None:
        """Show another text from its beginning."""
        self._timer.stop()
        self.whole, self._shown = text, 0
        self.clear()
        self._go_on()

    def add(self, text: str) -> None:
        """More of the same text."""
        self.whole += text
        if not self._timer.isActive():
            self._go_on()

    def finish(self) -> None:
        """Put in at once what is left: whoever searches wants all of it."""
        self._timer.stop()
        while self._shown < len(self.whole):
            self._slice()

    @property
    def all_shown(self) -> bool:
        return self._shown >= len(self.whole)

    def _go_on(self) -> None:
        self._slice()
        if not self.all_shown:
            self._timer.start()
        else:
            self.completed.emit()

    def _slice(self) -> None:
        first = self._shown == 0
        part = self.whole[self._shown : self._shown + SLICE]
        self._shown += len(part)
        # A cursor of its own: what is selected and where one reads stay as they are.
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(_broken(part, cursor.positionInBlock()))
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
