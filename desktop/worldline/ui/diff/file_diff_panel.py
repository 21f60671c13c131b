"""One file's diff with its tools: unified or side by side, whitespace, context, next and previous."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QHBoxLayout,
    QMenu,
    QPushButton,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from worldline.protocol.model import FileChange, FileDiff
from worldline.ui.chat import words
from worldline.ui.chat.row_base import ColorLabel, tool_button
from worldline.ui.diff.find_bar import FindBar
from worldline.ui.diff.image_diff import ImageDiff
from worldline.ui.diff.view import DiffView
from worldline.ui.hiding import hide, show_if
from worldline.ui.plain import as_tip
from worldline.ui.preferences import settings as window_settings
from worldline.ui.theme import theme
from worldline.viewmodel import engine_words

translate = QCoreApplication.translate
CONTEXTS = (3, 10, 1_000_000)


class FileDiffPanel(QWidget):
    """Shows what it is given; asks for another diff through `options_changed`."""

    options_changed = Signal()
    action = Signal(str)
    """open | reveal | copy_path | take | revert, for the file shown."""
    more_wanted = Signal()

    def __init__(self, parent: QWidget | None = None, *, on_disk: bool = True) -> None:
        """`on_disk`: a side of it is, or can be brought onto, the disk; else its path can be copied and no more."""
        super().__init__(parent)
        settings = window_settings()
        self.context = 3
        self.ignore_space = False
        self._change: FileChange | None = None
        self.view = DiffView(self)
        self.view.offers = on_disk
        self.finding = FindBar(self.view, self)
        self.view.search_asked.connect(self.open_search)
        self.image = ImageDiff(self)
        self._note = ColorLabel("", "muted", self)
        self._note.setWordWrap(True)
        self._note.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._stack = QStackedWidget(self)
        for widget in (self.view, self.image, self._note):
            self._stack.addWidget(widget)
        self._path = ColorLabel("", "text", self, bold=True)
        self._path.setFont(theme().font_ui(0, bold=True))
        self._path.setMinimumWidth(40)
        self._split = tool_button(self, self.tr("Side by side"), "split")
        self._split.setCheckable(True)
        self._split.toggled.connect(self._on_split)
        self._split.setChecked(bool(settings.value("diff/side_by_side", False, bool)))
        self._space = tool_button(self, self.tr("Ignore whitespace"), "space")
        self._space.setCheckable(True)
        self._space.toggled.connect(self._on_space)
        self._more_context = tool_button(self, self.tr("More context"), "unfold")
        self._more_context.clicked.connect(self._on_context)
        self._up = tool_button(self, self.tr("Previous change (P)"), "up")
        self._up.clicked.connect(lambda: self.view.next_change(-1))
        self._down = tool_button(self, self.tr("Next change (N)"), "down")
        self._down.clicked.connect(lambda: self.view.next_change(1))
        self._menu_button = tool_button(self, self.tr("More"), "more")
        self._menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu = QMenu(self)
        self._entries: dict[str, QAction] = {}
        for name, text in (
            ("open", self.tr("Open in the editor")),
            ("reveal", self.tr("Show in the folder")),
            ("copy_path", self.tr("Copy path")),
            ("search", self.tr("Search this file…")),
            ("", ""),
            ("take", self.tr("Take this file from here onto the disk…")),
            ("revert", self.tr("Put the file back to how it was before…")),
        ):
            if not on_disk and name not in ("copy_path", "search"):
                continue
            if not name:
                self.menu.addSeparator()
                continue
            # Made here, not by the menu: a kept wrapper of a menu's own entry can be taken for dead by the binding.
            entry = QAction(text, self)
            self.menu.addAction(entry)
            entry.triggered.connect(lambda _=False, name=name: self._on_entry(name))
            self._entries[name] = entry
        self._menu_button.setMenu(self.menu)
        head = QHBoxLayout()
        head.setContentsMargins(12, 4, 8, 4)
        head.setSpacing(2)
        head.addWidget(self._path, 1)
        for button in (self._up, self._down, self._more_context, self._space, self._split, self._menu_button):
            head.addWidget(button)
        self._rest = QPushButton(
            self.tr("This file is huge; only its first part is shown. Show all of it"), self
        )
        self._rest.setProperty("role", "link")
        self._rest.clicked.connect(self.more_wanted)
        self._rest.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        self._facts = ColorLabel("", "muted", self)
        self._facts.setContentsMargins(12, 0, 12, 4)
        self._facts.setWordWrap(True)
        self._facts.hide()
        layout.addLayout(head)
        layout.addWidget(self._facts)
        layout.addWidget(self.finding)
        layout.addWidget(self._stack, 1)
        layout.addWidget(self._rest)
        self.show_note("")

    @property
    def shown(self) -> str:
        """The path of the file whose lines are shown; "" while there are none."""
        lines = self._change is not None and self._stack.currentWidget() is self.view
        return self._change.path if lines and self._change is not None else ""

    def show_diff(self, diff: FileDiff) -> None:
        self._change = diff.change
        old = f"{diff.change.old_path} → " if diff.change.old_path else ""
        self._name(old + diff.change.path)
        facts = fact_words(diff)
        self._facts.setText(" · ".join(facts))
        self._facts.setVisible(bool(facts))
        if diff.old_image or diff.new_image:
            sizes = [words.size(n) if n >= 0 else "" for n in (diff.change.old_size, diff.change.new_size)]
            self.image.set_images(diff.old_image, diff.new_image, sizes)
            self._stack.setCurrentWidget(self.image)
        elif diff.rows:
            self.view.set_diff(diff)
            self._stack.setCurrentWidget(self.view)
            self.finding.another_diff()
        else:
            self.show_note(engine_words.say(diff.note) if diff.note else note_words(diff.change))
        show_if(diff.truncated, self._rest, self.view)
        self._fit_tools()

    def open_search(self) -> bool:
        """Look for words in the lines that are shown; False when there are none."""
        if self._stack.currentWidget() is not self.view:
            return False
        self.finding.open_search()
        return True

    def _name(self, path: str) -> None:
        self._path.setText(path)
        self._path.setToolTip(as_tip(path))

    def show_refused(self, path: str, why: str) -> None:
        """There is no difference of this file, and why."""
        self._name(path)
        self.show_note(why)

    def _fit_tools(self) -> None:
        """A picture has no lines to walk through, to fold or to put side by side."""
        lines = self._stack.currentWidget() is self.view
        for button in (self._up, self._down, self._more_context, self._split):
            button.setEnabled(lines)
        self._entries["search"].setEnabled(lines)
        if not lines:
            show_if(False, self.finding, self)
        # Without whitespace there may be no lines left: the way back stays open.
        self._space.setEnabled(lines or self.ignore_space)

    def set_newer_is_disk(self, on: bool) -> None:
        """Whether the newer side is the disk: what lies there already cannot be taken."""
        self.view.can_take = not on
        self._entries["take"].setVisible(not on)

    def set_read_only(self, why: str) -> None:
        """Nothing can be taken: `why`, "" = it can."""
        for name in ("take", "revert"):
            self._entries[name].setEnabled(not why)
            self._entries[name].setToolTip(as_tip(why))
        self.menu.setToolTipsVisible(True)
        self.view.offers = not why

    def show_note(self, text: str) -> None:
        """In place of lines."""
        self._facts.hide()
        hide(self._rest, self.view)
        self._note.setText(text)
        self._stack.setCurrentWidget(self._note)
        self._fit_tools()

    def _on_entry(self, name: str) -> None:
        if name == "search":
            self.open_search()
        else:
            self.action.emit(name)

    def _on_split(self, on: bool) -> None:
        self.view.set_side_by_side(on)
        window_settings().setValue("diff/side_by_side", on)

    def _on_space(self, on: bool) -> None:
        self.ignore_space = on
        # What is shown then are not the hunks of the file: they cannot be taken one by one.
        self.view.whole_hunks = not on
        self.options_changed.emit()

    def _on_context(self) -> None:
        at = CONTEXTS.index(self.context) if self.context in CONTEXTS else 0
        self.context = CONTEXTS[(at + 1) % len(CONTEXTS)]
        self.options_changed.emit()


def fact_words(diff: FileDiff) -> list[str]:
    """What is true of the file besides the lines that are shown."""
    change = diff.change
    if not diff.rows and not diff.old_image and not diff.new_image:
        return []  # what there is to say stands in the middle then
    facts = [engine_words.say(diff.note)] if diff.note and diff.rows else []
    if change.old_mode and change.new_mode and change.old_mode != change.new_mode:
        facts.append(
            translate("FileDiffPanel", "Mode {old} → {new}").format(
                old=oct(change.old_mode)[2:], new=oct(change.new_mode)[2:]
            )
        )
    return facts


def note_words(change: FileChange) -> str:
    """Why a changed file has no lines to show."""
    if change.status == "S":
        return translate(
            "FileDiffPanel",
            "A submodule or nested repository. Its commit changed; its files are not listed here.",
        )
    if change.binary:
        sizes = [words.size(size) for size in (change.old_size, change.new_size) if size >= 0]
        return translate("FileDiffPanel", "Binary file") + (" · " + " → ".join(sizes) if sizes else "")
    if change.status == "T" or change.old_mode != change.new_mode:
        return translate("FileDiffPanel", "Only the type or mode changed: {old} → {new}").format(
            old=oct(change.old_mode)[2:], new=oct(change.new_mode)[2:]
        )
    if change.status == "R":
        return translate("FileDiffPanel", "Renamed without other changes.")
    return translate("FileDiffPanel", "No changed lines (whitespace only, or an empty file).")
