"""The jump plan: what will be put back, what stays, what cannot follow."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QListWidget, QPushButton, QWidget

from worldline.protocol.model import JumpPlan, PlanEntry
from worldline.ui.chat import words
from worldline.ui.chat.row_base import ColorLabel
from worldline.ui.dialogs.base import Dialog
from worldline.ui.plain import as_tip
from worldline.ui.theme import theme
from worldline.viewmodel.plan import group, short_paths
from worldline.viewmodel.visible import visible

LISTED = 5000
"""Files that are listed; the number of all is said."""


class JumpPlanDialog(Dialog):
    """`confirmed` carries the params of `jump`. Cancel is the default and touches nothing."""

    confirmed = Signal(dict)
    names_width = 200

    def __init__(self, plan: JumpPlan, title: str, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Go to “{}”").format(title), parent, width=660)
        self.plan = plan
        self._choices: dict[str, QComboBox] = {}
        self._processes: QComboBox | None = None
        groups = group(plan.entries)
        self._list = QListWidget(self)
        self._list.setAccessibleName(self.tr("Files"))
        self._list.setMaximumHeight(160)
        self._list.hide()
        if groups.back:
            self._line(self.tr("%n file(s) will be put back", "", len(groups.back)), groups.back)
        if groups.mine:
            self._mine(groups.mine)
        if groups.foreign:
            self._line(
                self.tr("%n file(s) stay: not made by the agent", "", len(groups.foreign)), groups.foreign
            )
        if groups.not_captured:
            self._line(
                self.tr("%n file(s) were never captured", "", len(groups.not_captured)),
                groups.not_captured,
                "warn",
            )
        self.body.addWidget(self._list)
        for effect in plan.effects_left:
            self.add_fact(
                self.tr("Cannot be undone"), f"⚠ {effect.summary} ({words.clock(effect.at)})", "warn"
            )
        for effect in plan.effects_unknown_there:
            self.add_fact(self.tr("Unknown there"), f"⚠ {effect.summary} ({words.clock(effect.at)})", "warn")
        if plan.processes:
            self._running()
        if plan.lossy:
            self.add_fact(self.tr("The model"), plan.lossy, "warn")
        if plan.note:
            self.add_text(plan.note, "muted")
        self.add_text(self.tr("What you have now is saved as a node first. Back: Alt+←"), "muted")
        self.go_button = self.add_button(self.tr("Go and fork"), self._go, role="primary")
        cancel = self.add_cancel()
        self.right_buttons.removeWidget(cancel)
        self.right_buttons.insertWidget(0, cancel)

    def _line(self, text: str, entries: list[PlanEntry], token: str = "text") -> None:
        line = QHBoxLayout()
        line.setSpacing(12)
        label = ColorLabel(text, token, self)
        label.setFont(theme().font_ui())
        label.setFixedWidth(self.names_width)
        label.setWordWrap(True)
        paths, more = short_paths(entries)
        names = ColorLabel(paths + (self.tr(" and {} more").format(more) if more else ""), "muted", self)
        names.setFont(theme().font_ui())
        names.setWordWrap(True)
        show = QPushButton(self.tr("show"), self)
        show.setProperty("role", "link")
        show.setAutoDefault(False)
        show.setAccessibleName(self.tr("Show the files: {}").format(text))
        show.clicked.connect(lambda: self._show(entries))
        line.addWidget(label)
        line.addWidget(names, 1)
        line.addWidget(show)
        self.body.addLayout(line)

    def _show(self, entries: list[PlanEntry]) -> None:
        self._list.clear()
        signs = {"create": "+", "overwrite": "~", "delete": "−", "chmod": "~", "not_captured": "?"}
        for entry in entries[:LISTED]:
            reason = f"   {entry.reason}" if entry.reason else ""
            self._list.addItem(f"{signs.get(entry.action, '=')} {visible(entry.path)}{reason}")
        if len(entries) > LISTED:
            self._list.addItem(self.tr("… and %n more", "", len(entries) - LISTED))
        self._list.show()

    def _mine(self, entries: list[PlanEntry]) -> None:
        shown = entries[:6]
        for entry in shown:
            line = QHBoxLayout()
            line.setSpacing(12)
            label = ColorLabel("", "warn", self)
            label.setFont(theme().font_ui())
            label.setFixedWidth(self.names_width)
            label.setWordWrap(True)
            path = ColorLabel(visible(entry.path), "text", self)
            path.setFont(theme().font_ui())
            path.setToolTip(as_tip(entry.reason))
            choice = QComboBox(self)
            choice.addItem(self.tr("keep as it is") if entry.unsure else self.tr("keep mine"), "keep")
            choice.addItem(self.tr("put back"), "restore")
            choice.setCurrentIndex(1 if entry.choice == "restore" else 0)
            choice.setAccessibleName(self.tr("What happens to {}").format(entry.path))
            choice.currentIndexChanged.connect(
                lambda _at, box=choice, name=label, unsure=entry.unsure: self._say(box, name, unsure)
            )
            self._say(choice, label, entry.unsure)
            self._choices[entry.path] = choice
            line.addWidget(label)
            line.addWidget(path, 1)
            line.addWidget(choice)
            self.body.addLayout(line)
        if len(entries) > len(shown):
            rest = entries[len(shown) :]
            words = (
                self.tr("%n more file(s) stay: changed by you or in the background", "", len(rest))
                if any(entry.unsure for entry in rest)
                else self.tr("%n more file(s) of yours stay", "", len(rest))
            )
            self._line(words, rest, "warn")

    def _say(self, box: QComboBox, label: ColorLabel, unsure: bool) -> None:
        if box.currentData() != "keep":
            label.set(self.tr("Will be put back (what is there is saved first)") if unsure
                      else self.tr("Will be put back (yours is saved first)"), "text")  # fmt: skip
        else:
            label.set(self.tr("Stays: changed by you, or by a command in the background") if unsure
                      else self.tr("Stays: you changed it"), "warn")  # fmt: skip

    def _running(self) -> None:
        for process in self.plan.processes:
            since = words.clock(process.started)
            self.add_fact(self.tr("Still running"), self.tr("{command} (since {time})").format(
                command=process.command, time=since))  # fmt: skip
        line = QHBoxLayout()
        self._processes = QComboBox(self)
        self._processes.addItem(self.tr("stop them"), "stop")
        self._processes.addItem(self.tr("let them run"), "leave")
        self._processes.setAccessibleName(self.tr("What happens to running processes"))
        line.addSpacing(self.names_width + 12)
        line.addWidget(self._processes)
        line.addStretch(1)
        self.body.addLayout(line)

    def params(self) -> dict[str, object]:
        return {
            "node": self.plan.node,
            "plan": self.plan.id,
            "choices": {path: box.currentData() for path, box in self._choices.items()},
            "processes": self._processes.currentData() if self._processes is not None else "stop",
        }

    def _go(self) -> None:
        self.confirmed.emit(self.params())
        self.accept()
