"""`--screenshot`: the window as it is, painted without a display once the session is loaded and idle."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QEventLoop, Qt, QTimer
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from worldline.ui.dialogs.picture import draw_dialog
from worldline.ui.theme import theme

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


def take(windows: Windows, options: argparse.Namespace | SimpleNamespace, size: tuple[int, int]) -> int:
    """Take the pictures, all of one session; 0, or 1 with a sentence for each that was not taken on standard error."""
    views, themes = options.view.split(","), options.theme.split(",")
    problems = []
    try:
        window: MainWindow | None = None
        for view in views:
            if view != "start" and window is None:
                opened = _open(windows, options.path, size)
                if isinstance(opened, str):
                    problems.append(opened)
                    break
                window = opened
            for name in themes:
                _set_theme(name)
                shown = (
                    _start(windows, size) if view == "start" or window is None else _show_view(window, view)
                )
                file = options.screenshot.replace("{view}", view).replace("{theme}", name)
                said = shown if isinstance(shown, str) else _save(shown, Path(file))
                if said:
                    problems.append(said)
                if not isinstance(shown, str):
                    for widget in shown:
                        if widget is not window:
                            widget.close()
    finally:
        windows.close_all()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    sys.stderr.write("".join(f"{problem}\n" for problem in problems))
    return 1 if problems else 0


def _set_theme(name: str) -> None:
    """`contrast-dark` is high contrast on a desktop that is dark; "" leaves the theme as it is."""
    if name:
        dark = name in ("dark", "contrast-dark")
        theme().pretend_dark(dark)
        theme().set_name("contrast" if name.startswith("contrast") else name)  # type: ignore[arg-type]


def _start(windows: Windows, size: tuple[int, int]) -> list[QWidget]:
    view = windows.show_start()
    view.resize(*size)
    _settle()
    return [view]


def _open(windows: Windows, path: str, size: tuple[int, int]) -> MainWindow | str:
    """The window once its session is loaded and idle, or what was wrong."""
    window = windows.open_demo() if path in ("demo", "") else windows.open(path)
    if window is None:
        return f"{path} cannot be opened: a folder, a *.worldline file or the word demo is needed."
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
    return window


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


def _save(widgets: list[QWidget], file: Path) -> str:
    """The window, and what stands over it at its place; returns what went wrong, "" = nothing."""
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
        return f"{file} cannot be written. Name a .png file in a folder that exists."
    return ""
