"""The window of one session: places for tree, chat and changes, lines above, the status below.

It knows where things are, not what they do: panes and dialogs come from `panes`, what can be done is in
`window_actions`, what is said on its own is in `window_notices`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QSplitter,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from worldline.ui import first_paint, panes
from worldline.ui.session_state import SessionState
from worldline.ui.slices import in_slices
from worldline.ui.theme import SPACE_L, SPACE_S, SPACE_XS, STATUS_HEIGHT, caption, theme
from worldline.ui.tree.pane import TreePane

# A class of Qt that is named at runtime costs its enums, up to 3 ms before the first paint.
if TYPE_CHECKING:
    from PySide6.QtCore import QEvent, QSettings
    from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QKeyEvent, QPaintEvent, QResizeEvent

NARROW = 1100
"""Below this width the changes become a tab beside the chat."""
SMALL = 800
"""Below this width the tree becomes a drawer over the chat."""
DRAWER = 320
TITLE_HEIGHT = 36
"""Of the line above all: buttons that come after the first paint must not move the rest."""
CLOSE_LIMIT_S = 6.0


class MainWindow(QMainWindow):
    closed = Signal(object)
    """The window is gone and its engine has ended."""
    open_asked = Signal(str)
    """A folder or a session file was dropped or chosen."""
    start_asked = Signal()
    """The person wants the start view (other sessions)."""
    first_painted = Signal()
    completed = Signal()
    """All panes and dialogs are in place."""

    def __init__(self, state: SessionState, settings: QSettings) -> None:
        super().__init__()
        self.state = state
        state.setParent(self)
        self.settings = settings
        self.panes: dict[str, QWidget] = {}
        self.layout_name = ""
        self._attached = False
        self.furnished = False
        """Commands and buttons are there; before the first paint of the process they are not."""
        self.complete = False
        self.opened_with = ""
        """What the person named to open it."""
        self.windows: Any = None
        """The `Windows` it belongs to, when there are several."""
        self._closing = False
        self.views: dict[str, Callable[[], object]] = {}
        """Views that `--screenshot --view NAME` can show; attachments add theirs."""
        self.setWindowTitle("Worldline")
        self.setMinimumSize(480, 360)
        self.resize(1280, 800)
        self.setAcceptDrops(True)
        self._build()
        state.info_changed.connect(self._info_changed)
        state.status_changed.connect(lambda _status: self._retitle())
        state.compare_asked.connect(lambda _uids: self.show_pane("chat"))
        theme().changed.connect(self._restyle)
        self._restyle()
        self._arrange()
        first_paint.after(self, self._add_status)
        first_paint.after(self, self._furnish)

    # Build -----------------------------------------------------------------------------------------------------
    def _build(self) -> None:
        body = self._body = QWidget(self)
        layout = QVBoxLayout(body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        self.title_bar = self._make_title_bar(body)
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
        tree = self.panes["tree"] = panes.make_pane("tree", self.state, self.splitter)
        assert isinstance(tree, TreePane)
        self.tree = tree
        self.splitter.addWidget(self.panes["tree"])
        self.splitter.addWidget(self.middle)
        self.splitter.addWidget(self.panes["changes"])
        self.middle.addTab(self.panes["chat"], self.tr("Chat"))
        self.splitter.setStretchFactor(0, 0)
        self.splitter.setStretchFactor(1, 1)
        self.splitter.setStretchFactor(2, 0)
        self.splitter.setSizes([340, 540, 400])
        # The status itself follows the first picture.
        self._status_place = QFrame(body)
        self._status_place.setObjectName("status-bar")
        self._status_place.setFixedHeight(STATUS_HEIGHT)
        self._layout = layout
        layout.addWidget(self.title_bar)
        layout.addWidget(self.splitter, 1)
        layout.addWidget(self._status_place)
        self.setCentralWidget(body)
        self.shade = QWidget(body)
        self.shade.hide()
        self.shade.installEventFilter(self)

    def _make_title_bar(self, parent: QWidget) -> QFrame:
        bar = QFrame(parent)
        bar.setProperty("role", "bar")
        bar.setMinimumHeight(TITLE_HEIGHT)
        self._title_row = row = QHBoxLayout(bar)
        row.setContentsMargins(SPACE_L, SPACE_XS, SPACE_S, SPACE_XS)
        row.setSpacing(SPACE_XS)
        self.title_label = QLabel(self.tr("Opening…"), bar)
        self.title_label.setTextFormat(Qt.TextFormat.PlainText)
        self.place_label = QLabel("", bar)
        self.place_label.setTextFormat(Qt.TextFormat.PlainText)
        self.place_label.setMinimumWidth(40)
        caption(self.place_label)
        row.addWidget(self.title_label)
        row.addSpacing(SPACE_S)
        row.addWidget(self.place_label, 1)
        return bar

    def _add_status(self) -> None:
        from worldline.ui.status_bar import StatusBar

        self.status = StatusBar(self.state, self._body)
        self._layout.replaceWidget(self._status_place, self.status)
        self._status_place.hide()
        self._status_place.deleteLater()

    def _furnish(self) -> None:
        """What the first picture does not show: commands, buttons, lines. Before anything can happen in the session."""
        from worldline.ui import icons
        from worldline.ui.actions import Actions
        from worldline.ui.drills import Drills
        from worldline.ui.exporting import Exporting
        from worldline.ui.focus_ring import FocusRing
        from worldline.ui.notices import Notices
        from worldline.ui.window_actions import WindowActions
        from worldline.ui.window_notices import WindowNotices

        self.setWindowIcon(icons.logo())
        self.notices = Notices(self._body)
        self._layout.insertWidget(1, self.notices)
        self.actions_list = Actions(self)
        self.commands = WindowActions(self)
        self.drawer_button = self.actions_list.button("toggle_tree", self.title_bar)
        self.drawer_button.setVisible(self.layout_name == "small")
        self._title_row.insertWidget(0, self.drawer_button)
        for name in ("back", "forward", "find_in_tree", "palette"):
            self._title_row.addWidget(self.actions_list.button(name, self.title_bar))
        self._title_row.addWidget(self.commands.menu_button(self.title_bar))
        self.drills = Drills(self)
        self.exporting = Exporting(self)
        self.talk = WindowNotices(self)
        self.ring = FocusRing(self)
        self.furnished = True

    def _restyle(self) -> None:
        self.title_label.setFont(theme().font_ui(1, bold=True))

    def _info_changed(self, info: dict[str, Any]) -> None:
        self.title_label.setText(str(info.get("title") or self.tr("Session")))
        modes = {
            "isolated": self.tr("isolated worktree"),
            "in_place": self.tr("in your folder"),
            "none": self.tr("imported, without files"),
        }
        from worldline.ui.recents import short_path

        place = short_path(str(info.get("root", "")))
        mode = modes.get(str(info.get("workspace_mode")), "")
        self.place_label.setText(" · ".join(filter(None, (place, mode))))
        self.place_label.setToolTip(
            self.tr("You opened {root}\nThe agent works in {work}").format(
                root=info.get("root", ""), work=info.get("work_path", "")
            )
        )
        self._retitle()
        self._restore_places()

    def _retitle(self) -> None:
        title = str(self.state.info.get("title") or "Worldline")
        waiting = self.state.status.get("state") == "waiting"
        mark = "❚❚ " if waiting else "● " if self.state.busy else ""
        self.setWindowTitle(f"{mark}{title} — Worldline" if self.state.info else "Worldline")

    # Places ----------------------------------------------------------------------------------------------------
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

    def _arrange(self) -> None:
        width = self.width()
        name = "wide" if width >= NARROW else "narrow" if width >= SMALL else "small"
        if name == self.layout_name:
            return
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
            tree.setParent(self.centralWidget())
            tree.hide()
        elif before in ("small", ""):
            self.splitter.insertWidget(0, tree)
            tree.show()
        if self.furnished:
            self.drawer_button.setVisible(name == "small")
        self._restore_places()

    def open_drawer(self) -> None:
        """The tree over the chat, in a small window."""
        area = self.splitter.geometry()
        tree = self.panes["tree"]
        self.shade.setStyleSheet(f"background: rgba(0, 0, 0, {140 if theme().tokens.dark else 60});")
        self.shade.setGeometry(area)
        self.shade.show()
        self.shade.raise_()
        tree.setGeometry(area.x(), area.y(), min(DRAWER, area.width() - 60), area.height())
        tree.show()
        tree.raise_()
        tree.setFocus()

    def close_drawer(self) -> None:
        if self.shade.isVisible():
            self.shade.hide()
            self.panes["tree"].hide()

    def eventFilter(self, watched: Any, event: QEvent) -> bool:
        from PySide6.QtCore import QEvent

        if watched is self.shade and event.type() == QEvent.Type.MouseButtonPress:
            self.close_drawer()
            return True
        return super().eventFilter(watched, event)

    def parts(self) -> list[QWidget]:
        """The parts of the window in the order in which Tab goes through them."""
        panes_in_order = [self.panes[place] for place in ("tree", "chat", "changes")]
        if not self.furnished:
            return [self.title_bar, *panes_in_order]
        return [self.title_bar, self.notices, *panes_in_order, self.status]

    def focusNextPrevChild(self, forward: bool) -> bool:
        from worldline.ui import tab_order

        return tab_order.step(self, self.parts(), forward)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.shade.isVisible():
            self.close_drawer()
            return
        super().keyPressEvent(event)

    def _places_key(self) -> str:
        root = str(self.state.info.get("root", ""))
        return f"places/{root.replace('/', '|')}/{self.layout_name}"

    def _restore_places(self) -> None:
        """Sizes of the panes as they were left in this workspace."""
        if self.state.info:
            sizes = self.settings.value(self._places_key())
            if isinstance(sizes, list) and len(sizes) == self.splitter.count():
                self.splitter.setSizes([int(size) for size in sizes])
                return
        if self.layout_name == "wide":
            # A larger window gives its sides more room too: titles and diffs need it more than the chat.
            width = self.width()
            tree, changes = min(520, max(300, width * 27 // 100)), min(820, max(360, width * 30 // 100))
            self.splitter.setSizes([tree, width - tree - changes, changes])

    def _keep_places(self) -> None:
        if self.state.info and self.layout_name != "small":
            self.settings.setValue(self._places_key(), self.splitter.sizes())
        self.settings.setValue("window/size", self.size())

    # Life ------------------------------------------------------------------------------------------------------
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._attached:
            self._attached = True
            QTimer.singleShot(0, self, self._after_first_paint)

    def _after_first_paint(self) -> None:
        if self._closing:
            return  # closed before it was seen: no engine is started any more
        first_paint.done(self, self._go_on)

    def _go_on(self) -> None:
        self._warmer = panes.Warmer(self)
        # One after the other with the event loop between: each is seen as soon as it is there.
        self._warmer.done.connect(
            lambda: in_slices(
                self,
                [
                    lambda: self._fill_pane("chat"),
                    lambda: panes.begin(self.panes["chat"]),
                    lambda: self._fill_pane("changes"),
                    lambda: panes.attach_all(self, self.state),
                    self._completed,
                ],
            )
        )
        in_slices(self, [self.first_painted.emit, self.state.read_details, self._warmer.start])

    def _completed(self) -> None:
        self.complete = True
        self.completed.emit()

    def _fill_pane(self, place: str) -> None:
        """Put the real pane where its empty place is."""
        empty = self.panes[place]
        at, tab = self.splitter.indexOf(empty), self.middle.indexOf(empty)
        sizes, hidden = self.splitter.sizes(), empty.isHidden()
        pane = self.panes[place] = panes.make_pane(place, self.state, self)
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

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()
        if self.shade.isVisible():
            self.open_drawer()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        for url in event.mimeData().urls():
            path = url.toLocalFile()
            if path and (Path(path).is_dir() or path.endswith((".worldline", ".jsonl", ".zip"))):
                event.acceptProposedAction()
                self.open_asked.emit(path)

    def closeEvent(self, event: QCloseEvent) -> None:
        """The window goes at once; the engine is asked to end and gets a few seconds for it."""
        if not self._closing:
            self._closing = True
            self._keep_places()
            from PySide6.QtWidgets import QDialog

            for dialog in self.findChildren(QDialog):
                dialog.close()
            client = self.state.client
            client.stopped.connect(lambda: self.closed.emit(self))
            client.stop(CLOSE_LIMIT_S)
        event.accept()
