"""A quiet choice of one of a few values: a word with a small arrow, and a menu."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QToolButton, QWidget

from worldline.ui.icons import keep
from worldline.ui.plain import as_label, as_tip
from worldline.ui.typed_menu import TypedMenu


class Chooser(QToolButton):
    """`value` is what is chosen. `chosen` is emitted for choices of the person, not for `set_value`."""

    chosen = Signal(str)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._texts: dict[str, str] = {}
        self.value = ""
        self._menu = TypedMenu(self)
        self._menu.setToolTipsVisible(True)
        self._group = QActionGroup(self)
        self.setMenu(self._menu)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        self._menu.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        keep(self, "chevron-down")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._say()

    def add(self, text: str, value: str, tip: str = "") -> None:
        action = self._menu.addAction(as_label(text))
        action.setCheckable(True)
        action.setData(value)
        action.setToolTip(as_tip(tip))
        self._group.addAction(action)
        action.triggered.connect(lambda _=False: self._choose(value))
        self._texts[value] = text
        if len(self._texts) == 1:
            self.set_value(value)

    def clear(self) -> None:
        self._menu.clear()
        self._texts.clear()
        self.value = ""
        self._say()

    def set_value(self, value: str) -> None:
        """Choose without a signal; a value that is not offered is left alone."""
        if value not in self._texts:
            return
        self.value = value
        for action in self._menu.actions():
            action.setChecked(action.data() == value)
        self._say()

    def _choose(self, value: str) -> None:
        self.set_value(value)
        self.chosen.emit(value)

    def _say(self) -> None:
        text = self._texts.get(self.value, "")
        self.setText(as_label(text))
        self.setToolTip(as_tip(self._name))
        self.setAccessibleName(f"{self._name}: {text}")
