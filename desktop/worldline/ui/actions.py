"""Every action of a window in one list: menu, shortcut, palette and tooltip say the same words.

An action that is in no list cannot be reached by keyboard and does not exist for the palette; so widgets add theirs
here, under a stable id, and ask for the QAction when they want a button for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QToolButton, QWidget

from worldline.ui import icons
from worldline.ui.plain import as_tip
from worldline.ui.slices import in_slices
from worldline.ui.theme import ICON, theme

WHY_NOT = "why_not"
"""The property of an action that says why it cannot be done now."""


class Actions(QObject):
    """The actions of one window."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._actions: dict[str, QAction] = {}
        self._icons: dict[str, str] = {}
        self._plain: set[str] = set()
        """Actions whose icon has not been drawn yet."""
        theme().changed.connect(self._recolour)

    def add(
        self,
        name: str,
        text: str,
        call: Callable[[], object],
        *,
        keys: str | list[str] = "",
        icon: str = "",
        group: str = "",
        checkable: bool = False,
        enabled: bool = True,
        context: QWidget | None = None,
    ) -> QAction:
        """Add an action; `name` is stable, `text` is shown, `group` heads it in palette and shortcut list. `context`
        limits the shortcut to a widget and its children."""
        action = QAction(text, context or self._window)
        action.setObjectName(name)
        action.setProperty("group", group)
        sequences = [QKeySequence(one) for one in ([keys] if isinstance(keys, str) else keys) if one]
        action.setShortcuts(sequences)
        if context is not None:
            action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        action.setCheckable(checkable)
        action.setEnabled(enabled)
        if sequences:
            action.setToolTip(
                as_tip(
                    f"{text.replace('…', '')} ({sequences[0].toString(QKeySequence.SequenceFormat.NativeText)})"
                )
            )
        if icon:
            self._icons[name] = icon
            self._plain.add(name)
            if len(self._plain) == 1:
                QTimer.singleShot(0, self, lambda: in_slices(self, self._painting()))
        action.triggered.connect(lambda *_args: call())
        (context or self._window).addAction(action)
        self._actions[name] = action
        return action

    def _painting(self) -> Iterator[Callable[[], None]]:
        """Drawing all icons takes 20 ms, and most of them are seen in a menu at the earliest."""
        while self._plain:
            yield partial(self._paint, next(iter(self._plain)))

    def _paint(self, name: str) -> None:
        if name in self._plain:
            self._plain.discard(name)
            self._actions[name].setIcon(icons.icon(self._icons[name]))

    def __getitem__(self, name: str) -> QAction:
        self._paint(name)
        return self._actions[name]

    def __contains__(self, name: str) -> bool:
        return name in self._actions

    def __iter__(self) -> Iterator[QAction]:
        for name in list(self._plain):
            self._paint(name)
        return iter(self._actions.values())

    def enable(self, name: str, on: bool, why_not: str) -> None:
        """Whether an action can be done now, and what is missing: the palette says it."""
        action = self._actions[name]
        action.setEnabled(on)
        action.setProperty(WHY_NOT, "" if on else why_not)

    def button(self, name: str, parent: QWidget) -> QToolButton:
        """A tool button for an action, reachable by Tab."""
        button = QToolButton(parent)
        button.setDefaultAction(self[name])
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.setAccessibleName(self._actions[name].text())
        button.setIconSize(button.iconSize().scaled(ICON, ICON, Qt.AspectRatioMode.IgnoreAspectRatio))
        return button

    def _recolour(self) -> None:
        for name, icon in self._icons.items():
            if name not in self._plain:
                self._actions[name].setIcon(icons.icon(icon))
