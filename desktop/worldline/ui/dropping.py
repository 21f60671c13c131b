"""Files that are let go over a window: which of them it takes, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt

if TYPE_CHECKING:
    from PySide6.QtGui import QDragEnterEvent, QDropEvent


def welcome(event: QDragEnterEvent) -> None:
    """Files of this computer may be dropped; addresses of the web may not."""
    if any(url.isLocalFile() for url in event.mimeData().urls()):
        take(event)


def take(event: QDropEvent) -> None:
    """Say that it was taken, and never that it was moved: where that is believed the other side deletes the files."""
    event.setDropAction(Qt.DropAction.CopyAction)
    event.accept()


def files(event: QDropEvent) -> list[str]:
    """The files and folders, each once."""
    places = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
    found = list(dict.fromkeys(place for place in places if place))
    if found:
        take(event)
    return found
