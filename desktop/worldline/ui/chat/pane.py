"""The chat pane: header with breadcrumb and conversation of the node that is looked at, above the composer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from PySide6.QtCore import QTimer
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QHideEvent, QResizeEvent
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from worldline.core.headers import NodeHeader
from worldline.protocol.events import Delta
from worldline.protocol.model import Approval, Body, Question, RunInfo
from worldline.ui.chat import opening, words
from worldline.ui.chat.composing import Composing
from worldline.ui.chat.message_menu import show_menu
from worldline.ui.chat.offers import act_on_offer
from worldline.ui.chat.pane_head import PaneHead
from worldline.ui.chat.view import ChatView
from worldline.ui.hiding import hide, show_if
from worldline.ui.session_state import SessionState
from worldline.ui.slices import PAUSE_MS
from worldline.viewmodel import tree_paths, tree_text
from worldline.viewmodel.chat import ChatModel, left_runs
from worldline.viewmodel.headers import header_at
from worldline.viewmodel.tree_model import NO_ROW
from worldline.viewmodel.words import refusal

BODY_BATCH = 40
FIRST = 150
"""Nodes of the path that are shown at once: more than fit on a screen."""
WINDOW = 1_500
"""Nodes that are there right after; scrolling up adds as many again, so that opening never waits."""
GROWTH = 450
"""As many of them at a time: 5 ms of work."""
FAR = 6 * WINDOW
"""A node so far up is looked at by itself: what lies between would take seconds to be laid out."""
NEAR_TOP = 2_000
"""Pixels from the top at which more is added."""


def empty_pane(state: SessionState, parent: QWidget | None = None) -> ChatPane:
    """One that shows nothing before it has its place and size: rows would be laid out twice."""
    return ChatPane(state, parent, empty=True)


class ChatPane(QWidget):
    """Follows the node that is looked at. Commands go through the session; nothing is decided here."""

    def __init__(self, state: SessionState, parent: QWidget | None = None, *, empty: bool = False) -> None:
        """`empty`: shows nothing before `beginning`."""
        super().__init__(parent)
        self.state = state
        self.chat = ChatModel()
        self.view = ChatView(self.chat, self)
        self.view.hold()
        self.composing = Composing(state, self)
        self.composer, self.waiting = self.composing.composer, self.composing.waiting
        self._shown = ""
        self._fork = ""
        self._window = FIRST
        self._above = 0
        """Nodes of the path above what is shown."""
        self._prompts_above = 0
        self._pending: list[str] = []
        self.head = PaneHead(self, heir=self.view)
        self.head.back.connect(lambda: state.select(""))
        self.head.go.connect(lambda: state.go(state.looked_at()))
        self.head.model_view.connect(lambda: opening.model_view(state, self.window(), state.looked_at()))
        self._end = QPushButton(self.tr("↓ New text"), self)
        self._end.clicked.connect(self.view.follow)
        self._end.hide()
        self._layout = layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.head)
        layout.addWidget(self.view, 1)
        layout.addWidget(self.waiting)
        layout.addWidget(self.composer)
        self._body_timer = QTimer(self, singleShot=True, interval=0)
        self._body_timer.timeout.connect(self._ask_bodies)
        self._connect()
        # What has come of a reply so far: the pane may be made in the middle of it.
        self._on_deltas(state.streaming.deltas())
        for uid, text in state.streaming.outputs().items():
            self.chat.tool_output(uid, text)
        self._grow_timer = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._grow_timer.timeout.connect(self._grow)
        self.setFocusProxy(self.composer.edit)
        if not empty:
            for step in self.beginning():
                step()

    def take_lines(self, lines: QWidget) -> None:
        """The lines of the window, over what waits and over the message: neither moves when one comes or goes."""
        self._layout.insertWidget(self._layout.indexOf(self.waiting), lines)

    def beginning(self) -> Iterator[Callable[[], object]]:
        """Show the session as it is by now."""
        yield self._refresh
        yield from self.view.appearing()
        yield self._begin

    def _begin(self) -> None:
        if self.state.refusal:
            self._on_refused(self.state.refusal)
        if self.state.info:
            self._catch_up()

    def _catch_up(self) -> None:
        """The session was there before this pane: take over what has been announced already."""
        state = self.state
        self.composing.catch_up()
        self._on_status(state.status)
        for approval in state.approvals.values():
            self._on_approval(approval)
        for question in state.questions.values():
            self._on_question(question)
        if state.is_loaded:
            self.composing.load_history()
            self._on_loaded()

    def _on_refused(self, error: dict[str, Any]) -> None:
        """Nothing can be written where no session was opened; the line below the panes offers what to do."""
        self.view.empty.say_refused(refusal(error))
        self.composer.setEnabled(False)

    def _on_opened(self, _result: dict[str, Any]) -> None:
        self.view.empty.say_refused("")
        self.composer.setEnabled(True)

    def _connect(self) -> None:
        state, view = self.state, self.view
        state.headers_changed.connect(self._on_headers)
        state.node_ended.connect(self._on_node_ended)
        state.loaded.connect(self._on_loaded)
        state.cursor_changed.connect(lambda _uid: self._refresh())
        state.selection_changed.connect(lambda _uid: self._refresh())
        state.delta_batch.connect(self._on_deltas)
        state.tool_output_batch.connect(self._on_output)
        state.reply_discarded.connect(lambda event: self.chat.reply_discarded(event["run"], event["turn"]))
        state.run_started.connect(self._on_run_started)
        state.run_ended.connect(self._on_run_ended)
        state.approval_asked.connect(self._on_approval)
        state.approval_gone.connect(self._on_approval_gone)
        state.question_asked.connect(self._on_question)
        state.question_gone.connect(self._on_question_gone)
        state.status_changed.connect(self._on_status)
        state.refused.connect(self._on_refused)
        state.hello.connect(self._on_opened)
        state.reveal_asked.connect(self._reveal)
        view.bodies_needed.connect(self._need_bodies)
        view.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        view.follow_changed.connect(lambda on: show_if(not on and self.state.busy, self._end, self.view))
        state.countered_changed.connect(self._on_countered)
        signals = view.signals
        signals.countered = state.countered
        signals.go_to.connect(state.go)
        signals.reveal.connect(state.reveal_asked)
        signals.edit_prompt.connect(self.composing.edit_prompt)
        signals.offer.connect(self._on_offer)
        signals.approve.connect(lambda answer: state.request("answer_approval", answer))
        signals.answer.connect(lambda answer: state.request("answer_question", answer))
        signals.show_approval.connect(lambda key: opening.approvals(state, key))
        signals.whole_output.connect(lambda blob: opening.whole_output(state, self.window(), blob))
        signals.model_view.connect(lambda uid: opening.model_view(state, self.window(), uid))
        signals.show_diff.connect(lambda uid, _path: state.select(uid))
        signals.explain.connect(lambda _uid: opening.diagnostics(state, self.window()))
        signals.link.connect(opening.link)
        signals.menu.connect(lambda uid, place: show_menu(state, self.chat.row(uid), self, place))

    def _on_countered(self, uids: list[str]) -> None:
        self.view.signals.countered = self.state.countered
        self.chat.touch(uids)

    # -- what is shown

    def _refresh(self, *, again: bool = False) -> None:
        state = self.state
        uid = state.looked_at()
        row = state.tree.row(uid) if uid else NO_ROW
        previewing = bool(state.selection)
        self._show_looking(previewing, row)
        self.head.offer_going(previewing and not state.read_only)
        if row == NO_ROW:
            self.chat.set_path([], live=not previewing)
            return
        same = uid == self._shown and bool(self.chat.path) and self.chat.path[-1].uid == uid
        if same and self.chat.live != previewing and not again:
            return
        if not same:
            self._window = FIRST
        rows, self._above, self._prompts_above = tree_paths.end_of_path(state.tree, row, self._window)
        if self._above and self._window < WINDOW:
            self._grow_timer.start()
        known = {header.seq: header for header in self.chat.path} if same else {}
        path = [known.get(at + 1) or header_at(state.tree, at) for at in rows]
        forks = {}
        for at in rows[:-1]:
            if state.tree.children[at] > 1:
                forks[state.tree.uid(at)] = state.tree.children[at] - 1
        self._shown = uid
        self.chat.set_path(path, forks=forks, left=left_runs(state.tree, rows), live=not previewing)
        self._show_crumbs(path)
        if not same and (previewing or not state.busy):
            self.view.follow()

    def _show_looking(self, on: bool, row: int) -> None:
        """Looking is not going: said where it is read, without moving anything."""
        self.head.show_looking(on)
        if on and row != NO_ROW:
            self._announce(
                self.tr("You look at “{title}”. The files are still as they were where you are.").format(
                    title=tree_text.short_title(self.state.tree, row)
                )
            )

    def _grow(self) -> None:
        if self._window < WINDOW:
            self._window = min(WINDOW, self._window + GROWTH)
            self._refresh(again=True)

    def _on_scrolled(self, value: int) -> None:
        """Near the top: show more of what came before."""
        if self._above and value < NEAR_TOP and not self.view.following:
            self._window = max(self._window, WINDOW) + WINDOW
            self._above = 0
            QTimer.singleShot(0, self, lambda: self._refresh(again=True))

    def _show_crumbs(self, path: list[NodeHeader]) -> None:
        # Where the next prompt goes (a fork has no node of its own yet), or where the node was made.
        fork = "" if self.state.selection else self._fork
        title = self.head.show_path(
            path, fork, str(self.state.info.get("title") or self.tr("New session")), above=self._prompts_above
        )
        self.setAccessibleName(self.tr("Chat: {}").format(title))

    def _on_headers(self, first: int) -> None:
        tree = self.state.tree
        if first == 0 or not self.chat.path or self.state.selection:
            self._refresh()
            return
        # Following a run: rows that hang on the end of what is shown are appended, nothing is built again.
        for at in range(first, len(tree)):
            if tree.parent[at] + 1 == self.chat.path[-1].seq:
                self.chat.node_stored(header_at(tree, at))
                self._shown = self.chat.path[-1].uid
        if self.chat.path:
            self._show_crumbs(self.chat.path)

    def _on_node_ended(self, seq: int) -> None:
        self.chat.node_changed(header_at(self.state.tree, seq - 1))
        self.view.bodies_arrived([self.state.tree.uid(seq - 1)])
        self.view.viewport().update()

    def _on_loaded(self) -> None:
        self.state.request("runs", {}, self._take_runs)
        self._refresh()
        # What the engine before this one owed when it ended.
        self.view.look_again()

    def _take_runs(self, result: dict[str, Any]) -> None:
        self.chat.set_runs(RunInfo.model_validate(one) for one in result["runs"])

    def _need_bodies(self, uids: list[str]) -> None:
        self._pending += uids
        self._body_timer.start()

    def _ask_bodies(self) -> None:
        uids, self._pending = self._pending, []
        for at in range(0, len(uids), BODY_BATCH):
            part = uids[at : at + BODY_BATCH]

            def answered(result: dict[str, Any], part: list[str] = part) -> None:
                self.chat.set_bodies(Body.model_validate(one) for one in result["bodies"])
                self.view.bodies_arrived(part)

            def refused(error: dict[str, Any], part: list[str] = part) -> None:
                # They are asked for again when they are looked at, or when the engine is there again.
                self.view.bodies_arrived(part)
                self.state.failed.emit(error)

            self.state.request("bodies", {"nodes": part}, answered, refused)

    # -- events

    def _on_deltas(self, deltas: list[dict[str, Any]]) -> None:
        self.chat.deltas(Delta.model_construct(**one) for one in deltas)

    def _on_output(self, outputs: list[dict[str, Any]]) -> None:
        merged: dict[str, list[str]] = {}
        for one in outputs:
            merged.setdefault(one["node"], []).append(one["text"])
        for uid, texts in merged.items():
            self.chat.tool_output(uid, "".join(texts))

    def _on_run_started(self, run: dict[str, Any]) -> None:
        self.chat.run_changed(RunInfo.model_validate(run))
        self.view.follow()

    def _on_run_ended(self, run: dict[str, Any], offers: list[str]) -> None:
        info = RunInfo.model_validate(run)
        self.chat.run_changed(info, offers)
        hide(self._end, self.view)
        self._announce(words.stop_title(info.stop_reason, info.detail))

    def _on_approval(self, raw: dict[str, Any]) -> None:
        approval = Approval.model_validate(raw)
        self.chat.approval_asked(approval)
        self._announce(self.tr("Waits for your approval: {}").format(approval.command or approval.title))

    def _on_approval_gone(self, approval_id: str, _why: str) -> None:
        self.chat.approval_gone(approval_id)

    def _on_question(self, raw: dict[str, Any]) -> None:
        question = Question.model_validate(raw)
        self.chat.question_asked(question)
        self._announce(self.tr("The agent asks: {}").format(question.text))

    def _on_question_gone(self, question_id: str) -> None:
        self.chat.question_gone(question_id)

    def _announce(self, text: str) -> None:
        """Said by a screen reader; the focus stays where it is."""
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))

    def _on_status(self, status: dict[str, Any]) -> None:
        if self._fork != (fork := str(status.get("branch") or "")):
            self._fork = fork
            self._show_crumbs(self.chat.path)

    # -- what the person wants

    def _on_offer(self, _run: str, offer: str) -> None:
        act_on_offer(self.state, self.window(), offer)

    def _reveal(self, uid: str) -> None:
        if self._above and self.chat.row(uid) is None:
            row, shown = self.state.tree.row(uid), self.state.tree.row(self._shown)
            below = (
                tree_paths.places_on_path(self.state.tree, shown, row) if NO_ROW not in (row, shown) else -1
            )
            if below > FAR:
                self.state.select(uid)
            elif below >= 0:
                self._window = below + 1 + WINDOW // 10
                self._refresh(again=True)
        self.view.show_key(uid)

    def hideEvent(self, event: QHideEvent) -> None:
        # The window closes, perhaps: what was written in the last moment is kept as well.
        self.composing.drafts.flush()
        super().hideEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._end.adjustSize()
        self._end.move((self.width() - self._end.width()) // 2, self.composer.y() - self._end.height() - 8)
