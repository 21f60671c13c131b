"""The Compare window joined to the session: asks for the comparison, and does what is wanted with an attempt."""

from __future__ import annotations

from functools import partial
from typing import Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QWidget

from worldline.core.headers import NodeHeader
from worldline.protocol.commands import Compare
from worldline.protocol.model import FileDiff
from worldline.ui.again import Again
from worldline.ui.compare.view import CompareView
from worldline.ui.dialogs.base import Dialog, while_open
from worldline.ui.diff.asking import ask_file_diff
from worldline.ui.session_state import SessionState
from worldline.viewmodel import tree_text
from worldline.viewmodel.compare import LETTERS, title_of
from worldline.viewmodel.headers import header_at
from worldline.viewmodel.words import refusal


class CompareDialog(Dialog):
    def __init__(
        self,
        compare: Compare,
        headers: dict[str, NodeHeader],
        parent: QWidget | None = None,
        session: str = "",
    ) -> None:
        goal = title_of(compare.goal, 70)
        if goal:
            title = self.tr("Compare from “{}”").format(goal)
        elif session:
            title = self.tr("Compare from the start of “{}”").format(session[:60])
        else:
            title = self.tr("Compare from the start")
        super().__init__(title, parent, width=1180)
        room = parent.size() if parent is not None else QSize(1280, 800)
        self.resize(min(1600, max(900, room.width() - 80)), min(1100, max(560, room.height() - 70)))
        self.setWindowModality(Qt.WindowModality.NonModal)
        self.view = CompareView(compare, headers, self)
        self.body.addWidget(self.view, 1)
        self.view.bar.addWidget(self.add_button(self.tr("Close"), self.reject))


def open_compare(state: SessionState, nodes: list[str], parent: QWidget) -> None:
    """Ask for the comparison of up to four nodes and show it."""

    def answered(result: dict[str, Any]) -> None:
        compare = Compare.model_validate(result)
        headers = {}
        for attempt in compare.attempts:
            for uid in attempt.path:
                row = state.tree.row(uid)
                if row >= 0:
                    headers[uid] = header_at(state.tree, row)
        dialog = CompareDialog(compare, headers, parent, str(state.info.get("title", "")))
        Again(dialog, lambda window, state: open_compare(state, nodes, window), " ".join(nodes))
        _connect(state, dialog)
        dialog.show()

    state.request("compare", {"nodes": nodes[: len(LETTERS)]}, answered)


def _join_differences(state: SessionState, dialog: CompareDialog) -> None:
    view = dialog.view
    wish: list[object] = [None]
    """The difference that is looked at: large ones come after small ones that were asked for later."""

    def diff(a: str, b: str, path: str) -> None:
        asked = {"a": a, "b": b, "path": path, **view.options()}
        wish[0] = asked

        def wanted() -> bool:
            return wish[0] == asked

        def show(difference: FileDiff) -> None:
            if wanted():
                view.show_diff(difference)

        def refused(error: dict[str, Any]) -> None:
            if error and wanted():
                view.panel.show_refused(path, refusal(error))

        if a != b:
            ask_file_diff(state, dialog, asked, show, refused, wanted)

    view.diff_wanted.connect(diff)
    view.panel.view.author_clicked.connect(state.select)
    view.panel.view.author_name = partial(_author, state)


def _connect(state: SessionState, dialog: CompareDialog) -> None:
    view = dialog.view
    _join_differences(state, dialog)

    def go_on(leaf: str) -> None:
        state.go(leaf)
        dialog.accept()

    def home(leaf: str) -> None:
        from worldline.ui.dialogs.bring_home import open_bring_home

        open_bring_home(state, leaf, dialog)

    def failed(leaf: str, note: str) -> None:
        def marked(_result: object) -> None:
            if note:
                view.noted(leaf, note)
            view.say(dialog.tr("Marked in the tree. Only you see it; the model is not told."))

        def refused(error: dict[str, Any]) -> None:
            view.say(refusal(error), "bad")

        labels = [("label", dialog.tr("failed"))] + ([("note", note)] if note else [])
        for what, text in labels:
            params = {"node": leaf, "what": what, "text": text, "color": "bad"}
            state.request("set_label", params, while_open(dialog, marked), while_open(dialog, refused))

    def take(leaf: str, path: str) -> None:
        if not path:
            view.say(dialog.tr("Choose a file in the list first."))
            return

        def taken(answer: dict[str, Any]) -> None:
            if answer.get("plan"):
                state.plan_needed.emit(answer["plan"], {"node": leaf})
                return
            note = str((answer.get("result") or {}).get("note", ""))
            words = dialog.tr("{path} was taken over. What was there before is saved in the node above.")
            view.say(f"{words.format(path=path)} {note}".strip())

        def refused(error: dict[str, Any]) -> None:
            view.say(refusal(error), "bad")

        state.request(
            "take_file", {"node": leaf, "path": path}, while_open(dialog, taken), while_open(dialog, refused)
        )

    view.continue_wanted.connect(go_on)
    view.take_wanted.connect(take)
    view.home_wanted.connect(home)
    view.failed_wanted.connect(failed)
    view.step_wanted.connect(state.select)
    # The line of the window about it lies behind this one.
    state.brought_home.connect(view.say_done)
    if state.read_only:
        view.set_read_only(dialog.tr("The session is open for reading only."))
    view.ask_diff()


def _author(state: SessionState, uid: str) -> str:
    row = state.tree.row(uid)
    return tree_text.title(state.tree, row)[:80] if row >= 0 else uid[:8]
