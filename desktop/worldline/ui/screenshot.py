"""`--screenshot`: the window as it is, painted without a display once the session is loaded and idle."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QEventLoop, Qt, QTimer
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from worldline.ui.dialogs.picture import draw_dialog

if TYPE_CHECKING:
    from worldline.ui.main_window import MainWindow
    from worldline.ui.windows import Windows

LIMIT_S = 90
"""The demo is made and the SDK imported in this time on a slow machine."""
SETTLE_MS = 350
QUIET_S = 1.5


def _wait(ready: Callable[[], bool], limit_s: float) -> bool:
    """Run events until `ready()` is true; False when the time is up."""
    loop = QEventLoop()
    timer = QTimer()
    timer.setInterval(40)
    timer.timeout.connect(lambda: loop.quit() if ready() else None)
    limit = QTimer()
    limit.setSingleShot(True)
    limit.timeout.connect(loop.quit)
    timer.start()
    limit.start(int(limit_s * 1000))
    if not ready():
        loop.exec()
    return bool(ready())


def _settle(ms: int = SETTLE_MS) -> None:
    loop = QEventLoop()
    QTimer.singleShot(ms, loop.quit)
    loop.exec()


def take(windows: Windows, options: argparse.Namespace, size: tuple[int, int]) -> int:
    """Take the picture; 0, or 1 with a sentence on standard error."""
    try:
        widget = _prepare(windows, options, size)
        if isinstance(widget, str):
            sys.stderr.write(widget + "\n")
            return 1
        return _save(widget, Path(options.screenshot))
    finally:
        windows.close_all()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def _prepare(windows: Windows, options: argparse.Namespace, size: tuple[int, int]) -> list[QWidget] | str:
    if options.view == "sessions" or (not options.path and options.view == "main"):
        view = windows.show_start()
        view.resize(*size)
        _settle()
        return [view]
    window = windows.open_demo() if options.path in ("demo", "") else windows.open(options.path)
    if window is None:
        return f"{options.path} cannot be opened: a folder, a *.worldline file or the word demo is needed."
    window.resize(*size)
    said: list[str] = []
    window.state.refused.connect(lambda error: said.append(f"{error['message']} {error['hint']}".strip()))

    since: list[float] = []

    def idle() -> bool:
        """Loaded, nothing runs, and it has stayed so: between two prompts of the demo there is a short rest."""
        state = window.state
        calm = (
            state.is_loaded
            and window.complete
            and (state.status.get("state") in ("waiting", "failed") or (state.ready and not state.busy))
        )
        if not calm:
            since.clear()
        elif not since:
            since.append(time.monotonic())
        return bool(said) or (calm and time.monotonic() - since[0] > QUIET_S)

    if not _wait(idle, LIMIT_S):
        return f"The session did not become ready within {LIMIT_S} s: {window.state.status.get('sentence') or window.state.client.state}"
    if said:
        return said[0]
    # A picture shows the session as it is opened, not as it has just grown.
    window.tree.view.refold()
    _settle()
    return _show_view(window, options.view)


def _show_view(window: MainWindow, view: str) -> list[QWidget] | str:
    if view == "main":
        _settle()
        return [window]
    if view == "palette":
        palette = window.commands.open_palette()
        _settle()
        return [window, palette]
    show = getattr(window, "views", {}).get(view)
    if show is None:
        return f"The view {view} cannot be shown here."
    before = set(QApplication.topLevelWidgets())
    show()
    _settle(900)
    new = [w for w in QApplication.topLevelWidgets() if w not in before and w.isVisible()]
    return [window, *new]


def _save(widgets: list[QWidget], file: Path) -> int:
    """The window, and what stands over it at its place."""
    picture = widgets[0].grab()
    if len(widgets) > 1:
        origin = widgets[0].mapToGlobal(widgets[0].rect().topLeft())
        painter = QPainter(picture)
        for widget in widgets[1:]:
            over = widget.grab()
            if isinstance(widget, QDialog) and not widget.windowFlags() & Qt.WindowType.FramelessWindowHint:
                draw_dialog(painter, widgets[0], widget, over)
                continue
            place = widget.mapToGlobal(widget.rect().topLeft()) - origin
            if not widgets[0].rect().contains(place):
                place.setX((widgets[0].width() - widget.width()) // 2)
                place.setY((widgets[0].height() - widget.height()) // 2)
            painter.drawPixmap(place, over)
        painter.end()
    if not picture.save(str(file)):
        sys.stderr.write(f"{file} cannot be written. Name a .png file in a folder that exists.\n")
        return 1
    return 0
