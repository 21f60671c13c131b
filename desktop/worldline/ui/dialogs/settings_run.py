"""Settings of a run: its brakes, tries and time limits, and how far it may go on its own."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QDoubleSpinBox, QSpinBox, QWidget

from worldline.ui.chat.row_base import ColorLabel
from worldline.ui.dialogs.settings_pages import Page, translate

NumberBox = QSpinBox | QDoubleSpinBox


class NumbersPage(Page):
    """Numbers of one object of the settings; what is not set there keeps the default that is shown."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(title, parent)
        self._boxes: dict[tuple[str, str], tuple[NumberBox, float]] = {}

    def number(
        self, part: str, key: str, name: str, default: float, low: float, top: float, unit: str, hint: str = "", zero: str = ""
    ) -> None:  # fmt: skip
        """`zero`: the words for 0."""
        whole = float(default).is_integer() and unit != " $"
        box: NumberBox = QSpinBox(self) if whole else QDoubleSpinBox(self)
        if isinstance(box, QSpinBox):
            box.setRange(int(low), int(top))
        else:
            box.setRange(low, top)
            box.setDecimals(2)
        box.setSuffix(unit)
        box.setSpecialValueText(zero)
        box.setKeyboardTracking(False)
        box.editingFinished.connect(lambda: self._changed(part, key))
        self._boxes[part, key] = (box, default)
        self.row(name, box, hint)

    def _changed(self, part: str, key: str) -> None:
        box, default = self._boxes[part, key]
        if box.value() != box.property("loaded"):
            box.setProperty("loaded", box.value())
            self.changed.emit({part: {key: None if box.value() == default else box.value()}})

    def load(self, values: dict[str, Any]) -> None:
        for (part, key), (box, default) in self._boxes.items():
            given = values.get(part)
            value = given.get(key, default) if isinstance(given, dict) else default
            if self._is_written(box.lineEdit()):
                continue
            known = value if isinstance(value, int | float) else default
            if isinstance(box, QSpinBox):
                box.setValue(int(known))
            else:
                box.setValue(float(known))
            box.setProperty("loaded", box.value())


class LimitsPage(NumbersPage):
    """The brakes of a run; 0 = no limit."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(translate("Settings", "Limits"), parent)
        none = self.tr("no limit")
        for key, name, default, top, unit in (
            ("turns", self.tr("Turns"), 100, 100_000, ""),
            ("tool_calls", self.tr("Tool calls"), 300, 100_000, ""),
            ("seconds", self.tr("Time"), 3600, 1_000_000, " s"),
            ("tokens", self.tr("Tokens of a run"), 0, 2_000_000_000, ""),
            ("cost", self.tr("Cost of a run"), 0, 100_000, " $"),
            ("session_tokens", self.tr("Tokens of the session"), 0, 2_000_000_000, ""),
            ("session_cost", self.tr("Cost of the session"), 0, 100_000, " $"),
        ):
            self.number("limits", key, name, default, 0, top, unit, zero=none)
        note = ColorLabel(
            self.tr("A run that meets a limit stops in order, and offers to go on."), "muted", self
        )
        note.setWordWrap(True)
        self._layout.addWidget(note)
        self.finish()


class RetryPage(NumbersPage):
    """How patient the engine is with the service."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(translate("Settings", "Retries"), parent)
        self.number("retry", "attempts", self.tr("Tries of the first model"), 5, 1, 20, "",
                    self.tr("With growing pauses. What the service asks for is respected."))  # fmt: skip
        self.number("retry", "fallback_attempts", self.tr("Tries of each other model"), 2, 1, 20, "")
        self.number("retry", "cap_s", self.tr("Longest pause"), 30, 1, 600, " s")
        self.number("retry", "retry_after_cap_s", self.tr("Longest pause that the service may ask for"), 120, 1, 3600, " s",
                    self.tr("Above this another model is asked, or the run ends and says why."))  # fmt: skip
        self.number("timeouts", "connect_s", self.tr("Time to connect"), 10, 1, 600, " s")
        self.number("timeouts", "headers_s", self.tr("Time to the first answer"), 180, 1, 7200, " s")
        self.number("timeouts", "idle_s", self.tr("Silence in a reply"), 120, 1, 7200, " s",
                    self.tr("After this a reply that has stopped is asked for again."))  # fmt: skip
        self.finish()


class SafetyPage(Page):
    """What may happen without the person."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(translate("Settings", "Safety"), parent)
        self.sandbox = self.choice(
            self.tr("Sandbox"), "sandbox",
            [("on", self.tr("on: commands reach the workspace only")), ("off", self.tr("off: every command is asked for"))],
            default="on",
        )  # fmt: skip
        self.why = self.hint("")
        self.timeout = QSpinBox(self)
        self.timeout.setRange(0, 86_400)
        self.timeout.setSuffix(" s")
        self.timeout.setSpecialValueText(self.tr("as the engine does"))
        self.timeout.editingFinished.connect(self._on_timeout)
        self.row(self.tr("Time to answer an approval"), self.timeout,
                 self.tr("Without an answer the call is denied; nothing is ever allowed by waiting."))  # fmt: skip
        self.backtracking = self.choice(
            self.tr("When the agent is stuck"), "backtracking",
            [("ask", self.tr("ask me whether to go back")), ("auto", self.tr("go back and try another way")),
             ("off", self.tr("only stop"))],
            default="ask",
        )  # fmt: skip
        self.summary = self.choice(
            self.tr("When I leave a branch"), "branch_summary",
            [("none", self.tr("the new branch starts clean")), ("ask", self.tr("ask me")),
             ("always", self.tr("always pass on a summary"))],
            self.tr("A summary tells the model of the new branch what was tried. It costs one request."),
            default="none",
        )  # fmt: skip
        self.finish()

    def _on_timeout(self) -> None:
        if self.timeout.value() != self.timeout.property("loaded"):
            self.timeout.setProperty("loaded", self.timeout.value())
            self.changed.emit({"approval_timeout_s": self.timeout.value()})

    def show_sandbox(self, level: str, why: str) -> None:
        words = {
            "complete": self.tr("Now: complete."),
            "partial": self.tr("Now: partial."),
            "none": self.tr("Now: not confined."),
        }
        self.why.set(f"{words.get(level, '')} {why}".strip(), "muted" if level == "complete" else "warn")

    def load(self, values: dict[str, Any]) -> None:
        for box in (self.sandbox, self.backtracking, self.summary):
            self.load_choice(box, values)
        given = values.get("approval_timeout_s")
        if not self._is_written(self.timeout.lineEdit()):
            self.timeout.setValue(int(given) if isinstance(given, int | float) else 0)
            self.timeout.setProperty("loaded", self.timeout.value())
