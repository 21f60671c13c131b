"""Short dialogs: a question, a branch summary, what a crash left, what the model will not know, giving it the originals
again, a note, about."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QLineEdit,
    QPlainTextEdit,
    QRadioButton,
    QWidget,
)

from worldline import __version__
from worldline.protocol.model import Question
from worldline.ui.chat.ask_rows import QuestionForm
from worldline.ui.dialogs.base import Dialog, checked_value
from worldline.ui.icons import keep


class QuestionDialog(Dialog):
    answered = Signal(dict)

    def __init__(self, question: Question, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("The agent asks"), parent, width=560)
        self.question = question
        self._form = QuestionForm(question, self)
        self.body.addWidget(self._form)
        self.add_text(
            self.tr("The run waits for your answer. Close this to answer later, in the chat."), "muted"
        )
        self.add_button(self.tr("Later"), self.reject)
        # Without an answer it says that there is none: Enter does no harm.
        self.add_button(self.tr("Answer"), self._send, role="primary", default=True)

    def _send(self) -> None:
        self._form.take_focused()
        answer = self._form.answer()
        if answer is None:
            self._form.say_missing()
        else:
            self.answered.emit(answer)
            self.accept()


class BranchSummaryDialog(Dialog):
    """What the branch that is left behind passes on. `chosen` carries the `summary` of `jump`."""

    chosen = Signal(str)

    def __init__(self, steps: int, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Leave this branch"), parent, width=540)
        self.add_text(
            self.tr(
                "The branch you leave has %n step(s) that the model of the new one does not know.", "", steps
            )
        )
        self._group = QButtonGroup(self)
        for at, (value, text) in enumerate(
            (
                ("none", self.tr("Start clean: the new branch knows nothing of it")),
                ("auto", self.tr("Pass on a summary: what was tried and how it ended")),
                ("own", self.tr("Pass on a summary about:")),
            )
        ):
            button = QRadioButton(text, self)
            button.setProperty("value", value)
            button.setChecked(at == 0)
            self._group.addButton(button)
            self.body.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
        self._own = QLineEdit(self)
        self._own.setPlaceholderText(self.tr("for example: why the tokenizer failed"))
        self._own.setAccessibleName(self.tr("What the summary should be about"))
        self._own.textEdited.connect(lambda: self._group.buttons()[2].setChecked(True))
        self.body.addWidget(self._own)
        self.add_text(
            self.tr("A summary is one request to the model and becomes a node of its own."), "muted"
        )
        self.add_cancel()
        self.enter_presses(self._own, self.add_button(self.tr("Go"), self._go, role="primary"))

    def _go(self) -> None:
        value = checked_value(self._group)
        text = self._own.text().strip()
        self.chosen.emit(text if value == "own" and text else "auto" if value == "own" else value)
        self.accept()


class RecoveryDialog(Dialog):
    """What was found after a crash. Everything is already safe; this only tells."""

    show_diagnostics = Signal()

    def __init__(self, what: str, interrupted: Iterable[str] = (), parent: QWidget | None = None) -> None:
        super().__init__(self.tr("The last run was interrupted"), parent, width=560)
        self.add_text(
            self.tr("The engine stopped in the middle of its work. Nothing that was saved is lost.")
        )
        self.add_text(what)
        for title in list(interrupted)[:5]:
            self.add_fact("⌁ " + self.tr("Interrupted"), title, "warn")
        self.add_text(
            self.tr("It is safe to go on: of a step that was interrupted, the model is told that it has no result. One "
                    "that was running may have done a part of its work: look at Changes before you go on."), "muted")  # fmt: skip
        self.add_button(self.tr("Show diagnostics"), self._diagnostics, left=True)
        self.add_button(self.tr("Close"), self.accept, role="primary", default=True).setFocus()

    def _diagnostics(self) -> None:
        self.show_diagnostics.emit()
        self.accept()


class LossyDialog(Dialog):
    """Before going where the model knows part of the history only as a summary."""

    confirmed = Signal()

    def __init__(self, sentence: str, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("The model will know less here"), parent, width=520)
        self.add_text(sentence)
        self.add_text(self.tr("The messages themselves stay in the session. Fork before the compaction to give the model "
                              "the whole history again."), "muted")  # fmt: skip
        self.add_cancel()
        self.add_button(self.tr("Go on with the summary"), self._go)

    def _go(self) -> None:
        self.confirmed.emit()
        self.accept()


class ExpandDialog(Dialog):
    """Before the model is given the originals in place of their summaries."""

    confirmed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Give the model the originals again?"), parent, width=520)
        self.add_text(self.tr("On this branch the summaries are replaced by the messages that they stand for. Requests become "
                              "larger and cost more."))  # fmt: skip
        self.add_text(
            self.tr("Nothing is deleted. If the originals do not fit, nothing is changed."), "muted"
        )
        self.add_cancel()
        self.add_button(self.tr("Expand"), self._go, role="primary")

    def _go(self) -> None:
        self.confirmed.emit()
        self.accept()


class NoteDialog(Dialog):
    """One text of several lines: a note on a node, a reason."""

    entered = Signal(str)

    def __init__(self, title: str, text: str = "", hint: str = "", parent: QWidget | None = None) -> None:
        super().__init__(title, parent, width=480)
        self._edit = QPlainTextEdit(text, self)
        self._edit.setPlaceholderText(hint)
        self._edit.setAccessibleName(title)
        self._edit.setFixedHeight(110)
        self._edit.setTabChangesFocus(True)
        self.body.addWidget(self._edit)
        self.add_button(self.tr("Cancel"), self.reject)
        self.add_button(self.tr("Save"), self._save, role="primary")
        self._edit.setFocus()

    def _save(self) -> None:
        self.entered.emit(self._edit.toPlainText().strip())
        self.accept()


class AboutDialog(Dialog):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("Worldline", parent, width=460)
        from worldline.ui.chat.row_base import ColorLabel

        sign = ColorLabel("", "text", self)
        keep(sign, "worldline", "accent", 56)
        sign.setAccessibleName("Worldline")
        self.body.addWidget(sign)
        self.add_text(self.tr("Version {}").format(__version__))
        self.add_text(self.tr("Work with a coding agent and see the whole session as a tree. Every step knows what the agent "
                              "was told, what the files looked like, and what no click can take back."))  # fmt: skip
        self.add_text(
            self.tr("MIT licence. Made with Qt for Python (LGPL), libgit2, SQLite and others."), "muted"
        )
        self.add_button(self.tr("Close"), self.reject, default=True)
