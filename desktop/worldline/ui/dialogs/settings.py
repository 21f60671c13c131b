"""Settings with search. What is changed is saved at once by the engine; the window keeps only its looks."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QScrollArea,
    QStackedWidget,
    QWidget,
)

from worldline.ui.chat.row_base import ColorLabel
from worldline.ui.dialogs.base import Dialog, while_open
from worldline.ui.dialogs.settings_grants import GrantsPage
from worldline.ui.dialogs.settings_looks import AppearancePage
from worldline.ui.dialogs.settings_pages import KeyPage, ModelPage, Page
from worldline.ui.dialogs.settings_rules import RulesPage
from worldline.ui.dialogs.settings_run import LimitsPage, RetryPage, SafetyPage
from worldline.ui.session_state import SessionState
from worldline.viewmodel.rules import apart, merged, to_save
from worldline.viewmodel.words import refusal


class SettingsDialog(Dialog):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Settings"), parent, width=860)
        self.resize(860, 620)
        self.model_page = ModelPage(self)
        self.key_page = KeyPage(self)
        self.limits_page = LimitsPage(self)
        self.retry_page = RetryPage(self)
        self.safety_page = SafetyPage(self)
        self.rules_page = RulesPage(self)
        self.grants_page = GrantsPage(self)
        self.appearance_page = AppearancePage(self)
        self.pages: dict[str, Page] = {
            "model": self.model_page,
            "key": self.key_page,
            "limits": self.limits_page,
            "retry": self.retry_page,
            "safety": self.safety_page,
            "rules": self.rules_page,
            "grants": self.grants_page,
            "appearance": self.appearance_page,
        }
        self.question: Dialog | None = None
        self._leaving = False
        self.page = "model"
        """The name of the page that is shown, also after the dialog is gone."""
        self.search = QLineEdit(self)
        self.search.setPlaceholderText(self.tr("Search the settings"))
        self.search.setAccessibleName(self.tr("Search the settings"))
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._filter)
        self.body.addWidget(self.search)
        self.list = QListWidget(self)
        self.list.setProperty("role", "nav")
        self.list.setFixedWidth(150)
        self.list.setAccessibleName(self.tr("Parts of the settings"))
        self._stack = QStackedWidget(self)
        for name, page in self.pages.items():
            item = QListWidgetItem(page.title)
            item.setData(Qt.ItemDataRole.UserRole, name)
            self.list.addItem(item)
            area = QScrollArea(self)
            area.setWidget(page)
            area.setWidgetResizable(True)
            area.setFrameShape(QScrollArea.Shape.NoFrame)
            # What is in it can be reached; it scrolls to what has the focus.
            area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            self._stack.addWidget(area)
        self.list.currentRowChanged.connect(self._on_page)
        line = QHBoxLayout()
        line.setSpacing(16)
        line.addWidget(self.list)
        line.addWidget(self._stack, 1)
        self.body.addLayout(line, 1)
        self.nothing = ColorLabel(self.tr("No setting has these words."), "muted", self)
        self.nothing.hide()
        self.body.addWidget(self.nothing)
        self.problem = ColorLabel("", "bad", self)
        self.problem.setWordWrap(True)
        self.problem.hide()
        self.body.addWidget(self.problem)
        self.add_button(self.tr("Close"), self.accept, default=True)
        self.list.setCurrentRow(0)
        self.search.setFocus()

    def _on_page(self, row: int) -> None:
        self._stack.setCurrentIndex(row)
        self.page = list(self.pages)[max(0, row)]

    def show_page(self, name: str) -> None:
        if name in self.pages:
            self.list.setCurrentRow(list(self.pages).index(name))

    def load(self, values: dict[str, Any]) -> None:
        self.problem.hide()
        for page in self.pages.values():
            page.load(values)

    def show_problem(self, error: dict[str, Any]) -> None:
        self.problem.setText(refusal(error))
        self.problem.show()

    def handed_over(self) -> object:
        return self.rules_page.handed_over()

    def take_over(self, written: Any) -> None:
        self.rules_page.take_over(written)

    def done(self, result: int) -> None:
        """Everything is saved as it is made but the rules, which are written line by line: those are asked about."""
        if self.rules_page.unsaved and not self._leaving:
            self._ask_about_rules(result)
            return
        super().done(result)

    def _ask_about_rules(self, result: int) -> None:
        question = self.question = Dialog(self.tr("Save the rules?"), self, width=460)
        question.add_text(self.tr("Rules were changed and not saved."))

        def leave(save: bool) -> None:
            if save:
                self.rules_page.save()
            self._leaving = True
            question.accept()
            self.done(result)

        question.add_button(self.tr("Do not save"), lambda: leave(False), left=True)
        question.add_cancel(self.tr("Go on editing"))
        question.add_button(self.tr("Save rules"), lambda: leave(True), role="primary")
        question.finished.connect(lambda _code: self.show_page("rules"))
        question.open()

    def _filter(self, text: str) -> None:
        wanted = text.strip().lower()
        first = -1
        for at, page in enumerate(self.pages.values()):
            found = wanted in page.words
            self.list.item(at).setHidden(not found)
            if found and first < 0:
                first = at
        self.nothing.setVisible(first < 0)
        self._stack.setVisible(first >= 0)
        if first >= 0 and self.list.item(self.list.currentRow()).isHidden():
            self.list.setCurrentRow(first)


def open_settings(state: SessionState, parent: QWidget, page: str = "") -> SettingsDialog:
    """Open the settings of a session's engine; every change is sent as it is made."""
    dialog = SettingsDialog(parent)

    problem = while_open(dialog, dialog.show_problem)
    loaded = while_open(dialog, lambda result: dialog.load(apart(result)))
    credential = while_open(dialog, dialog.key_page.show_credential)
    credential_kept = while_open(dialog, dialog.key_page.kept)
    tested = while_open(dialog, lambda result: dialog.key_page.show_result(result["ok"], result["sentence"]))

    def saved(result: dict[str, Any]) -> None:
        loaded(result)
        state.problems.emit(result.get("problems") or [])

    def save(values: dict[str, Any]) -> None:
        def done(result: dict[str, Any]) -> None:
            saved(result)
            state.settings_saved.emit(frozenset(values))

        state.request("set_settings", {"values": values}, done, problem)

    def test() -> None:
        params = {"base_url": dialog.model_page.base_url.text().strip(), "model": "", "secret": ""}
        dialog.key_page.result.set(dialog.tr("Testing…"), "muted")
        state.request(
            "test_connection",
            params,
            tested,
            problem,
        )

    def try_rule(command: str, rules: dict[str, list[str]]) -> None:
        page = dialog.rules_page

        def answered(verdict: dict[str, Any]) -> None:
            if page.is_tried(command):
                page.show_verdict(verdict)

        def refused(error: dict[str, Any]) -> None:
            if page.is_tried(command):
                page.show_problem(refusal(error))

        params = {"command": command, "rules": rules}
        state.request("test_rule", params, while_open(dialog, answered), while_open(dialog, refused))

    def save_rules(known: dict[str, list[str]], wanted: dict[str, list[str]]) -> None:
        def kept(result: dict[str, Any]) -> None:
            while_open(dialog, dialog.rules_page.saved)()
            saved(result)

        def compare(result: dict[str, Any]) -> None:
            rules = merged(known, wanted, apart(result).get("permissions") or {})
            values = to_save(rules, str(result.get("folder") or ""))
            state.request("set_settings", {"values": values}, kept, problem)

        # An approval may have written a rule since the settings were opened, here or in another window.
        state.request("settings", {}, compare, problem)

    for one in dialog.pages.values():
        one.changed.connect(save)
    dialog.key_page.credential_wanted.connect(
        lambda secret: state.request("set_credential", {"secret": secret}, credential_kept, problem)
    )
    dialog.rules_page.changes_wanted.connect(save_rules)
    dialog.key_page.test_wanted.connect(test)
    dialog.rules_page.test_wanted.connect(try_rule)
    state.request("settings", {}, loaded, problem)
    state.request("credential", {}, credential, problem)
    _list_grants(state, dialog)
    state.request(
        "models",
        {},
        while_open(
            dialog, lambda result: dialog.model_page.set_models(result["models"], result.get("chain", []))
        ),
        problem,
    )
    dialog.safety_page.show_sandbox(
        str(state.status.get("sandbox", "")), str(state.status.get("sandbox_why", ""))
    )
    dialog.show_page(page)
    dialog.open()
    return dialog


def _list_grants(state: SessionState, dialog: SettingsDialog) -> None:
    granted = while_open(dialog, dialog.grants_page.show_grants)
    not_granted = while_open(dialog, lambda error: dialog.grants_page.show_problem(refusal(error)))

    def remove_grant(uid: str) -> None:
        def refused(error: dict[str, Any]) -> None:
            # Another window may have removed it: what is there now is shown with the reason.
            def now(answer: dict[str, Any]) -> None:
                granted(answer)
                not_granted(error)

            state.request("grants", {}, now, not_granted)

        state.request("remove_grant", {"id": uid}, granted, refused)

    state.request("grants", {}, granted, not_granted)
    dialog.grants_page.remove_wanted.connect(remove_grant)
