"""What the window remembers between two starts, and the looks among it."""

from __future__ import annotations

from PySide6.QtCore import QSettings, QSize

from worldline.core import paths
from worldline.ui.theme import theme


def settings() -> QSettings:
    """Sizes, theme, language, recent files: everything the window remembers."""
    return QSettings(str(paths.data_home() / "window.ini"), QSettings.Format.IniFormat)


def number(value: object, default: int = 0) -> int:
    """A number out of the settings, whatever stands there: they may be of another version, or written by hand."""
    try:
        return int(str(value))
    except ValueError:
        return default


def size_kept(store: QSettings, key: str) -> QSize | None:
    """A size out of the settings; None when there is none that a window can have."""
    value = store.value(key)
    return value if isinstance(value, QSize) and value.isValid() else None


def sizes_kept(store: QSettings, key: str) -> list[int]:
    """Sizes of the parts of a window; [] when something else stands there."""
    value = store.value(key)
    sizes = [number(one, -1) for one in value] if isinstance(value, list) else []
    return sizes if all(size >= 0 for size in sizes) and any(sizes) else []


def apply_looks(store: QSettings) -> None:
    """Size of the text and movement as they were chosen. Before the first widget."""
    theme().larger = theme().allowed(number(store.value("text_size", 0)))
    if store.contains("reduced_motion"):
        theme().set_reduced_motion(store.value("reduced_motion", False, bool) is True)
