"""Keys of the tree: pi's grammar and the usual ones. Nothing here touches the disk but Enter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

from worldline.viewmodel.tree_model import NO_ROW
from worldline.viewmodel.tree_paths import next_fork

if TYPE_CHECKING:
    from worldline.ui.tree.view import TreeView

_FILTER_KEYS = {
    Qt.Key.Key_U: "prompts",
    Qt.Key.Key_E: "failures",
    Qt.Key.Key_L: "labelled",
    Qt.Key.Key_D: "all",
}


def handle(view: TreeView, event: QKeyEvent) -> bool:
    """Do what the key means; False when it means nothing here."""
    key, modifiers = event.key(), event.modifiers()
    ctrl = bool(modifiers & Qt.KeyboardModifier.ControlModifier)
    shift = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
    alt = bool(modifiers & Qt.KeyboardModifier.AltModifier)
    items, row = view.scene.items, view.scene.focus_row()
    if not len(items):
        return False
    if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and row >= 0:
        if items.is_folded(items.item(row)):
            view.toggle_run(row)
        else:
            view.activate(row)
        return True
    if key == Qt.Key.Key_Escape:
        return _escape(view)
    if key == Qt.Key.Key_Space and row >= 0:
        view.choice.toggle(row)
        return True
    if key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal) and ctrl:
        view.zoom(1.2)
        return True
    if key == Qt.Key.Key_Minus and ctrl:
        view.zoom(1 / 1.2)
        return True
    if key == Qt.Key.Key_0 and ctrl:
        view.reset_zoom()
        return True
    if ctrl and not shift and key in _FILTER_KEYS:
        view.show_only(_FILTER_KEYS[Qt.Key(key)])
        return True
    if _asks(view, event, row, shift=shift):
        return True
    target = _target(view, key, ctrl=ctrl or alt)
    if target is None:
        return False
    if target >= 0:
        if shift:
            view.choice.pair(target)
        view.look_at(target)
    return True


def _asks(view: TreeView, event: QKeyEvent, row: int, *, shift: bool) -> bool:
    """Keys for something to be written: a search, a label, a note."""
    key = event.key()
    if event.text() == "/":
        view.search_asked.emit()
    elif shift and row >= 0 and key in (Qt.Key.Key_L, Qt.Key.Key_N):
        (view.label_asked if key == Qt.Key.Key_L else view.note_asked).emit(row)
    else:
        return False
    return True


def _escape(view: TreeView) -> bool:
    if view.scene.chosen:
        view.choice.clear()
    elif view.state.selection:
        view.scene.current = NO_ROW
        view.state.select("")
        view.reveal(view.scene.cursor)
    else:
        return False
    view.viewport().update()
    return True


def _target(view: TreeView, key: int, *, ctrl: bool) -> int | None:
    """The row that a moving key leads to; None when it is no moving key, -1 when there is nowhere to go."""
    items, geometry = view.scene.items, view.scene.geometry
    row = max(view.scene.focus_row(), 0)
    item = max(items.item(row), 0)
    page = max(1, int(view.viewport().height() / max(geometry.step, 1.0)) - 1)
    back, forth = Qt.Key.Key_Up, Qt.Key.Key_Down
    out, into = Qt.Key.Key_Left, Qt.Key.Key_Right
    if geometry.sideways:
        back, forth, out, into = out, into, back, forth
    if key == out:
        return _fork_above(view, row) if ctrl else view.state.tree.parent[row]
    if key == into:
        return _next_branch(view, row) if ctrl else _child(view, row)
    steps = {
        back: -1,
        forth: 1,
        Qt.Key.Key_PageUp: -page,
        Qt.Key.Key_PageDown: page,
        Qt.Key.Key_Home: -len(items),
        Qt.Key.Key_End: len(items),
    }
    step = steps.get(Qt.Key(key))
    if step is None:
        return None
    return items.row(min(max(item + step, 0), len(items) - 1))


def _child(view: TreeView, row: int) -> int:
    """Right unfolds a folded run first, then goes to the newest child."""
    if view.scene.items.is_folded(view.scene.items.item(row)):
        view.toggle_run(row)
        return row
    children = view.state.tree.children_of(row)
    return children[-1] if children else NO_ROW


def _fork_above(view: TreeView, row: int) -> int:
    """The node where this branch left its parent branch."""
    layout = view.scene.layout
    parent = layout.seg_parent[layout.segment[row]]
    return parent if parent >= 0 else layout.seg_first[layout.segment[row]]


def _next_branch(view: TreeView, row: int) -> int:
    """The next fork below on this branch, else the end of the branch."""
    return next_fork(view.state.tree, row)
