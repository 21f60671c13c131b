"""Closing windows in which something goes on: it would end, so that is asked first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QMessageBox

from worldline.ui.chat import words
from worldline.ui.dialogs.question import ask_first
from worldline.ui.session_state import SessionState
from worldline.viewmodel.visible import settled

if TYPE_CHECKING:
    from worldline.ui.main_window import MainWindow

NAMED = 6
"""Things that the question names."""
LONGEST = 120
"""Characters of one of them."""


def goes_on(state: SessionState) -> bool:
    """Closing would end a run or a call that waits for the person. One who only reads along ends nothing."""
    return not state.read_only and bool(state.run or state.approvals or state.questions)


class Closing(QObject):
    """The words are looked up under the name of this class."""

    def ends(self, state: SessionState) -> list[str]:
        """What would end with the window, a line each."""
        lines = [
            self.tr("Waits for your approval: {}").format(
                str(one.get("command") or words.approval_title(str(one.get("title", ""))))
            )
            for one in state.approvals.values()
        ]
        lines += [
            self.tr("Waits for your answer: {}").format(one.get("text", ""))
            for one in state.questions.values()
        ]
        if state.run is not None and not lines:
            title = str(state.info.get("title", ""))
            lines.append(self.tr("The agent is at work: {}").format(title))
        return [_short(settled(line)) for line in lines]

    def ask(self, above: MainWindow, windows: Sequence[MainWindow], close: Callable[[], object]) -> None:
        """Call `close`, after a question when something goes on in one of the windows. Escape stays."""
        busy = [one for one in windows if not one.closing and goes_on(one.state)]
        if not busy:
            close()
            return
        if any(box.isVisible() and box.property("closing") for box in above.findChildren(QMessageBox)):
            return
        lines = [line for one in busy for line in self.ends(one.state)]
        more = len(lines) - NAMED
        named = [f"•  {line}" for line in lines[:NAMED]]
        if more > 0:
            named.append(self.tr("… and %n more", "", more))
        box = ask_first(
            above,
            self.tr("Close"),
            self.tr("Close, and end what goes on?"),
            "\n".join([*named, "", self.tr("What was saved stays. What runs now is stopped.")]),
            self.tr("Close and end it"),
            close,
            role=QMessageBox.ButtonRole.DestructiveRole,
        )
        box.setProperty("closing", True)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
