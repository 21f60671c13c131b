"""Where tree, chat and changes are in a window: side by side, as tabs, or the tree as a drawer, by the width there is.

A pane comes late: until it is there an empty widget keeps its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QSplitter, QTabWidget, QWidget

from worldline.ui import panes
from worldline.ui.preferences import sizes_kept
from worldline.ui.session_state import SessionState
from worldline.ui.theme import theme
from worldline.ui.tree.pane import TreePane

# A class of Qt that is named at runtime costs its enums, up to 3 ms before the first paint.
if TYPE_CHECKING:
    from PySide6.QtCore import QEvent, QSettings

NARROW = 1100
"""Below this width the changes become a tab beside the chat."""
SMALL = 800
"""Below this width the tree becomes a drawer over the chat."""
DRAWER = 320


class Places(QObject):
    """One for a window. `splitter` is what the window shows; `panes` has the widget of each place by its name."""

    layout_changed = Signal(str)
    """wide | narrow | small."""
    chat_put = Signal(object)
    """The pane of the chat is where its empty place was."""

    def __init__(self, state: SessionState, settings: QSettings, body: QWidget) -> None:
        super().__init__(body)
        self._state = state
        self._settings = settings
        self._body = body
        self.layout_name = ""
        self._known = False
        self.panes: dict[str, QWidget] = {}
        self.splitter = QSplitter(Qt.Orientation.Horizontal, body)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setHandleWidth(1)
        self.middle = QTabWidget(self.splitter)
        self.middle.setDocumentMode(True)
        self.middle.tabBar().setVisible(False)
        self.middle.setMinimumWidth(320)
        # The tree is seen first; what needs the protocol's models (200 ms of imports) follows the first paint.
        for place in ("chat", "changes"):
            self.panes[place] = QWidget(self.splitter)
        tree = self.panes["tree"] = panes.make_pane("tree", state, self.splitter)
        assert isinstance(tree, TreePane)
        self.tree = tree
        self.splitter.addWidget(tree)
        self.splitter.addWidget(self.middle)
        self.splitter.addWidget(self.panes["changes"])
        self.middle.addTab(self.panes["chat"], self.tr("Chat"))
        self.splitter.setStretchFactor(0, 0)
        self.splitter.setStretchFactor(1, 1)
        self.splitter.setStretchFactor(2, 0)
        self.splitter.setSizes([340, 540, 400])
        # At once: a window that becomes narrow squeezes what the person has chosen before anybody is told.
        self.splitter.splitterMoved.connect(self.keep)
        self.shade = QWidget(body)
        self.shade.hide()
        self.shade.installEventFilter(self)

    def in_order(self) -> list[QWidget]:
        return [self.panes[place] for place in ("tree", "chat", "changes")]

    def filling(self, place: str, window: QWidget) -> panes.Steps:
        """Make the real pane and put it where its empty place is, step by step."""
        yield lambda: self._put(place, panes.make_pane(place, self._state, window))
        pane = self.panes[place]
        if isinstance(pane, panes.InSteps):
            yield from pane.beginning()

    def _put(self, place: str, pane: QWidget) -> None:
        empty = self.panes[place]
        at, tab = self.splitter.indexOf(empty), self.middle.indexOf(empty)
        sizes, hidden = self.splitter.sizes(), empty.isHidden()
        self.panes[place] = pane
        if tab >= 0:
            title = self.middle.tabText(tab)
            self.middle.removeTab(tab)
            self.middle.insertTab(tab, pane, title)
            if place == "chat":
                self.middle.setCurrentWidget(pane)
        else:
            self.splitter.replaceWidget(at, pane)
            pane.setVisible(not hidden)
            self.splitter.setSizes(sizes)
        empty.hide()
        empty.deleteLater()
        if place == "chat":
            self.chat_put.emit(pane)

    # What is in front -----------------------------------------------------------------------------------------
    def show_pane(self, place: str) -> None:
        """Bring a pane to the front and give it the focus."""
        if place == "tree" and self.layout_name == "small":
            self.open_drawer()
        elif place in ("chat", "changes") and self.middle.indexOf(self.panes[place]) >= 0:
            self.middle.setCurrentWidget(self.panes[place])
        self.panes[place].show()
        self.panes[place].setFocus(Qt.FocusReason.ShortcutFocusReason)

    def toggle_pane(self, place: str) -> None:
        if place == "tree" and self.layout_name == "small":
            self.close_drawer() if self.shade.isVisible() else self.open_drawer()
            return
        pane = self.panes[place]
        if self.middle.indexOf(pane) >= 0 and place != "chat":
            self.show_pane("chat" if self.middle.currentWidget() is pane else place)
        else:
            pane.setVisible(not pane.isVisible())

    def open_drawer(self) -> None:
        """The tree over the chat, in a small window."""
        tree = self.panes["tree"]
        self.shade.setStyleSheet(f"background: rgba(0, 0, 0, {140 if theme().tokens.dark else 60});")
        # It follows what it lies over: a line that comes below makes that less high.
        self.splitter.installEventFilter(self)
        self._place_drawer()
        for part in (self.shade, tree):
            part.show()
            part.raise_()
        tree.setFocus()

    def _place_drawer(self) -> None:
        area = self.splitter.geometry()
        self.shade.setGeometry(area)
        self.panes["tree"].setGeometry(area.x(), area.y(), min(DRAWER, area.width() - 60), area.height())

    def close_drawer(self) -> bool:
        """False when it was closed already."""
        if not self.shade.isVisible():
            return False
        self.shade.hide()
        self.panes["tree"].hide()
        return True

    def eventFilter(self, watched: Any, event: QEvent) -> bool:
        from PySide6.QtCore import QEvent

        if watched is self.shade and event.type() == QEvent.Type.MouseButtonPress:
            return self.close_drawer()
        if watched is self.splitter and event.type() == QEvent.Type.Resize and self.shade.isVisible():
            self._place_drawer()
        return super().eventFilter(watched, event)

    # Room ------------------------------------------------------------------------------------------------------
    def arrange(self, width: int) -> None:
        """Follow the width of the window."""
        name = "wide" if width >= NARROW else "narrow" if width >= SMALL else "small"
        if name != self.layout_name:
            self._lay_out(name, width)
        if self.shade.isVisible():
            self._place_drawer()

    def _lay_out(self, name: str, width: int) -> None:
        self.close_drawer()
        before, self.layout_name = self.layout_name, name
        changes, tree = self.panes["changes"], self.panes["tree"]
        if name == "wide":
            at = self.middle.indexOf(changes)
            if at >= 0:
                self.middle.removeTab(at)
            self.splitter.addWidget(changes)
            changes.show()
        elif self.middle.indexOf(changes) < 0:
            self.middle.addTab(changes, self.tr("Changes"))
        self.middle.tabBar().setVisible(name != "wide")
        if name == "small":
            tree.setParent(self._body)
            tree.hide()
        elif before in ("small", ""):
            self.splitter.insertWidget(0, tree)
            tree.show()
        self.layout_changed.emit(name)
        self.restore(width)

    def _key(self) -> str:
        root = str(self._state.info.get("root", ""))
        return f"places/{root.replace('/', '|')}/{self.layout_name}"

    def session_known(self, width: int) -> None:
        """Now it is known whose sizes count. Once: what the person makes of them stays, whatever is told of the session
        later."""
        if not self._known:
            self._known = True
            self.restore(width)

    def restore(self, width: int) -> None:
        """Sizes of the panes as they were left in this workspace."""
        if self._state.info:
            sizes = sizes_kept(self._settings, self._key())
            if len(sizes) == self.splitter.count():
                self.splitter.setSizes(sizes)
                return
        if self.layout_name == "wide":
            # A larger window gives its sides more room too: titles and diffs need it more than the chat.
            tree, changes = min(520, max(300, width * 27 // 100)), min(820, max(360, width * 30 // 100))
            self.splitter.setSizes([tree, width - tree - changes, changes])

    def keep(self) -> None:
        if self._state.info and self.layout_name in ("wide", "narrow"):
            self._settings.setValue(self._key(), self.splitter.sizes())
