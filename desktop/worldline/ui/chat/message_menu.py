"""What can be done with a message of the chat besides its buttons."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QPoint, Qt
from PySide6.QtWidgets import QMenu, QWidget

from worldline.ui.chat import opening
from worldline.ui.plain import as_label
from worldline.ui.session_state import SessionState
from worldline.viewmodel.chat_rows import ChatRow, links_in, said_of
from worldline.viewmodel.tree_model import NO_ROW

ADDRESS = 70
"""Characters of an address that are shown."""


def message_menu(state: SessionState, row: ChatRow, parent: QWidget) -> QMenu:
    """Copy, go, look; and what the model is told of it from here on, on this branch. The original always stays."""
    from worldline.ui.chat.row_base import copy_text

    translate = QCoreApplication.translate
    uid = row.uid
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    text = said_of(row.body) or (row.header.preview if row.header is not None else "")
    menu.addAction(translate("MessageMenu", "Copy message")).triggered.connect(lambda: copy_text(text))
    menu.addAction(translate("MessageMenu", "Show in the tree")).triggered.connect(
        lambda: state.reveal_asked.emit(uid)
    )
    go = menu.addAction(translate("MessageMenu", "Go here and fork"))
    go.triggered.connect(lambda: state.go(uid))
    go.setEnabled(not state.read_only)
    for address in links_in(text):
        # Also for whoever has no mouse; what it opens is what it says.
        said = address if len(address) <= ADDRESS else address[: ADDRESS - 1] + "…"
        entry = menu.addAction(as_label(translate("MessageMenu", "Open {address}").format(address=said)))
        entry.triggered.connect(lambda _=False, address=address: opening.link(address))
    menu.addSeparator()
    menu.addAction(translate("MessageMenu", "As the model sees it")).triggered.connect(
        lambda: state.as_model_sees_asked.emit(uid)
    )
    leave = menu.addAction(translate("MessageMenu", "Leave this out for the model"))
    leave.triggered.connect(lambda: state.request("context_edit", {"node": uid}))
    instead = menu.addAction(translate("MessageMenu", "Tell the model something else instead…"))
    instead.triggered.connect(lambda: ask_replacement(state, uid, parent))
    at = state.tree.row(uid)
    possible = at > 0 and at != NO_ROW and not state.read_only and not state.busy and not state.selection
    for action in (leave, instead):
        action.setEnabled(possible)
    return menu


def show_menu(state: SessionState, row: ChatRow | None, parent: QWidget, place: QPoint) -> None:
    if row is not None:
        message_menu(state, row, parent).popup(place)


def ask_replacement(state: SessionState, uid: str, parent: QWidget) -> None:
    from worldline.ui.again import Again
    from worldline.ui.dialogs.small import NoteDialog

    translate = QCoreApplication.translate
    dialog = NoteDialog(
        translate("MessageMenu", "What the model is told instead"),
        "",
        translate("MessageMenu", "On this branch, from here on. The original stays in the session."),
        parent.window(),
    )
    Again(dialog, lambda window, state: ask_replacement(state, uid, window), uid)
    dialog.entered.connect(
        lambda said: state.request("context_edit", {"node": uid, "replacement": said}) if said else None
    )
    dialog.open()
