"""The icon set: SVG files of our own in `currentColor` alone, coloured by token and cached.

`icon("search")` follows the theme: ask again on `theme().changed` (buttons made by `actions` do so by themselves).
"""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QObject, QSize, Qt
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QImage, QImageReader, QPainter, QPixmap
from PySide6.QtWidgets import QAbstractButton, QLabel

from worldline.core import paths
from worldline.ui import first_paint
from worldline.ui.theme import ICON, theme


@lru_cache(maxsize=512)
def _shape(name: str, pixels: int) -> QImage:
    """The icon in black; only where it covers what counts."""
    # The image plugin draws SVG without importing QtSvg: one module less at the start.
    data = QByteArray((paths.resources_dir() / "icons" / f"{name}.svg").read_bytes())
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer, QByteArray(b"svg"))
    reader.setScaledSize(QSize(pixels, pixels))
    image = reader.read()
    if image.isNull():
        raise FileNotFoundError(f"icon {name!r} cannot be drawn: {reader.errorString()}")
    return image.convertToFormat(QImage.Format.Format_ARGB32_Premultiplied)


@lru_cache(maxsize=512)
def _render(name: str, color: str, pixels: int) -> QPixmap:
    # An icon is of one colour. Drawing a hundred of them anew for another theme would stop the window for 15 ms.
    image = QImage(_shape(name, pixels))
    painter = QPainter(image)
    painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceIn)
    painter.fillRect(image.rect(), QColor(color))
    painter.end()
    return QPixmap.fromImage(image)


def pixmap(name: str, color: str = "text", size: int = ICON, ratio: float = 1.0) -> QPixmap:
    """The icon as a picture; `color` is a token or `#RRGGBB`, `ratio` the device pixel ratio."""
    found = QPixmap(_render(name, theme().tokens.color(color).name(), max(1, round(size * ratio))))
    found.setDevicePixelRatio(ratio)
    return found


def icon(name: str, color: str = "text", size: int = ICON) -> QIcon:
    """The icon for buttons and menus, with a muted disabled state, sharp at any scale. Empty before the first
    paint, which drawing forty of them would put off; `theme().changed` says when to ask again."""
    if first_paint.pending():
        # Not a null icon: buttons would show their text instead.
        result = QIcon()
        empty = QPixmap(size, size)
        empty.fill(Qt.GlobalColor.transparent)
        result.addPixmap(empty)
        return result
    sharpest = QGuiApplication.instance().devicePixelRatio()  # type: ignore[union-attr]
    tokens = theme().tokens
    return _icon(name, tokens.color(color).name(), tokens.color("muted").name(), size, sharpest)


@lru_cache(maxsize=512)
def _icon(name: str, color: str, muted: str, size: int, sharpest: float) -> QIcon:
    """Shared: rows of the chat ask for the same six again and again."""
    result = QIcon()
    # Also at exactly the ratio of the screen: at 125 or 150 % any other would be scaled and blurred.
    for ratio in sorted({1.0, 2.0, sharpest} if sharpest > 1 else {1.0}):
        result.addPixmap(pixmap(name, color, size, ratio))
        result.addPixmap(pixmap(name, muted, size, ratio), QIcon.Mode.Disabled)
    return result


class _Keeper(QObject):
    """Gives its parent the icon anew when the theme changes; goes with it."""

    def __init__(self, target: QAbstractButton | QLabel) -> None:
        super().__init__(target)
        self._target = target
        self.name, self.token, self.size = "", "muted", ICON
        theme().changed.connect(self.show)

    def show(self) -> None:
        if isinstance(self._target, QLabel):
            self._target.setPixmap(pixmap(self.name, self.token, self.size, self._target.devicePixelRatioF()))
        else:
            self._target.setIcon(icon(self.name, self.token, self.size))


def keep(target: QAbstractButton | QLabel, name: str, token: str = "muted", size: int = ICON) -> None:
    """Give a button or label an icon that follows the theme; call it again for another one."""
    keeper = target.findChild(_Keeper, options=Qt.FindChildOption.FindDirectChildrenOnly) or _Keeper(target)
    keeper.name, keeper.token, keeper.size = name, token, size
    keeper.show()


def logo(size: int = 256) -> QIcon:
    if first_paint.pending():
        return QIcon()
    return QIcon(pixmap("worldline", "accent", size))
