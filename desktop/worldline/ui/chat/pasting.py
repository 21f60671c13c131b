"""What is pasted or dropped into a message: text, large text, pictures, files."""

from __future__ import annotations

import base64
import errno
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QImage, QImageReader

from worldline.viewmodel.mentions import named, relative

MAX_IMAGE = 1568
"""Longest side of an image that is sent: larger ones are scaled down by the service anyway."""
MAX_IMAGE_BYTES = 3_600_000
"""The service takes 5 MB of base64."""
QUICK = 85
"""The quickest compression that Qt has for PNG. The best takes twice as long for a tenth; from 90 on there is none at all,
and a screenshot would be twenty times as large with every request, or become a blurred JPEG to be let through."""
IMAGE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp"})
LARGE = 20_000
"""Characters from which on a paste is kept beside the field: a text field lays out all of what it holds, so that every
key would wait for it."""
LONG_LINE = 8_000


@dataclass(slots=True)
class Pasted:
    """What came in, sorted: `text` goes into the field, `large` beside it, `images` are sent as such."""

    text: str = ""
    large: str = ""
    images: list[QImage | Path] = field(default_factory=list)
    """Pictures, and files that hold one."""


def is_large(text: str) -> bool:
    """Whether a text is better kept beside the field."""
    return len(text) > LARGE or (
        len(text) > LONG_LINE and max(map(len, text.split("\n")), default=0) > LONG_LINE
    )


def are_pictures(source: QMimeData) -> bool:
    """Whether all of it would be sent as pictures, judged by names: nothing is read."""
    if urls := source.urls():
        return all(Path(url.path()).suffix.lower() in IMAGE_SUFFIXES for url in urls)
    return source.hasImage() and not source.text().strip()


def sort_out(source: QMimeData, root: str, opened: str = "") -> Pasted:
    """Text wins over a picture of itself, which office programs put beside it. `root`: files inside are named from there,
    and so are those of the folder `opened`, which the person sees, where `root` is a copy of it and has them too."""
    found = Pasted()
    words = source.text()
    if source.hasUrls() and any(url.isLocalFile() for url in source.urls()):
        for url in source.urls():
            _take(url, root, opened, found)
    elif source.hasImage() and (not words.strip() or source.hasUrls()):
        image = source.imageData()
        found.images.append(image if isinstance(image, QImage) else QImage(image))
    elif is_large(words):
        found.large = words
    else:
        found.text = words
    return found


def _take(url: QUrl, root: str, opened: str, found: Pasted) -> None:
    if not url.isLocalFile():
        found.text += url.toString() + " "
        return
    path = Path(url.toLocalFile())
    if is_picture(path):
        found.images.append(path)
    else:
        name, beside = relative(str(path), root), relative(str(path), opened)
        if beside != str(path) and Path(root, beside).exists():
            name = beside
        found.text += f"@{named(name)} "


def is_picture(path: Path) -> bool:
    """Whether a file holds a picture, by its head: the rest is read beside the window."""
    return path.suffix.lower() in IMAGE_SUFFIXES and path.is_file() and QImageReader(str(path)).canRead()


def read(path: Path) -> QImage:
    """The picture as it is to be looked at (cameras write on which side it stands), as large as it is sent."""
    reader = QImageReader(str(path))
    reader.setAutoTransform(True)
    size = reader.size()
    if max(size.width(), size.height()) > MAX_IMAGE:
        reader.setScaledSize(size.scaled(MAX_IMAGE, MAX_IMAGE, Qt.AspectRatioMode.KeepAspectRatio))
    return reader.read()


def packed(image: QImage) -> tuple[str, str]:
    """Media type and base64 of an image, small enough to be sent; two empty texts for one that holds nothing. Raises
    OSError where there is no room for it beside the window."""
    if image.isNull():
        return "", ""
    if max(image.width(), image.height()) > MAX_IMAGE:
        image = image.scaled(
            MAX_IMAGE, MAX_IMAGE, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
        )  # fmt: skip
    data, kind = _bytes(image, "PNG", QUICK), "image/png"
    if len(data) > MAX_IMAGE_BYTES:
        data, kind = _bytes(image, "JPG", 88), "image/jpeg"
    return kind, base64.b64encode(data).decode()


def _bytes(image: QImage, form: str, quality: int) -> bytes:
    # Through a file: a buffer of ours would be asked for each piece with Qt's lock held (see `ui.pictures`).
    with tempfile.TemporaryDirectory(prefix="worldline-picture-") as folder:
        path = Path(folder) / "picture"
        if not image.save(str(path), form, quality):  # type: ignore[call-overload]
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return path.read_bytes()
