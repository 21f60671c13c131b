"""A defect of ours, shown once: what happened, that nothing is lost, and a text to copy."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QApplication, QMessageBox

from worldline.core.log import mask

_open: list[QMessageBox] = []


def show_defect(trace: str) -> None:
    """Not a second box while one is open: a defect in painting would open hundreds."""
    if _open or QApplication.instance() is None:
        return
    translate = QCoreApplication.translate
    box = QMessageBox(
        QMessageBox.Icon.Warning, "Worldline", translate("defects", "Something in the window went wrong.")
    )
    box.setInformativeText(
        translate("defects", "Nothing saved is lost, and you can go on. The details help to correct it.")
    )
    box.setDetailedText(mask(trace))
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.finished.connect(lambda _code: _open.clear())
    _open.append(box)
    box.open()
