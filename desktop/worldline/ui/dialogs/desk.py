"""Where what waits for the person is kept: approvals and questions in a queue, plans, notices after a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QApplication, QLineEdit, QPlainTextEdit, QTextEdit, QWidget

from worldline.core.kinds import Outcome
from worldline.protocol.model import Approval, JumpPlan, Question
from worldline.ui.again import Again
from worldline.ui.dialogs.approval import ApprovalDialog
from worldline.ui.dialogs.jump_plan import JumpPlanDialog
from worldline.ui.dialogs.leaving import Leaving
from worldline.ui.dialogs.small import QuestionDialog, RecoveryDialog
from worldline.ui.session_state import SessionState
from worldline.viewmodel import tree_text

if TYPE_CHECKING:
    from worldline.ui.main_window import MainWindow


class Desk(QObject):
    """One for each session, a child of its state. A new request never takes the focus from somebody who types."""

    nothing_waits = Signal()
    """Somebody asked to see what waits, and nothing does."""

    def __init__(self, state: SessionState, window: QWidget) -> None:
        super().__init__(state)
        self.setObjectName("desk")
        self.state = state
        self.window = window
        self.dialog: ApprovalDialog | QuestionDialog | None = None
        self._by_person = False
        """The dialog goes because it was answered in it."""
        self.plan_dialog: JumpPlanDialog | None = None
        self.recovery: RecoveryDialog | None = None
        self.leaving = Leaving(state, window)
        state.approval_asked.connect(lambda _raw: self._arrived())
        state.approval_gone.connect(lambda approval_id, _why: self._gone(approval_id))
        state.question_asked.connect(lambda _raw: self._arrived())
        state.question_gone.connect(self._gone)
        state.plan_needed.connect(self.show_plan)
        state.recovered.connect(self.show_recovery)
        if state.crash:  # the engine was faster than the window
            self.show_recovery(state.crash)
        if state.approvals or state.questions:
            self._arrived()

    def _arrived(self) -> None:
        if isinstance(self.dialog, ApprovalDialog):
            self.dialog.set_waiting(len(self.state.approvals))
            return
        typing = isinstance(QApplication.focusWidget(), QLineEdit | QPlainTextEdit | QTextEdit)
        if self.dialog is None and not typing and self.window.isActiveWindow():
            self.show_waiting()

    def _gone(self, key: str) -> None:
        dialog = self.dialog
        if isinstance(dialog, ApprovalDialog):
            if dialog.approval.id == key:
                dialog.done(0)
            else:
                dialog.set_waiting(len(self.state.approvals))
        elif isinstance(dialog, QuestionDialog) and dialog.question.id == key:
            dialog.done(0)

    def show_waiting(self, key: str = "") -> None:
        """Show what waits: the one asked for, else the oldest."""
        if self.dialog is not None:
            self.dialog.raise_()
            self.dialog.activateWindow()
            return
        approvals = self.state.approvals
        raw = approvals.get(key) or next(iter(approvals.values()), None)
        if raw is not None:
            self._open(ApprovalDialog(Approval.model_validate(raw), len(approvals), self.window))
        elif self.state.questions:
            question = Question.model_validate(next(iter(self.state.questions.values())))
            self._open(QuestionDialog(question, self.window))
        else:
            self.nothing_waits.emit()

    def _open(self, dialog: ApprovalDialog | QuestionDialog) -> None:
        self.dialog = dialog
        command = "answer_approval" if isinstance(dialog, ApprovalDialog) else "answer_question"
        dialog.answered.connect(lambda answer: self._answer(command, answer))
        dialog.finished.connect(lambda _code: self._closed(dialog))
        key = dialog.approval.id if isinstance(dialog, ApprovalDialog) else ""
        about = dialog.approval.id if isinstance(dialog, ApprovalDialog) else dialog.question.id
        Again(dialog, lambda _window, state: desk_of(state).show_waiting(key), about)
        # Not modal: looking at the tree and the diff is what one needs to decide.
        dialog.setWindowModality(Qt.WindowModality.NonModal)
        dialog.show()

    def _answer(self, command: str, answer: dict[str, Any]) -> None:
        self._by_person = True
        if command != "answer_approval":
            self.state.request(command, answer)
            return
        key = str(answer["id"])
        # Taken off here at once, so that the next in the queue is shown and not this one again.
        taken = self.state.approvals.pop(key, None)

        def refused(error: dict[str, Any]) -> None:
            # It still waits, unless the engine has said otherwise: whoever looks for it must find it.
            if taken is not None and error.get("kind") not in ("engine_gone", "gone"):
                self.state.approvals.setdefault(key, taken)
            self.state.failed.emit(error)

        self.state.request(command, answer, None, refused)

    def _closed(self, dialog: QWidget) -> None:
        answered = isinstance(dialog, ApprovalDialog) and dialog.approval.id not in self.state.approvals
        by_person, self._by_person = self._by_person, False
        self.dialog = None
        if answered and self.state.approvals:
            if by_person:
                self.show_waiting()
            else:
                # It went by itself (no answer in time, answered in the chat): whoever types elsewhere goes on typing.
                self._arrived()

    def show_plan(self, raw: dict[str, Any], params: dict[str, Any]) -> None:
        plan = JumpPlan.model_validate(raw)
        row = self.state.tree.row(plan.node)
        title = tree_text.short_title(self.state.tree, row) if row >= 0 else plan.node[:8]
        self.plan_dialog = JumpPlanDialog(plan, title, self.window)
        self.plan_dialog.confirmed.connect(lambda chosen: self.state.go(plan.node, {**params, **chosen}))
        self.plan_dialog.rejected.connect(self.state.stayed)
        Again(self.plan_dialog, lambda _window, state: desk_of(state).show_plan(raw, params))
        self.plan_dialog.open()

    def show_recovery(self, what: str) -> None:
        tree = self.state.tree
        run = tree.run(len(tree) - 1) if len(tree) else ""  # what broke off before was told then
        titles = [
            tree_text.title(tree, row)
            for row in tree.last_with(Outcome.INTERRUPTED, 5)
            if tree.run(row) == run
        ]
        # It says all there is to say, once: a second crash replaces what the first one said.
        if self.recovery is not None:
            self.recovery.done(0)
        dialog = self.recovery = RecoveryDialog(what, titles, self.window)
        dialog.finished.connect(lambda _code: self._recovery_read(dialog))
        Again(dialog, lambda _window, state: desk_of(state).show_recovery(state.found))
        dialog.show_diagnostics.connect(self._diagnostics)
        dialog.open()

    def _recovery_read(self, dialog: RecoveryDialog) -> None:
        if self.recovery is dialog:
            self.recovery = None

    def _diagnostics(self) -> None:
        from worldline.ui.dialogs.diagnostics import open_diagnostics

        open_diagnostics(self.state, self.window)


def desk_of(state: SessionState) -> Desk:
    """The desk of a session that has a window."""
    desk = state.findChild(Desk)
    assert desk is not None
    return desk


def attach(window: MainWindow, state: SessionState) -> None:
    """Give a window its desk, its dialogs and the actions that open them."""
    from worldline.ui.dialogs.opening import add_actions

    desk = Desk(state, window)
    desk.nothing_waits.connect(
        lambda: window.notices.say("nothing_waits", desk.tr("Nothing waits for you."), seconds=6)
    )
    for asked in (state.approval_asked, state.question_asked):
        asked.connect(lambda _what: window.notices.clear("nothing_waits"))  # now something does
    add_actions(window, state, desk)
