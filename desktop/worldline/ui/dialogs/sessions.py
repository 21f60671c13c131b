"""Sessions browser: all sessions of this computer, with search; files of other agents are imported by dropping them."""

from __future__ import annotations

import json
import sqlite3
import sys
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QDateTime, QLocale, QProcess, Qt, QTimer, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QFileDialog, QLineEdit, QListWidget, QListWidgetItem, QWidget

from worldline.core import paths
from worldline.ui.chat.row_base import ColorLabel
from worldline.ui.dialogs.base import Dialog
from worldline.ui.theme import theme

ROLE = Qt.ItemDataRole.UserRole


@dataclass(frozen=True, slots=True)
class SessionFile:
    path: Path
    title: str
    changed: float
    size: int
    problem: str = ""


def read_session(path: Path) -> SessionFile:
    """Title of a session file, read without a lock and without changing anything. A file that cannot be read is
    listed with the reason."""
    stat = path.stat()
    title, problem = "", ""
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=0.2) as database:
            row = database.execute("SELECT value FROM meta WHERE key = 'title'").fetchone()
            title = str(row[0]) if row else ""
    except sqlite3.Error as error:
        problem = str(error)
    return SessionFile(path, title or path.stem, stat.st_mtime, stat.st_size, problem)


class SessionsDialog(Dialog):
    """`opened` carries the path of the session to open."""

    opened = Signal(str)

    def __init__(self, parent: QWidget | None = None, folder: Path | None = None) -> None:
        super().__init__(self.tr("Sessions"), parent, width=720)
        self.resize(720, 560)
        self.setAcceptDrops(True)
        self._folder = folder or paths.sessions_dir()
        self._process: QProcess | None = None
        self.search = QLineEdit(self)
        self.search.setPlaceholderText(self.tr("Search titles and folders"))
        self.search.setAccessibleName(self.tr("Search the sessions"))
        self.search.textChanged.connect(self._filter)
        self.list = QListWidget(self)
        self.list.setAccessibleName(self.tr("Sessions"))
        self.list.itemActivated.connect(lambda _item: self._open())
        self._note = ColorLabel("", "muted", self)
        self._note.setFont(theme().font_ui())
        self._note.setWordWrap(True)
        self.body.addWidget(self.search)
        self.body.addWidget(self.list, 1)
        self.body.addWidget(self._note)
        self.add_button(self.tr("Import…"), self._choose, left=True)
        self.add_button(self.tr("Close"), self.reject)
        self._go = self.add_button(self.tr("Open"), self._open, role="primary")
        self._waiting = sorted(
            self._folder.glob(f"*{paths.SESSION_SUFFIX}"), key=lambda one: -one.stat().st_mtime
        )
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._read_some)
        self._timer.start()
        self.set_note("")

    def set_note(self, text: str, token: str = "muted") -> None:
        hint = self.tr("Drop session files of pi, Claude Code or Codex here to import them.")
        if not self.list.count() and not self._waiting:
            hint = self.tr("No sessions yet. Open a folder to start one.") + " " + hint
        self._note.set(text or hint, token if text else "muted")

    def _read_some(self) -> None:
        """A few files at a time, so that hundreds of sessions never stop the window."""
        for path in self._waiting[:8]:
            self.add(read_session(path))
        del self._waiting[:8]
        if not self._waiting:
            self._timer.stop()
            self.set_note("")

    def add(self, session: SessionFile, first: bool = False) -> None:
        when = QLocale().toString(
            QDateTime.fromSecsSinceEpoch(int(session.changed)), QLocale.FormatType.ShortFormat
        )
        facts = f"{when} · {QLocale().formattedDataSize(session.size, 1)}"
        text = f"{session.title}\n{facts}" + (f" · {session.problem}" if session.problem else "")
        item = QListWidgetItem(text)
        item.setData(ROLE, str(session.path))
        item.setToolTip(str(session.path))
        self.list.insertItem(0 if first else self.list.count(), item)
        if self.list.count() == 1 or first:
            self.list.setCurrentItem(item)

    def _filter(self, text: str) -> None:
        wanted = text.lower()
        for at in range(self.list.count()):
            item = self.list.item(at)
            item.setHidden(wanted not in f"{item.text()} {item.toolTip()}".lower())

    def _open(self) -> None:
        item = self.list.currentItem()
        if item is not None and not item.isHidden():
            self.opened.emit(str(item.data(ROLE)))
            self.accept()

    # -- import

    def _choose(self) -> None:
        dialog = QFileDialog(self, self.tr("Import sessions"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.filesSelected.connect(self.import_files)
        dialog.open()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        files = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        own = [one for one in files if one.endswith(paths.SESSION_SUFFIX)]
        if own:
            self.opened.emit(own[0])
            self.accept()
        elif files:
            self.import_files(files)

    def import_files(self, files: list[str]) -> None:
        """Import in a process of its own: large files take seconds, and a bad one must not hurt the window."""
        if self._process is not None:
            self.set_note(self.tr("An import is still going on."), "warn")
            return
        self._process = QProcess(self)
        self._process.finished.connect(self._imported)
        self.set_note(self.tr("Importing %n file(s)…", "", len(files)), "accent")
        self._process.start(
            sys.executable, ["-m", "worldline", "import", *files, "--out", str(self._folder), "--json"]
        )

    def _imported(self) -> None:
        process, self._process = self._process, None
        assert process is not None
        out = bytes(process.readAllStandardOutput().data()).decode("utf-8", "replace")
        said = bytes(process.readAllStandardError().data()).decode("utf-8", "replace").strip()
        try:
            files = json.loads(out)["files"]
        except (ValueError, KeyError, TypeError):
            self.set_note(self.tr("The import failed: {}").format(said[-300:] or out[-300:]), "bad")
            return
        for one in files:
            if one.get("out"):
                self.add(read_session(Path(one["out"])), first=True)
        nodes = sum(int(one.get("nodes", 0)) for one in files)
        gaps = sum(len(one.get("gaps", [])) for one in files)
        text = self.tr("Imported: {files} files, {nodes} nodes.").format(files=len(files), nodes=nodes)
        self.set_note(
            text + (" " + self.tr("%n place(s) could not be read.", "", gaps) if gaps else ""), "ok"
        )
