"""The list of keys, with a search: what there is, in the words of the menus."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLineEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from worldline.ui.plain import of_label
from worldline.ui.theme import SPACE_L, SPACE_M, theme


class ShortcutList(QDialog):
    def __init__(self, parent: QWidget, actions: Sequence[QAction]) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Keyboard shortcuts"))
        self.resize(560, 600)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SPACE_L, SPACE_L, SPACE_L, SPACE_L)
        layout.setSpacing(SPACE_M)
        self.edit = QLineEdit(self)
        self.edit.setPlaceholderText(self.tr("Search"))
        self.edit.setAccessibleName(self.tr("Search the shortcuts"))
        self.edit.textChanged.connect(self._filter)
        self.list = QTreeWidget(self)
        self.list.setColumnCount(2)
        self.list.setHeaderHidden(True)
        self.list.setRootIsDecorated(False)
        self.list.setAccessibleName(self.tr("Shortcuts"))
        self.list.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.list.header().setStretchLastSection(False)
        self._fill(actions)
        self.list.resizeColumnToContents(1)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        for widget in (self.edit, self.list, buttons):
            layout.addWidget(widget)

    def tree_keys(self) -> list[tuple[str, str]]:
        """The tree's own keys, which are no actions of the window."""
        return [
            (self.tr("Look at the previous or next node"), "↑ ↓"),
            (self.tr("Look at the parent, the newest child"), "← →"),
            (self.tr("To the fork above, to the next fork below"), "Ctrl+← Ctrl+→"),
            (self.tr("Go there: files are put back, a branch starts"), "Enter"),
            (self.tr("Choose for Compare"), "Space"),
            (self.tr("Choose a range for Compare"), "Shift+↑ Shift+↓"),
            (self.tr("Search the tree"), "/"),
            (self.tr("Stop looking, choose none"), "Esc"),
            (self.tr("Label"), "Shift+L"),
            (self.tr("Note"), "Shift+N"),
            (self.tr("Prompts only, failures, labelled, all"), "Ctrl+U E L D"),
            (self.tr("Zoom"), self.tr("Ctrl+wheel")),
        ]

    def message_keys(self) -> list[tuple[str, str]]:
        """Those of the field one writes in."""
        return [
            (self.tr("Send; while the agent works: queue"), "Enter"),
            (self.tr("New line"), "Shift+Enter"),
            (self.tr("Interrupt the agent and send"), "Ctrl+Enter"),
            (self.tr("Name a file"), "@"),
            (self.tr("Messages sent before"), "↑ ↓"),
        ]

    def changes_keys(self) -> list[tuple[str, str]]:
        return [
            (self.tr("Next change, previous change"), "N P"),
            (self.tr("Beginning and end of the file"), "Home End"),
            (self.tr("Search this file"), "Ctrl+F /"),
        ]

    def _fill(self, actions: Sequence[QAction]) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for action in actions:
            keys = ", ".join(k.toString(QKeySequence.SequenceFormat.NativeText) for k in action.shortcuts())
            if keys:
                groups.setdefault(str(action.property("group") or ""), []).append(
                    (of_label(action.text()), keys)
                )
        groups[self.tr("In the message")] = self.message_keys()
        groups[self.tr("In the tree")] = self.tree_keys()
        groups[self.tr("In the changes")] = self.changes_keys()
        for group, entries in groups.items():
            head = QTreeWidgetItem(self.list, [group, ""])
            head.setFont(0, theme().font_ui(bold=True))
            head.setFlags(Qt.ItemFlag.ItemIsEnabled)
            for text, keys in entries:
                item = QTreeWidgetItem(head, [text, keys])
                item.setTextAlignment(1, Qt.AlignmentFlag.AlignRight)
            head.setExpanded(True)

    def _filter(self, text: str) -> None:
        needle = text.casefold()
        for at in range(self.list.topLevelItemCount()):
            head = self.list.topLevelItem(at)
            assert head is not None
            shown = 0
            for index in range(head.childCount()):
                child = head.child(index)
                assert child is not None
                fits = needle in child.text(0).casefold() or needle in child.text(1).casefold()
                child.setHidden(not fits)
                shown += fits
            head.setHidden(shown == 0)
