"""What is chosen for a message: mode, model and effort."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from worldline.ui.chat import words
from worldline.ui.chat.chooser import Chooser


class MessageChoices(QObject):
    """The three choosers, which are made in `card` and laid out by whoever has it. Who chose nothing here follows the
    settings."""

    offers_changed = Signal()
    """Other models or efforts are offered, perhaps none: see `show_where_there_is`."""

    def __init__(self, card: QWidget) -> None:
        super().__init__(card)
        self.mode = Chooser(self.tr("Mode"), card)
        for value, text, tip in (
            ("plan", self.tr("plan"), self.tr("Reads only. Nothing is changed.")),
            (
                "ask",
                self.tr("ask"),
                self.tr(
                    "Commands are asked for. Changes of files in the workspace are not: going back undoes them."
                ),
            ),
            (
                "work",
                self.tr("work"),
                self.tr("What the sandbox confines runs without asking; the rest is asked for."),
            ),
        ):
            self.mode.add(text, value, tip)
        self.model = Chooser(self.tr("Model"), card)
        self.effort = Chooser(self.tr("Effort"), card)
        self.effort.hide()
        self.model.chosen.connect(self._pick_model)
        self.effort.chosen.connect(self._pick_effort)
        self.choosers = (self.mode, self.model, self.effort)
        self._models: list[dict[str, Any]] = []
        self.told_mode = ""
        self._has_efforts = False
        self._default_effort = ""
        self.picked_model = self.picked_effort = ""
        """What the person chose here, "" = nothing: then it follows the settings."""

    def params(self) -> dict[str, Any]:
        """As those of `prompt`."""
        return {"mode": self.mode.value, "model": self.model.value, "effort": self.effort.value}

    def show_where_there_is(self, room: bool) -> None:
        """Model and effort, as far as something can be chosen."""
        # An arrow without a word says nothing.
        self.model.setVisible(room and bool(self._models))
        self.effort.setVisible(room and self._has_efforts)

    def set_models(self, models: list[dict[str, Any]], current: str, effort: str = "") -> None:
        """The models that are offered. `current` and `effort` are shown where the person has chosen nothing else."""
        self._models, self._default_effort = models, effort
        self.model.clear()
        for info in models:
            name = str(info.get("name") or words.model_name(str(info["id"])))
            self.model.add(name, str(info["id"]), str(info.get("price") or ""))
        self.model.set_value(current)
        self.model.set_value(self.picked_model)
        self._on_model()
        self.offers_changed.emit()

    def set_mode(self, mode: str) -> None:
        """The session's mode. Said again without a change it leaves what was chosen for the next message."""
        if mode != self.told_mode:
            self.told_mode = mode
            self.mode.set_value(mode)

    def pick(self, model: str, effort: str) -> None:
        """Choose a model and its effort as a person would, "" = none; what is not offered now is when it comes."""
        self.picked_model, self.picked_effort = model, effort
        self.model.set_value(model)
        self._on_model()

    def _pick_model(self, model: str) -> None:
        self.picked_model = model
        self._on_model()

    def _pick_effort(self, effort: str) -> None:
        self.picked_effort = effort

    def _on_model(self) -> None:
        info = next((one for one in self._models if one["id"] == self.model.value), {})
        efforts = info.get("efforts") or []
        self.effort.clear()
        for effort in efforts:
            self.effort.add(words.effort(str(effort)), str(effort))
        self._has_efforts = bool(efforts)
        self.offers_changed.emit()
        # What a model does when nothing is said, what the settings say, what was chosen here.
        for effort in ("high", self._default_effort, self.picked_effort):
            self.effort.set_value(effort)
