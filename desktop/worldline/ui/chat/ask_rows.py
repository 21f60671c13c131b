"""Approvals and questions inside the chat: the same decision as in the dialog, where one reads anyway."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QCheckBox,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from worldline.protocol.model import Approval, Question
from worldline.ui.chat import words
from worldline.ui.chat.row_base import Card, ColorLabel, RowSignals, RowWidget
from worldline.ui.chat.tool_card import diff_lines
from worldline.ui.plain import as_label
from worldline.ui.still import MOMENT_MS, Still
from worldline.ui.syntax.code_view import CodeLine, CodeView
from worldline.ui.theme import theme
from worldline.viewmodel.approval import facts_of
from worldline.viewmodel.chat_rows import ChatRow
from worldline.viewmodel.diff import language_of
from worldline.viewmodel.visible import visible

CHANGED_LINES = 16
INLINE_COLUMNS = 52
"""Characters of a command that fit into the chat at its smallest usual width."""
CHOICE_COLUMNS = 60
ARGUMENT_LINES = 8
"""Lines of one argument that are seen in the chat."""


class ApprovalRow(RowWidget):
    """A call that waits: what it is, why it is asked, deny, allow once, or all the choices in the dialog."""

    def __init__(self, row: ChatRow, signals: RowSignals, parent: QWidget | None = None) -> None:
        super().__init__(row, signals, parent)
        approval = row.approval
        assert approval is not None
        card = Card(self, edge="warn")
        inner = QVBoxLayout(card)
        inner.setContentsMargins(12, 8, 12, 10)
        inner.setSpacing(6)
        title = ColorLabel(f"❚❚  {words.approval_title(approval.title)}", "warn", card, bold=True)
        inner.addWidget(title)
        if approval.command:
            # The whole of it is seen here too: nothing may hide behind a scroll bar that one is about to allow.
            from worldline.ui.dialogs.approval import MarkedCommand

            inner.addWidget(MarkedCommand(approval, card, INLINE_COLUMNS))
        elif approval.diff is not None:
            path = ColorLabel(visible(approval.diff.change.path), "text", card)
            path.setWordWrap(True)
            inner.addWidget(path)
            change = CodeView(card, language=language_of(approval.diff.change.path))
            change.set_lines(diff_lines(approval.diff, CHANGED_LINES))
            inner.addWidget(change)
            hidden = len(approval.diff.rows) - CHANGED_LINES
            if hidden > 0:
                words_more = self.tr("%n more line(s), under “More choices…”", "", hidden)
                inner.addWidget(ColorLabel(words_more, "muted", card))
        else:
            for fact in facts_of(approval):
                inner.addWidget(ColorLabel(fact.name, "muted", card))
                value = CodeView(card)
                value.set_lines([CodeLine(line) for line in fact.lines(INLINE_COLUMNS)[:ARGUMENT_LINES]])
                inner.addWidget(value)
        for text in (approval.why, approval.effect, approval.copy_first):
            if text:
                label = ColorLabel(text, "muted", card)
                label.setWordWrap(True)
                inner.addWidget(label)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        more = QPushButton(self.tr("More choices…"), card)
        more.clicked.connect(lambda: signals.show_approval.emit(approval.id))
        deny = QPushButton(self.tr("Deny"), card)
        deny.clicked.connect(lambda: self._answer("deny"))
        allow = self.allow_button = QPushButton(self.tr("Allow once"), card)
        allow.clicked.connect(lambda: self._answer("allow"))
        # What came in under the pointer this moment cannot have been read.
        allow.setEnabled(False)
        if _all_seen(approval):
            grace = QTimer(allow, singleShot=True, interval=MOMENT_MS)
            grace.timeout.connect(lambda: allow.setEnabled(True))
            grace.start()
        else:
            allow.setToolTip(
                self.tr("Too long for the chat: read it under “More choices…”, and allow it there.")
            )
        for button in (more, deny, allow):
            button.setAutoDefault(False)
        Still(self, (more, deny, allow))
        buttons.addWidget(more)
        buttons.addStretch(1)
        buttons.addWidget(deny)
        buttons.addWidget(allow)
        inner.addLayout(buttons)
        self.hold(card)
        self.setAccessibleName(
            self.tr("Waits for your approval: {}").format(approval.command or approval.title)
        )

    def show_row(self, row: ChatRow) -> None:
        # An approval is bound to what was shown when it was asked; it never changes, it goes.
        self.row = row

    def _answer(self, decision: str) -> None:
        approval = self.row.approval
        assert approval is not None
        self.signals.approve.emit(
            {
                "id": approval.id,
                "digest": approval.digest,
                "decision": decision,
                "scope": "once",
                "reason": "",
            }
        )


def _all_seen(approval: Approval) -> bool:
    """Whether the row shows all that would be allowed."""
    if approval.command or approval.diff is not None:
        # A change of a file says how much of it is not shown, and can be taken back.
        return True
    return all(len(fact.lines(INLINE_COLUMNS)) <= ARGUMENT_LINES for fact in facts_of(approval))


def wrapped_choice(text: str) -> str:
    """A choice of the agent in lines that fit: buttons break none by themselves."""
    import textwrap

    lines = [part for line in text.split("\n") for part in textwrap.wrap(line, CHOICE_COLUMNS) or [""]]
    return "\n".join(lines)


class QuestionForm(QWidget):
    """The choices of a question and a field for one's own words. `answer()` is what goes to the engine."""

    def __init__(self, question: Question, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.question = question
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        text = ColorLabel(question.text, "text", self)
        text.setWordWrap(True)
        layout.addWidget(text)
        self._group = QButtonGroup(self)
        self._group.setExclusive(not question.multiple)
        for at, choice in enumerate(question.choices):
            shown = as_label(wrapped_choice(choice))
            button = QCheckBox(shown, self) if question.multiple else QRadioButton(shown, self)
            button.setAccessibleName(choice)
            self._group.addButton(button, at)
            layout.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
        self.own = QLineEdit(self)
        self.own.setPlaceholderText(self.tr("Or in your own words…"))
        self.own.setAccessibleName(self.tr("Your own words"))
        self.own.setVisible(question.free_text)
        layout.addWidget(self.own)
        self._missing = ColorLabel(self.tr("Choose one, or write your own words."), "warn", self)
        self._missing.hide()
        layout.addWidget(self._missing)

    @property
    def buttons(self) -> list[QAbstractButton]:
        """The choices."""
        return self._group.buttons()

    def take_focused(self) -> None:
        """Enter on a choice means that one; the arrow keys alone only go over what was never chosen."""
        button = self._group.checkedButton()
        focused = next((one for one in self._group.buttons() if one.hasFocus()), None)
        if button is None and focused is not None and not self.own.text().strip():
            focused.setChecked(True)

    def say_missing(self) -> None:
        self._missing.show()

    def answer(self) -> dict[str, object] | None:
        """None while nothing is chosen and nothing written."""
        choices = self.question.choices
        chosen = [choices[self._group.id(button)] for button in self._group.buttons() if button.isChecked()]
        own = self.own.text().strip()
        if not chosen and not own:
            return None
        return {"id": self.question.id, "choices": chosen, "text": own}


class QuestionRow(RowWidget):
    """A question of the agent, answered in place."""

    def __init__(self, row: ChatRow, signals: RowSignals, parent: QWidget | None = None) -> None:
        super().__init__(row, signals, parent)
        question = row.question
        assert question is not None
        card = Card(self, edge="accent")
        inner = QVBoxLayout(card)
        inner.setContentsMargins(12, 8, 12, 10)
        inner.setSpacing(6)
        inner.addWidget(ColorLabel(self.tr("The agent asks"), "accent", card, bold=True))
        self._form = QuestionForm(question, card)
        inner.addWidget(self._form)
        send = QPushButton(self.tr("Answer"), card)
        send.setProperty("role", "primary")
        send.clicked.connect(self._send)
        self._form.own.returnPressed.connect(self._send)
        inner.addWidget(send, 0, Qt.AlignmentFlag.AlignRight)
        Still(self, (*self._form.buttons, send))
        self.hold(card)
        self.setFont(theme().font_ui())
        self.setAccessibleName(self.tr("The agent asks: {}").format(question.text))

    def show_row(self, row: ChatRow) -> None:
        self.row = row

    def _send(self) -> None:
        answer = self._form.answer()
        if answer is None:
            self._form.say_missing()
        else:
            self.signals.answer.emit(answer)
