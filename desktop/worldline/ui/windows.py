"""All windows of the process: one for each session, a start view when there is none."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from PySide6.QtCore import QCoreApplication, QObject, QSettings, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from worldline.client.process import EngineProcess
from worldline.core import paths as paths_of
from worldline.ui import first_paint, i18n, preferences
from worldline.ui.main_window import MainWindow
from worldline.ui.session_state import SessionState
from worldline.ui.theme import theme

if TYPE_CHECKING:
    from worldline.ui.importing import ImportDialog
    from worldline.ui.logout import Logout
    from worldline.ui.read_ahead import ReadAhead
    from worldline.ui.start_view import StartView

FOREIGN = (".jsonl", ".zip")
"""Endings of files that are imported: sessions of other agents, exports, and bundles."""
MANY = 5
"""Windows that are opened at once without a question."""
LET_GO_MS = (200, 1_000, 5_000, 20_000)
"""After a window has gone: by then mostly nobody waits for anything. On a busy machine an answer or an event may still be
on its way and hold what it is for, so it is looked at again, as long as something of the window is there."""
NAMED = 4
"""Files that are named when they cannot be opened."""


class Windows(QObject):
    """Opens, counts and closes windows; the program ends when the last one is gone and its engine has ended."""

    painted = Signal()
    """The first window of all has been seen."""

    def __init__(
        self, settings: QSettings, parent: QObject | None = None, *, ahead: ReadAhead | None = None
    ) -> None:
        super().__init__(parent)
        self.settings = settings
        self._ahead = ahead
        """Reads the session that was named on the command line."""
        self.sessions: list[MainWindow] = []
        self._after: dict[MainWindow, list[Callable[[], object]]] = {}
        """Closed windows whose engines still end → what is to be done then."""
        self._gone: WeakSet[Any] = WeakSet()
        """Windows that have gone, their sessions and trees, for as long as the memory holds them."""
        self._logout: Logout | None = None
        self.room: QSize | None = None
        """No window begins larger than this: its lower edge would lie below the screen."""
        self.start_view: StartView | None = None
        # Later: the change comes out of a box in a dialog of a window that goes.
        i18n.language().changed.connect(self._renew, Qt.ConnectionType.QueuedConnection)
        theme().resized.connect(self._renew, Qt.ConnectionType.QueuedConnection)

    def open(self, path: str) -> MainWindow | None:
        """Open a session file, or go on in (or begin) a session of a folder. A path that is neither is explained in
        the start view, and None is returned."""
        place = paths_of.place_of(path)
        if self.start_view is not None:
            self.start_view.say("")
        for window in self.sessions:
            if str(place) in (window.state.info.get("path"), window.opened_with):
                if window.closing:
                    # Its engine still writes: two at once would be one to write and one to read.
                    self._after.setdefault(window, []).append(partial(self.open, path))
                    return None
                window.showNormal()
                window.raise_()
                window.activateWindow()
                return window
        if place.is_dir():
            from worldline.ui.recents import last_session_of

            last = last_session_of(self.settings, place)
            if last is not None:
                return self.open(str(last))
            return self.open_engine(["--workspace", str(place)], opened_with=str(place))
        if place.is_file() and place.suffix == paths_of.SESSION_SUFFIX:
            return self.open_engine(["--session", str(place)], opened_with=str(place), read=place)
        if place.is_file() and place.suffix in FOREIGN:
            self.import_files([str(place)])
            return None
        self.show_start().say(self._why_not(place))
        return None

    def open_instead(self, window: MainWindow, path: str) -> None:
        """Close a window, and open this session when its engine has ended and has let go of the folder that both work in.
        What was being written goes along."""
        from worldline.ui.renewing import what_is_written, write_on

        written = what_is_written(window)

        def open_it() -> None:
            new = self.open(path)
            if new is not None and written is not None:
                new.completed.connect(partial(write_on, new, written), Qt.ConnectionType.SingleShotConnection)

        self._after.setdefault(window, []).append(open_it)
        window.close()

    def _why_not(self, place: Path) -> str:
        if not os.path.lexists(place):
            return self.tr("{path} is not there.").format(path=place)
        return self.tr(
            "{path} is neither a folder nor a session. Sessions end in .worldline; those of other agents in .jsonl."
        ).format(path=place)

    def open_several(self, above: MainWindow | StartView, paths: list[str]) -> None:
        """What was let go over the window `above`: sessions and folders are opened, files of other agents imported
        together, and what is none of these is named where it was dropped."""
        places = [paths_of.place_of(path) for path in paths]
        foreign = [str(one) for one in places if one.suffix in FOREIGN and one.is_file()]
        fitting = [
            str(one)
            for one in places
            if one.is_dir() or (one.suffix == paths_of.SESSION_SUFFIX and one.is_file())
        ]
        wrong = [one for one in places if str(one) not in (*foreign, *fitting)]
        if wrong:
            _say(above, "\n".join(self._why_not(one) for one in wrong[:NAMED]))
        if foreign:
            self.import_files(foreign, above)
        if len(fitting) <= MANY:
            for path in fitting:
                self.open(path)
            return
        from worldline.ui.dialogs.question import ask_first

        ask_first(
            above,
            self.tr("Open"),
            self.tr("Open %n sessions?", "", len(fitting)),
            self.tr("Each has a window and a process of its own."),
            self.tr("Open them"),
            lambda: [self.open(path) for path in fitting],
        )

    def import_files(self, paths: list[str], above: QWidget | None = None) -> ImportDialog:
        """Import sessions of other agents (or bundles), then open what came of it."""
        from worldline.ui.importing import ImportDialog

        active = next((window for window in self.sessions if window.isActiveWindow()), None)
        dialog = ImportDialog(paths, above or active or self.show_start())
        dialog.opened.connect(self.open)
        dialog.open()
        return dialog

    def open_demo(self) -> MainWindow:
        return self.open_engine(["--demo"], opened_with="demo")

    def new_session(self, root: str, *, in_place: bool | None = None, title: str = "") -> MainWindow:
        """A new session on a folder, also when there are others."""
        arguments = ["--workspace", root]
        if in_place is not None:
            arguments.append("--in-place" if in_place else "--isolated")
        if title:
            arguments += ["--title", title]
        return self.open_engine(arguments, opened_with="")

    def open_engine(self, arguments: list[str], *, opened_with: str, read: Path | None = None) -> MainWindow:
        return self.open_client(EngineProcess(arguments), opened_with=opened_with, read=read)

    def open_client(self, client: EngineProcess, *, opened_with: str, read: Path | None = None) -> MainWindow:
        """A window on an engine that has not been started yet."""
        state = SessionState(client)
        if read is not None:
            ahead, self._ahead = self._ahead, None
            state.read_ahead(ahead if ahead is not None and ahead.path == read else read)
        window = MainWindow(state, self.settings)
        window.opened_with = opened_with
        window.windows = self
        size = preferences.size_kept(self.settings, "window/size")
        if size is not None:
            window.resize(size)
        if self.room is not None:
            window.resize(window.size().boundedTo(self.room))
        self._listen(window)
        self.sessions.append(window)
        window.show()
        window.first_painted.connect(self.painted)
        # The engine starts after the window is on screen: two starts at once would delay what is seen.
        window.first_painted.connect(client.start)
        self._leave_start()
        return window

    def _leave_start(self) -> None:
        """A session is open: the start view is not needed any more. One in which files are being imported stays until that
        is done, and goes then."""
        view = self.start_view
        if view is None:
            return
        going_on = _dialogs(view)
        for dialog in going_on:
            if not dialog.property("start_leaves"):
                dialog.setProperty("start_leaves", True)
                dialog.finished.connect(self._leave_start, Qt.ConnectionType.QueuedConnection)
        if not going_on:
            view.close()

    def _listen(self, window: MainWindow) -> None:
        window.state.info_changed.connect(self._remember)
        window.closed.connect(self._closed)
        window.open_asked.connect(self.open)
        # Later: whoever dragged waits until the drop has been answered.
        window.dropped.connect(partial(self.open_several, window), Qt.ConnectionType.QueuedConnection)
        window.start_asked.connect(self.show_start)

    def _renew(self) -> None:
        """Another language or size of text: windows that have it take the place of those that are open."""
        from worldline.ui.renewing import renewed

        if (view := self.start_view) is not None and not _dialogs(view):
            view.closed.disconnect(self._start_closed)
            self.start_view = None
            self.show_start().setGeometry(view.geometry())
            view.hide()
            view.deleteLater()
        for at, old in enumerate(self.sessions):
            if not old.closing:
                new = self.sessions[at] = renewed(old)
                self._listen(new)
                self._gone.update((old, old.state, old.state.tree))
        self._let_go_later()

    def _remember(self, info: dict[str, Any]) -> None:
        # The demo lives in a temporary folder and is gone with it.
        if not info.get("scripted_model"):
            from worldline.ui.recents import remember

            remember(self.settings, str(info["path"]))

    def show_start(self) -> StartView:
        if self.start_view is None:
            from worldline.ui.start_view import StartView

            self.start_view = StartView(self.settings)
            QTimer.singleShot(0, self, self._start_seen)
            self.start_view.open_asked.connect(self.open)
            self.start_view.dropped.connect(
                partial(self.open_several, self.start_view), Qt.ConnectionType.QueuedConnection
            )
            self.start_view.demo_asked.connect(self.open_demo)
            self.start_view.closed.connect(self._start_closed)
        self.start_view.refresh()
        self.start_view.show()
        self.start_view.raise_()
        self.start_view.activateWindow()
        return self.start_view

    def _start_seen(self) -> None:
        if first_paint.pending():
            first_paint.done(self, [theme().changed.emit])  # the icons are drawn now
        self.painted.emit()

    def _start_closed(self) -> None:
        if self.start_view is not None:
            self.start_view.deleteLater()
            self.start_view = None
        self._quit_if_last()

    def _closed(self, window: MainWindow) -> None:
        if window in self.sessions:
            self.sessions.remove(window)
            window.deleteLater()
            self._gone.update((window, window.state, window.state.tree))
            self._let_go_later()
        for call in self._after.pop(window, []):
            call()
        self._quit_if_last()

    def _let_go_later(self, tried: int = 0) -> None:
        def look() -> None:
            _let_go()
            if self._gone and tried + 1 < len(LET_GO_MS):
                self._let_go_later(tried + 1)

        QTimer.singleShot(LET_GO_MS[tried], self, look)

    def _quit_if_last(self) -> None:
        if not self.sessions and self.start_view is None:
            QCoreApplication.quit()

    def heed_logout(self) -> None:
        """From now on the end of the desktop session is known as such."""
        app = QApplication.instance()
        if self._logout is None and isinstance(app, QApplication):
            from worldline.ui.logout import Logout

            self._logout = Logout(app)

    @property
    def logging_out(self) -> bool:
        return self._logout is not None and self._logout.near

    def quit_asked(self, above: MainWindow) -> None:
        """All windows go, after one question for all of them when something goes on."""
        from worldline.ui.closing import Closing

        def close() -> None:
            for window in list(self.sessions):
                window.close()
            if self.start_view is not None:
                self.start_view.close()

        Closing(above).ask(above, self.sessions, close)

    def close_all(self) -> None:
        """For the end of the program: engines are ended even when the windows were never closed."""
        for window in list(self.sessions):
            window.close()
            window.state.client.stop_and_wait(6.0)
        app = QApplication.instance()
        if app is not None:
            self.settings.sync()


def _let_go() -> None:
    """Collect what a window leaves. Every window that is opened freezes what there is (see `ui.panes`), the windows before
    it as well: a session of a million nodes would stay for as long as the program."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def _dialogs(view: QWidget) -> list[QDialog]:
    """What goes on in it: an import, a choice of a file."""
    return [dialog for dialog in view.findChildren(QDialog) if dialog.isVisible()]


def _say(above: MainWindow | StartView, text: str) -> None:
    if isinstance(above, MainWindow):
        above.notices.say("dropped", text, icon="warn", color="bad")
    else:
        above.say(text)
