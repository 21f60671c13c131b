"""The tree for screen readers: the widget is a tree, the visible items are its children with a name and a state."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QAccessible, QAccessibleEvent, QAccessibleInterface
from shiboken6 import isValid

from worldline.viewmodel import tree_text

if TYPE_CHECKING:
    from worldline.ui.tree.view import TreeView

_installed = False
_kept: list[TreeInterface] = []
"""Qt holds plain pointers to interfaces, and deletes those of a widget itself when the widget has gone: until then they must
stay, and each must be given to it once."""


class _Base(QAccessibleInterface):
    """Does not keep its view. What is given to Qt from a method of Python is never let go by the binding: one look of a screen
    reader would hold a closed window, and its session, for as long as the program."""

    def __init__(self, view: TreeView) -> None:
        super().__init__()
        self._view = weakref.ref(view)

    @property
    def view(self) -> TreeView:
        """For calls of Qt, which asks `isValid` first."""
        view = self._view()
        assert view is not None
        return view

    def isValid(self) -> bool:
        view = self._view()
        return view is not None and isValid(view)

    def window(self) -> Any:
        return self.view.window().windowHandle()

    def setText(self, _kind: QAccessible.Text, _text: str) -> None:
        return None

    def childAt(self, _x: int, _y: int) -> Any:
        return None

    def indexOfChild(self, _child: Any) -> int:
        return -1


class TreeItemInterface(_Base):
    """The item at a place of the visible part; `index` counts from the first visible item."""

    def __init__(self, parent: TreeInterface, index: int) -> None:
        super().__init__(parent.view)
        self._parent = parent
        self.index = index

    @property
    def row(self) -> int:
        first, _last = self._parent.span()
        items = self.view.scene.items
        item = first + self.index
        return items.row(item) if 0 <= item < len(items) else -1

    def object(self) -> Any:
        return None

    def parent(self) -> Any:
        return self._parent

    def child(self, _index: int) -> Any:
        return None

    def childCount(self) -> int:
        return 0

    def role(self) -> QAccessible.Role:
        return QAccessible.Role.TreeItem

    def text(self, kind: QAccessible.Text) -> str:
        row = self.row
        if row < 0 or kind != QAccessible.Text.Name:
            return ""
        return name_of(self.view, row)

    def rect(self) -> QRect:
        if self.row < 0:
            return QRect()
        inner = self.view.rect_of(self.row)
        return QRect(self.view.viewport().mapToGlobal(inner.topLeft()), inner.size())

    def state(self) -> QAccessible.State:
        state = QAccessible.State()
        state.focusable = True
        state.selectable = True
        state.multiSelectable = True
        row = self.row
        state.selected = row in self.view.scene.chosen
        state.focused = self.view.hasFocus() and row == self.view.scene.focus_row()
        state.active = row == self.view.scene.cursor
        if row >= 0 and self.view.scene.items.is_folded(self.view.scene.items.item(row)):
            state.collapsed = True
            state.expandable = True
        return state


class TreeInterface(_Base):
    def __init__(self, view: TreeView) -> None:
        super().__init__(view)
        self._items: list[TreeItemInterface] = []

    def let_items_go(self) -> None:
        """The view goes: its items belong to no widget, so Qt would keep their pointers for good."""
        items, self._items = self._items, []
        for item in items:
            if isValid(item):
                QAccessible.deleteAccessibleInterface(QAccessible.uniqueId(item))

    def span(self) -> tuple[int, int]:
        """First and last visible item; a hundred at most."""
        first, last = self.view.scene.visible_items(self.view.viewport().height())
        return first, min(last, first + 99)

    def object(self) -> Any:
        return self.view

    def parent(self) -> Any:
        above = self.view.parentWidget()
        return QAccessible.queryAccessibleInterface(above) if above is not None else None

    def child(self, index: int) -> Any:
        if not 0 <= index < self.childCount():
            return None
        while len(self._items) <= index:
            self._items.append(TreeItemInterface(self, len(self._items)))
        return self._items[index]

    def childCount(self) -> int:
        first, last = self.span()
        return max(0, last - first + 1)

    def childAt(self, x: int, y: int) -> Any:
        place = self.view.viewport().mapFromGlobal(QPoint(x, y))
        row = self.view.row_at(place.toPointF())
        return self.child(self.view.scene.items.item(row) - self.span()[0]) if row >= 0 else None

    def indexOfChild(self, child: Any) -> int:
        return child.index if isinstance(child, TreeItemInterface) else -1

    def focusChild(self) -> Any:
        row = self.view.scene.focus_row()
        return self.child(self.view.scene.items.item(row) - self.span()[0]) if row >= 0 else None

    def role(self) -> QAccessible.Role:
        return QAccessible.Role.Tree

    def text(self, kind: QAccessible.Text) -> str:
        if kind == QAccessible.Text.Name:
            return self.view.accessibleName()
        if kind == QAccessible.Text.Description:
            return self.view.accessibleDescription()
        return ""

    def rect(self) -> QRect:
        return QRect(self.view.mapToGlobal(QPoint(0, 0)), self.view.size())

    def state(self) -> QAccessible.State:
        state = QAccessible.State()
        state.focusable = True
        state.focused = self.view.hasFocus()
        return state


def name_of(view: TreeView, row: int) -> str:
    items = view.scene.items
    item = items.item(row)
    if items.is_folded(item):
        said = tree_text.fold_text(view.state.tree, range(items.row(item), items.last_row(item) + 1))
        return said.text
    return tree_text.sentence(view.state.tree, row, cursor=row == view.scene.cursor)


def _factory(class_name: str, target: Any) -> Any:
    from worldline.ui.tree.view import TreeView

    if not isinstance(target, TreeView):
        return None
    _kept[:] = [one for one in _kept if isValid(one)]
    # A new one for each call: Qt asks again for a view that it knows, when the binding has given the view another
    # meta-object. The same one given twice is deleted twice, which ended the program when a window closed.
    face = TreeInterface(target)
    _kept.append(face)
    target.destroyed.connect(face.let_items_go)
    return face


def install() -> None:
    """Make tree widgets known to the accessibility layer; once for each process."""
    global _installed
    if not _installed:
        _installed = True
        QAccessible.installFactory(_factory)


def focus_moved(view: TreeView, row: int) -> None:
    if QAccessible.isActive() and row >= 0 and view.hasFocus():
        event = QAccessibleEvent(view, QAccessible.Event.Focus)
        event.setChild(
            max(0, view.scene.items.item(row) - view.scene.visible_items(view.viewport().height())[0])
        )
        QAccessible.updateAccessibility(event)


def row_added(view: TreeView, row: int) -> None:
    """A live announcement of a new node, once for each batch."""
    if QAccessible.isActive() and row >= 0 and view.state.is_loaded:
        from PySide6.QtGui import QAccessibleAnnouncementEvent

        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(view, name_of(view, row)))
