"""Another language or size of text: every window is made anew around its session, which goes on.

Texts and fonts are put into widgets once, in hundreds of places. Making the window again is what is sure to reach all of them, and
takes as long as opening one. The engine, what it is doing and what waits for the person stay; so do the place in the
tree, the looks of the tree, the file whose changes are shown, what is being written and answered, and the dialogs that are open with what is written in
them.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from worldline.ui.again import Carried, OpenDialog, open_dialogs
from worldline.ui.chat.composing import Written
from worldline.ui.chat.pane import ChatPane
from worldline.ui.diff.pane import ChangesPane
from worldline.ui.main_window import MainWindow
from worldline.ui.session_state import SessionState

if TYPE_CHECKING:
    from worldline.ui.tree.pane import TreePane


def renewed(old: MainWindow) -> MainWindow:
    """A window on the session of `old`, in its place; shown, and `old` is about to be deleted."""
    client, before = old.state.client, old.state
    state = SessionState(client)
    state.go_on_from(before)
    path = str(before.info.get("path") or "")
    if path:
        # From the file, as when a session is opened: a long one is seen at once.
        state.read_ahead(Path(path))
    new = MainWindow(state, old.settings)
    new.opened_with, new.windows = old.opened_with, old.windows
    new.setGeometry(old.geometry())
    new.setWindowState(old.windowState())
    once = Qt.ConnectionType.SingleShotConnection
    new.first_painted.connect(client.greet_again, once)
    state.loaded.connect(partial(_look_alike, _looks(old.tree), new.tree, state, before.selection), once)
    new.completed.connect(partial(_open_again, new, open_dialogs(old)), once)
    changes = old.panes["changes"]
    if isinstance(changes, ChangesPane):
        new.completed.connect(partial(_same_changes, new, *changes.looks()), once)
    written = what_is_written(old)
    if written is not None:
        new.completed.connect(partial(write_on, new, written), once)
    place = _focused(old)
    if place:
        new.completed.connect(partial(new.places.show_pane, place), once)
    active = old.isActiveWindow() or not place
    old.give_up()
    new.show()
    if active:
        new.activateWindow()
    return new


def _focused(window: MainWindow) -> str:
    """The place of the window that the keyboard is in, "" = none (a dialog has it)."""
    widget = QApplication.focusWidget()
    for place, pane in window.panes.items():
        if widget is not None and pane.isAncestorOf(widget):
            return place
    return ""


Looks = tuple[str, bool, bool, bool, float]


def _looks(tree: TreePane) -> Looks:
    """Filter, folding, direction, following and zoom."""
    scene = tree.view.scene
    return (
        scene.items.filter,
        scene.items.folding,
        scene.geometry.sideways,
        tree.view.follow_live,
        scene.geometry.scale,
    )


def _look_alike(looks: Looks, tree: TreePane, state: SessionState, selection: str) -> None:
    name, folding, sideways, follow, scale = looks
    tree.choose_filter(name)
    tree.fold_button.setChecked(folding)
    tree.side_button.setChecked(sideways)
    tree.view.show_only(name, folding=folding)
    if sideways:
        tree.view.set_sideways(True)
    tree.view.zoom(scale / tree.view.scene.geometry.scale)
    tree.view.set_follow(follow)
    if selection:
        state.select(selection)
    elif state.cursor:
        tree.view.reveal(state.cursor_row())


def _same_changes(window: MainWindow, against: str, path: str) -> None:
    pane = window.panes["changes"]
    assert isinstance(pane, ChangesPane)
    pane.look_alike(against, path)


def _open_again(window: MainWindow, dialogs: list[OpenDialog]) -> None:
    Carried(window, dialogs)
    for dialog in dialogs:
        dialog.how(window, window.state)


def what_is_written(window: MainWindow) -> Written | None:
    """The message that is being written in a window; None before it has a place for one."""
    chat = window.panes["chat"]
    return chat.composing.handed_over() if isinstance(chat, ChatPane) else None


def write_on(window: MainWindow, written: Written) -> None:
    """Go on with it in another window, which is complete."""
    chat = window.panes["chat"]
    assert isinstance(chat, ChatPane)
    chat.composing.take_over(written)
