"""Files that are dragged over a window and let go there: which of them it takes, how, and that it is seen before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget

from worldline.ui.theme import RADIUS, SPACE_M, SPACE_S, theme

if TYPE_CHECKING:
    from PySide6.QtGui import QDragEnterEvent, QDropEvent, QPaintEvent


def welcome(event: QDragEnterEvent, over: QWidget, words: str) -> None:
    """Files of this computer may be dropped, addresses of the web may not. What may is shown over `over`, with what would
    come of it; `end` when it leaves, and `files` when it is let go."""
    if any(url.isLocalFile() for url in event.mimeData().urls()):
        take(event)
        begin(over, words)


def take(event: QDropEvent) -> None:
    """Say that it was taken, and never that it was moved: where that is believed the other side deletes the files."""
    event.setDropAction(Qt.DropAction.CopyAction)
    event.accept()


def files(event: QDropEvent, over: QWidget) -> list[str]:
    """The files and folders that were let go over `over`, each once."""
    end(over)
    places = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
    found = list(dict.fromkeys(place for place in places if place))
    if found:
        take(event)
    return found


def begin(over: QWidget, words: str) -> None:
    """Show over `over` that it takes what is being dragged, and what would come of it."""
    frame = _frame_of(over) or DropFrame(over)
    frame.words = words
    frame.setGeometry(over.rect())
    frame.raise_()
    frame.show()


def end(over: QWidget) -> None:
    """What was dragged has gone, or was let go."""
    if (frame := _frame_of(over)) is not None:
        frame.hide()


def _frame_of(over: QWidget) -> DropFrame | None:
    return over.findChild(DropFrame, options=Qt.FindChildOption.FindDirectChildrenOnly)


class DropFrame(QWidget):
    """A frame over the place that would take what is being dragged. The drag goes on below it."""

    EDGE = 2

    def __init__(self, over: QWidget) -> None:
        super().__init__(over)
        self.words = ""
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        theme().changed.connect(self.update)

    def paintEvent(self, _event: QPaintEvent) -> None:
        tokens = theme().tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        half = self.EDGE / 2
        pen = painter.pen()
        pen.setColor(tokens.color("accent"))
        pen.setWidthF(self.EDGE)
        painter.setPen(pen)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(half, half, -half, -half), RADIUS, RADIUS)
        painter.setFont(theme().font_ui(0, bold=True))
        room = painter.fontMetrics().boundingRect(self.words).adjusted(-SPACE_M, -SPACE_S, SPACE_M, SPACE_S)
        room.moveCenter(self.rect().center())
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(tokens.color("accent"))
        painter.drawRoundedRect(room, RADIUS, RADIUS)
        painter.setPen(tokens.color("on_accent"))
        painter.drawText(room, Qt.AlignmentFlag.AlignCenter, self.words)
