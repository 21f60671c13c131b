"""Actions that open views and dialogs, and what they ask the engine for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from worldline.ui.session_state import SessionState

if TYPE_CHECKING:
    from worldline.ui.dialogs.desk import Desk
    from worldline.ui.main_window import MainWindow


def add_actions(window: MainWindow, state: SessionState, desk: Desk) -> None:
    actions = window.actions_list
    group = window.tr("Dialogs")

    def add(name: str, text: str, call: Any, keys: str = "", icon: str = "") -> None:
        if name not in actions:
            actions.add(name, text, call, keys=keys, icon=icon, group=group)

    add("show_waiting", desk.tr("Show what waits for you"), desk.show_waiting, "Ctrl+Shift+A", "bell")
    add(
        "model_view",
        desk.tr("As the model sees it"),
        lambda: _model_view(window, state),
        "Ctrl+Shift+M",
        "eye",
    )
    add(
        "diagnostics",
        desk.tr("Diagnostics"),
        lambda: _diagnostics(window, state),
        "Ctrl+Shift+D",
        "diagnostics",
    )
    add("settings", desk.tr("Settings…"), lambda: _settings(window, state), "Ctrl+,", "settings")
    add(
        "bring_home",
        desk.tr("Bring to my branch…"),
        lambda: bring_home(window, state),
        "Ctrl+Shift+B",
        "home",
    )
    add(
        "compare",
        desk.tr("Compare the chosen attempts"),
        lambda: compare(window, state, state.selected),
        "",
        "compare",
    )
    add("shortcuts", desk.tr("Keyboard shortcuts"), lambda: _shortcuts(window), "Ctrl+/", "keyboard")
    add("about", desk.tr("About Worldline"), lambda: _about(window), "", "info")
    add("sessions", desk.tr("Sessions…"), lambda: sessions(window), "Ctrl+O", "session")
    state.compare_asked.connect(lambda nodes: compare(window, state, nodes))


def _model_view(window: MainWindow, state: SessionState) -> None:
    from worldline.ui.dialogs.model_view import open_model_view

    open_model_view(state, state.looked_at(), window)


def _diagnostics(window: MainWindow, state: SessionState) -> None:
    from worldline.ui.dialogs.diagnostics import open_diagnostics

    open_diagnostics(state, window)


def _settings(window: MainWindow, state: SessionState) -> None:
    from worldline.ui.dialogs.settings import open_settings

    open_settings(state, window)


def bring_home(window: MainWindow, state: SessionState, node: str = "") -> None:
    from worldline.ui.dialogs.bring_home import open_bring_home

    open_bring_home(state, node or state.looked_at(), window)


def compare(window: MainWindow, state: SessionState, nodes: list[str]) -> None:
    from worldline.ui.compare.view import open_compare

    if len(nodes) >= 2:
        open_compare(state, nodes, window)


def _shortcuts(window: MainWindow) -> None:
    from worldline.ui.dialogs.small import ShortcutsDialog

    ShortcutsDialog(window.actions_list, window).open()


def _about(window: MainWindow) -> None:
    from worldline.ui.dialogs.small import AboutDialog

    AboutDialog(window).open()


def sessions(window: MainWindow) -> None:
    from worldline.ui.dialogs.sessions import SessionsDialog

    SessionsDialog(window).open()
