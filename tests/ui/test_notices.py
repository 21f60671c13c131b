"""The quiet lines of a window ask for room once, and then leave it at rest."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

from worldline.ui.notices import Notices


def test_a_line_leaves_a_window_at_rest(qtbot: Any) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    lines = Notices(window)
    QVBoxLayout(window).addWidget(lines)
    window.show()
    lines.say("a", "one")
    asked: list[int] = []

    class Count(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() == QEvent.Type.LayoutRequest:
                asked.append(1)
            return False

    count = Count(window)
    window.installEventFilter(count)
    for _ in range(200):
        QApplication.processEvents()
    assert len(asked) < 20
