"""Pictures of a message made ready to be sent, large ones beside the window: a photo takes half a second."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage, QImageReader

from worldline.ui.chat.pasting import packed, read
from worldline.ui.pictures import SMALL

Picture = QImage | Path


class _Messenger(QObject):
    """Speaks for the thread: the composer may be gone by then, and Qt drops what nobody waits for."""

    ready = Signal(str, str, str, str)


@cache
def _thread() -> ThreadPoolExecutor:
    """One for all: pictures come in the order in which they were given."""
    return ThreadPoolExecutor(1, thread_name_prefix="packing")


class Packer(QObject):
    """Gives pictures back in their order, small ones at once."""

    done = Signal(str, str)
    """Media type, base64."""
    failed = Signal(str, str)
    """A file that looks like a picture and is none, by its name; or why a picture cannot be made ready."""
    changed = Signal()
    """`pending` is another number, or it stayed 0 and a picture was given back at once."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.pending = 0
        """Pictures that are still being made ready."""
        self._said = _Messenger()
        self._said.ready.connect(self._on_ready)

    def take(self, picture: Picture) -> None:
        if not self.pending and _pixels(picture) <= SMALL:
            self._give(*_pack(picture))
            self.changed.emit()
            return
        self.pending += 1
        self.changed.emit()
        said = self._said
        # A copy of its own: the thread must not share what the window may still paint.
        own = picture.copy() if isinstance(picture, QImage) else picture
        _thread().submit(lambda: said.ready.emit(*_pack(own)))

    def _on_ready(self, media_type: str, data: str, name: str, why: str) -> None:
        self.pending -= 1
        self._give(media_type, data, name, why)
        self.changed.emit()

    def _give(self, media_type: str, data: str, name: str, why: str) -> None:
        if data:
            self.done.emit(media_type, data)
        elif name or why:
            self.failed.emit(name, why)


def _pixels(picture: Picture) -> int:
    size = picture.size() if isinstance(picture, QImage) else QImageReader(str(picture)).size()
    return max(0, size.width()) * max(0, size.height())


def _pack(picture: Picture) -> tuple[str, str, str, str]:
    """Media type, base64, the name of the file it came from, and why it failed where that is not the picture's fault."""
    image, name = (picture, "") if isinstance(picture, QImage) else (read(picture), picture.name)
    try:
        return (*packed(image), name, "")
    except OSError as error:
        return "", "", name, error.strerror or str(error)
