"""Taking a file or a hunk over from one side of the comparison, after a question; what was there is saved first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from worldline.protocol.model import FileChange
from worldline.ui.dialogs.question import ask_first
from worldline.ui.notices import Notices
from worldline.ui.session_state import SessionState
from worldline.viewmodel.compared import Compared


class Taking(QObject):
    """Asks the person, then the engine. `done` is called when files may have changed."""

    def __init__(
        self, state: SessionState, compared: Compared, pane: QWidget, done: Callable[[], object]
    ) -> None:
        super().__init__(pane)
        self._state = state
        self._compared = compared
        self._pane = pane
        self._done = done

    def ask_file(self, path: str, change: FileChange | None, *, revert: bool) -> None:
        """Take the file as it is on this side, or as it is on the other. Where a side has no such file, it goes."""
        # Compared with the disk there is only one way: what is on disk is the newer side.
        revert = revert or self._compared.with_disk
        params = self._compared.taking_file(path, change, revert=revert)
        if params.get("remove") != params["path"]:
            question = (
                self.tr("Put {} back to how it was before?") if revert else self.tr("Take {} as it is here?")
            )
        elif revert:
            question = self.tr("Take {} away? It is not there on the other side.")
        else:
            question = self.tr("Take {} away, as it is here?")
        self._confirm(question.format(path), params)

    def ask_hunk(
        self, path: str, change: FileChange | None, hunk: int, *, context: int, revert: bool
    ) -> None:
        text = self.tr("Revert this part of {}?") if revert else self.tr("Take this part of {}?")
        params = self._compared.taking_hunk(path, change, hunk, context=context, revert=revert)
        self._confirm(text.format(path), params)

    def _confirm(self, question: str, params: dict[str, Any]) -> None:
        ask_first(
            self._pane.window(),
            self.tr("Take a file"),
            question,
            self.tr("What is on disk now is saved as a node first, so this can be undone by going back."),
            self.tr("Do it"),
            lambda: self.take(params),
        )

    def take(self, params: dict[str, Any]) -> None:
        """Without asking."""
        before = self._state.cursor

        def answered(answer: dict[str, Any]) -> None:
            if answer.get("plan"):
                self._state.plan_needed.emit(answer["plan"], {"node": params["node"]})
            elif answer.get("result"):
                self._say_taken(str(params["path"]), str(answer["result"].get("note", "")), before)
            self._done()

        self._state.request("take_file", params, answered)

    def _say_taken(self, path: str, note: str, before: str) -> None:
        notices = getattr(self._pane.window(), "notices", None)
        if isinstance(notices, Notices):
            text = self.tr("{path} was taken over. What was there before is saved in the node above.").format(
                path=path
            )
            notices.say(
                "taken", f"{text} {note}".strip(), icon="saved",
                buttons=[(self.tr("Back"), lambda: self._state.go(before))], seconds=20,
            )  # fmt: skip
