"""The way of the Tab key through a window: from above to below, part by part, whenever a widget was made."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget


def stops(window: QWidget, parts: Sequence[QWidget]) -> list[QWidget]:
    """What Tab reaches: the widgets of the first part, then those of the second, …; what is in none comes first."""
    found: list[QWidget] = []
    widget = window.nextInFocusChain()
    while widget is not None and widget is not window:
        usable = widget.isVisible() and widget.isEnabled() and widget.window() is window
        if usable and widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.focusProxy() is None:
            found.append(widget)
        widget = widget.nextInFocusChain()

    def part_of(one: QWidget) -> int:
        return next((at for at, part in enumerate(parts) if part is one or part.isAncestorOf(one)), -1)

    return sorted(found, key=part_of)


def step(window: QWidget, parts: Sequence[QWidget], forward: bool) -> bool:
    """Give the focus to the next stop, or the one before. False when there is none."""
    order = stops(window, parts)
    if not order:
        return False
    now = QApplication.focusWidget()
    at = order.index(now) if now in order else (-1 if forward else 0)
    reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
    order[(at + (1 if forward else -1)) % len(order)].setFocus(reason)
    return True
