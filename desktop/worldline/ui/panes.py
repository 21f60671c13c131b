"""Which widget fills which place of the window.

The main window knows places, not widgets. A pane is made by `factory(state, parent)` and finds everything it needs in
the `SessionState`; an attachment is called once a window exists and adds dialogs and actions to it.
"""

from __future__ import annotations

import gc
import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from worldline.ui.session_state import SessionState

if TYPE_CHECKING:
    from worldline.ui.main_window import MainWindow

PaneFactory = Callable[[SessionState, QWidget], QWidget]


Steps = Iterator[Callable[[], object]]
"""Work for `slices.in_slices`, found while it is done."""


@runtime_checkable
class InSteps(Protocol):
    """A pane that is made empty, so that the window does not stand still for the sum of it."""

    def beginning(self) -> Steps:
        """Show the session, now that it has its place and size."""
        ...


PANES: dict[str, str] = {
    "tree": "worldline.ui.tree.pane:TreePane",
    "chat": "worldline.ui.chat.pane:empty_pane",
    "changes": "worldline.ui.diff.pane:ChangesPane",
}
"""place → module:factory. Modules are imported when the pane is first shown."""

ATTACHMENTS: list[str] = ["worldline.ui.dialogs.desk:attach"]
"""module:function, called as `function(window, state)` after the first paint of a window with a session."""


LIBRARIES = (
    "concurrent.futures", "difflib", "html", "worldline.protocol.events", "worldline.protocol.commands",
    "worldline.viewmodel.chat", "worldline.viewmodel.chat_markdown", "worldline.viewmodel.compared",
    "worldline.viewmodel.diff", "worldline.viewmodel.diff_files", "worldline.viewmodel.drafts",
    "worldline.viewmodel.gaps", "worldline.viewmodel.headers", "worldline.viewmodel.mentions", "worldline.viewmodel.plan",
)  # fmt: skip
"""Of what the panes after the first paint need, all that knows nothing of Qt: nine tenths of the time, most of it
pydantic's."""
MODULES = (
    "worldline.ui.chat.composer_edit", "worldline.ui.chat.composing", "worldline.ui.markdown.prose",
    "worldline.ui.syntax.code_view", "worldline.ui.chat.message_rows", "worldline.ui.chat.view",
    "worldline.ui.chat.pane", "worldline.ui.diff.file_diff_panel", "worldline.ui.diff.file_list", "worldline.ui.diff.pane",
    "worldline.ui.dialogs.desk",
)  # fmt: skip
"""The rest, in an order in which each brings a few milliseconds with it."""


class _Ended(QObject):
    """Belongs to the thread: a window that goes takes its `Warmer` with it at any moment, and a signal of an object
    that is just being deleted ends the process."""

    reached = Signal()


class Warmer(QObject):
    """Imports `LIBRARIES` in a thread: the window paints and answers meanwhile. (Importing them in the window's thread
    stops it for a quarter of a second.)

    Nothing with Qt: the binding makes a class when it is first named, and two threads that do so at the same moment wait
    for each other for ever, or end the process.
    """

    done = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        ended = _Ended()
        ended.reached.connect(self._on_reached)
        self._first = not all(name in sys.modules for name in LIBRARIES)
        """Of the process: for a later window there is nothing to import, and what is there then is not to be kept."""
        run = self._run if self._first else self._end
        self._thread = threading.Thread(target=run, args=(ended,), name="warm-up", daemon=True)

    def start(self) -> None:
        if self._first:
            # A collection in the middle of an import holds every thread for as long as it takes.
            gc.disable()
        self._thread.start()

    @staticmethod
    def _run(ended: _Ended) -> None:
        try:
            for name in LIBRARIES:
                importlib.import_module(name)
        finally:
            # What is loaded by now stays; no collection needs to look at it again. Before they go on: the first one would
            # look through all of it, 40 ms. Both here, and not in the window's thread: a window that is gone would leave
            # them off for all others.
            gc.freeze()
            gc.enable()
            Warmer._end(ended)

    @staticmethod
    def _end(ended: _Ended) -> None:
        # Without a window nobody hears it; whoever needs the modules imports them then.
        ended.reached.emit()
        ended.deleteLater()

    def _on_reached(self) -> None:
        self._thread.join()
        self.done.emit()


def _load(target: str) -> Any:
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def make_pane(place: str, state: SessionState, parent: QWidget) -> QWidget:
    factory: PaneFactory = _load(PANES[place])
    return factory(state, parent)


def importing() -> Steps:
    """The modules of the panes that come after the first paint."""
    for name in MODULES:
        yield partial(importlib.import_module, name)


def meet_widgets() -> None:
    """Have the binding make its classes of widgets. It does so, 10 ms, when Qt hands a widget to Python for the first
    time that Python has not made: that would be in the middle of the work on a pane."""
    QPlainTextEdit().viewport()


def attach_all(window: MainWindow, state: SessionState) -> None:
    for target in ATTACHMENTS:
        _load(target)(window, state)
