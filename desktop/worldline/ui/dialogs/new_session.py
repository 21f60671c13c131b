"""New session: which folder, in a worktree of its own or in place, and what is carried along."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QFileDialog,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QWidget,
)

from worldline.core.paths import place_of
from worldline.ui import dropping
from worldline.ui.chat.row_base import ColorLabel
from worldline.ui.dialogs.base import Dialog
from worldline.ui.theme import theme


class NewSessionDialog(Dialog):
    """`chosen` carries {"folder", "mode": "isolated" | "in_place", "title"}. A folder may be dropped on it."""

    chosen = Signal(dict)

    def __init__(self, folder: str = "", parent: QWidget | None = None) -> None:
        super().__init__(self.tr("New session"), parent, width=600)
        self.setAcceptDrops(True)
        self.folder = QLineEdit(folder, self)
        self.folder.setPlaceholderText(self.tr("Folder or repository (or drop one here)"))
        self.folder.setAccessibleName(self.tr("Folder"))
        self.folder.textChanged.connect(self._folder_changed)
        choose = QPushButton(self.tr("Choose…"), self)
        choose.setAutoDefault(False)
        choose.clicked.connect(self._choose)
        line = QHBoxLayout()
        line.addWidget(self.folder, 1)
        line.addWidget(choose)
        self.body.addLayout(line)
        self.title = QLineEdit(self)
        self.title.setPlaceholderText(self.tr("Title (the first prompt, if empty)"))
        self.title.setAccessibleName(self.tr("Title"))
        self.body.addWidget(self.title)
        self._says = ColorLabel("", "muted", self)
        self._says.setFont(theme().font_ui())
        self._says.setWordWrap(True)
        self._go = self.add_button(self.tr("Start"), self._start, role="primary", default=True)
        self._isolated_wanted = True
        """The person's wish, which a folder that is passed on the way to another does not change."""
        self._modes = QButtonGroup(self)
        self.isolated = QRadioButton(self.tr("In a worktree of its own (recommended)"), self)
        self.in_place = QRadioButton(self.tr("In my folder"), self)
        notes = (
            self.tr("Your checkout is not touched while you explore the tree. Your uncommitted work is carried over. What is "
                    "good you bring to your branch by a named action."),
            self.tr("The agent works where you work, on a git branch of its own; yours never moves, and “Return to …” brings you "
                    "back to it. Going to a node puts files back in this folder; what you changed yourself stays."),
        )  # fmt: skip
        for button, note in zip((self.isolated, self.in_place), notes, strict=True):
            self._modes.addButton(button)
            button.toggled.connect(self._changed)
            button.clicked.connect(self._chosen)
            self.body.addWidget(button)
            label = ColorLabel(note, "muted", self)
            label.setWordWrap(True)
            label.setContentsMargins(24, 0, 0, 0)
            self.body.addWidget(label)
        self.isolated.setChecked(True)
        self.body.addWidget(self._says)
        self.right_buttons.insertWidget(0, self.add_button(self.tr("Cancel"), self.reject))
        self._folder_changed()

    def values(self) -> dict[str, str]:
        mode = "isolated" if self.isolated.isChecked() and self.isolated.isEnabled() else "in_place"
        return {"folder": str(self._place()), "mode": mode, "title": self.title.text().strip()}

    def _place(self) -> Path:
        return place_of(self.folder.text().strip() or "/nowhere-yet")

    def _chosen(self) -> None:
        self._isolated_wanted = self.isolated.isChecked()

    def _folder_changed(self) -> None:
        """What the person wants, as far as this folder can have it."""
        self._changed()
        possible = self._isolated_wanted and self.isolated.isEnabled()
        (self.isolated if possible else self.in_place).setChecked(True)

    def _changed(self) -> None:
        path = self._place()
        exists = path.is_dir()
        is_git = exists and any((one / ".git").exists() for one in (path, *path.parents))
        self.isolated.setEnabled(is_git or not exists)
        if path == Path.home():
            self._says.set(self.tr("This is your home folder. Choose a project in it."), "bad")
        elif exists and not is_git:
            self._says.set(self.tr("This folder is not in a git repository: the agent works in place. Every step is saved all "
                                   "the same."), "muted")  # fmt: skip
        elif not exists and self.folder.text().strip():
            self._says.set(self.tr("There is no such folder."), "bad")
        elif exists and self.isolated.isChecked():
            self._says.set(self.tr("Carried over: uncommitted and untracked files, the index, submodules. Left: ignored files "
                                   "(.env files are carried)."), "muted")  # fmt: skip
        else:
            self._says.set("", "muted")
        self._go.setEnabled(exists and path != Path.home())

    def _choose(self) -> None:
        dialog = QFileDialog(self, self.tr("Folder"), self.folder.text())
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.fileSelected.connect(self.folder.setText)
        dialog.open()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        dropping.welcome(event, self, self.tr("Let go to work in this folder"))

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        dropping.end(self)

    def dropEvent(self, event: QDropEvent) -> None:
        for found in dropping.files(event, self)[:1]:
            path = Path(found)
            self.folder.setText(str(path if path.is_dir() else path.parent))

    def _start(self) -> None:
        self.chosen.emit(self.values())
        self.accept()
