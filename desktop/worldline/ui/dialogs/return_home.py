"""Return to my branch: HEAD of the person's own folder goes back, with the files as they lie or as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QRadioButton, QWidget

from worldline.ui.again import Again
from worldline.ui.dialogs.base import Dialog, checked_value
from worldline.ui.plain import as_label
from worldline.ui.session_state import SessionState
from worldline.viewmodel.status import short_branch

if TYPE_CHECKING:
    from worldline.ui.main_window import MainWindow


class ReturnHomeDialog(Dialog):
    """`confirmed` carries the params of `return_home`."""

    confirmed = Signal(dict)

    def __init__(self, home: str, branch: str, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Return to {branch}").format(branch=home), parent, width=600)
        self.add_text(
            self.tr(
                "The agent works in your folder on {own}, so that {home} never moves. Here HEAD goes back to it; the branch of "
                "the session stays with all that was committed on it."
            ).format(own=short_branch(branch), home=home)
        )
        self._files = QButtonGroup(self)
        choices = (
            ("keep", self.tr("with the files as they are now"),
             self.tr("No file is touched and what is staged stays staged. What was committed on the branch of the session is "
                     "staged as well, for you to commit or not.")),
            ("back", self.tr("with the files as they were when {home} was left").format(home=home),
             self.tr("What the agent did stays in the tree, what you changed yourself stays in the folder. Where both meet you "
                     "see a plan first.")),
        )  # fmt: skip
        for at, (value, text, note) in enumerate(choices):
            button = QRadioButton(as_label(text), self)
            button.setProperty("value", value)
            button.setChecked(at == 0)
            button.setAccessibleDescription(note)
            self._files.addButton(button)
            self.body.addWidget(button)
            self.add_text(note, "muted").setContentsMargins(24, 0, 0, 0)
        self.add_cancel()
        self.add_button(self.tr("Return"), self._go, role="primary")

    def files(self) -> str:
        return checked_value(self._files)

    def _go(self) -> None:
        self.confirmed.emit({"files": self.files()})
        self.accept()


def open_return_home(state: SessionState, parent: QWidget) -> ReturnHomeDialog | None:
    """None where HEAD is not away."""
    home = str(state.status.get("home") or "")
    if not home or state.read_only:
        return None
    dialog = ReturnHomeDialog(home, str(state.status.get("branch", "")), parent)
    Again(dialog, lambda window, state: open_return_home(state, window))
    dialog.confirmed.connect(state.return_home)
    dialog.open()
    return dialog


def offer_return(window: MainWindow, state: SessionState) -> None:
    """Keep the action and the line about it as the status is: HEAD is away from the person's branch or not."""
    action = window.actions_list["return_home"]
    shown = ""

    def look(status: dict[str, Any]) -> None:
        nonlocal shown
        home = str(status.get("home") or "")
        action.setEnabled(bool(home) and not state.read_only)
        action.setText(
            as_label(window.tr("Return to {branch}…").format(branch=home))
            if home
            else window.tr("Return to my branch…")
        )
        if home and not shown and not state.read_only:
            window.notices.say(
                "home",
                window.tr("The agent works on the branch {own}. {home} stays where it is, and your files are untouched.").format(
                    own=short_branch(str(status.get("branch", ""))), home=home
                ),
                icon="branch",
                color="muted",
                buttons=[(window.tr("Return to {branch}…").format(branch=home), action.trigger)],
                seconds=20,
            )  # fmt: skip
        elif not home:
            window.notices.clear("home")
        shown = home

    state.status_changed.connect(look)
    look(state.status)
