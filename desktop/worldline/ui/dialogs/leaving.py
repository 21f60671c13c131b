"""What is asked before a jump: whether the branch that is left passes on a summary, whether a summary is enough there."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from worldline.ui.again import Again
from worldline.ui.dialogs.base import Latest
from worldline.ui.dialogs.small import BranchSummaryDialog, LossyDialog
from worldline.ui.session_state import SessionState
from worldline.viewmodel.plan import left_behind, summarised_on_the_way
from worldline.viewmodel.tree_model import NO_ROW


class Leaving(QObject):
    """Stands before every jump of a session. Without a reason to ask, a click just goes."""

    def __init__(self, state: SessionState, window: QWidget) -> None:
        super().__init__(state)
        self._state = state
        self._window = window
        self.settings: dict[str, Any] = {}
        self._latest = Latest()
        state.before_jump = self.before
        state.hello.connect(lambda _hello: self.read_settings())
        if state.info:
            self.read_settings()

    def read_settings(self) -> None:
        self._state.request("settings", {}, self._take, lambda _error: None)

    def _take(self, result: dict[str, Any]) -> None:
        self.settings = dict(result.get("values") or {})

    def before(self, uid: str, request: dict[str, Any]) -> bool:
        """True: the person is asked first, and the jump follows from the answer."""
        self._latest.forget()
        state = self._state
        row, cursor = state.tree.row(uid), state.cursor_row()
        if row == NO_ROW or cursor == NO_ROW or request.get("plan"):
            return False
        target = state.tree.parent[row] if state.is_prompt(row) else row
        if "summary" not in request:
            wish = str(self.settings.get("branch_summary") or "none")
            steps = left_behind(state.tree, cursor, target) if wish in ("ask", "always") else 0
            if steps and wish == "ask":
                self.ask_summary(uid, request, steps)
                return True
            request["summary"] = "auto" if steps else "none"
        if not request.pop("lossy_seen", False) and summarised_on_the_way(state.tree, cursor, target):
            self._warn(uid, request)
            return True
        return False

    def ask_summary(self, uid: str, request: dict[str, Any], steps: int) -> None:
        state = self._state
        dialog = BranchSummaryDialog(steps, self._window)
        dialog.chosen.connect(lambda chosen: state.go(uid, {**request, "summary": chosen}))
        dialog.rejected.connect(state.stayed)
        # Not by going again: whether there is a question is known only when the settings have been read.
        Again(dialog, lambda _window, state: _leaving_of(state).ask_summary(uid, request, steps), uid)
        dialog.open()

    def ask_lossy(self, uid: str, request: dict[str, Any], what: str) -> None:
        state = self._state
        dialog = LossyDialog(what, self._window)
        dialog.confirmed.connect(lambda: state.go(uid, {**request, "lossy_seen": True}))
        dialog.rejected.connect(state.stayed)
        Again(dialog, lambda _window, state: _leaving_of(state).ask_lossy(uid, request, what))
        dialog.open()

    def _warn(self, uid: str, request: dict[str, Any]) -> None:
        state = self._state

        def planned(plan: dict[str, Any]) -> None:
            if plan.get("needs_confirmation"):
                # The plan says it too: one dialog is enough.
                state.plan_needed.emit(plan, request)
            elif plan.get("lossy"):
                self.ask_lossy(uid, request, str(plan["lossy"]))
            else:
                state.go(uid, {**request, "lossy_seen": True})

        def refused(error: dict[str, Any]) -> None:
            state.stayed.emit()
            state.failed.emit(error)

        # Somewhere else was clicked while this was being planned: only that counts.
        of = self._latest.ask()
        state.request("jump_plan", {"node": uid}, of(planned), of(refused))


def _leaving_of(state: SessionState) -> Leaving:
    leaving = state.findChild(Leaving)
    assert leaving is not None
    return leaving
