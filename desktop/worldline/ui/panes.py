"""Which widget fills which place of the window.

The main window knows places, not widgets. A pane is made by `factory(state, parent)` and finds everything it needs in
the `SessionState`; an attachment is called once a window exists and adds dialogs and actions to it.
"""

from __future__ import annotations

import gc
import importlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from worldline.ui.session_state import SessionState

if TYPE_CHECKING:
    from worldline.ui.main_window import MainWindow

PaneFactory = Callable[[SessionState, QWidget], QWidget]


@runtime_checkable
class Beginning(Protocol):
    def begin(self) -> None: ...


PANES: dict[str, str] = {
    "tree": "worldline.ui.tree.pane:TreePane",
    "chat": "worldline.ui.chat.pane:empty_pane",
    "changes": "worldline.ui.diff.pane:ChangesPane",
}
"""place → module:factory. Modules are imported when the pane is first shown."""

ATTACHMENTS: list[str] = ["worldline.ui.dialogs.desk:attach"]
"""module:function, called as `function(window, state)` after the first paint of a window with a session."""


class _Ended(QObject):
    """Belongs to the thread: a window that goes takes its `Warmer` with it at any moment, and a signal of an object
    that is just being deleted ends the process."""

    reached = Signal()


class Warmer(QObject):
    """Imports what the panes after the first paint need, in a thread: the window paints and answers meanwhile.

    (Importing them in the window's thread stops it for half a second, most of it pydantic.)
    """

    done = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        ended = _Ended()
        ended.reached.connect(self._thaw)
        self._thread = threading.Thread(target=self._run, args=(ended,), name="warm-up", daemon=True)

    def start(self) -> None:
        # A collection in the middle of an import holds every thread for as long as it takes.
        gc.disable()
        self._thread.start()

    @staticmethod
    def _run(ended: _Ended) -> None:
        try:
            for target in (PANES["chat"], PANES["changes"], *ATTACHMENTS):
                importlib.import_module(target.partition(":")[0])
        finally:
            # Here, and not in the window's thread: a window that is gone would leave it off for all others.
            gc.enable()
            # Without a window nobody hears it; whoever needs the modules imports them then.
            ended.reached.emit()
            ended.deleteLater()

    def _thaw(self) -> None:
        self._thread.join()
        # What is loaded by now stays; no collection needs to look at it again.
        gc.freeze()
        self.done.emit()


def _load(target: str) -> Any:
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def make_pane(place: str, state: SessionState, parent: QWidget) -> QWidget:
    factory: PaneFactory = _load(PANES[place])
    return factory(state, parent)


def begin(pane: QWidget) -> None:
    """Have a pane that was made empty show the session, now that it has its size."""
    if isinstance(pane, Beginning):
        pane.begin()


def attach_all(window: MainWindow, state: SessionState) -> None:
    for target in ATTACHMENTS:
        _load(target)(window, state)
