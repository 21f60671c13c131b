"""The list of changed files: rows with status, counts and badges, as a list or as a tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from PySide6.QtCore import QCoreApplication, QModelIndex, QPersistentModelIndex, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import (
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from worldline.core.background import UNSURE
from worldline.protocol.model import FileChange
from worldline.ui.plain import as_tip
from worldline.ui.theme import theme
from worldline.viewmodel.diff_files import FileNode, file_tree, found
from worldline.viewmodel.visible import visible

translate = QCoreApplication.translate
ROLE = Qt.ItemDataRole.UserRole
SLICE = 400
"""Rows that are made at once."""
ROWS = 12_000
"""Rows that there are before somebody scrolls towards the end, and so many more each time: Qt lays all of them out anew for
each slice that comes, and a tenth of a second for 100,000 of them."""
STATUS_TOKENS = {"A": "ok", "M": "warn", "D": "bad", "R": "info", "T": "info", "S": "info"}


class FileDelegate(QStyledItemDelegate):
    """`M parser.py  src/shop    +30 −9  ●run`."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.flat = True

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(200, 26)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        tokens = theme().tokens
        area = option.rect
        state = option.state
        painter.save()
        if state & QStyle.StateFlag.State_Selected:
            painter.fillRect(area, QColor(tokens.selected))
        elif state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(area, QColor(tokens.hover))
        change = index.data(ROLE)
        centre = Qt.AlignmentFlag.AlignVCenter
        x = area.left() + 6
        if not isinstance(change, FileChange):
            painter.setPen(QColor(tokens.muted))
            painter.setFont(theme().font_ui())
            painter.drawText(area.adjusted(6, 0, 0, 0), centre, str(index.data()))
            painter.restore()
            return
        painter.setFont(theme().font_code())
        painter.setPen(tokens.color(STATUS_TOKENS.get(change.status, "muted")))
        painter.drawText(area.adjusted(6, 0, 0, 0), centre, change.status)
        x += 18
        right = area.right() - 8
        painter.setFont(theme().font_ui(-1))
        for text, token in reversed(_facts(change)):
            width = painter.fontMetrics().horizontalAdvance(text)
            painter.setPen(tokens.color(token))
            painter.drawText(right - width, area.top(), width + 2, area.height(), centre, text)
            right -= width + 7
        painter.setFont(theme().font_ui())
        folder, _, name = visible(change.path).rpartition("/")
        metrics = painter.fontMetrics()
        room = max(20, right - x - 4)
        shown = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, room)
        painter.setPen(QColor(tokens.muted if change.status == "D" else tokens.text))
        painter.drawText(x, area.top(), room, area.height(), centre, shown)
        left = room - metrics.horizontalAdvance(shown) - 8
        if self.flat and folder and left > 40:
            painter.setPen(QColor(tokens.muted))
            painter.setFont(theme().font_ui(-1))
            text = painter.fontMetrics().elidedText(folder, Qt.TextElideMode.ElideLeft, left)
            painter.drawText(x + room - left, area.top(), left, area.height(), centre, text)
        painter.restore()


def _facts(change: FileChange) -> list[tuple[str, str]]:
    facts: list[tuple[str, str]] = []
    if change.author == "user":
        facts.append((translate("FileList", "yours"), "warn"))
    elif change.author == UNSURE:
        facts.append((translate("FileList", "yours?"), "warn"))
    if change.binary:
        facts.append((translate("FileList", "binary"), "muted"))
    if change.added:
        facts.append((f"+{change.added}", "ok"))
    if change.removed:
        facts.append((f"−{change.removed}", "bad"))
    if change.runs_later:
        facts.append((translate("FileList", "● runs later"), "warn"))
    return facts


class _FileItem(QTreeWidgetItem):
    """A row. What is said of it is put together when somebody asks: of 10,000 rows, twenty are looked at."""

    def __init__(self, node: FileNode) -> None:
        super().__init__([node.name])
        self._change = node.change

    def data(self, column: int, role: int) -> Any:
        if self._change is not None:
            if role == ROLE:
                return self._change
            if role == Qt.ItemDataRole.ToolTipRole:
                return as_tip(_tip(self._change))
            if role == Qt.ItemDataRole.AccessibleTextRole:
                return _tip(self._change).replace("\n", ", ")
        return super().data(column, role)


def _tip(change: FileChange) -> str:
    words = {
        "A": translate("FileList", "added"),
        "M": translate("FileList", "modified"),
        "D": translate("FileList", "deleted"),
        "R": translate("FileList", "renamed from {}").format(change.old_path),
        "T": translate("FileList", "type or mode changed"),
        "S": translate("FileList", "submodule or nested repository"),
    }
    lines = [change.path, f"{words[change.status]} +{change.added} −{change.removed}"]
    if change.runs_later:
        lines.append(
            translate(
                "FileList", "Runs later, when you do something: a hook, a script, a test configuration."
            )
        )
    if change.author == "user":
        lines.append(translate("FileList", "Changed by you"))
    elif change.author == UNSURE:
        lines.append(translate("FileList", "Changed by you, or by a command that ran in the background"))
    return "\n".join(lines)


def _one_below_another(changes: list[FileChange]) -> Iterator[FileNode]:
    return (FileNode(change.path, change) for change in changes)


class FileList(QTreeWidget):
    """Emits the path that is chosen; keeps the choice when the list is set again."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setHeaderHidden(True)
        self.setRootIsDecorated(False)
        self.setIndentation(14)
        self.setUniformRowHeights(True)
        self.setMouseTracking(True)
        self.setAccessibleName(self.tr("Changed files"))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._delegate = FileDelegate(self)
        self.setItemDelegate(self._delegate)
        self._changes: list[FileChange] = []
        self._wanted = ""
        """The file that is chosen, while it has no row yet."""
        self._as_tree = False
        self._items: dict[str, QTreeWidgetItem] = {}
        self._todo: list[tuple[Iterator[FileNode], QTreeWidgetItem | None]] = []
        """Nodes without a row yet and what they are in; the next one is of the last."""
        self._rows, self._limit = 0, ROWS
        self._more = QTimer(self, singleShot=True, interval=1)
        self._more.timeout.connect(self._add_some)
        self.currentItemChanged.connect(self._on_current)
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)

    @property
    def path(self) -> str:
        if self._wanted:
            return self._wanted
        item = self.currentItem()
        change = item.data(0, ROLE) if item is not None else None
        return change.path if isinstance(change, FileChange) else ""

    def change(self) -> FileChange | None:
        return found(self._changes, self.path)

    def set_as_tree(self, on: bool) -> None:
        self._as_tree = on
        self.set_changes(self._changes)

    def set_changes(self, changes: list[FileChange], choose: str = "") -> None:
        """List these, which are by their paths (sorting 100,000 would hold the window). `choose` is chosen if it is among them, otherwise what was chosen before, or the first."""
        wanted = choose or self.path
        self._changes = changes
        self.blockSignals(True)
        self._more.stop()
        self.clear()
        self._items = {}
        self._delegate.flat = not self._as_tree
        self.setRootIsDecorated(self._as_tree)
        self._wanted = ""
        self._rows, self._limit = 0, ROWS
        nodes = file_tree(changes) if self._as_tree else _one_below_another(changes)
        self._todo = [(nodes, None)]
        self._add_some()
        if wanted and wanted not in self._items and found(changes, wanted) is not None:
            # Its row comes later: until then it is chosen without one.
            self._wanted = wanted
        elif (item := self._items.get(wanted) or self._first()) is not None:
            self.setCurrentItem(item)
        self.blockSignals(False)
        self.chosen.emit(self.path)

    def _first(self) -> QTreeWidgetItem | None:
        return next(iter(self._items.values()), None)

    @property
    def waits(self) -> bool:
        """As many rows as there are to be by now are there; more come when somebody scrolls."""
        return not self._more.isActive()

    def _on_scrolled(self, value: int) -> None:
        bar = self.verticalScrollBar()
        if self._todo and self._rows >= self._limit and value > bar.maximum() - 2 * bar.pageStep():
            self._limit += ROWS
            self._more.start()

    def _add_some(self) -> None:
        """Rows for the next files; the rest follows in the next frames, so that 10,000 files never hold the window."""
        left = min(SLICE, self._limit - self._rows)
        while self._todo and left:
            nodes, parent = self._todo[-1]
            node = next(nodes, None)
            if node is None:
                self._todo.pop()
                continue
            left -= 1
            self._rows += 1
            item = _FileItem(node)
            if parent is None:
                self.addTopLevelItem(item)
            else:
                parent.addChild(item)
            if node.change is not None:
                self._items[node.change.path] = item
            else:
                item.setExpanded(True)
                self._todo.append((node.children, item))
        if self._wanted in self._items:
            found, self._wanted = self._items[self._wanted], ""
            # Nothing new is chosen: it only has a row now.
            blocked = self.blockSignals(True)
            self.setCurrentItem(found)
            self.blockSignals(blocked)
        if self._todo and self._rows < self._limit:
            self._more.start()

    def _on_current(self) -> None:
        self._wanted = ""
        self.chosen.emit(self.path)
