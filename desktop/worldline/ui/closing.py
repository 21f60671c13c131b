"""Closing windows in which something goes on: it would end, so that is asked first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QMessageBox

from worldline.ui.chat import words
from worldline.ui.dialogs.question import ask_first
from worldline.ui.session_state import SessionState
from worldline.viewmodel.visible import settled

if TYPE_CHECKING:
    from worldline.ui.main_window import MainWindow

NAMED = 6
"""Things that the question names."""
ANSWER_MS = 1_000
"""For an engine to say which commands run."""
LONGEST = 120
"""Characters of one of them."""


def goes_on(state: SessionState) -> bool:
    """Closing would end a run, a call that waits for the person or a command. One who only reads along ends nothing."""
    return not state.read_only and bool(state.run or state.approvals or state.questions or state.processes)


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
        lines += [
            self.tr("Runs in the background: {}").format(one.get("command", ""))
            for one in state.processes.values()
        ]
        return [_short(settled(line)) for line in lines]

    def ask(self, above: MainWindow, windows: Sequence[MainWindow], close: Callable[[], object]) -> None:
        """Call `close`, after a question when something goes on in one of the windows. Escape stays."""
        doubtful = [one.state for one in windows if not one.closing and one.state.processes]
        if not doubtful:
            self._ask(above, windows, close)
            return
        left = len(doubtful)
        # An engine that does not answer is no reason to stay open: then what is known counts.
        limit = QTimer(self, singleShot=True, interval=ANSWER_MS)

        def looked() -> None:
            nonlocal left
            left -= 1
            if left == 0 and limit.isActive():
                limit.stop()
                self._ask(above, windows, close)

        limit.timeout.connect(lambda: self._ask(above, windows, close))
        limit.start()
        for state in doubtful:
            state.look_at_processes(looked)

    def _ask(self, above: MainWindow, windows: Sequence[MainWindow], close: Callable[[], object]) -> None:
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
