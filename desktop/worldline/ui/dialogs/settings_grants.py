"""Permissions that were given for this session or branch: what, how far, when; and a button to take each back."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from worldline.ui.chat.row_base import ColorLabel
from worldline.ui.dialogs.settings_pages import Page, translate
from worldline.ui.plain import as_label, as_tip
from worldline.ui.theme import theme
from worldline.viewmodel.grants import Given, given_of


class GrantsPage(Page):
    """`remove_wanted` carries the id of a grant."""

    remove_wanted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(translate("Settings", "Permissions given"), parent)
        self.buttons: dict[str, QPushButton] = {}
        self._pressed = -1
        """Place of the button that had the keyboard as it was pressed, -1 = none had."""
        self._went_to: QWidget | None = None
        """Where Qt put the keyboard when that button went grey."""
        self._list = QVBoxLayout()
        self._list.setSpacing(12)
        self._layout.addLayout(self._list)
        self.none = ColorLabel(self.tr("Nothing was allowed for longer than once here."), "muted", self)
        self.none.setWordWrap(True)
        self._layout.addWidget(self.none)
        hint = ColorLabel(
            self.tr("What you allow for “this branch” or “this session” stands here as long as it holds. What is removed is asked "
                    "about again from the next call on; a command that runs already keeps what was open to it. "
                    "What you allow “always here” is a rule."), "muted", self)  # fmt: skip
        hint.setWordWrap(True)
        self._layout.addWidget(hint)
        self.problem = ColorLabel("", "bad", self)
        self.problem.setWordWrap(True)
        self.problem.hide()
        self._layout.addWidget(self.problem)
        self.finish()

    def load(self, values: dict[str, Any]) -> None:
        """Nothing of the settings is shown here."""

    def show_grants(self, answer: dict[str, Any]) -> None:
        self.problem.hide()
        at = next((at for at, button in enumerate(self.buttons.values()) if button.hasFocus()), -1)
        if self._pressed >= 0 and self.window().focusWidget() is self._went_to:
            at = self._pressed
        self._pressed, self._went_to = -1, None
        while (item := self._list.takeAt(0)) is not None:
            if (row := item.widget()) is not None:
                row.hide()
                row.deleteLater()
        self.buttons.clear()
        rows = given_of(answer)
        for given in rows:
            row = self._row(given)
            self._list.addWidget(row)
            row.show()  # at once: what is hidden takes no keyboard
        self.none.setVisible(not rows)
        if at >= 0 and self.buttons:
            list(self.buttons.values())[min(at, len(rows) - 1)].setFocus()

    def show_problem(self, text: str) -> None:
        self.problem.setText(text)
        self.problem.show()

    def _row(self, given: Given) -> QWidget:
        row = QWidget(self)
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(12)
        words = QVBoxLayout()
        words.setSpacing(2)
        call = ColorLabel(given.call, "text", row)
        call.setTextFormat(Qt.TextFormat.PlainText)
        call.setFont(theme().font_code())
        call.setWordWrap(True)
        call.setToolTip(as_tip(given.whole))
        scope = {"branch": self.tr("this branch"), "session": self.tr("this session")}.get(
            given.scope, given.scope
        )
        said = self.tr("For {scope}: {reach}. Given {when}.").format(
            scope=scope, reach=given.reach, when=given.when
        )
        reach = ColorLabel(said, "muted", row)
        reach.setTextFormat(Qt.TextFormat.PlainText)
        reach.setWordWrap(True)
        words.addWidget(call)
        words.addWidget(reach)
        line.addLayout(words, 1)
        button = QPushButton(as_label(self.tr("Remove")), row)
        button.setAutoDefault(False)
        button.setAccessibleName(self.tr("Remove: {}").format(given.call))
        button.setAccessibleDescription(said)
        button.clicked.connect(lambda _=False: self._remove(given.id))
        self.buttons[given.id] = button
        line.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return row

    def _remove(self, uid: str) -> None:
        button = self.buttons[uid]
        self._pressed = list(self.buttons).index(uid) if button.hasFocus() else -1
        button.setEnabled(False)  # until the engine has answered
        self._went_to = self.window().focusWidget()
        self.remove_wanted.emit(uid)
