"""Sessions browser: all sessions of this computer, with search; files of other agents are imported by dropping them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, QDateTime, QLocale, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QInputDialog,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QMessageBox,
    QPushButton,
    QWidget,
)

from worldline.client.process import EngineProcess
from worldline.core import paths
from worldline.ui import dropping
from worldline.ui.again import Again
from worldline.ui.chat import words as said
from worldline.ui.chat.row_base import ColorLabel
from worldline.ui.dialogs.base import Dialog, while_open
from worldline.ui.dialogs.folder_jobs import remove_folder
from worldline.ui.dialogs.question import ask_first
from worldline.ui.dialogs.session_delete import SessionDeleteDialog
from worldline.ui.dialogs.session_files import SessionFile, read_session, session_paths, to_trash, trash_dir
from worldline.ui.dialogs.session_import import SessionImport
from worldline.ui.plain import as_tip
from worldline.ui.recents import short_path
from worldline.ui.session_state import SessionState
from worldline.ui.theme import theme
from worldline.ui.two_lines import WARN, TwoLines
from worldline.viewmodel import engine_words
from worldline.viewmodel.words import refusal

ROLE = Qt.ItemDataRole.UserRole
READ_AT_ONCE = 8
SEARCH_MS = 350
SEARCHED_FROM = 3
"""Characters from which the texts of all sessions are searched as well."""


class SessionsDialog(Dialog):
    """`opened` carries the path of the session to open. With a `state` its engine searches in all texts; without one
    only titles and folders are searched. Sessions that are `busy` (open in a window) cannot be thrown away."""

    opened = Signal(str)
    storage_wanted = Signal()
    folders_wanted = Signal()

    def __init__(
        self, parent: QWidget | None = None, folder: Path | None = None, *, state: SessionState | None = None,
        busy: set[str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(self.tr("Sessions"), parent, width=760)
        self.resize(760, 580)
        self.setAcceptDrops(True)
        self._folder = folder or paths.sessions_dir()
        self._state = state
        self._busy = busy or set()
        self._hits: dict[str, str] = {}
        self._counted = False
        """The line below says how many were found."""
        self._files: dict[str, SessionFile] = {}
        self.search = QLineEdit(self)
        self.search.setPlaceholderText(
            self.tr("Search titles, folders and everything that was said")
            if state is not None
            else self.tr("Search titles and folders")
        )
        self.search.setAccessibleName(self.tr("Search the sessions"))
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._filter)
        self.list = QListWidget(self)
        self.list.setAccessibleName(self.tr("Sessions"))
        self.list.setItemDelegate(TwoLines(self.list))
        self.list.setUniformItemSizes(False)
        self.list.itemActivated.connect(lambda _item: self.open_chosen())
        self.list.currentItemChanged.connect(lambda *_: self._refresh_buttons())
        self._note = ColorLabel("", "muted", self)
        self._note.setFont(theme().font_ui())
        self._note.setWordWrap(True)
        self.importing = SessionImport(self, self._folder)
        self.importing.said.connect(self.set_note)
        self.importing.came.connect(self._came)
        for widget in (self.search, self.list, self.importing.bar):
            self.body.addWidget(widget, 1 if widget is self.list else 0)
        below = QHBoxLayout()
        below.addWidget(self._note, 1)
        self.folders_button = QPushButton(self.tr("Folders of sessions…"), self)
        self.folders_button.setProperty("role", "link")
        self.folders_button.setAutoDefault(False)
        self.folders_button.clicked.connect(lambda _=False: self._folders())
        below.addWidget(self.folders_button, 0, Qt.AlignmentFlag.AlignTop)
        self.body.addLayout(below)
        self.rename_button = self.add_button(self.tr("Rename…"), self.rename, left=True)
        self.reveal_button = self.add_button(self.tr("Show in the folder"), self._reveal, left=True)
        self.trash_button = self.add_button(self.tr("Delete…"), self.ask_trash, left=True)
        self.storage_button = self.add_button(self.tr("Storage…"), self._storage, left=True)
        self.storage_button.setVisible(state is not None)
        self.add_button(self.tr("Close"), self.reject)
        self.open_button: QPushButton = self.add_button(self.tr("Open"), self.open_chosen, role="primary")
        self.enter_presses(self.search, self.open_button)
        self._waiting = session_paths(self._folder)
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._read_some)
        self._timer.start()
        self._search_timer = QTimer(self, singleShot=True, interval=SEARCH_MS)
        self._search_timer.timeout.connect(self._search_texts)
        self.finished.connect(lambda _code: self.importing.stop_and_wait())
        self._refresh_buttons()
        self.set_note("")

    def set_note(self, text: str, token: str = "muted") -> None:
        hint = self.tr("Drop session files of pi, Claude Code or Codex here to import them.")
        if not self.list.count() and not self._waiting:
            hint = self.tr("No sessions yet. Open a folder to start one.") + " " + hint
        self._note.set(text or hint, token if text else "muted")

    # -- the list

    def _read_some(self) -> None:
        """A few files at a time, so that hundreds of sessions never stop the window."""
        for path in self._waiting[:READ_AT_ONCE]:
            self.add(read_session(path))
        del self._waiting[:READ_AT_ONCE]
        if not self._waiting:
            self._timer.stop()
            self.set_note("")
            self._filter(self.search.text())

    def add(self, session: SessionFile, first: bool = False) -> None:
        self._files[str(session.path)] = session
        item = QListWidgetItem()
        item.setData(ROLE, str(session.path))
        item.setToolTip(as_tip(str(session.path)))
        self._word(item)
        self.list.insertItem(0 if first else self.list.count(), item)
        if self.list.count() == 1 or first:
            self.list.setCurrentItem(item)

    def _word(self, item: QListWidgetItem) -> None:
        session = self._files[str(item.data(ROLE))]
        when = QLocale().toString(
            QDateTime.fromSecsSinceEpoch(int(session.changed)), QLocale.FormatType.ShortFormat
        )
        facts = [when, said.size(session.size)]
        if session.nodes:
            facts.insert(0, self.tr("%n node(s)", "", session.nodes))
        if session.root:
            facts.append(short_path(session.root))
        text = f"{session.title}\n{' · '.join(facts)}"
        item.setData(WARN, bool(session.problem))
        if session.problem:
            text += "\n" + self.tr("Cannot be read: {}").format(session.problem)
        snippet = self._hits.get(str(session.path), "")
        item.setText(text + (f"\n“{snippet}”" if snippet else ""))

    def _filter(self, text: str) -> None:
        wanted = text.strip().lower()
        self._hits.clear()
        self._show_filtered(wanted)
        if len(wanted) >= SEARCHED_FROM and self._state is not None:
            self._search_timer.start()
        else:
            self._search_timer.stop()

    def _show_filtered(self, wanted: str) -> None:
        shown = 0
        for at in range(self.list.count()):
            item = self.list.item(at)
            session = self._files[str(item.data(ROLE))]
            words = f"{session.title} {session.root} {session.path.name}".lower()
            found = wanted in words or str(session.path) in self._hits
            item.setHidden(not found)
            self._word(item)
            shown += found
        if wanted or self._counted:
            self.set_note(self.tr("%n session(s) found.", "", shown) if wanted else "")
        self._counted = bool(wanted)
        self._refresh_buttons()

    def _search_texts(self) -> None:
        text = self.search.text().strip()
        if self._state is None or len(text) < SEARCHED_FROM:
            return

        def answered(result: dict[str, Any]) -> None:
            if self.search.text().strip() != text:
                return
            for hit in result["hits"]:
                words = str(hit["snippet"]).replace("\x02", "").replace("\x03", "")
                self._hits.setdefault(str(hit["session"]), " ".join(words.split())[:120])
            self._show_filtered(text.lower())

        def refused(error: dict[str, Any]) -> None:
            self.set_note(refusal(error), "bad")

        params = {"text": text, "scope": "all", "limit": 500}
        self._state.request("search", params, while_open(self, answered), while_open(self, refused))

    def chosen(self) -> SessionFile | None:
        item = self.list.currentItem()
        return self._files.get(str(item.data(ROLE))) if item is not None and not item.isHidden() else None

    def _refresh_buttons(self) -> None:
        session = self.chosen()
        busy = session is not None and str(session.path) in self._busy
        self.open_button.setEnabled(session is not None)
        self.reveal_button.setEnabled(session is not None)
        self.rename_button.setEnabled(session is not None and not session.problem)
        self.trash_button.setEnabled(session is not None and not busy)
        self.trash_button.setToolTip(self.tr("It is open in a window. Close it first.") if busy else "")

    # -- what can be done with one

    def open_chosen(self) -> None:
        session = self.chosen()
        if session is not None:
            self.opened.emit(str(session.path))
            self.accept()

    def _reveal(self) -> None:
        session = self.chosen()
        if session is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(session.path.parent)))

    def _storage(self) -> None:
        """Sizes are measured by the engine of the window this was opened from."""
        self.storage_wanted.emit()
        self.accept()

    def _folders(self) -> None:
        self.folders_wanted.emit()
        self.accept()

    def rename(self) -> None:
        session = self.chosen()
        if session is not None:
            self.rename_session(session)

    def rename_session(self, session: SessionFile) -> None:
        dialog = QInputDialog(self)
        dialog.setWindowTitle(self.tr("Rename the session"))
        dialog.setLabelText(self.tr("Title"))
        dialog.resize(480, dialog.height())
        dialog.setTextValue(session.title)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        Again(dialog, lambda window, _state: _rename_again(window, session), str(session.path))
        dialog.textValueSelected.connect(lambda text: self.set_title(session, text.strip()))
        dialog.open()

    def set_title(self, session: SessionFile, title: str) -> None:
        """Through an engine: only an engine writes sessions. The window's own session has one already."""
        if not title or title == session.title:
            return
        known = self._state is not None and str(self._state.info.get("path")) == str(session.path)
        if known and self._state is not None:
            self._state.request(
                "set_title", {"title": title}, while_open(self, lambda _r: self._renamed(session))
            )
            return
        # Not a part of the dialog: it ends in its own time, and the window never waits for that.
        client = EngineProcess(["--session", str(session.path)], parent=QCoreApplication.instance())

        def say(error: dict[str, Any]) -> None:
            self.set_note(refusal(engine_words.error(error)), "bad")

        told = while_open(self, say)

        def refused(error: dict[str, Any]) -> None:
            told(error)
            client.stop()

        def done(_result: object) -> None:
            client.stop()

        client.hello.connect(lambda _hello: client.request("set_title", {"title": title}, done, refused))
        client.refused.connect(refused)
        client.stopped.connect(while_open(self, lambda *_: self._renamed(session)))
        client.stopped.connect(client.deleteLater)
        self.set_note(self.tr("Renaming…"))
        client.start()

    def _renamed(self, session: SessionFile) -> None:
        self._files[str(session.path)] = read_session(session.path)
        if self._files[str(session.path)].title != session.title:
            self.set_note(self.tr("Renamed."), "ok")
        for at in range(self.list.count()):
            self._word(self.list.item(at))

    def ask_trash(self) -> None:
        """Names what goes and where it goes; Cancel is the default."""
        session = self.chosen()
        if session is None:
            return
        if session.folder:
            self._ask_with_folder(session)
            return
        ask_first(
            self,
            self.tr("Delete a session"),
            self.tr("Move “{}” to the trash folder?").format(session.title),
            self.tr("%n node(s) with all that was said go with it.", "", session.nodes)
            + "\n"
            + self.tr(
                "Your folder {root} and its files stay as they are. The session can be had back from {trash}."
            ).format(root=session.root or "—", trash=trash_dir()),
            self.tr("Move to the trash"),
            lambda: self.trash(session),
            role=QMessageBox.ButtonRole.DestructiveRole,
        )

    def _ask_with_folder(self, session: SessionFile) -> None:
        dialog = SessionDeleteDialog(session, self)

        def agreed() -> None:
            lose_id = dialog.lose_id
            if self.trash(session) and lose_id is not None:
                self._remove_folder(session, lose_id)

        dialog.accepted.connect(agreed)
        dialog.look()
        dialog.open()

    def _remove_folder(self, session: SessionFile, lose_id: str) -> None:
        """After the session is gone: what was confirmed is compared once more with what is there."""
        gone = self.tr("“{}” is in the trash, and its folder is removed.").format(session.title)
        stays = self.tr("“{}” is in the trash. Its folder stays:").format(session.title)

        def removed(_done: object) -> None:
            self.set_note(gone, "ok")

        def refused(error: dict[str, Any]) -> None:
            self.set_note(f"{stays} {refusal(engine_words.error(error))}", "warn")

        self.set_note(self.tr("Removing the folder…"))
        remove_folder(session.folder, lose_id, while_open(self, removed), while_open(self, refused))

    def trash(self, session: SessionFile) -> bool:
        """Whether it is in the trash now."""
        try:
            place = to_trash(session.path)
        except OSError as error:
            self.set_note(self.tr("It could not be moved: {}").format(error.strerror or error), "bad")
            return False
        for at in range(self.list.count()):
            if self.list.item(at).data(ROLE) == str(session.path):
                self.list.takeItem(at)
                break
        self._files.pop(str(session.path), None)
        self.set_note(self.tr("“{title}” is in {place} now.").format(title=session.title, place=place), "ok")
        self._refresh_buttons()
        return True

    # -- files from outside

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        dropping.welcome(event, self, self.tr("Let go to open or import"))

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        dropping.end(self)

    def dropEvent(self, event: QDropEvent) -> None:
        files = dropping.files(event, self)
        own = [one for one in files if one.endswith(paths.SESSION_SUFFIX)]
        foreign = [one for one in files if one not in own]
        for one in own:
            self.opened.emit(one)
        if foreign:
            self.importing.start(foreign)
        elif own:
            self.accept()

    def _came(self, path: Path) -> None:
        if str(path) not in self._files:
            self.add(read_session(path), first=True)


def _rename_again(window: QWidget, session: SessionFile) -> None:
    dialog = window.findChild(SessionsDialog)
    if dialog is not None:
        dialog.rename_session(session)
