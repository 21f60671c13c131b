"""A command with its risky parts underlined, all of it in sight."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from worldline.protocol.model import Approval
from worldline.ui.syntax.code_view import CodeLine, CodeView
from worldline.ui.syntax.lines import line_painter
from worldline.ui.theme import theme
from worldline.viewmodel.visible import visible

COLUMNS = 80
"""Characters of a command that fit into the dialog."""


class MarkedCommand(CodeView):
    """A command with its risky parts underlined."""

    def __init__(self, approval: Approval, parent: QWidget, columns: int = COLUMNS) -> None:
        super().__init__(parent, language="bash")
        self._marks = approval.marks
        self._command = approval.command
        # Nothing of a command may hide behind a scroll bar: long lines are broken where they are shown.
        self._starts = wrapped(approval.command, columns)
        ends = [*self._starts[1:], len(approval.command)]
        self.set_lines(
            [CodeLine(approval.command[a:b].rstrip("\n")) for a, b in zip(self._starts, ends, strict=True)]
        )
        self.setAccessibleName(self.tr("Command: {}").format(visible(approval.command)))
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        lines = line_painter()
        painter = QPainter(self)
        painter.setPen(QPen(QColor(theme().tokens.warn), 2))
        for at, (start, line) in enumerate(zip(self._starts, self.lines(), strict=True)):
            text = line.text
            for first, last, what in self._marks:
                a, b = max(first - start, 0), min(last - start, len(text))
                if a < b and what:
                    layout = lines.layout(text, self.language).lineAt(0)
                    y = 8 + (at + 1) * lines.height - 3
                    left, right = _x(layout.cursorToX(a)), _x(layout.cursorToX(b))
                    painter.drawLine(round(8 + left), y, round(8 + right), y)

    def selected_text(self) -> str:
        """As it would run, without the breaks that are only shown."""
        if self._selection is None:
            return ""
        (a, a_col), (b, b_col) = sorted(self._selection)
        return self._command[self._starts[a] + a_col : self._starts[b] + b_col]

    def text(self) -> str:
        return self._command


def wrapped(command: str, columns: int = COLUMNS) -> list[int]:
    """Where each shown line of a command begins: at its own line breaks, and before a word that would not fit."""
    starts, at = [0], 0
    for number, line in enumerate(command.split("\n")):
        if number:
            starts.append(at)
        begin = 0
        while len(line) - begin > columns:
            space = line.rfind(" ", begin + columns // 2, begin + columns)
            begin = space + 1 if space > 0 else begin + columns
            starts.append(at + begin)
        at += len(line) + 1
    return starts


def _x(value: Any) -> float:
    """PySide returns the position alone or with the cursor, by version."""
    return float(value[0]) if isinstance(value, tuple) else float(value)
