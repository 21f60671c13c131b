"""Which widget fills which place of the window.

The main window knows places, not widgets. A pane is made by `factory(state, parent)` and finds everything it needs in
the `SessionState`; an attachment is called once a window exists and adds dialogs and actions to it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QWidget

from worldline.ui.session_state import SessionState

if TYPE_CHECKING:
    from worldline.ui.main_window import MainWindow

PaneFactory = Callable[[SessionState, QWidget], QWidget]

PANES: dict[str, str] = {
    "tree": "worldline.ui.tree.pane:TreePane",
    "chat": "worldline.ui.chat.pane:ChatPane",
    "changes": "worldline.ui.diff.pane:ChangesPane",
}
"""place → module:factory. Modules are imported when the pane is first shown."""

ATTACHMENTS: list[str] = ["worldline.ui.dialogs.desk:attach"]
"""module:function, called as `function(window, state)` after the first paint of a window with a session."""


def _load(target: str) -> Any:
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def make_pane(place: str, state: SessionState, parent: QWidget) -> QWidget:
    factory: PaneFactory = _load(PANES[place])
    return factory(state, parent)


def attach_all(window: MainWindow, state: SessionState) -> None:
    for target in ATTACHMENTS:
        _load(target)(window, state)
