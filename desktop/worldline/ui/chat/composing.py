"""The composer joined to the session: what is sent, what waits above it, drafts, models and completion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from worldline.ui.chat import opening
from worldline.ui.chat.composer import Composer
from worldline.ui.chat.drafts import Drafts
from worldline.ui.chat.waiting import recent_prompts, waiting_texts
from worldline.ui.chat.waiting_bar import WaitingBar
from worldline.ui.session_state import SessionState
from worldline.viewmodel.drafts import Draft

_OF_THE_MODEL = frozenset({"model", "base_url"})


@dataclass(frozen=True, slots=True)
class Written:
    """A message that is being written, with what was chosen for it."""

    draft: Draft
    mode: str
    told_mode: str
    """The session's own."""
    model: str
    effort: str
    """These two as the person chose them, "" = nothing."""


class Composing(QObject):
    """Turns what the person writes into commands of the session, and shows the session's state in the composer."""

    def __init__(self, state: SessionState, pane: QWidget) -> None:
        """`pane`: where `composer` and `waiting` are placed."""
        super().__init__(pane)
        self._state = state
        self.composer = Composer(pane)
        self.waiting = WaitingBar(pane)
        self._held: tuple[str, dict[str, Any]] | None = None
        """Node and prompt that is sent as soon as the session is there."""
        self._sending: dict[str, Any] | None = None
        """The prompt that the engine has not answered yet."""
        self.drafts = Drafts(self.composer.draft, self)
        self.drafts.found.connect(self.composer.restore)
        self.drafts.left_out.connect(self._on_left_out)
        self.drafts.failed.connect(self._on_draft_failed)
        self._connect()

    def _connect(self) -> None:
        state, composer = self._state, self.composer
        state.loaded.connect(self.load_history)
        state.run_started.connect(lambda _run: composer.set_running(True))
        state.run_ended.connect(lambda _run, _offers: composer.set_running(False))
        for signal in (state.approval_asked, state.approval_gone, state.question_asked, state.question_gone):
            signal.connect(lambda *_: self._show_waiting())
        state.queue_changed.connect(composer.set_queue)
        state.composer_text.connect(composer.set_text)
        state.jumped.connect(self._on_jumped)
        # They did not want to go after all: a later jump to the same node sends nothing.
        state.stayed.connect(lambda: setattr(self, "_held", None))
        state.status_changed.connect(self._on_status)
        state.info_changed.connect(lambda _info: self._on_info())
        state.hello.connect(lambda _hello: self.ask_models())
        state.settings_saved.connect(self._on_settings)
        state.engine_state_changed.connect(lambda _state: self._show_engine())
        composer.send.connect(self._send)
        composer.stop.connect(lambda: state.request("stop"))
        composer.complete.connect(self._complete)
        composer.queue_edit.connect(
            lambda number, text: state.request("queue_edit", {"id": number, "text": text})
        )
        composer.queue_send.connect(lambda number: state.request("queue_edit", {"id": number, "send": True}))
        composer.draft_changed.connect(lambda _text: self.drafts.changed())
        composer.edit.escaped.connect(lambda: state.select("") if state.selection else None)
        self.waiting.show_clicked.connect(lambda: opening.approvals(state))

    def catch_up(self) -> None:
        """The session was there before the pane: take over what has been announced already."""
        self._on_info()
        self.ask_models()
        self._on_status(self._state.status)
        self._show_engine()
        self.composer.set_queue(self._state.queue)
        self._show_waiting()

    def handed_over(self) -> Written:
        """What is being written, for the pane that takes the place of this one."""
        choices = self.composer.choices
        return Written(
            self.composer.draft(),
            choices.mode.value,
            choices.told_mode,
            choices.picked_model,
            choices.picked_effort,
        )

    def take_over(self, written: Written) -> None:
        """Go on with what was being written in another pane of the same session."""
        choices = self.composer.choices
        self.drafts.take_over(written.draft)
        self.composer.replace(written.draft)
        # The session may tell its mode to this pane now or have done so: what was chosen is kept until it has another.
        choices.set_mode(written.told_mode)
        choices.mode.set_value(written.mode)
        choices.pick(written.model, written.effort)

    # -- what the composer shows

    def load_history(self) -> None:
        self.composer.edit.history = recent_prompts(self._state)
        self.composer.edit.remember("")

    def _show_waiting(self) -> None:
        self.waiting.set_waiting(waiting_texts(self._state))

    def _on_status(self, status: dict[str, Any]) -> None:
        self.composer.set_running(self._state.busy)
        self.composer.choices.set_mode(str(status.get("mode") or "ask"))
        self.composer.set_context(int(status.get("context_tokens") or 0))

    def _show_engine(self) -> None:
        """Sent while there is no engine a message would go nowhere: it stays, and that is said."""
        away = {
            "restarting": self.tr("The engine is starting again. What you write stays here until you can send it."),
            "gone": self.tr("The engine is not running. What you write stays here until you can send it."),
        }  # fmt: skip
        self.composer.set_away(away.get(self._state.client.state, ""))

    def _on_info(self) -> None:
        info = self._state.info
        self.composer.edit.root = str(info.get("work_path") or "")
        self.composer.edit.opened = str(info.get("root") or "")
        # Why is said in the line above the status, which has room for it and changes when the reason goes.
        self.composer.set_read_only(
            self.tr("This session is open for reading only.") if info.get("read_only") else ""
        )
        path = str(info.get("path") or "")
        if path and not info.get("read_only"):
            self.drafts.open(path)

    def ask_models(self) -> None:
        def answered(result: dict[str, Any]) -> None:
            current = str(self._state.status.get("asked_model") or result.get("default") or "")
            self.composer.choices.set_models(result["models"], current, str(result.get("effort") or ""))

        self._state.request("models", {}, answered)

    def _on_settings(self, names: frozenset[str]) -> None:
        """What was just said in the settings counts more than what was chosen here before."""
        choices = self.composer.choices
        model = "" if names & _OF_THE_MODEL else choices.picked_model
        effort = "" if "effort" in names else choices.picked_effort
        if (model, effort) != (choices.picked_model, choices.picked_effort):
            choices.pick(model, effort)
        if names & _OF_THE_MODEL or "effort" in names:
            self.ask_models()

    def _on_left_out(self, number: int) -> None:
        self.composer.say(
            self.tr("%n attachment(s) too large to be kept if the window closes: send it first.", "", number)
            if number
            else ""
        )

    def _on_draft_failed(self, why: str) -> None:
        self.composer.say(
            self.tr("What you write cannot be kept if the window closes: {why}").format(why=why)
        )

    # -- what the person wants

    def _send(self, params: dict[str, Any]) -> None:
        target = self._state.selection
        if target and not self._state.busy:
            # What is written while looking at another node belongs to that node: go there first, then send. The words
            # stay in the composer until they are sent, also when the person does not want to go after all.
            self._held = (target, params)
            self._state.go(target)
            return
        if self._sending == params:
            return  # Enter again, before the engine has answered: it was meant once
        self._sending = params
        self._state.select("")

        def taken(_result: object) -> None:
            self._sending = None
            self.composer.sent(params["text"], params.get("images") or [])

        def refused(error: dict[str, Any]) -> None:
            self._sending = None
            self._state.failed.emit(error)

        self._state.request("prompt", params, taken, refused)

    def _on_jumped(self, result: dict[str, Any]) -> None:
        held, self._held = self._held, None
        if held is not None and held[0] == result.get("node") and self.composer.message() == held[1]["text"]:
            # The words of the prompt that was gone to are not wanted: there are new ones.
            result["composer_text"] = ""
            self._send(held[1])

    def _complete(self, prefix: str) -> None:
        self._state.request(
            "complete",
            {"prefix": prefix, "limit": 50},
            lambda result: self.composer.offer(prefix, result["paths"]),
        )

    def edit_prompt(self, uid: str, text: str) -> None:
        """Let a prompt be written anew; one that is a node already is gone back to."""
        if uid:
            # Going to a prompt is a fork at its parent; the engine hands its text to the composer.
            self._state.go(uid)
        elif not self._state.read_only:
            self.composer.set_text(text)
