"""Pictures out of base64, large ones decoded beside the window.

Qt makes readers of pictures under one lock for all threads. A thread that reads from a buffer of ours asks Python for each
piece while it has that lock; the window, which has the interpreter, may wait for the lock at that moment: both for ever.
So beside the window pictures are read from a file, which Qt does by itself. (`QImage.fromData` keeps the interpreter for as
long as it decodes.)
"""

from __future__ import annotations

import base64
import tempfile
import threading
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QObject, QSize, Qt, Signal
from PySide6.QtGui import QImage, QImageReader

SMALL = 1_500_000
"""Pixels up to which a picture is decoded at once: some milliseconds."""
LARGEST = 2400
"""Longest side that is kept: no view shows more."""


def size_of(data: str) -> QSize:
    """Width and height, read from the head of the file; invalid for what is no picture."""
    if not data:
        return QSize()
    _buffer, reader = _reader(data)
    return reader.size()


def _bytes(data: str) -> bytes:
    """What base64 stands for; nothing for what is none: imported sessions hold pictures that were cut off."""
    try:
        return base64.b64decode(data)
    except ValueError:
        return b""


def _reader(data: str) -> tuple[QBuffer, QImageReader]:
    """The reader, and the buffer that it reads from: it must live as long."""
    buffer = QBuffer()
    buffer.setData(QByteArray(_bytes(data)))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    return buffer, QImageReader(buffer)


def decode(data: str) -> QImage:
    """A null image for what is none. For the thread of the window."""
    _buffer, reader = _reader(data)
    return _bounded(reader.read())


def decode_beside(data: str) -> QImage:
    """`decode` for any other thread."""
    with tempfile.TemporaryDirectory(prefix="worldline-picture-") as folder:
        path = Path(folder) / "picture"
        path.write_bytes(_bytes(data))
        return _bounded(QImageReader(str(path)).read())


def _bounded(image: QImage) -> QImage:
    if max(image.width(), image.height()) > LARGEST:
        image = image.scaled(
            LARGEST, LARGEST, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
        )  # fmt: skip
    return image


class Decoder(QObject):
    """Decodes some pictures at a time. `done` brings those of the last `start` only, in the thread of the window."""

    done = Signal(list)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._number = 0

    def start(self, pictures: list[str]) -> None:
        """Small ones are there when this returns."""
        self._number += 1
        sizes = [size_of(data) for data in pictures]
        if sum(size.width() * size.height() for size in sizes if size.isValid()) <= SMALL:
            self.done.emit([decode(data) if data else QImage() for data in pictures])
            return
        # A thread of Python: a QRunnable of Python may be collected while it runs.
        messenger = _Messenger()
        messenger.ready.connect(self._on_ready)
        threading.Thread(target=_work, args=(messenger, self._number, pictures), name="pictures").start()

    def _on_ready(self, number: int, images: list[QImage]) -> None:
        if number == self._number:
            self.done.emit(images)


class _Messenger(QObject):
    """Speaks for the work: whoever asked may be deleted by then, and Qt drops what nobody waits for."""

    ready = Signal(int, list)


def _work(messenger: _Messenger, number: int, pictures: list[str]) -> None:
    messenger.ready.emit(number, [decode_beside(data) if data else QImage() for data in pictures])
