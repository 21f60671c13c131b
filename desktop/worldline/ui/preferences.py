"""What the window remembers between two starts, and the looks among it."""

from __future__ import annotations

from PySide6.QtCore import QSettings

from worldline.core import paths
from worldline.ui.theme import theme


def settings() -> QSettings:
    """Sizes, theme, language, recent files: everything the window remembers."""
    return QSettings(str(paths.data_home() / "window.ini"), QSettings.Format.IniFormat)


def apply_looks(store: QSettings) -> None:
    """Size of the text and movement as they were chosen. Before the first widget."""
    size = str(store.value("text_size", "0"))
    theme().larger = int(size) if size.lstrip("-").isdigit() else 0
    if store.contains("reduced_motion"):
        theme().set_reduced_motion(store.value("reduced_motion", False, bool) is True)
