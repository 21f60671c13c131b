"""Files of the agent in programs of the person: opened to be read, never started."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QUrl
from PySide6.QtGui import QDesktopServices

STARTED = frozenset(
    {
        ".app", ".appimage", ".bat", ".cmd", ".com", ".command", ".cpl", ".desktop", ".exe", ".hta", ".htm", ".html",
        ".inf", ".jar", ".jnlp", ".js", ".jse", ".lnk", ".msc", ".msi", ".pif", ".ps1", ".py", ".pyw", ".reg", ".run",
        ".scf", ".scr", ".svg", ".url", ".vbe", ".vbs", ".webloc", ".wsf", ".xhtml",
    }
)  # fmt: skip
"""Endings that a desktop may start, or open in a browser that runs what is in them, when a file is opened."""
_HARMLESS_HERE = frozenset({".py", ".js", ".ps1", ".bat", ".cmd", ".vbs"})
"""Where double clicks do not run scripts they open in an editor."""

translate = QCoreApplication.translate


def is_started(path: Path) -> bool:
    """Whether opening it may run what the agent wrote."""
    suffix = path.suffix.lower()
    if suffix in STARTED and (os.name == "nt" or suffix not in _HARMLESS_HERE):
        return True
    return sys.platform != "win32" and not suffix and os.access(path, os.X_OK)


def open_to_edit(path: Path) -> str:
    """Open a file in the program for its kind. Returns what went otherwise, "" = nothing."""
    if not path.is_file():
        return translate("Opening", "{name} is not on disk now.").format(name=path.name)
    if is_started(path):
        problem = reveal(path)
        return problem or translate(
            "Opening", "{name} might be started instead of shown, and the agent wrote it: here is its folder."
        ).format(name=path.name)
    return "" if QDesktopServices.openUrl(QUrl.fromLocalFile(str(path))) else _nothing(path)


def reveal(path: Path) -> str:
    """Open the folder of a file, or the nearest one that is there."""
    folder = next((one for one in path.parents if one.is_dir()), Path.home())
    return "" if QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))) else _nothing(folder)


def _nothing(path: Path) -> str:
    return translate("Opening", "No program of this computer opens {path}.").format(path=path)
