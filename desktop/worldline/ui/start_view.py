"""The first window without a session: go on where you were, open a folder, or look at the demo."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QSettings, QSize, Qt, Signal
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDragLeaveEvent, QDropEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from worldline.ui import dropping, icons
from worldline.ui.labels import ElidedLabel, WrapLabel
from worldline.ui.recents import Recent, recent_sessions, short_path, told_apart
from worldline.ui.theme import ICON, SPACE_M, SPACE_S, SPACE_XL, SPACE_XS, caption, theme
from worldline.viewmodel.tree_words import ago

COLUMN = 820


class StartView(QWidget):
    open_asked = Signal(str)
    dropped = Signal(list)
    demo_asked = Signal()
    closed = Signal(object)

    def __init__(self, settings: QSettings) -> None:
        super().__init__()
        self._settings = settings
        self.setWindowTitle("Worldline")
        self.setAcceptDrops(True)
        self.resize(880, 600)
        self.setMinimumSize(520, 420)
        # A column in the middle: lines as long as a wide window are hard to read.
        outer = QHBoxLayout(self)
        outer.setContentsMargins(SPACE_XL * 2, 0, SPACE_XL * 2, 0)
        column = QWidget(self)
        column.setMaximumWidth(COLUMN)
        outer.addStretch(1)
        outer.addWidget(column, 1000)
        outer.addStretch(1)
        layout = QVBoxLayout(column)
        layout.setContentsMargins(0, SPACE_XL * 2, 0, SPACE_XL)
        layout.setSpacing(SPACE_M)
        head = QHBoxLayout()
        head.setSpacing(SPACE_M)
        self._logo = QLabel(self)
        head.addWidget(self._logo)
        words = QVBoxLayout()
        words.setSpacing(2)
        self._name = QLabel("Worldline", self)
        words.addWidget(self._name)
        line = QLabel(self.tr("Work with a coding agent and see the whole session as a tree."), self)
        caption(line)
        words.addWidget(line)
        head.addLayout(words, 1)
        layout.addLayout(head)
        layout.addSpacing(SPACE_S)
        buttons = QHBoxLayout()
        buttons.setSpacing(SPACE_S)
        self.folder_button = self._button(self.tr("Open a folder…"), "folder", self._choose_folder)
        self.folder_button.setProperty("role", "primary")
        self.file_button = self._button(self.tr("Open a session file…"), "file", self._choose_file)
        self.demo_button = self._button(self.tr("Look at the demo"), "play", self.demo_asked.emit)
        for button in (self.folder_button, self.file_button, self.demo_button):
            buttons.addWidget(button)
        buttons.addStretch(1)
        layout.addLayout(buttons)
        layout.addSpacing(SPACE_M)
        row = QHBoxLayout()
        title = QLabel(self.tr("Recent sessions"), self)
        title.setFont(theme().font_ui(bold=True))
        row.addWidget(title)
        row.addStretch(1)
        self.search = QLineEdit(self)
        self.search.setPlaceholderText(self.tr("Search"))
        self.search.setAccessibleName(self.tr("Search the sessions"))
        self.search.setFixedWidth(220)
        self.search.textChanged.connect(self._filter)
        row.addWidget(self.search)
        layout.addLayout(row)
        self.list = QListWidget(self)
        self.list.setAccessibleName(self.tr("Recent sessions"))
        # The rows are widgets with margins of their own.
        self.list.setStyleSheet("QListWidget { background: transparent; } QListWidget::item { padding: 0; }")
        self.list.itemActivated.connect(self._open)
        self.list.itemClicked.connect(self._open)
        layout.addWidget(self.list, 1)
        self.empty = QLabel(
            self.tr(
                "Nothing here yet. Open a folder with code: the agent works on a copy of your repository, "
                "your own checkout stays as it is.\nEvery step becomes a node, and a click on a node takes the files back to it."
            ),
            self,
        )
        self.empty.setWordWrap(True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignTop)
        caption(self.empty)
        layout.addWidget(self.empty, 1)
        self.nothing = QLabel(self.tr("No session has these words."), self)
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignTop)
        caption(self.nothing)
        layout.addWidget(self.nothing, 1)
        self.message = WrapLabel("", self)
        self.message.setProperty("role", "error")
        self.message.setWordWrap(True)
        self.message.hide()
        layout.addWidget(self.message)
        hint = QLabel(self.tr("You can also drop a folder or a session file here."), self)
        caption(hint)
        layout.addWidget(hint)
        theme().changed.connect(self._restyle)
        self._restyle()
        self.refresh()

    def _button(self, text: str, icon: str, call: Callable[[], object]) -> QPushButton:
        button = QPushButton(text, self)
        button.setProperty("icon_name", icon)
        button.clicked.connect(lambda *_args: call())
        return button

    def _restyle(self) -> None:
        self.setWindowIcon(icons.logo())
        self._logo.setPixmap(icons.pixmap("worldline", "accent", 40, self.devicePixelRatioF()))
        self._name.setFont(theme().font_ui(9, bold=True))
        for button in (self.folder_button, self.file_button, self.demo_button):
            color = "on_accent" if button.property("role") == "primary" else "text"
            button.setIcon(icons.icon(str(button.property("icon_name")), color, ICON))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Close):
            self.close()
        else:
            super().keyPressEvent(event)

    def say(self, text: str) -> None:
        """An error about something that could not be opened."""
        self.message.setText(text)
        self.message.setVisible(bool(text))

    def refresh(self) -> None:
        self.list.clear()
        recents = recent_sessions(self._settings)
        for recent, title in zip(recents, told_apart(recents), strict=True):
            self._add(recent, title)
        self.empty.setVisible(self.list.count() == 0)
        self.search.setVisible(self.list.count() > 5)
        # What was written in a search that is not seen any more would hide sessions.
        self._filter("" if self.search.isHidden() else self.search.text())

    def _add(self, recent: Recent, called: str) -> None:
        item = QListWidgetItem(self.list)
        item.setData(Qt.ItemDataRole.UserRole, str(recent.path))
        item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{called}, {recent.root}")
        row = QWidget()
        layout = QHBoxLayout(row)
        layout.setContentsMargins(SPACE_S, SPACE_S, SPACE_S, SPACE_S)
        words = QVBoxLayout()
        words.setSpacing(SPACE_XS)
        title = ElidedLabel(called, row)
        title.setFont(theme().font_ui(bold=True))
        title.setTextFormat(Qt.TextFormat.PlainText)
        place = ElidedLabel(short_path(recent.root), row)
        caption(place)
        words.addWidget(title)
        words.addWidget(place)
        layout.addLayout(words, 1)
        place.setVisible(bool(recent.root))
        nodes = self.tr("damaged") if recent.damaged else self.tr("%n node(s)", "", recent.nodes)
        facts = QLabel(f"{nodes} · {ago(int(recent.changed * 1000))}", row)
        caption(facts)
        layout.addWidget(facts)
        # As wide as the list: long titles end in …
        item.setSizeHint(QSize(0, row.sizeHint().height()))
        self.list.setItemWidget(item, row)

    def _filter(self, text: str) -> None:
        needle = text.casefold()
        shown = 0
        for index in range(self.list.count()):
            item = self.list.item(index)
            found = needle in str(item.data(Qt.ItemDataRole.AccessibleTextRole)).casefold()
            item.setHidden(not found)
            shown += found
        self.list.setVisible(shown > 0)
        self.nothing.setVisible(self.list.count() > 0 and not shown)

    def _open(self, item: QListWidgetItem) -> None:
        self.open_asked.emit(str(item.data(Qt.ItemDataRole.UserRole)))

    def _choose_folder(self) -> None:
        self._dialog(QFileDialog.FileMode.Directory, self.tr("Open a folder"), "")

    def _choose_file(self) -> None:
        self._dialog(
            QFileDialog.FileMode.ExistingFile,
            self.tr("Open a session"),
            self.tr("Sessions (*.worldline *.jsonl *.zip)"),
        )

    def _dialog(self, mode: QFileDialog.FileMode, title: str, names: str) -> None:
        dialog = QFileDialog(self, title, str(Path.home()), names)
        dialog.setFileMode(mode)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.open_asked.emit)
        dialog.open()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        dropping.welcome(event, self, self.tr("Let go to open"))

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        dropping.end(self)

    def dropEvent(self, event: QDropEvent) -> None:
        if found := dropping.files(event, self):
            self.dropped.emit(found)

    def closeEvent(self, event: QCloseEvent) -> None:
        event.accept()
        self.closed.emit(self)
