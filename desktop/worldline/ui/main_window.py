"""The window of one session: tree, chat and changes, lines and the status below; how it begins and ends.

Where the panes are is in `places`, what they are in `panes`, what can be done in `window_actions`, what is said on its
own in `window_notices`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QMainWindow,
    QVBoxLayout,
    QWidget,
)

from worldline.ui import first_paint, panes, stray_keys
from worldline.ui.labels import ElidedLabel
from worldline.ui.places import Places
from worldline.ui.session_state import SessionState
from worldline.ui.slices import in_slices
from worldline.ui.theme import SPACE_L, SPACE_S, SPACE_XS, STATUS_HEIGHT, caption, theme
from worldline.viewmodel.visible import settled

# A class of Qt that is named at runtime costs its enums, up to 3 ms before the first paint.
if TYPE_CHECKING:
    from PySide6.QtCore import QSettings
    from PySide6.QtGui import (
        QCloseEvent,
        QDragEnterEvent,
        QDragLeaveEvent,
        QDropEvent,
        QKeyEvent,
        QPaintEvent,
        QResizeEvent,
    )

TITLE_HEIGHT = 36
"""Of the line above all: buttons that come after the first paint must not move the rest."""
CLOSE_LIMIT_S = 6.0


class MainWindow(QMainWindow):
    closed = Signal(object)
    """The window is gone and its engine has ended."""
    open_asked = Signal(str)
    """A folder or a session file was chosen."""
    dropped = Signal(list)
    """Folders and files were let go over the window."""
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
        for signal in (state.status_changed, state.run_started, state.run_ended, state.engine_state_changed):
            signal.connect(lambda *_: self._retitle())
        state.compare_asked.connect(lambda _uids: self.places.show_pane("chat"))
        state.changes_since_asked.connect(lambda _uid: self.places.show_pane("changes"))
        theme().changed.connect(self._restyle)
        self._restyle()
        self.places.arrange(self.width())
        # What the first picture does not show: commands, buttons, lines. Before anything can happen in the session.
        for step in (
            self._add_status,
            self._add_notices,
            self._add_actions,
            self._add_buttons,
            self._add_talk,
        ):
            first_paint.after(self, step)

    # Build -----------------------------------------------------------------------------------------------------
    def _build(self) -> None:
        body = self._body = QWidget(self)
        layout = QVBoxLayout(body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        self.title_bar = self._make_title_bar(body)
        self.places = Places(self.state, self.settings, body)
        self.panes, self.tree = self.places.panes, self.places.tree
        self.places.layout_changed.connect(self._layout_changed)
        # The status itself follows the first picture.
        self._status_place = QFrame(body)
        self._status_place.setObjectName("status-bar")
        self._status_place.setFixedHeight(STATUS_HEIGHT)
        self._layout = layout
        layout.addWidget(self.title_bar)
        layout.addWidget(self.places.splitter, 1)
        layout.addWidget(self._status_place)
        self.setCentralWidget(body)

    def _make_title_bar(self, parent: QWidget) -> QFrame:
        bar = QFrame(parent)
        bar.setProperty("role", "bar")
        bar.setMinimumHeight(TITLE_HEIGHT)
        self._title_row = row = QHBoxLayout(bar)
        row.setContentsMargins(SPACE_L, SPACE_XS, SPACE_S, SPACE_XS)
        row.setSpacing(SPACE_XS)
        # A title of any length: what does not fit must not make the window wider than the screen.
        self.title_label = ElidedLabel(self.tr("Opening…"), bar)
        self.title_label.setTextFormat(Qt.TextFormat.PlainText)
        self.place_label = ElidedLabel("", bar)
        self.place_label.setTextFormat(Qt.TextFormat.PlainText)
        self.place_label.setMinimumWidth(40)
        caption(self.place_label)
        row.addWidget(self.title_label, 0)
        row.addSpacing(SPACE_S)
        row.addWidget(self.place_label, 1)
        return bar

    def _add_status(self) -> None:
        from worldline.ui.status_bar import StatusBar

        self.status = StatusBar(self.state, self._body)
        self._layout.replaceWidget(self._status_place, self.status)
        self._status_place.hide()
        self._status_place.deleteLater()

    def _add_notices(self) -> None:
        from worldline.ui.line_place import LinePlace
        from worldline.ui.notices import Notices

        self.notices = Notices(self._body)
        line_place = LinePlace(self.notices, self._layout, 2, self.places.shade)
        self.places.chat_put.connect(line_place.follow)

    def _add_actions(self) -> None:
        from worldline.ui.actions import Actions
        from worldline.ui.window_actions import WindowActions

        self.actions_list = Actions(self)
        self.commands = WindowActions(self)

    def _add_buttons(self) -> None:
        theme().changed.connect(self._show_logo)
        self._show_logo()
        self.drawer_button = self.actions_list.button("toggle_tree", self.title_bar)
        self._title_row.insertWidget(0, self.drawer_button)
        for name in ("back", "forward", "find_in_tree", "palette"):
            self._title_row.addWidget(self.actions_list.button(name, self.title_bar))
        self._title_row.addWidget(self.commands.menu_button(self.title_bar))

    def _add_talk(self) -> None:
        from worldline.ui.drills import Drills
        from worldline.ui.exporting import Exporting
        from worldline.ui.focus_ring import FocusRing
        from worldline.ui.recovering import Recovering
        from worldline.ui.window_notices import WindowNotices

        self.drills = Drills(self)
        self.exporting = Exporting(self)
        self.recovering = Recovering(self)
        self.talk = WindowNotices(self)
        self.ring = FocusRing(self)
        self.furnished = True
        self._layout_changed(self.places.layout_name)

    def _restyle(self) -> None:
        self.title_label.setFont(theme().font_ui(1, bold=True))

    def _show_logo(self) -> None:
        from worldline.ui import icons

        self.setWindowIcon(icons.logo())

    def _info_changed(self, info: dict[str, Any]) -> None:
        self.title_label.setText(settled(str(info.get("title") or self.tr("Session"))))
        modes = {
            "isolated": self.tr("isolated worktree"),
            "in_place": self.tr("in your folder"),
            "none": self.tr("imported, without files"),
        }
        from worldline.ui.plain import as_tip
        from worldline.ui.recents import short_path

        place = short_path(str(info.get("root", "")))
        mode = modes.get(str(info.get("workspace_mode")), "")
        self.place_label.setText(" · ".join(filter(None, (place, mode))))
        self.place_label.setToolTip(
            as_tip(
                self.tr("You opened {root}\nThe agent works in {work}").format(
                    root=info.get("root", ""), work=info.get("work_path", "")
                )
            )
        )
        self._retitle()
        self.places.session_known(self.width())

    def _retitle(self) -> None:
        title = settled(str(self.state.info.get("title") or "Worldline"))
        waiting = self.state.status.get("state") == "waiting"
        mark = "❚❚ " if waiting else "● " if self.state.busy else ""
        self.setWindowTitle(f"{mark}{title} — Worldline" if self.state.info else "Worldline")

    def _layout_changed(self, name: str) -> None:
        if self.furnished:
            self.drawer_button.setVisible(name == "small")

    # Focus -----------------------------------------------------------------------------------------------------
    def parts(self) -> list[QWidget]:
        """The parts of the window in the order in which Tab goes through them."""
        if not self.furnished:
            return [self.title_bar, *self.places.in_order()]
        return [self.title_bar, *self.places.in_order(), self.notices, self.status]

    def focusNextPrevChild(self, forward: bool) -> bool:
        from worldline.ui import tab_order

        return tab_order.step(self, self.parts(), forward)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.places.close_drawer():
            return
        # Nobody else wants it: whoever writes means the message, wherever the keyboard is.
        if not self.complete or not stray_keys.go_on_in(self.panes["chat"], event):
            super().keyPressEvent(event)

    # Life ------------------------------------------------------------------------------------------------------
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._attached:
            self._attached = True
            QTimer.singleShot(0, self, self._after_first_paint)

    def _after_first_paint(self) -> None:
        if self._closing:
            return  # closed before it was seen: no engine is started any more
        first_paint.done(self, self._going_on())

    def _going_on(self) -> panes.Steps:
        yield from self.state.client.preparing()
        if self._closing:
            return
        yield self.first_painted.emit
        yield self.state.read_details
        self._warmer = panes.Warmer(self)
        # One after the other with the event loop between: each is seen as soon as it is there.
        self._warmer.done.connect(lambda: in_slices(self, self._completing()))
        yield self._warmer.start

    def _completing(self) -> panes.Steps:
        yield panes.meet_widgets
        yield from panes.importing()
        for place in ("chat", "changes"):
            yield from self.places.filling(place, self)
        yield partial(panes.attach_all, self, self.state)
        yield self._completed

    def _completed(self) -> None:
        self.complete = True
        if self.focusWidget() is None:
            # Whoever opens a session and begins to write means the message.
            self.panes["chat"].setFocus()
        self.completed.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.places.arrange(self.width())

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        from worldline.ui import dropping

        dropping.welcome(event, self, self.tr("Let go to open"))

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        from worldline.ui import dropping

        dropping.end(self)

    def dropEvent(self, event: QDropEvent) -> None:
        from worldline.ui import dropping

        if found := dropping.files(event, self):
            self.dropped.emit(found)

    @property
    def closing(self) -> bool:
        """It was closed or given up; its engine may still be ending."""
        return self._closing

    def replace_by(self, path: str) -> None:
        """Close, and open another session in this place."""
        if self.windows is not None:
            self.windows.open_instead(self, path)
        else:
            self.open_asked.emit(path)

    def give_up(self) -> None:
        """Go without ending the session: another window takes the place of this one."""
        self._closing = True
        self.state.let_go()
        self.places.keep()
        self.hide()
        self.deleteLater()

    def ask_to_close(self) -> None:
        """The person closes it: what goes on in it ends only after a question."""
        from worldline.ui.closing import Closing

        Closing(self).ask(self, [self], self.close)

    def _asks_first(self) -> bool:
        from worldline.ui.closing import goes_on

        if self.windows is not None and self.windows.logging_out:
            return False
        if not goes_on(self.state):
            return False
        self.ask_to_close()
        return True

    def closeEvent(self, event: QCloseEvent) -> None:
        """The window goes at once; the engine is asked to end and gets a few seconds for it. By the frame of the window
        the person closes it: that may be asked about. When the desktop ends nobody may be there to answer."""
        if event.spontaneous() and not self._closing and self._asks_first():
            event.ignore()
            return
        if not self._closing:
            self._closing = True
            self.places.keep()
            self.settings.setValue("window/size", self.size())
            from PySide6.QtWidgets import QDialog

            for dialog in self.findChildren(QDialog):
                dialog.close()
            # Else an answer that is on its way opens a dialog of a window that is gone.
            self.state.let_go()
            client = self.state.client
            client.stopped.connect(lambda: self.closed.emit(self))
            client.stop(CLOSE_LIMIT_S)
        event.accept()
