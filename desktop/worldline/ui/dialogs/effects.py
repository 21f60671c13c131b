"""What cannot be undone, at the node one looks at: on this path, on other branches, and what still runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from worldline.protocol.commands import Effects, PortShown
from worldline.protocol.model import EffectInfo, ProcessInfo
from worldline.ui.again import Again
from worldline.ui.chat import words
from worldline.ui.chat.row_base import ColorLabel
from worldline.ui.dialogs.base import Dialog, Latest, clear_layout, in_front, while_open
from worldline.ui.plain import as_label
from worldline.ui.session_state import SessionState
from worldline.ui.theme import theme
from worldline.viewmodel.words import refusal

_MOST_PORTS = 3


class EffectsDialog(Dialog):
    undo_wanted = Signal(int)
    stop_wanted = Signal(str)
    node_wanted = Signal(str)
    port_wanted = Signal(str, int, bool)
    """(process, port, open it in the browser or not any more)"""

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
        # What is in it can be reached; it scrolls to what has the focus.
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.body.addWidget(area, 1)
        self._problem = self.add_text("", "bad")
        self._problem.hide()
        self.add_button(self.tr("Close"), self.reject)

    def show_problem(self, text: str) -> None:
        self._problem.setText(text)
        self._problem.show()

    def _press(self, button: QPushButton, call: Callable[[], object]) -> None:
        """Once: what it asks for is on its way until the list is made anew."""
        button.setEnabled(False)
        self._problem.hide()
        call()

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
                    self._ports_note(process),
                    self.tr("Stop"),
                    lambda one=process.id: self.stop_wanted.emit(one),
                    more=self._port_buttons(process),
                )
        if not (effects.here or effects.elsewhere or running):
            self._title(self.tr("Nothing was done outside the workspace."))
        self._list.addStretch(1)

    def _ports_note(self, process: ProcessInfo) -> str:
        """Where a server listens is the network of the session; the person's browser does not reach it there."""
        inside = ", ".join(str(p.port) for p in process.ports)
        shown = ", ".join(f"http://127.0.0.1:{p.shown}/" for p in process.ports if p.shown)
        notes = [self.tr("listens on {ports}").format(ports=inside)] if inside else []
        if shown:
            notes.append(self.tr("reachable from this computer: {address}").format(address=shown))
        return " · ".join(notes)

    def _port_buttons(self, process: ProcessInfo) -> list[tuple[str, Any]]:
        several = len(process.ports) > 1
        found: list[tuple[str, Any]] = []
        for port in process.ports[:_MOST_PORTS]:
            name = self.tr("Open {port} in browser") if several else self.tr("Open in browser")
            found.append((name.format(port=port.port), self._port_call(process.id, port.port, True)))
            if port.shown:
                name = self.tr("Close {port} again") if several else self.tr("Close again")
                found.append((name.format(port=port.port), self._port_call(process.id, port.port, False)))
        return found

    def _port_call(self, process: str, port: int, show: bool) -> Any:
        return lambda: self.port_wanted.emit(process, port, show)

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
        self,
        sign: str,
        token: str,
        text: str,
        note: str,
        button: str,
        call: Any,
        node: str = "",
        more: list[tuple[str, Any]] | None = None,
    ) -> None:
        line = QHBoxLayout()
        line.setSpacing(10)
        glyph = ColorLabel(sign, token, self)
        glyph.setFont(theme().font_ui())
        glyph.setFixedWidth(16)
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
        # Lines with and without a note stand on the same grid.
        if not note:
            column.addStretch(1)
        if node:
            show = QPushButton(self.tr("Show the step"), self)
            show.setProperty("role", "link")
            show.setAutoDefault(False)
            show.clicked.connect(lambda _=False: self.node_wanted.emit(node))
            line.addWidget(show, 0, Qt.AlignmentFlag.AlignTop)
        for name, done in [*(more or ()), *([(button, call)] if button else ())]:
            act = QPushButton(as_label(name), self)
            act.setAutoDefault(False)
            act.clicked.connect(lambda _=False, done=done, act=act: self._press(act, done))
            line.addWidget(act, 0, Qt.AlignmentFlag.AlignTop)
        self._list.addLayout(line)


def _undo(
    state: SessionState, number: int, done: Callable[..., object], failed: Callable[..., object]
) -> None:
    """A counter move is asked about like any command; whoever pressed the button is shown the question at once."""

    def show(approval: dict[str, Any]) -> None:
        from worldline.ui.dialogs.desk import desk_of

        desk_of(state).show_waiting(str(approval.get("id", "")))

    asked = state.approval_asked.connect(show)

    def over(then: Callable[..., object]) -> Callable[..., None]:
        def answered(*args: object) -> None:
            state.approval_asked.disconnect(asked)
            then(*args)

        return answered

    state.request("undo_effect", {"id": number}, over(done), over(failed))


def open_effects(state: SessionState, parent: QWidget) -> EffectsDialog:
    """The list for the node that is looked at; it follows while it is open."""
    if (there := in_front(parent, EffectsDialog)) is not None:
        return there
    dialog = EffectsDialog(parent)
    Again(dialog, lambda window, state: open_effects(state, window))

    latest = Latest()

    def refresh(*_: object) -> None:
        of = latest.ask()
        show = of(lambda result: dialog.show_effects(Effects.model_validate(result)))
        problem = of(lambda error: dialog.show_problem(refusal(error)))
        params = {"node": state.looked_at()}
        state.request("effects", params, while_open(dialog, show), while_open(dialog, problem))

    def refused(error: dict[str, Any]) -> None:
        # First what there is by now: the button that was pressed is made anew, and can be pressed again.
        refresh()
        dialog.show_problem(refusal(error))

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
    failed = while_open(dialog, refused)
    dialog.undo_wanted.connect(lambda number: _undo(state, number, refresh, failed))
    dialog.stop_wanted.connect(lambda number: state.request("stop_process", {"id": number}, refresh, failed))
    dialog.node_wanted.connect(state.reveal_asked)

    def show_port(process: str, port: int, show: bool) -> None:
        def shown(result: Any) -> None:
            if url := PortShown.model_validate(result).url:
                QDesktopServices.openUrl(QUrl(url))
            refresh()

        params = {"id": process, "port": port, "show": show}
        state.request("show_port", params, while_open(dialog, shown), failed)

    dialog.port_wanted.connect(show_port)
    refresh()
    dialog.show()
    return dialog
