"""Actions, signals and screenshot views that open dialogs, and what they ask the engine for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from worldline.ui.again import Again
from worldline.ui.session_state import SessionState

if TYPE_CHECKING:
    from worldline.ui.dialogs.desk import Desk
    from worldline.ui.dialogs.first_start import FirstStartDialog
    from worldline.ui.main_window import MainWindow


def add_actions(window: MainWindow, state: SessionState, desk: Desk) -> None:
    """Everything that can be opened from menu, palette, status bar, tree and `--view`."""
    actions, group = window.actions_list, desk.tr("Dialogs")

    def add(name: str, text: str, call: Any, keys: str = "", icon: str = "") -> None:
        if name not in actions:
            actions.add(name, text, call, keys=keys, icon=icon, group=group)

    add("show_waiting", desk.tr("Show what waits for you"), desk.show_waiting, "Ctrl+Shift+A", "bell")
    add(
        "effects",
        desk.tr("Done outside the workspace…"),
        lambda: effects(window, state),
        "Ctrl+Shift+E",
        "warn",
    )
    add(
        "diagnostics",
        desk.tr("Diagnostics"),
        lambda: diagnostics(window, state),
        "Ctrl+Shift+D",
        "diagnostics",
    )
    add("settings", desk.tr("Settings…"), lambda: settings(window, state), "Ctrl+,", "settings")
    add("new_session", desk.tr("New session…"), lambda: new_session(window, state), "Ctrl+N", "plus")
    add("import", desk.tr("All sessions, import…"), lambda: sessions(window, state), "Ctrl+Shift+R", "import")
    add("storage", desk.tr("Storage…"), lambda: storage(window, state), "", "storage")
    add("folders", desk.tr("Folders of sessions…"), lambda: folders(window), "", "folder")
    add("about", desk.tr("About Worldline"), lambda: about(window), "", "info")
    add("return_home", desk.tr("Return to my branch…"), lambda: return_home(window, state), "", "branch")
    offer_return(window, state)
    state.compare_asked.connect(lambda nodes: compare(window, state, nodes))
    state.as_model_sees_asked.connect(lambda uid: model_view(window, state, uid))
    state.bring_home_asked.connect(lambda uid: bring_home(window, state, uid))
    window.status.show_waiting.connect(desk.show_waiting)
    window.status.show_effects.connect(lambda: effects(window, state))
    window.status.show_diagnostics.connect(lambda: diagnostics(window, state))
    if state.is_loaded:
        _opened(window, state)
    else:
        state.loaded.connect(lambda: _opened(window, state), Qt.ConnectionType.SingleShotConnection)
    from worldline.ui.dialogs.views import views

    window.views.update(views(window, state, desk))


def _opened(window: MainWindow, state: SessionState) -> None:
    if state.opened_before:
        return  # In another language: a dialog that was open is opened again by its window, one put off stays so.
    first_start_if_needed(window, state)
    remind_of_old_files(window, state)


def model_view(window: QWidget, state: SessionState, uid: str) -> None:
    from worldline.ui.dialogs.model_view import open_model_view

    open_model_view(state, uid, window)


def effects(window: QWidget, state: SessionState) -> None:
    from worldline.ui.dialogs.effects import open_effects

    open_effects(state, window)


def diagnostics(window: QWidget, state: SessionState) -> None:
    from worldline.ui.dialogs.diagnostics import open_diagnostics

    open_diagnostics(state, window)


def settings(window: QWidget, state: SessionState, page: str = "") -> None:
    from worldline.ui.dialogs.settings import open_settings

    dialog = open_settings(state, window, page)
    Again(dialog, lambda window, state: settings(window, state, dialog.page))
    from worldline.ui.dialogs.desk import desk_of

    dialog.finished.connect(lambda _code: desk_of(state).leaving.read_settings())


def storage(window: MainWindow, state: SessionState, days: int = 0) -> None:
    from worldline.ui.dialogs.storage_session import open_storage

    dialog = open_storage(state, window, days)
    Again(dialog, lambda window, state: storage(window, state, days))
    dialog.session_wanted.connect(window.open_asked)
    dialog.folders_wanted.connect(lambda: folders(window))


def folders(window: QWidget) -> None:
    from worldline.ui.dialogs.folder_jobs import open_folders

    dialog = open_folders(window)
    Again(dialog, lambda window, _state: folders(window))


def remind_of_old_files(window: MainWindow, state: SessionState) -> None:
    """Files that are older than the person wants to keep: told once, when the session is opened; never removed here."""

    def known(result: dict[str, Any]) -> None:
        if not result["nodes"] or state.read_only:
            return
        text = window.tr("The files of %n step(s) are older than you want to keep.", "", int(result["nodes"]))
        window.notices.say(
            "retention",
            text,
            icon="saved",
            buttons=[(window.tr("Look…"), lambda: storage(window, state, int(result["days"])))],
        )

    state.request("retention", {}, known)


def bring_home(window: QWidget, state: SessionState, node: str) -> None:
    from worldline.ui.dialogs.bring_home import open_bring_home

    open_bring_home(state, node, window)


def return_home(window: QWidget, state: SessionState) -> None:
    from worldline.ui.dialogs.return_home import open_return_home

    open_return_home(state, window)


def offer_return(window: MainWindow, state: SessionState) -> None:
    """Once it is known that HEAD is away; most sessions never load the dialog."""

    def look(status: dict[str, Any]) -> None:
        if status.get("home"):
            from worldline.ui.dialogs.return_home import offer_return

            state.status_changed.disconnect(look)
            offer_return(window, state)

    window.actions_list["return_home"].setEnabled(False)
    state.status_changed.connect(look)
    look(state.status)


def compare(window: QWidget, state: SessionState, nodes: list[str]) -> None:
    from worldline.ui.compare.dialog import open_compare

    if len(nodes) >= 2:
        open_compare(state, nodes, window)


def about(window: QWidget) -> None:
    from worldline.ui.dialogs.small import AboutDialog

    dialog = AboutDialog(window)
    Again(dialog, lambda window, _state: about(window))
    dialog.open()


def first_start(window: MainWindow, state: SessionState) -> FirstStartDialog:
    from worldline.ui.dialogs.first_start import open_first_start

    return open_first_start(window, state)


def first_start_if_needed(window: MainWindow, state: SessionState) -> None:
    """A new session without a key and without a server of one's own: ask how the agent should think."""
    if state.info.get("scripted_model") or state.read_only or len(state.tree) > 1:
        return

    def settings_known(result: dict[str, Any]) -> None:
        if not result["values"].get("base_url"):
            state.request("credential", {}, credential_known, lambda _error: None)

    def credential_known(result: dict[str, Any]) -> None:
        if result.get("source") == "none" and window.isVisible():
            first_start(window, state)

    state.request("settings", {}, settings_known, lambda _error: None)


def new_session(window: MainWindow, state: SessionState) -> None:
    from worldline.ui.dialogs.new_session import NewSessionDialog

    # Where none was opened: the folder that it was wanted for.
    named = window.opened_with if Path(window.opened_with).is_dir() else ""
    dialog = NewSessionDialog(str(state.info.get("root", "")) or named, window)

    def chosen(values: dict[str, str]) -> None:
        if window.windows is not None:
            window.windows.new_session(
                values["folder"], in_place=values["mode"] == "in_place", title=values["title"]
            )

    Again(dialog, new_session)
    dialog.chosen.connect(chosen)
    dialog.open()


def sessions(window: MainWindow, state: SessionState) -> None:
    from worldline.ui.dialogs.sessions import SessionsDialog

    open_now = (
        {str(one.state.info.get("path")) for one in window.windows.sessions}
        if window.windows is not None
        else set()
    )
    dialog = SessionsDialog(window, state=state, busy={str(state.info.get("path")), *open_now})
    Again(dialog, sessions)
    dialog.opened.connect(window.open_asked)
    dialog.storage_wanted.connect(lambda: storage(window, state))
    dialog.folders_wanted.connect(lambda: folders(window))
    dialog.open()
