"""Pages of the settings: each is a form over one part of the values and says what it would change."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QPlainTextEdit,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from worldline.ui.chat.row_base import ColorLabel
from worldline.ui.i18n import LANGUAGES
from worldline.ui.recents import settings as window_settings
from worldline.ui.theme import theme

translate = QCoreApplication.translate


class Page(QWidget):
    """`changed` carries what to merge into the settings. `words` is what the search looks through."""

    changed = Signal(dict)

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = title
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(4, 0, 4, 0)
        self._layout.setSpacing(10)
        self.form = QFormLayout()
        self.form.setHorizontalSpacing(16)
        self.form.setVerticalSpacing(10)
        self.form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        self._layout.addLayout(self.form)

    def row(self, name: str, widget: QWidget, hint: str = "") -> None:
        widget.setAccessibleName(name)
        box = QWidget(self)
        column = QVBoxLayout(box)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(3)
        column.addWidget(widget)
        if hint:
            label = ColorLabel(hint, "muted", box)
            label.setWordWrap(True)
            column.addWidget(label)
        key = QLabel(name, self)
        key.setBuddy(widget)
        self.form.addRow(key, box)

    def finish(self) -> None:
        self._layout.addStretch(1)

    @property
    def words(self) -> str:
        return " ".join([self.title, *(label.text() for label in self.findChildren(QLabel))]).lower()

    def load(self, values: dict[str, Any]) -> None:
        raise NotImplementedError


class ModelPage(Page):
    """Model, fallback chain, effort, service address."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(translate("Settings", "Model"), parent)
        self.model = QComboBox(self)
        self.model.activated.connect(lambda _at: self.changed.emit({"model": self.model.currentData() or ""}))
        self.row(self.tr("Model"), self.model, self.tr("Asked first, in every new run."))
        self.chain = QListWidget(self)
        self.chain.setMaximumHeight(110)
        self.chain.setDragDropMode(QListWidget.DragDropMode.InternalMove)
        self.chain.model().rowsMoved.connect(self._chain_moved)
        self.row(self.tr("If it cannot answer"), self.chain,
                 self.tr("Tried in this order when a model is overloaded or refused. Drag to change the order."))  # fmt: skip
        self.mode = QComboBox(self)
        for value, text in (("plan", self.tr("plan: reads only")), ("ask", self.tr("ask before everything")),
                            ("work", self.tr("work: unasked inside the sandbox"))):  # fmt: skip
            self.mode.addItem(text, value)
        self.mode.activated.connect(lambda _at: self.changed.emit({"mode": self.mode.currentData()}))
        self.row(self.tr("Mode of new sessions"), self.mode)
        self.compact = QCheckBox(self.tr("Compact the context before it is full"), self)
        self.compact.clicked.connect(lambda on: self.changed.emit({"auto_compact": on}))
        self.row(self.tr("Context"), self.compact)
        self.base_url = QLineEdit(self)
        self.base_url.setPlaceholderText("https://api.anthropic.com")
        self.base_url.editingFinished.connect(
            lambda: self.changed.emit({"base_url": self.base_url.text().strip()})
        )
        self.row(self.tr("Address of the service"), self.base_url,
                 self.tr("Empty = Anthropic. A local server that speaks the Messages API works as well."))  # fmt: skip
        self.finish()

    def set_models(self, models: list[dict[str, Any]], chain: list[str]) -> None:
        current = self.model.currentData()
        self.model.clear()
        for one in models:
            price = f"  ·  {one['price']}" if one.get("price") else ""
            self.model.addItem(f"{one.get('name') or one['id']}{price}", one["id"])
        self.model.setCurrentIndex(max(0, self.model.findData(current)))
        self.chain.clear()
        self.chain.addItems(chain)

    def _chain_moved(self) -> None:
        self.changed.emit({"chain": [self.chain.item(at).text() for at in range(self.chain.count())]})

    def load(self, values: dict[str, Any]) -> None:
        model = str(values.get("model") or "")
        if model and self.model.findData(model) < 0:
            self.model.addItem(model, model)
        self.model.setCurrentIndex(max(0, self.model.findData(model)) if self.model.count() else -1)
        if values.get("chain"):
            self.chain.clear()
            self.chain.addItems([str(one) for one in values["chain"]])
        self.mode.setCurrentIndex(max(0, self.mode.findData(values.get("mode", "ask"))))
        self.compact.setChecked(bool(values.get("auto_compact", True)))
        self.base_url.setText(str(values.get("base_url") or ""))


class KeyPage(Page):
    """The key lives in the keyring of the system; it is written here and never shown again."""

    credential_wanted = Signal(str)
    test_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(translate("Settings", "Key"), parent)
        self.state = ColorLabel("", "text", self)
        self.state.setFont(theme().font_ui())
        self.row(self.tr("Now"), self.state)
        self.secret = QLineEdit(self)
        self.secret.setEchoMode(QLineEdit.EchoMode.Password)
        self.secret.setPlaceholderText("sk-ant-…")
        self.row(
            self.tr("New key"),
            self.secret,
            self.tr("Kept in the keyring of your system, never in a file or a session."),
        )
        line = QHBoxLayout()
        for text, call in (
            (self.tr("Save key"), self._save),
            (self.tr("Remove key"), lambda: self.credential_wanted.emit("")),
            (self.tr("Test the connection"), self.test_wanted.emit),
        ):
            button = QPushButton(text, self)
            button.setAutoDefault(False)
            button.clicked.connect(lambda _=False, call=call: call())
            line.addWidget(button)
        line.addStretch(1)
        self._layout.addLayout(line)
        self.result = ColorLabel("", "muted", self)
        self.result.setFont(theme().font_ui())
        self.result.setWordWrap(True)
        self._layout.addWidget(self.result)
        self.finish()

    def _save(self) -> None:
        secret = self.secret.text().strip()
        if secret:
            self.credential_wanted.emit(secret)
            self.secret.clear()

    def show_credential(self, state: dict[str, Any]) -> None:
        words = {
            "keyring": self.tr("A key is in the keyring."),
            "environment": self.tr("The key comes from ANTHROPIC_API_KEY."),
            "none": self.tr("There is no key yet."),
            "not_needed": self.tr("This service needs no key."),
        }
        self.state.setText(
            " ".join(filter(None, [words.get(state.get("source", ""), ""), state.get("note", "")]))
        )

    def show_result(self, ok: bool, sentence: str) -> None:
        self.result.set(("✓ " if ok else "✗ ") + sentence, "ok" if ok else "bad")

    def load(self, values: dict[str, Any]) -> None:
        return


class LimitsPage(Page):
    """The brakes of a run; 0 = no limit."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(translate("Settings", "Limits"), parent)
        self._boxes: dict[str, QSpinBox | QDoubleSpinBox] = {}
        for key, name, top, unit in (
            ("max_turns", self.tr("Turns"), 100_000, ""),
            ("max_tool_calls", self.tr("Tool calls"), 100_000, ""),
            ("time_limit_s", self.tr("Time"), 1_000_000, " s"),
            ("token_budget", self.tr("Tokens"), 2_000_000_000, ""),
            ("cost_limit", self.tr("Cost"), 100_000, " $"),
        ):
            box: QSpinBox | QDoubleSpinBox = QDoubleSpinBox(self) if key == "cost_limit" else QSpinBox(self)
            box.setRange(0, top)
            box.setSuffix(unit)
            box.setSpecialValueText(self.tr("no limit"))
            box.editingFinished.connect(
                lambda key=key, box=box: self.changed.emit({"limits": {key: box.value() or None}})
            )
            self._boxes[key] = box
            self.row(name, box)
        note = ColorLabel(
            self.tr("A run that meets a limit stops in order, and offers to go on."), "muted", self
        )
        self._layout.addWidget(note)
        self.finish()

    def load(self, values: dict[str, Any]) -> None:
        limits = values.get("limits") or {}
        for key, box in self._boxes.items():
            value = limits.get(key) or 0
            if isinstance(box, QDoubleSpinBox):
                box.setValue(float(value))
            else:
                box.setValue(int(value))


class AppearancePage(Page):
    """Theme, language, motion. Kept by the window, not by the engine."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(translate("Settings", "Appearance"), parent)
        settings = window_settings()
        self.theme_box = QComboBox(self)
        for value, text in (("system", self.tr("as the system")), ("light", self.tr("light")), ("dark", self.tr("dark")),
                            ("contrast", self.tr("high contrast"))):  # fmt: skip
            self.theme_box.addItem(text, value)
        self.theme_box.setCurrentIndex(max(0, self.theme_box.findData(theme().name)))
        self.theme_box.activated.connect(self._on_theme)
        self.row(self.tr("Theme"), self.theme_box)
        self.language = QComboBox(self)
        self.language.addItem(self.tr("as the system"), "")
        for code, name in LANGUAGES.items():
            self.language.addItem(name, code)
        self.language.setCurrentIndex(max(0, self.language.findData(str(settings.value("language", "")))))
        self.language.activated.connect(
            lambda _at: settings.setValue("language", self.language.currentData())
        )
        self.row(self.tr("Language"), self.language, self.tr("Takes effect at the next start."))
        self.motion = QCheckBox(self.tr("Less movement"), self)
        self.motion.setChecked(theme().reduced_motion)
        self.motion.clicked.connect(self._on_motion)
        self.row(self.tr("Motion"), self.motion)
        self.finish()

    def _on_theme(self) -> None:
        theme().set_name(self.theme_box.currentData())
        window_settings().setValue("theme", self.theme_box.currentData())

    def _on_motion(self, on: bool) -> None:
        theme().set_reduced_motion(on)
        window_settings().setValue("reduced_motion", on)

    def load(self, values: dict[str, Any]) -> None:
        return


class RulesPage(Page):
    """Allow, ask, deny: one rule a line, and a line to try a command on."""

    test_wanted = Signal(str, dict)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(translate("Settings", "Rules"), parent)
        self._edits: dict[str, QPlainTextEdit] = {}
        for key, name in (
            ("deny", self.tr("Never")),
            ("ask", self.tr("Always ask")),
            ("allow", self.tr("Without asking")),
        ):
            edit = QPlainTextEdit(self)
            edit.setFont(theme().font_code())
            edit.setFixedHeight(72)
            edit.setTabChangesFocus(True)
            edit.setPlaceholderText(
                {"deny": "Bash(npm publish:*)", "ask": "Bash(git push:*)", "allow": "Bash(npm run test *)"}[
                    key
                ]
            )
            self._edits[key] = edit
            self.row(name, edit)
        self.try_line = QLineEdit(self)
        self.try_line.setPlaceholderText("git add . && git push origin main")
        self.try_line.setFont(theme().font_code())
        self.try_line.textChanged.connect(
            lambda text: self.test_wanted.emit(text, self.rules()) if text.strip() else None
        )
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
        save = QPushButton(self.tr("Save rules"), self)
        save.setAutoDefault(False)
        save.clicked.connect(lambda: self.changed.emit({"permissions": self.rules()}))
        self._layout.addWidget(save, 0, Qt.AlignmentFlag.AlignLeft)
        self.finish()

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
        lines = [words.get(decision, decision)]
        for part in verdict.get("parts", []):
            why = part.get("rule") or part.get("why", "")
            lines.append(f"  {part.get('part', '')}  →  {words.get(part.get('decision', ''), '')}  {why}")
        self.verdict.set("\n".join(lines), tokens.get(decision, "muted"))

    def show_problem(self, text: str) -> None:
        self.verdict.set(text, "bad")

    def load(self, values: dict[str, Any]) -> None:
        permissions = values.get("permissions") or {}
        for key, edit in self._edits.items():
            edit.setPlainText("\n".join(str(one) for one in permissions.get(key) or []))
