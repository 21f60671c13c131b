"""Labels for texts of any length: one that breaks words that are wider than it, one that ends in …"""

from __future__ import annotations

import re

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QKeyEvent, QKeySequence, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QMenu

from worldline.ui.plain import as_tip

LONG_WORD = 28
"""Characters from which a word gets places to be broken at."""
_BREAK = "\u200b"
_WORD = re.compile(rf"\S{{{LONG_WORD},}}")


def breakable(text: str) -> str:
    """The text with places, which are not seen, where its longest words may go on in the next line."""

    def cut(word: re.Match[str]) -> str:
        pieces: list[str] = []
        for piece in re.split(r"(?<=[/\\._:,;=&?-])(?=[^/\\._:,;=&?-])", word[0]):
            pieces += [piece[at : at + LONG_WORD] for at in range(0, len(piece), LONG_WORD)]
        return _BREAK.join(pieces)

    return _WORD.sub(cut, text)


class WrapLabel(QLabel):
    """Plain text. With `setWordWrap` a path or a hash of hundreds of characters is broken as well: Qt alone would cut it
    off, or make the window as wide as it. `text` and what is copied are as they were given."""

    def __init__(self, text: str = "", parent: object = None) -> None:
        self._whole = text
        super().__init__(text, parent)  # type: ignore[call-overload]
        self.setTextFormat(Qt.TextFormat.PlainText)

    def text(self) -> str:
        return self._whole

    def setText(self, text: str) -> None:
        self._whole = text
        super().setText(breakable(text) if self.wordWrap() else text)

    def setWordWrap(self, on: bool) -> None:
        super().setWordWrap(on)
        self.setText(self._whole)

    def copy(self) -> None:
        """What is selected, else all of it."""
        QGuiApplication.clipboard().setText(self.selectedText().replace(_BREAK, "") or self._whole)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if not self.textInteractionFlags() & Qt.TextInteractionFlag.TextSelectableByMouse:
            event.ignore()
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.tr("Copy")).triggered.connect(self.copy)
        menu.popup(event.globalPos())


class ElidedLabel(QLabel):
    """One line that ends in … where there is no room; the whole of it on hover."""

    least = 60
    """Pixels that it keeps, if it needs them."""

    def minimumSizeHint(self) -> QSize:
        whole = super().minimumSizeHint()
        return QSize(min(self.least, whole.width()), whole.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.width())
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter, text)
        self.setToolTip(as_tip(self.text() if text != self.text() else ""))
