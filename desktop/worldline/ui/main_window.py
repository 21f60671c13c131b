"""The window of one session: places for tree, chat and changes, bars above, the status below.

It knows where things are, not what they do: panes and dialogs come from `panes`, every action is in `actions`.
"""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QSettings, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QMainWindow, QSplitter, QTabWidget, QVBoxLayout, QWidget

from worldline.ui import panes
from worldline.ui.actions import Actions
from worldline.ui.session_state import SessionState

NARROW = 1100
"""Below this width the changes become a tab beside the chat."""
SMALL = 800
"""Below this width the tree becomes a drawer over the chat."""


class MainWindow(QMainWindow):
    closed = Signal()

    def __init__(self, state: SessionState, settings: QSettings | None = None) -> None:
        super().__init__()
        self.state = state
        state.setParent(self)
        self.settings = settings
        self.actions_list = Actions(self)
        self.panes: dict[str, QWidget] = {}
        self._layout_name = ""
        self._attached = False
        self.setWindowTitle("Worldline")
        self.setMinimumSize(480, 360)
        self._build()

    def _build(self) -> None:
        body = QWidget(self)
        layout = QVBoxLayout(body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        self.splitter = QSplitter(Qt.Orientation.Horizontal, body)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setHandleWidth(1)
        self.middle = QTabWidget(self.splitter)
        self.middle.setDocumentMode(True)
        self.middle.tabBar().setVisible(False)
        for place in ("tree", "chat", "changes"):
            self.panes[place] = panes.make_pane(place, self.state, self.splitter)
        self.splitter.addWidget(self.panes["tree"])
        self.splitter.addWidget(self.middle)
        self.splitter.addWidget(self.panes["changes"])
        self.middle.addTab(self.panes["chat"], self.tr("Chat"))
        self.splitter.setStretchFactor(1, 1)
        self.splitter.setSizes([300, 560, 420])
        layout.addWidget(self.splitter, 1)
        self.setCentralWidget(body)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._attached:
            self._attached = True
            QTimer.singleShot(0, self, lambda: panes.attach_all(self, self.state))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        self.closed.emit()

    def restore(self, state: QByteArray) -> None:
        self.splitter.restoreState(state)
