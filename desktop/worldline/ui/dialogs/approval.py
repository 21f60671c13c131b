"""The approval dialog: exactly what would happen, why it is asked, whether it can be undone, and for how long it holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QKeyEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QLineEdit, QPlainTextEdit, QRadioButton, QWidget

from worldline.protocol.model import Approval
from worldline.ui.chat import words
from worldline.ui.chat.row_base import ColorLabel
from worldline.ui.chat.tool_card import diff_lines
from worldline.ui.dialogs.base import Dialog
from worldline.ui.dialogs.marked_command import COLUMNS, MarkedCommand
from worldline.ui.plain import as_label, as_tip
from worldline.ui.syntax.code_view import CodeLine, CodeView
from worldline.ui.syntax.lines import line_painter
from worldline.ui.theme import theme
from worldline.viewmodel.approval import Fact, facts_of
from worldline.viewmodel.diff import language_of
from worldline.viewmodel.visible import visible

GRACE_MS = 400
"""After a request came into view nothing can be allowed for this long: a click or a key that was meant for the one
before, or for something else, must not decide about a call that nobody has read yet."""
_SHORT_RULE = 20
"""Characters of a rule that fits beside the other scopes."""
MARKS = 6
"""Parts of a command that are explained one by one."""
_TEXTS = ("command", "content", "new_string", "new_text", "text")
"""Arguments that can be edited as text."""


class ApprovalDialog(Dialog):
    """Focus is on Deny; Enter never allows; Ctrl+Enter allows; Escape denies. Closing the window
    leaves the call waiting. `answered` carries the params of `answer_approval`."""

    answered = Signal(dict)

    def __init__(self, approval: Approval, waiting: int = 1, parent: QWidget | None = None) -> None:
        super().__init__(words.approval_title(approval.title), parent, width=640)
        self.approval = approval
        self._edited: QPlainTextEdit | None = None
        self._field = next((name for name in _TEXTS if isinstance(approval.input.get(name), str)), "")
        self._grace = QTimer(self, singleShot=True, interval=GRACE_MS)
        self._grace.timeout.connect(self._end_of_grace)
        self._marked: CodeView | None = None
        self._read = False
        """A call that is longer than the screen has been read to its end."""
        self._reason = QLineEdit(self)
        self._reason.setPlaceholderText(self.tr("Why not, and what instead? This goes to the agent."))
        self._reason.setAccessibleName(self.tr("Reason for denying"))
        self._reason.returnPressed.connect(self._deny)
        self._reason.hide()
        self._show_what()
        self._show_why()
        self._scopes = QButtonGroup(self)
        self._show_scopes()
        self.body.addWidget(self._reason)
        if approval.editable and self._field:
            self._edit = self.add_button(self._edit_words(), self._start_edit, left=True)
        self._counter = ColorLabel("", "muted", self)
        self.left_buttons.addWidget(self._counter)
        self.set_waiting(waiting)
        self.unread = ColorLabel("", "warn", self)
        self.unread.hide()
        self._outer.insertWidget(self._outer.count() - 1, self.unread)
        self._with_reason = self.add_button(self.tr("Deny with a reason…"), self._ask_reason)
        self.deny_button = self.add_button(self.tr("Deny  Esc"), self._deny)
        self.deny_button.setToolTip(self.tr("The agent is told that you said no, and looks for another way."))
        self.allow_button = self.add_button(
            self.tr("Allow  Ctrl+⏎"), self._allow, role="danger" if approval.destructive else "primary"
        )
        self.setAccessibleDescription(
            " ".join(filter(None, (approval.command or approval.title, approval.why, approval.effect)))
        )
        self.deny_button.setFocus()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.start_grace()
        QAccessible.updateAccessibility(
            QAccessibleAnnouncementEvent(self, f"{self.windowTitle()} {self.accessibleDescription()}")
        )

    def start_grace(self) -> None:
        self.allow_button.setEnabled(False)
        self._grace.start()

    def _end_of_grace(self) -> None:
        self._refresh_allow()

    def _refresh_allow(self) -> None:
        seen = self._seen_to_end()
        self.allow_button.setEnabled(seen and not self._grace.isActive())
        self.allow_button.setToolTip("" if seen else self.tr("Read to the end first: there is more below."))
        self._say_unread(seen)

    def _say_unread(self, seen: bool) -> None:
        """How much of it nobody has seen yet, beside the buttons: a greyed button alone says nothing."""
        if not seen and self.area is not None:
            bar = self.area.verticalScrollBar()
            lines = max(1, -(-(bar.maximum() - bar.value()) // line_painter().height))
            self.unread.setText(
                self.tr("%n more line(s) below are not in sight yet. End shows them.", "", lines)
            )
        self.unread.setVisible(not seen)

    def fit(self) -> None:
        before = self.area
        super().fit()
        if self.area is not None and before is None:
            self.area.verticalScrollBar().valueChanged.connect(self._scrolled)
            self.area.verticalScrollBar().rangeChanged.connect(self._scrolled)
            self.allow_button.setEnabled(False)

    def _scrolled(self) -> None:
        # Once all of it was in sight it is enough: who scrolls back up has still read it.
        if self.area is not None and self.isVisible():
            bar = self.area.verticalScrollBar()
            self._read = self._read or bar.value() >= bar.maximum()
            self._refresh_allow()

    def _seen_to_end(self) -> bool:
        """All that would be allowed has been in sight."""
        return self.area is None or self._read

    @property
    def inert(self) -> bool:
        """Nothing can be allowed yet."""
        return self._grace.isActive() or not self.isVisible() or not self._seen_to_end()

    def _edit_words(self) -> str:
        return self.tr("Edit command") if self._field == "command" else self.tr("Edit the text")

    def _show_what(self) -> None:
        approval = self.approval
        if approval.command:
            self._marked = MarkedCommand(approval, self)
            self.body.addWidget(self._marked)
            for first, last, what in approval.marks[:MARKS]:
                if what:
                    part = visible(" ".join(approval.command[first:last].split()))
                    self.add_text(f"{part if len(part) <= 60 else part[:59] + '…'} — {what}", "warn")
            if len(approval.marks) > MARKS:
                self.add_text(
                    self.tr("%n more part(s) are underlined", "", len(approval.marks) - MARKS), "warn"
                )
        elif approval.diff is not None:
            self._marked = CodeView(self, language=language_of(approval.diff.change.path))
            # All of it, however long: what is allowed must have been in sight, as with a command.
            self._marked.set_lines(diff_lines(approval.diff, len(approval.diff.rows)))
            self.add_text(visible(approval.diff.change.path))
            self.body.addWidget(self._marked)
            if approval.diff.truncated:
                change = approval.diff.change
                left = change.added + change.removed - sum(row.kind in "+-" for row in approval.diff.rows)
                self.add_text(
                    self.tr(
                        "%n more changed line(s) cannot be shown here: the file is longer than this window shows.",
                        "", max(left, 1),
                    ),
                    "warn",
                )  # fmt: skip
        else:
            for fact in facts_of(approval):
                self._show_fact(fact)

    def _show_fact(self, fact: Fact) -> None:
        """An argument as it is. A long one in lines of its own; nothing of it is left out."""
        if not fact.long:
            self.add_fact(fact.name, fact.text)
            return
        self.add_text(fact.name, "muted")
        view = CodeView(self)
        view.set_lines([CodeLine(line) for line in fact.lines(COLUMNS)])
        view.setAccessibleName(fact.name)
        self.body.addWidget(view)

    def _show_why(self) -> None:
        approval = self.approval
        self.add_fact(self.tr("Why asked"), approval.why)
        if approval.effect:
            self.add_fact(self.tr("Undo"), approval.effect)
        if approval.copy_first:
            self.add_fact(self.tr("Copy first"), approval.copy_first)
        if approval.agent_says:
            self.add_fact(self.tr("The agent says"), f"“{approval.agent_says}”")

    def _show_scopes(self) -> None:
        names = {
            "once": self.tr("once"),
            "branch": self.tr("this branch"),
            "session": self.tr("this session"),
            "always": self.tr("always here: {}").format(visible(_short(self.approval.rule))),
        }
        if len(self.approval.scopes) < 2:
            return
        line = QHBoxLayout()
        line.setSpacing(14)
        for at, scope in enumerate(self.approval.scopes):
            button = QRadioButton(as_label(names[scope]), self)
            button.setProperty("scope", scope)
            button.setChecked(at == 0)
            self._scopes.addButton(button)
            if scope == "always":
                said = self.tr("This rule is written to your settings: {}").format(
                    visible(self.approval.rule)
                )
                button.setToolTip(as_tip(said))
                button.setAccessibleDescription(said)
                if len(self.approval.rule) > _SHORT_RULE:
                    # A long rule has a line of its own.
                    line.addStretch(1)
                    self.body.addLayout(line)
                    line = QHBoxLayout()
            line.addWidget(button)
        line.addStretch(1)
        self.body.addLayout(line)
        said = self._reach_of(self.approval.scopes)
        if said and self.approval.reach:
            self.add_text(said.format(visible(self.approval.reach)), "muted")

    def _reach_of(self, scopes: Sequence[str]) -> str:
        """How far the choices that last go, by the names of those that are offered; empty: none lasts."""
        if "branch" in scopes and "session" in scopes:
            return self.tr("“This branch” and “this session” allow: {}.")
        if "branch" in scopes:
            return self.tr("“This branch” allows: {}.")
        return self.tr("“This session” allows: {}.") if "session" in scopes else ""

    def set_waiting(self, count: int) -> None:
        self._counter.setText(self.tr("1 of {} waiting").format(count) if count > 1 else "")

    def scope(self) -> str:
        button = self._scopes.checkedButton()
        return str(button.property("scope")) if button is not None else "once"

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._allow()
        elif enter:
            # Enter alone presses only a button that has the focus, and never the one that allows.
            if self.deny_button.hasFocus():
                self._deny()
            elif self._with_reason.hasFocus():
                self._ask_reason()
        elif event.key() in (Qt.Key.Key_End, Qt.Key.Key_PageDown) and self.area is not None:
            bar = self.area.verticalScrollBar()
            bar.setValue(bar.maximum() if event.key() == Qt.Key.Key_End else bar.value() + bar.pageStep())
        elif event.key() == Qt.Key.Key_Escape and self._edited is not None:
            self._stop_edit()
        elif event.key() == Qt.Key.Key_Escape:
            self._deny()
        else:
            super().keyPressEvent(event)

    def _start_edit(self) -> None:
        if self._edited is not None:
            self._stop_edit()
            return
        self._edited = QPlainTextEdit(str(self.approval.input[self._field]), self)
        self._edited.setAccessibleName(self.tr("Command, edited"))
        self._edited.setFont(theme().font_code())
        self._edited.setFixedHeight(96)
        self._edited.setTabChangesFocus(True)
        if self._marked is not None:
            self.body.insertWidget(self.body.indexOf(self._marked), self._edited)
            self._marked.hide()
        self._edited.show()
        self._edit.setText(self.tr("Keep as it was"))
        self._edited.setFocus()

    def _stop_edit(self) -> None:
        assert self._edited is not None
        self._edited.hide()
        self._edited.deleteLater()
        self._edited = None
        if self._marked is not None:
            self._marked.show()
        self._edit.setText(self._edit_words())
        self.deny_button.setFocus()

    def handed_over(self) -> tuple[str | None, str | None]:
        """Reason and edited text; None = nobody has begun to write it."""
        edited = self._edited.toPlainText() if self._edited is not None else None
        return (self._reason.text() if self._reason.isVisible() else None, edited)

    def take_over(self, written: tuple[str | None, str | None]) -> None:
        """For the same call, in the window that takes the place of its own."""
        reason, edited = written
        if reason is not None:
            self._reason.show()
            self._reason.setText(reason)
        if edited is not None and self._field:
            self._start_edit()
            assert self._edited is not None
            self._edited.setPlainText(edited)

    def _ask_reason(self) -> None:
        if self._reason.isVisible() and self._reason.text().strip():
            self._deny()
            return
        self._reason.show()
        self._reason.setFocus()

    def _deny(self) -> None:
        self._answer("deny")

    def _allow(self) -> None:
        if not self.inert:
            self._answer("allow")

    def _answer(self, decision: str) -> None:
        edited: dict[str, Any] | None = None
        if (
            decision == "allow"
            and self._edited is not None
            and self._edited.toPlainText() != self.approval.input[self._field]
        ):
            edited = {**self.approval.input, self._field: self._edited.toPlainText()}
        self.answered.emit(
            {
                "id": self.approval.id,
                "digest": self.approval.digest,
                "decision": decision,
                "scope": self.scope() if decision == "allow" else "once",
                "reason": self._reason.text().strip() if decision == "deny" else "",
                "edited_input": edited,
            }
        )
        self.accept() if decision == "allow" else self.reject()


def _short(text: str) -> str:
    return text if len(text) <= 72 else text[:71] + "…"
