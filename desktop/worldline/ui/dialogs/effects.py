"""What cannot be undone, at the node one looks at: on this path, on other branches, and what still runs."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from worldline.protocol.commands import Effects
from worldline.protocol.model import EffectInfo
from worldline.ui.chat import words
from worldline.ui.chat.row_base import ColorLabel
from worldline.ui.dialogs.base import Dialog, clear_layout, while_open
from worldline.ui.session_state import SessionState
from worldline.ui.theme import theme


class EffectsDialog(Dialog):
    undo_wanted = Signal(int)
    stop_wanted = Signal(str)
    node_wanted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Done outside the workspace"), parent, width=700)
        self.resize(700, 460)
        self.setWindowModality(Qt.WindowModality.NonModal)
        self.add_text(
            self.tr(
                "Going to a node puts files back. These things are outside the files and stay as they are."
            ),
            "muted",
        )
        inside = QWidget(self)
        self._list = QVBoxLayout(inside)
        self._list.setContentsMargins(0, 0, 8, 0)
        self._list.setSpacing(8)
        area = QScrollArea(self)
        area.setWidget(inside)
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        self.body.addWidget(area, 1)
        self.add_button(self.tr("Close"), self.reject)

    def show_effects(self, effects: Effects) -> None:
        clear_layout(self._list)
        self._section(self.tr("On the way to here"), effects.here)
        self._section(self.tr("On other branches, still in effect"), effects.elsewhere)
        running = [process for process in effects.processes if process.running]
        if running:
            self._title(self.tr("Still running"))
            for process in running:
                text = self.tr("{command} · since {time}").format(
                    command=process.command, time=words.clock(process.started)
                )
                self._line(
                    "▶",
                    "accent",
                    text,
                    "",
                    self.tr("Stop"),
                    lambda one=process.id: self.stop_wanted.emit(one),
                )
        if not (effects.here or effects.elsewhere or running):
            self._title(self.tr("Nothing was done outside the workspace."))
        self._list.addStretch(1)

    def _title(self, text: str) -> None:
        label = ColorLabel(text, "muted", self)
        label.setFont(theme().font_ui(0, bold=True))
        self._list.addWidget(label)

    def _section(self, title: str, effects: list[EffectInfo]) -> None:
        if not effects:
            return
        self._title(title)
        kinds = {
            "undoable": (self.tr("can be undone"), "ok"),
            "compensatable": (self.tr("can be countered"), "warn"),
            "irreversible": (self.tr("cannot be undone"), "bad"),
        }
        evidence = {
            "enforced": self.tr("seen and allowed"),
            "observed": self.tr("seen"),
            "assumed": self.tr("assumed"),
            "guessed": self.tr("guessed from the command"),
        }
        for effect in effects:
            kind, token = kinds[effect.reversibility]
            done = {"undone": self.tr("undone"), "countered": self.tr("countered")}.get(effect.status, "")
            note = " · ".join([words.clock(effect.at), done or kind, evidence[effect.evidence]])
            button = effect.undo_label if effect.status == "open" else ""
            self._line("✓" if done else "⚠", "ok" if done else token, effect.summary, note, button,
                       lambda one=effect.id: self.undo_wanted.emit(one), effect.node)  # fmt: skip

    def _line(
        self, sign: str, token: str, text: str, note: str, button: str, call: Any, node: str = ""
    ) -> None:
        line = QHBoxLayout()
        line.setSpacing(10)
        glyph = ColorLabel(sign, token, self)
        glyph.setFont(theme().font_ui())
        line.addWidget(glyph, 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout()
        column.setSpacing(0)
        label = ColorLabel(text, "text", self)
        label.setFont(theme().font_ui())
        label.setWordWrap(True)
        column.addWidget(label)
        if note:
            column.addWidget(ColorLabel(note, "muted", self))
        line.addLayout(column, 1)
        if node:
            show = QPushButton(self.tr("Show the step"), self)
            show.setProperty("role", "link")
            show.setAutoDefault(False)
            show.clicked.connect(lambda _=False: self.node_wanted.emit(node))
            line.addWidget(show, 0, Qt.AlignmentFlag.AlignTop)
        if button:
            act = QPushButton(button, self)
            act.setAutoDefault(False)
            act.clicked.connect(lambda _=False: call())
            line.addWidget(act, 0, Qt.AlignmentFlag.AlignTop)
        self._list.addLayout(line)


def open_effects(state: SessionState, parent: QWidget) -> EffectsDialog:
    """The list for the node that is looked at; it follows while it is open."""
    dialog = EffectsDialog(parent)

    def refresh(*_: object) -> None:
        state.request(
            "effects",
            {"node": state.looked_at()},
            while_open(dialog, lambda result: dialog.show_effects(Effects.model_validate(result))),
        )

    connections = [
        state.effect_changed.connect(refresh),
        state.process_changed.connect(refresh),
        state.selection_changed.connect(refresh),
        state.cursor_changed.connect(refresh),
    ]
    signals = (state.effect_changed, state.process_changed, state.selection_changed, state.cursor_changed)

    def leave(_code: int) -> None:
        for signal, connection in zip(signals, connections, strict=True):
            signal.disconnect(connection)

    dialog.finished.connect(leave)
    dialog.undo_wanted.connect(lambda number: state.request("undo_effect", {"id": number}, refresh))
    dialog.stop_wanted.connect(lambda number: state.request("stop_process", {"id": number}, refresh))
    dialog.node_wanted.connect(state.reveal_asked)
    refresh()
    dialog.show()
    return dialog
