"""The line above the composer that says what waits for the person."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolButton, QWidget

from worldline.ui.chat.row_base import ElidedLabel


class WaitingBar(QWidget):
    """Above the composer: what waits for the person, and which key shows it. Never takes the focus."""

    show_clicked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._label = ElidedLabel(self)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        # A long command must not make the pane wide.
        self._label.setMinimumWidth(40)
        self._label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._button = QToolButton(self)
        self._button.setProperty("role", "button")
        self._button.setText(self.tr("Show (Ctrl+Shift+A)"))
        self._button.clicked.connect(self.show_clicked)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 4, 12, 0)
        layout.addWidget(self._label, 1)
        layout.addWidget(self._button)
        self.hide()

    def set_waiting(self, texts: list[str]) -> None:
        self.setVisible(bool(texts))
        if texts:
            more = self.tr(" · and %n more", "", len(texts) - 1) if len(texts) > 1 else ""
            waiting = self.tr("Waiting for you: {}").format(texts[0])
            self._label.setText(f"❚❚ {waiting}{more}")
            self.setAccessibleName(self._label.text())
