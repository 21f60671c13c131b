"""First start: a key, a local server, or the demo; the connection is tested before anything depends on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QWidget,
)

from worldline.ui import i18n
from worldline.ui.again import Again
from worldline.ui.chat.row_base import ColorLabel
from worldline.ui.dialogs.base import Dialog, checked_value, while_open
from worldline.ui.i18n import LANGUAGES
from worldline.ui.preferences import settings as window_settings
from worldline.ui.session_state import SessionState
from worldline.ui.theme import theme
from worldline.viewmodel.words import refusal

if TYPE_CHECKING:
    from worldline.ui.main_window import MainWindow


class FirstStartDialog(Dialog):
    """`chosen` carries {"way": "key" | "local" | "demo", "secret", "base_url"}; `test_wanted` the same before that."""

    chosen = Signal(dict)
    test_wanted = Signal(dict)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Welcome to Worldline"), parent, width=600)
        self.add_text(
            self.tr("You work with a coding agent and see the session as a tree. Click any step to go back there, with your "
                    "files as they were. How should the agent think?"))  # fmt: skip
        self._ways = QButtonGroup(self)
        self.secret = QLineEdit(self)
        self.secret.setEchoMode(QLineEdit.EchoMode.Password)
        self.secret.setPlaceholderText("sk-ant-…")
        self.secret.setAccessibleName(self.tr("Key"))
        self.base_url = QLineEdit(self)
        self.base_url.setPlaceholderText("http://127.0.0.1:8080")
        self.base_url.setAccessibleName(self.tr("Address of the local server"))
        fields: dict[str, QLineEdit | None] = {"demo": None, "key": self.secret, "local": self.base_url}
        for value, text, note in (
            (
                "demo",
                self.tr("Try the demo first"),
                self.tr(
                    "A scripted model and a small project. No key, no network, nothing of yours is touched."
                ),
            ),
            (
                "key",
                self.tr("With a key of Anthropic"),
                self.tr("Kept in the keyring of your system. It is read by the engine alone."),
            ),
            ("local", self.tr("With a local server"), self.tr("Any server that speaks the Messages API.")),
        ):
            button = QRadioButton(text, self)
            button.setFont(theme().font_ui(0, bold=True))
            button.setProperty("value", value)
            button.setChecked(value == "demo")
            button.toggled.connect(self._changed)
            self._ways.addButton(button)
            self.body.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
            label = ColorLabel(note, "muted", self)
            label.setWordWrap(True)
            label.setContentsMargins(24, 0, 0, 0)
            self.body.addWidget(label)
            field = fields[value]
            if field is not None:
                self.body.addWidget(field)
        self._test = QPushButton(self.tr("Test the connection"), self)
        self._test.setAutoDefault(False)
        self._test.clicked.connect(lambda: self.test_wanted.emit(self.values()))
        self._result = ColorLabel("", "muted", self)
        self._result.setFont(theme().font_ui())
        self._result.setWordWrap(True)
        line = QHBoxLayout()
        line.addWidget(self._test)
        line.addWidget(self._result, 1)
        self.body.addLayout(line)
        looks = QHBoxLayout()
        looks.setSpacing(8)
        self.language = QComboBox(self)
        self.language.setAccessibleName(self.tr("Language"))
        for code, name in LANGUAGES.items():
            self.language.addItem(name, code)
        self.language.setCurrentIndex(
            max(
                0,
                self.language.findData(
                    i18n.in_use or i18n.choose(str(window_settings().value("language", "")))
                ),
            )
        )
        self.language.activated.connect(self._on_language)
        self.theme_box = QComboBox(self)
        self.theme_box.setAccessibleName(self.tr("Theme"))
        for value, text in (("system", self.tr("Theme: as the system")), ("light", self.tr("light")), ("dark", self.tr("dark")),
                            ("contrast", self.tr("high contrast"))):  # fmt: skip
            self.theme_box.addItem(text, value)
        self._show_theme()
        theme().changed.connect(self._show_theme)
        self.theme_box.activated.connect(self._on_theme)
        looks.addWidget(self.language)
        looks.addWidget(self.theme_box)
        looks.addStretch(1)
        self.body.addLayout(looks)
        self.add_button(self.tr("Later"), self.reject)
        self._go = self.add_button(self.tr("Start"), self._start, role="primary", default=True)
        self._changed()

    def values(self) -> dict[str, str]:
        return {
            "way": checked_value(self._ways),
            "secret": self.secret.text().strip(),
            "base_url": self.base_url.text().strip(),
        }

    def show_result(self, ok: bool, sentence: str) -> None:
        self._result.set(("✓ " if ok else "✗ ") + sentence, "ok" if ok else "bad")

    def show_busy(self) -> None:
        self._result.set(self.tr("Testing…"), "muted")

    def _changed(self) -> None:
        way = self.values()["way"]
        self.secret.setVisible(way == "key")
        self.base_url.setVisible(way == "local")
        self._test.setVisible(way != "demo")
        self._result.set("", "muted")

    def _on_language(self) -> None:
        window_settings().setValue("language", self.language.currentData())
        i18n.change(str(self.language.currentData()))

    def _show_theme(self) -> None:
        self.theme_box.setCurrentIndex(max(0, self.theme_box.findData(theme().name)))

    def _on_theme(self) -> None:
        theme().set_name(self.theme_box.currentData())
        window_settings().setValue("theme", self.theme_box.currentData())

    def _start(self) -> None:
        values = self.values()
        if values["way"] == "key" and not values["secret"]:
            self.show_result(False, self.tr("Enter a key, or choose the demo."))
            return
        if values["way"] == "local" and not values["base_url"]:
            self.show_result(
                False, self.tr("Enter the address of the server, for example http://127.0.0.1:8080.")
            )
            return
        self.chosen.emit(values)


class _Making(QObject):
    """Makes real what was chosen: through the engine, which alone sees the key."""

    def __init__(self, dialog: FirstStartDialog, window: MainWindow, state: SessionState) -> None:
        super().__init__(dialog)
        self._dialog = dialog
        self._window = window
        self._state = state
        dialog.test_wanted.connect(self.test)
        dialog.chosen.connect(self.make)

    def _problem(self, error: dict[str, Any]) -> None:
        words = refusal(error)
        self._dialog.show_result(False, words)

    def _tested(self, result: dict[str, Any]) -> None:
        self._dialog.show_result(bool(result["ok"]), str(result["sentence"]))

    def _done(self, _result: object) -> None:
        # The models of the new service are asked for anew.
        self._state.hello.emit({})
        self._dialog.accept()

    def _ask(self, method: str, params: dict[str, Any], done: Callable[..., None]) -> None:
        guarded = while_open(self._dialog, done)
        self._state.request(method, params, guarded, while_open(self._dialog, self._problem))

    def test(self, values: dict[str, str]) -> None:
        self._dialog.show_busy()
        key = values["secret"] if values["way"] == "key" else ""
        address = values["base_url"] if values["way"] == "local" else ""
        self._ask("test_connection", {"base_url": address, "model": "", "secret": key}, self._tested)

    def make(self, values: dict[str, str]) -> None:
        if values["way"] == "demo":
            self._dialog.accept()
            if self._window.windows is not None:
                self._window.windows.open_demo()
        elif values["way"] == "key":
            self._ask("set_credential", {"secret": values["secret"]}, self._done)
        else:
            self._ask("set_settings", {"values": {"base_url": values["base_url"]}}, self._done)


def open_first_start(window: MainWindow, state: SessionState) -> FirstStartDialog:
    """Ask how the agent should think, and make it so."""
    dialog = FirstStartDialog(window)
    Again(dialog, open_first_start)
    _Making(dialog, window, state)
    dialog.open()
    return dialog
