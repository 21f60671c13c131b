"""The way of the Tab key through a window or a dialog: from above to below, whenever a widget was made."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget


def stops(window: QWidget, parts: Sequence[QWidget]) -> list[QWidget]:
    """What Tab reaches: the widgets of the first part, then those of the second, …; what is in none comes first. Those of
    a part line by line: rows of the chat are made long after the field below them."""
    found: list[QWidget] = []
    widget = window.nextInFocusChain()
    while widget is not None and widget is not window:
        usable = widget.isVisible() and widget.isEnabled() and widget.window() is window
        if usable and widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.focusProxy() is None:
            found.append(widget)
        widget = widget.nextInFocusChain()

    def part_of(one: QWidget) -> int:
        return next((at for at, part in enumerate(parts) if part is one or part.isAncestorOf(one)), -1)

    if not parts:
        return found
    groups: dict[int, list[QWidget]] = {}
    for one in found:
        groups.setdefault(part_of(one), []).append(one)
    return [one for at in sorted(groups) for one in _in_lines(window, groups[at])]


SAME_LINE = 12
"""Pixels by which the tops of controls in one line differ at most."""


def by_place(window: QWidget) -> list[QWidget]:
    """What Tab reaches, line by line from above to below and in each from left to right. Of the choices of a group only
    the one that is chosen: the arrow keys lead to the others."""
    return _in_lines(window, [one for one in stops(window, ()) if not _passed_over(one)])


def _in_lines(window: QWidget, widgets: Sequence[QWidget]) -> list[QWidget]:
    """What is in another one comes right after it, also where it is scrolled out of sight."""
    known = set(widgets)
    inside: dict[QWidget, list[QWidget]] = {}
    placed: list[tuple[QPoint, QWidget]] = []
    for one in widgets:
        outer = one.parentWidget()
        while outer is not None and outer not in known:
            outer = outer.parentWidget()
        if outer is None:
            placed.append((one.mapTo(window, QPoint(0, 0)), one))
        else:
            inside.setdefault(outer, []).append(one)
    placed.sort(key=lambda pair: pair[0].y())
    lines: list[list[tuple[QPoint, QWidget]]] = []
    for place, one in placed:
        if not lines or place.y() > lines[-1][0][0].y() + SAME_LINE:
            lines.append([])
        lines[-1].append((place, one))
    order: list[QWidget] = []
    for line in lines:
        for _, one in sorted(line, key=lambda pair: pair[0].x()):
            order += [one, *_in_lines(window, inside.get(one, []))]
    return order


def _passed_over(widget: QWidget) -> bool:
    group = widget.group() if isinstance(widget, QAbstractButton) else None
    chosen = group.checkedButton() if group is not None and group.exclusive() else None
    return chosen is not None and chosen is not widget


def step(window: QWidget, parts: Sequence[QWidget] | None, forward: bool) -> bool:
    """Give the focus to the next stop, or the one before; without `parts` by their places. False when there is none."""
    order = by_place(window) if parts is None else stops(window, parts)
    if not order:
        return False
    now = QApplication.focusWidget()
    at = order.index(now) if now in order else (-1 if forward else 0)
    reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
    order[(at + (1 if forward else -1)) % len(order)].setFocus(reason)
    return True
