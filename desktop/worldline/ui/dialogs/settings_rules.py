"""The rules of the settings: what is never done, what is asked for, what runs without asking; and a line to try them."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QPushButton, QWidget

from worldline.ui.chat.row_base import ColorLabel
from worldline.ui.dialogs.settings_pages import Page, translate
from worldline.ui.theme import theme
from worldline.viewmodel.rules import FIRM, HERE, LISTS, PROJECT, for_trial


class RulesPage(Page):
    """Allow, ask, deny: one rule a line, and a line to try a command on."""

    test_wanted = Signal(str, dict)
    changes_wanted = Signal(dict, dict)
    """The rules as they were known, and as they should be."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(translate("Settings", "Rules"), parent)
        self._edits: dict[str, QPlainTextEdit] = {}
        self._known: dict[str, list[str]] = {"deny": [], "ask": [], "allow": [], HERE: []}
        """The rules as the engine has them, as far as they are known here."""
        self._saving = self._known
        self._loaded = False
        for key, name in (
            ("deny", self.tr("Never")),
            ("ask", self.tr("Always ask")),
            ("allow", self.tr("Without asking")),
            (HERE, self.tr("Without asking, in this folder alone")),
        ):
            edit = QPlainTextEdit(self)
            edit.setFont(theme().font_code())
            edit.setFixedHeight(72)
            edit.setTabChangesFocus(True)
            edit.setPlaceholderText(
                {
                    "deny": "Bash(npm publish:*)",
                    "ask": "Bash(git push:*)",
                    "allow": "Bash(npm run test *)",
                    HERE: self.tr("What you allowed with “always here”"),
                }[key]
            )
            self._edits[key] = edit
            self.row(name, edit)
        self.of_project = ColorLabel("", "muted", self)
        self.of_project.setWordWrap(True)
        self._layout.addWidget(self.of_project)
        self.of_folder = ColorLabel("", "muted", self)
        self.of_folder.setWordWrap(True)
        self._layout.addWidget(self.of_folder)
        self._project: dict[str, list[str]] = {}
        self._firm: dict[str, list[str]] = {}
        self.try_line = QLineEdit(self)
        self.try_line.setPlaceholderText("git add . && git push origin main")
        self.try_line.setFont(theme().font_code())
        self.try_line.textChanged.connect(self._try)
        self.row(self.tr("Try a command"), self.try_line)
        self.verdict = ColorLabel("", "muted", self)
        self.verdict.setFont(theme().font_ui())
        self.verdict.setWordWrap(True)
        self._layout.addWidget(self.verdict)
        hint = ColorLabel(
            self.tr("Every part of a command line is looked at on its own: one “never” denies all of it. "
                    "No rule widens the sandbox; it only removes a question. Also: Net(host:443), Write(path), Socket(path)."),
            "muted", self)  # fmt: skip
        hint.setWordWrap(True)
        self._layout.addWidget(hint)
        self.save_button = QPushButton(self.tr("Save rules"), self)
        self.save_button.setAutoDefault(False)
        self.save_button.clicked.connect(lambda _=False: self.save())
        self._layout.addWidget(self.save_button, 0, Qt.AlignmentFlag.AlignLeft)
        self.finish()

    @property
    def unsaved(self) -> bool:
        """Something was written that the engine does not have."""
        return self.rules() != self._known

    def handed_over(self) -> tuple[dict[str, list[str]], dict[str, str]] | None:
        """What is written and not saved, and beside which rules it was written; None = nothing."""
        if not self.unsaved:
            return None
        return self._known, {key: edit.toPlainText() for key, edit in self._edits.items()}

    def take_over(self, written: tuple[dict[str, list[str]], dict[str, str]] | None) -> None:
        if written is not None:
            self._known = written[0]
            for key, text in written[1].items():
                self._edits[key].setPlainText(text)

    def save(self) -> None:
        """Only what was changed here: a rule that came from an approval meanwhile stays."""
        self._saving = self.rules()
        self.changes_wanted.emit(self._known, self._saving)

    def saved(self) -> None:
        """The engine has what was given to it last."""
        self._known = self._saving

    def _try(self, text: str) -> None:
        self.verdict.set("", "muted")
        if text.strip():
            self.test_wanted.emit(text, for_trial(self.rules(), self._project, self._firm))

    def rules(self) -> dict[str, list[str]]:
        return {
            key: [line.strip() for line in edit.toPlainText().splitlines() if line.strip()]
            for key, edit in self._edits.items()
        }

    def show_verdict(self, verdict: dict[str, Any]) -> None:
        words = {
            "allow": self.tr("runs without asking"),
            "ask": self.tr("is asked for"),
            "deny": self.tr("is denied"),
        }
        tokens = {"allow": "ok", "ask": "warn", "deny": "bad"}
        decision = str(verdict.get("decision", "ask"))
        why = str(verdict.get("why") or "")
        said = words.get(decision, decision)
        lines = [self.tr("{decision}: {why}").format(decision=said, why=why) if why else said]
        for part in verdict.get("parts", []):
            why = part.get("rule") or part.get("why", "")
            sign = "▸" if part.get("decided") == "yes" else " "
            lines.append(
                f"{sign} {part.get('part', '')}  →  {words.get(part.get('decision', ''), '')}  {why}"
            )
        self.verdict.set("\n".join(lines), tokens.get(decision, "muted"))

    def is_tried(self, command: str) -> bool:
        """Whether a verdict is about what stands in the line now."""
        return self.try_line.text() == command

    def show_problem(self, text: str) -> None:
        self.verdict.set(text, "bad")

    def load(self, values: dict[str, Any]) -> None:
        """What is written here and not saved stays: another setting was saved, perhaps."""
        first, self._loaded = not self._loaded, True
        permissions = values.get("permissions") or {}
        rules = {key: [str(one) for one in permissions.get(key) or []] for key in self._edits}
        self._project = permissions.get(PROJECT) or {}
        self._firm = permissions.get(FIRM) or {}
        for label, text, given in (
            (self.of_project, self.tr("From the project itself: {}"), self._project),
            (
                self.of_folder,
                self.tr("For this folder alone, from the file of your settings: {}"),
                self._firm,
            ),
        ):
            theirs = [f"{key}: {rule}" for key in LISTS for rule in given.get(key, [])]
            label.setText(text.format(", ".join(theirs)))
            label.setVisible(bool(theirs))
        if self.unsaved:
            if first:  # written in the dialog before this one, which its window took along
                self._known = rules
            return
        self._known = rules
        for key, edit in self._edits.items():
            edit.setPlainText("\n".join(rules[key]))
