"""One open session as the window knows it: the client, the rows, the cursor, what is selected, what waits.

Everything in the window reads from here and listens to its signals; nothing here draws. All of it lives in the GUI
thread. Notifications arrive as plain dicts with the fields of `protocol.events` (pydantic is not imported before the
first paint).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from PySide6.QtCore import QObject, QTimer

from worldline.client.process import EngineProcess
from worldline.ui.session_way import SessionWay
from worldline.viewmodel import engine_words
from worldline.viewmodel.effects import taken_back
from worldline.viewmodel.streaming import Streaming
from worldline.viewmodel.tree_model import NO_ROW

log = logging.getLogger("worldline.ui")


class SessionState(SessionWay):
    """`info`, `status` and the items of `approvals` are dicts of the protocol."""

    def __init__(self, client: EngineProcess, parent: QObject | None = None) -> None:
        super().__init__(client, parent)
        self.info: dict[str, Any] = {}
        self.status: dict[str, Any] = {"state": "starting"}
        self.selection = ""
        self.selected: list[str] = []
        self.run: dict[str, Any] | None = None
        self.approvals: dict[str, dict[str, Any]] = {}
        self.questions: dict[str, dict[str, Any]] = {}
        self.queue: list[dict[str, Any]] = []
        self.effects: dict[int, dict[str, Any]] = {}
        self.processes: dict[str, dict[str, Any]] = {}
        """Commands that go on in the background."""
        self.countered: set[str] = set()
        """Nodes whose effects were all countered."""
        self.crash = ""
        """What was found when the engine opened the session last, to be told to the person; "" = nothing."""
        self.found = ""
        """The same, also when the person has been told of it."""
        self._crash_told = False
        self.opened_before = False
        """A window that stood here before has shown the session: what is asked at the opening was asked."""
        self.ready = False
        """The SDK is loaded in the engine."""
        self.refusal: dict[str, Any] = {}
        """Why the session could not be opened, if it could not."""
        self._deltas: list[dict[str, Any]] = []
        self._outputs: list[dict[str, Any]] = []
        self.streaming = Streaming()
        """What has come of replies and outputs that are not stored yet."""
        client.batch.connect(self._on_batch)
        client.hello.connect(self._on_hello)
        client.refused.connect(self._on_refused)
        client.state_changed.connect(self._on_engine_state)

    def go_on_from(self, before: SessionState) -> None:
        """Take the place of another state of the same engine: before anything more has come."""
        self.keep_way(before)
        self._crash_told = self.client.state == "running"
        self.opened_before = before.opened_before or before.is_loaded
        self.streaming = before.streaming.copy()

    def _on_refused(self, error: dict[str, Any]) -> None:
        self.refusal = engine_words.error(error)
        self.refused.emit(self.refusal)

    # Commands --------------------------------------------------------------------------------------------------
    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        on_result: Callable[[Any], None] | None = None,
        on_error: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        """Send a command; callbacks run in the GUI thread. Without `on_error` a refusal is shown by the window."""
        fail = on_error or self.failed.emit

        def answered(answer: Any) -> None:
            if on_result is not None and not self.signalsBlocked():
                on_result(engine_words.result(method, answer))

        def refused(error: dict[str, Any]) -> None:
            if not self.signalsBlocked():
                fail(engine_words.error(error))

        self.client.request(method, params, answered, refused)

    def let_go(self) -> None:
        """Tell nobody anything any more: who listened is about to be deleted, and the engine may go on without them."""
        self.blockSignals(True)

    @property
    def read_only(self) -> bool:
        return bool(self.info.get("read_only"))

    @property
    def busy(self) -> bool:
        """A run is going on."""
        return self.run is not None

    def cursor_row(self) -> int:
        return self.tree.row(self.cursor) if self.cursor else NO_ROW

    def looked_at(self) -> str:
        """The node that chat and changes show: the previewed one, else the cursor."""
        return self.selection or self.cursor

    def select(self, uid: str) -> None:
        """Look at a node without going there; "" = look at the cursor again."""
        if uid == self.cursor:
            uid = ""
        if uid != self.selection:
            self.selection = uid
            self.selection_changed.emit(uid)

    def choose(self, uids: list[str]) -> None:
        """The nodes chosen for Compare."""
        if uids != self.selected:
            self.selected = list(uids)
            self.selected_changed.emit(self.selected)

    def set_label(self, uid: str, what: str, text: str, color: str = "") -> None:
        self.request("set_label", {"node": uid, "what": what, "text": text, "color": color})

    # Opening ---------------------------------------------------------------------------------------------------
    def _on_engine_state(self, state: str) -> None:
        if state in ("restarting", "gone"):
            self.ready = False
            self._crash_told = False  # what comes next is another crash
            self.run = None
            self.processes.clear()
            self.streaming.clear()
            self.jumping = False
            for approval in list(self.approvals):
                self._gone(self.approvals, approval, self.approval_gone, "stopped")
            for question in list(self.questions):
                self.questions.pop(question)
                self.question_gone.emit(question)
            # What the engine said last is not so any more: nothing runs and nothing can be stopped.
            self._set_status({**self.status, "state": "starting", "run": "", "sentence": ""})
        self.engine_state_changed.emit(state)

    def _on_hello(self, result: dict[str, Any]) -> None:
        result = engine_words.hello(result)
        self.info = result["session"]
        # From now on a restart opens this document, also when the first start made a new one.
        self.client.reopen = ["--session", str(self.info["path"])]
        if self.info.get("scripted_model"):
            self.client.reopen.append("--demo")
        self.run = result.get("run")
        self.info_changed.emit(self.info)
        self._set_status(result.get("status") or {})
        # Rows that were read ahead or before a restart stay; those that worked then have an end by now.
        self._load(0 if self.tree.uids.lost else min([len(self.tree), *self.tree.live]))
        self._set_cursor(result.get("cursor", ""))
        for approval in result.get("approvals", []):
            self._asked(approval)
        for question in result.get("questions", []):
            self.questions[question["id"]] = question
            self.question_asked.emit(question)
        self.request("labels", {}, self._take_labels)
        if any(
            self.status.get(name)
            for name in ("effects", "effects_undoable", "effects_elsewhere", "effects_countered", "processes")
        ):
            # Without an answer the short list is empty; the long one asks again, and says what is wrong.
            self.request("effects", {}, self._take_effects, lambda _error: None)
        self.request("node_lines", {}, self._take_all_lines, lambda _error: None)
        self.refusal = {}
        self.hello.emit(result)
        self.problems.emit(result.get("problems") or [])
        self.found = str(result.get("recovered") or "")
        self.crash = "" if self._crash_told else self.found
        if self.crash:
            self.recovered.emit(self.crash)

    # Notifications ---------------------------------------------------------------------------------------------
    def _on_batch(self, events: list[tuple[str, dict[str, Any]]]) -> None:
        for method, params in events:
            if method == "delta":
                self._deltas.append(params)
                continue
            if method == "tool_output":
                self._outputs.append(params)
                continue
            self._announce_deltas()
            handler = getattr(self, f"_on_{method}", None)
            if handler is None:
                log.info("a notification this window does not know: %s", method)
            else:
                handler(engine_words.event(method, params))
        self._announce_rows()
        self._announce_deltas()

    def _announce_deltas(self) -> None:
        # Order matters: rows first, then text that belongs to them.
        if self._deltas or self._outputs:
            self._announce_rows()
        if self._deltas:
            deltas, self._deltas = self._deltas, []
            self.streaming.take_deltas(deltas)
            self.delta_batch.emit(deltas)
        if self._outputs:
            outputs, self._outputs = self._outputs, []
            self.streaming.take_outputs(outputs)
            self.tool_output_batch.emit(outputs)

    def _on_node_stored(self, params: dict[str, Any]) -> None:
        self.streaming.node_stored(params["header"])
        self._take_node(params["header"])

    def _on_node_ended(self, params: dict[str, Any]) -> None:
        self.streaming.node_ended(params["header"])
        self._take_node(params["header"])

    def _take_node(self, header: dict[str, Any]) -> None:
        if self._loading:
            self._early.append(header)
        else:
            self._take_header(header)

    def _on_cursor_moved(self, params: dict[str, Any]) -> None:
        self._announce_rows()
        self._set_cursor(params["node"])

    def _set_cursor(self, uid: str) -> None:
        if uid != self.cursor:
            self.cursor = uid
            if self.selection == uid:
                self.select("")
            self.cursor_changed.emit(uid)

    def _on_run_started(self, params: dict[str, Any]) -> None:
        self.run = params["run"]
        self._announce_rows()
        self.run_started.emit(params["run"])

    def _on_run_ended(self, params: dict[str, Any]) -> None:
        self.run = None
        self.streaming.run_ended(str(params["run"]["uid"]))
        self._announce_rows()
        self.run_ended.emit(params["run"], params.get("offers", []))

    def _on_reply_discarded(self, params: dict[str, Any]) -> None:
        self.streaming.discarded(str(params["run"]), int(params["turn"]))
        self.reply_discarded.emit(params)

    def _on_status(self, params: dict[str, Any]) -> None:
        self._set_status(params["status"])

    def _set_status(self, status: dict[str, Any]) -> None:
        self.status = status
        # An engine that was ready before we asked tells it by its state only.
        if not self.ready and status.get("state", "starting") not in ("starting", "failed"):
            self._on_engine_ready({})
        self.status_changed.emit(status)

    def _asked(self, approval: dict[str, Any]) -> None:
        self.approvals[approval["id"]] = approval
        self.approval_asked.emit(approval)

    def _on_approval_asked(self, params: dict[str, Any]) -> None:
        self._announce_rows()
        self._asked(params["approval"])

    def _on_approval_gone(self, params: dict[str, Any]) -> None:
        self._gone(self.approvals, params["id"], self.approval_gone, str(params.get("why", "answered")))

    @staticmethod
    def _gone(items: dict[str, dict[str, Any]], key: str, signal: Any, why: str) -> None:
        items.pop(key, None)
        signal.emit(key, why)

    def _on_question_asked(self, params: dict[str, Any]) -> None:
        self._announce_rows()
        question = params["question"]
        self.questions[question["id"]] = question
        self.question_asked.emit(question)

    def _on_question_gone(self, params: dict[str, Any]) -> None:
        self.questions.pop(params["id"], None)
        self.question_gone.emit(params["id"])

    def _on_effect_changed(self, params: dict[str, Any]) -> None:
        effect = params["effect"]
        self.effects[int(effect["id"])] = effect
        self._note_countered()
        self.effect_changed.emit(effect)

    def _take_effects(self, result: dict[str, Any]) -> None:
        for effect in sorted(result["here"] + result["elsewhere"], key=lambda one: int(one["id"])):
            self.effects[int(effect["id"])] = effect
        self.processes = {one["id"]: one for one in result["processes"] if one.get("running", True)}
        self._note_countered()

    def _note_countered(self) -> None:
        before, self.countered = self.countered, taken_back(self.effects.values())
        self.tree.countered = self.countered
        if changed := before ^ self.countered:
            self.countered_changed.emit(sorted(changed))

    def _on_process_changed(self, params: dict[str, Any]) -> None:
        process = params["process"]
        if process.get("running", True):
            self.processes[process["id"]] = process
        else:
            self.processes.pop(process["id"], None)
        self.process_changed.emit(process)

    def look_at_processes(self, then: Callable[[], None]) -> None:
        """Call when it is known which of them run by now: the engine notices the end of one when it is asked."""

        def answered(result: dict[str, Any]) -> None:
            self._take_effects(result)
            then()

        self.request("effects", {}, answered, lambda _error: then())

    def _on_diagnosed(self, params: dict[str, Any]) -> None:
        self.diagnosed.emit(params["diagnostic"])

    def _on_queue_changed(self, params: dict[str, Any]) -> None:
        self.queue = params.get("items", [])
        self.queue_changed.emit(self.queue)

    def _on_label_changed(self, params: dict[str, Any]) -> None:
        self._announce_rows()
        self._take_label(params)

    def _on_title_changed(self, params: dict[str, Any]) -> None:
        self.info = {**self.info, "title": params["title"]}
        self.info_changed.emit(self.info)

    def _on_writer_changed(self, params: dict[str, Any]) -> None:
        self.writer_changed.emit(bool(params["lives"]))

    def _on_writing_ended(self, params: dict[str, Any]) -> None:
        self.info = {**self.info, "read_only": True, "read_only_why": params["why"], "damaged": True}
        self.info_changed.emit(self.info)

    def open_again(self) -> None:
        """Open the session anew in place, for writing where that is possible now."""
        self.client.start_anew()

    def _on_progress(self, params: dict[str, Any]) -> None:
        self.progress.emit(params)

    def _on_files_changed(self, params: dict[str, Any]) -> None:
        self.files_changed.emit(str(params.get("node", "")))

    def _on_engine_ready(self, _params: dict[str, Any]) -> None:
        if not self.ready:
            self.ready = True
            self.engine_ready.emit()

    def later(self, call: Callable[[], None], ms: int = 0) -> None:
        """Call when the events at hand are done; dropped when the session is closed before."""
        QTimer.singleShot(ms, self, call)
