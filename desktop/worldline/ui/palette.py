"""Every action by name: type a few letters, Enter does it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QVBoxLayout,
    QWidget,
)

from worldline.ui.actions import WHY_NOT
from worldline.ui.labels import ElidedLabel
from worldline.ui.plain import of_label
from worldline.ui.theme import SPACE_M, SPACE_S, caption, theme

WIDTH = 560
ROWS = 13
"""Of commands that are shown at once."""


def score(query: str, text: str) -> int:
    """How well `text` fits; 0 = not at all. Whole words first, then letters in order."""
    query, text = query.casefold().strip(), text.casefold()
    if not query:
        return 1
    at = text.find(query)
    if at >= 0:
        return 1000 - at + (200 if at == 0 or text[at - 1] == " " else 0)
    position, total, run = -1, 0, 0
    for letter in query:
        if letter == " ":
            continue
        found = text.find(letter, position + 1)
        if found < 0:
            return 0
        run = run + 1 if found == position + 1 else 0
        total += 2 + run * 3 + (6 if found == 0 or text[found - 1] == " " else 0)
        position = found
    return max(1, total - len(text) // 8)


class Palette(QDialog):
    def __init__(self, parent: QWidget, actions: Sequence[QAction]) -> None:
        super().__init__(parent, Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self.setObjectName("palette")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAccessibleName(self.tr("All commands"))
        self._done = False
        self._actions = [action for action in actions if action.text()]
        t = theme().tokens
        self.setStyleSheet(
            f"#palette {{ background: {t.panel}; border: 1px solid {t.rim}; border-radius: 8px; }}"
        )
        self.setFixedWidth(WIDTH)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SPACE_M, SPACE_M, SPACE_M, SPACE_S)
        layout.setSpacing(SPACE_S)
        self.edit = QLineEdit(self)
        self.edit.setPlaceholderText(self.tr("Type a command"))
        self.edit.setAccessibleName(self.tr("Command"))
        self.edit.textChanged.connect(self._filter)
        self.edit.installEventFilter(self)
        self.list = QListWidget(self)
        self.list.setUniformItemSizes(True)
        # The rows are widgets with margins of their own.
        self.list.setStyleSheet("QListWidget { border: none; padding: 0; } QListWidget::item { padding: 0; }")
        self.list.setAccessibleName(self.tr("Commands"))
        self.list.itemActivated.connect(self._run)
        self.list.itemClicked.connect(self._run)
        self.none = QLabel(self.tr("No command is called that."), self)
        caption(self.none)
        self.none.hide()
        for widget in (self.edit, self.list, self.none):
            layout.addWidget(widget)
        self._filter("")

    def open_over(self, window: QWidget) -> None:
        corner = window.mapToGlobal(window.rect().topLeft())
        self.move(corner.x() + (window.width() - WIDTH) // 2, corner.y() + 64)
        self.show()
        self.edit.setFocus()

    def _filter(self, text: str) -> None:
        ranked = []
        # Without words in the order of the menus, the themes last: nobody looks for them most.
        groups = list(dict.fromkeys(str(action.property("group")) for action in self._actions))
        themes = {str(a.property("group")) for a in self._actions if a.objectName().startswith("theme_")}
        places = {group: at + len(groups) * (group in themes) for at, group in enumerate(groups)}
        for action in self._actions:
            words = of_label(action.text()).replace("…", "")
            points = max(score(text, words), score(text, f"{action.property('group')} {words}") - 5)
            if not words.isascii():
                # Whoever knows the English name need not switch to an input method first.
                points = max(points, score(text, action.objectName().replace("_", " ")) - 5)
            if points > 0:
                place = places[str(action.property("group"))]
                ranked.append((-points if text else 0, not action.isEnabled(), place, action))
        ranked.sort(key=lambda one: one[:2] if text else one[1:3])
        self.list.clear()
        for *_order, action in ranked:
            item = QListWidgetItem(self.list)
            item.setData(Qt.ItemDataRole.UserRole, action)
            item.setData(Qt.ItemDataRole.AccessibleTextRole, of_label(action.text()))
            if not action.isEnabled():
                item.setData(Qt.ItemDataRole.AccessibleDescriptionRole, str(action.property(WHY_NOT) or ""))
            row = self._row(action)
            item.setSizeHint(row.sizeHint())
            if not action.isEnabled():
                item.setFlags(Qt.ItemFlag.NoItemFlags)
            self.list.setItemWidget(item, row)
        for index in range(self.list.count()):
            if self.list.item(index).flags() & Qt.ItemFlag.ItemIsEnabled:
                self.list.setCurrentRow(index)
                break
        self.none.setVisible(not ranked)
        if ranked:
            # Whole rows, and no empty room below a few of them.
            self.list.setFixedHeight(min(len(ranked), ROWS) * self.list.sizeHintForRow(0) + 2)
        self.list.setVisible(bool(ranked))
        self.adjustSize()

    def _row(self, action: QAction) -> QWidget:
        row = QWidget()
        layout = QHBoxLayout(row)
        layout.setContentsMargins(SPACE_S, 5, SPACE_S, 5)
        picture = QLabel(row)
        picture.setFixedWidth(20)
        picture.setPixmap(action.icon().pixmap(16, 16))
        name = QLabel(of_label(action.text()), row)
        name.setTextFormat(Qt.TextFormat.PlainText)
        name.setEnabled(action.isEnabled())
        why_not = "" if action.isEnabled() else str(action.property(WHY_NOT) or "")
        # A line that cannot be chosen says what is missing.
        group = ElidedLabel(why_not or str(action.property("group") or ""), row)
        caption(group)
        keys = QLabel(action.shortcut().toString(QKeySequence.SequenceFormat.NativeText), row)
        caption(keys)
        keys.setMinimumWidth(96)
        keys.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        layout.addWidget(picture)
        layout.addWidget(name)
        layout.addSpacing(SPACE_S)
        layout.addWidget(group, 1)
        layout.addWidget(keys)
        return row

    def _run(self, item: QListWidgetItem | None) -> None:
        if item is None or not item.flags() & Qt.ItemFlag.ItemIsEnabled:
            return
        action = item.data(Qt.ItemDataRole.UserRole)
        # Where one click opens, Qt says of it that it was clicked and that it was activated.
        if not self._done:
            self._done = True
            self.close()
            action.trigger()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.edit and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            steps = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 8, Qt.Key.Key_PageUp: -8}
            step = steps.get(Qt.Key(event.key()))
            if step is not None:
                row = min(max(self.list.currentRow() + step, 0), self.list.count() - 1)
                self.list.setCurrentRow(row)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._run(self.list.currentItem())
                return True
        return super().eventFilter(watched, event)
