"""“As the model sees it”: the request of a node, message by message, beside the nodes they came from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QSplitter, QWidget

from worldline.protocol.commands import View
from worldline.ui.again import Again
from worldline.ui.chat import words
from worldline.ui.chat.row_base import copy_text
from worldline.ui.dialogs.base import Dialog
from worldline.ui.inks import ink, inked
from worldline.ui.plain import as_tip
from worldline.ui.session_state import SessionState
from worldline.ui.sliced_text import SlicedText
from worldline.ui.slices import in_slices
from worldline.viewmodel import tree_text
from worldline.viewmodel.json_text import pieces


class ModelViewDialog(Dialog):
    """Left: every part of the request, marked where it is not history as it happened. Right: that part as JSON."""

    def __init__(self, view: View, title_of: Callable[[str], str], parent: QWidget | None = None) -> None:
        """`title_of`: the words of a node, "" where it is not known; asked for one after the other."""
        super().__init__(self.tr("As the model sees it"), parent, width=1000)
        self.resize(1000, 640)
        self._view = view
        self._title_of = title_of
        self._values: list[object] = []
        """What each row stands for. Not in the row: Qt would turn all of it into values of its own, in another order."""
        facts = [
            self.tr("%n message(s)", "", len(view.request.get("messages", []))),
            self.tr("≈ {} tokens").format(words.count(view.tokens)),
            words.size(view.bytes),
            str(view.request.get("model", "")),
        ]
        self.add_text(" · ".join(fact for fact in facts if fact), "muted")
        for diagnostic in view.diagnostics[:6]:
            self.add_text(f"✚ {diagnostic.detail}", "info")
        self.parts = QListWidget(self)
        inked(self.parts)
        self.parts.setAccessibleName(self.tr("Parts of the request"))
        self.parts.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.parts.setTextElideMode(Qt.TextElideMode.ElideRight)
        # All rows are one line: without this each one that comes would measure all that are there.
        self.parts.setUniformItemSizes(True)
        self.json = SlicedText(self)
        self.json.setAccessibleName(self.tr("This part as JSON"))
        split = QSplitter(Qt.Orientation.Horizontal, self)
        split.addWidget(self.parts)
        split.addWidget(self.json)
        split.setSizes([380, 600])
        self.body.addWidget(split, 1)
        self.parts.currentRowChanged.connect(self._show)
        # Thousands of messages: the first rows are there at once, the rest comes while one looks.
        in_slices(self, self._filling())
        self.parts.setCurrentRow(0)
        self.copy_button = self.add_button(self.tr("Copy the whole request"), self._copy, left=True)
        self.add_button(self.tr("Close"), self.reject)

    def _filling(self) -> Iterator[Callable[[], object]]:
        request = self._view.request
        repaired = {diagnostic.node for diagnostic in self._view.diagnostics if diagnostic.node}
        rest = {key: value for key, value in request.items() if key not in ("messages", "system", "tools")}
        yield partial(self._add, self.tr("parameters"), rest, "muted")
        if request.get("system"):
            yield partial(self._add, self.tr("system prompt"), request["system"], "muted")
        if request.get("tools"):
            tools = request["tools"]
            yield partial(self._add, self.tr("%n tool(s)", "", len(tools)), tools, "muted")
        for at, message in enumerate(request.get("messages", [])):
            origin = self._view.origin[at] if at < len(self._view.origin) else ""
            yield partial(self._add_message, message, origin, origin in repaired)

    def _add_message(self, message: dict[str, Any], origin: str, repaired: bool) -> None:
        role = self.tr("you") if message.get("role") == "user" else self.tr("model")
        if _is_result(message):
            role = self.tr("result")
        text = (self._title_of(origin) if origin else "") or _first_words(message)
        if not origin:
            self._add(
                f"⇲ {role}  {text}", message, "info", self.tr("Made for the request; not in the history")
            )
        elif repaired:
            self._add(f"✚ {role}  {text}", message, "info", self.tr("Repaired for the request"))
        else:
            self._add(f"    {role}  {text}", message, "text")

    def _add(self, text: str, part: object, token: str, tip: str = "") -> None:
        item = QListWidgetItem(text[:160])
        self._values.append(part)
        ink(item, token)
        item.setToolTip(as_tip(tip))
        if tip:
            item.setData(Qt.ItemDataRole.AccessibleDescriptionRole, tip)
        self.parts.addItem(item)

    def _show(self, row: int) -> None:
        if 0 <= row < len(self._values):
            part = self._values[row]
            self.json.set_pieces(iter((part,)) if isinstance(part, str) else pieces(part))

    def _copy(self) -> None:
        """Megabytes take a moment, in which the window goes on; until then the button cannot be pressed again."""
        self.copy_button.setEnabled(False)
        made: list[str] = []

        def copied() -> None:
            copy_text("".join(made))
            self.copy_button.setEnabled(True)

        in_slices(self, chain((partial(made.append, one) for one in pieces(self._view.request)), (copied,)))


def _is_result(message: dict[str, Any]) -> bool:
    """What a tool gave back goes to the model in the name of the person."""
    content = message.get("content")
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in content
    )


def _first_words(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content[:100].replace("\n", " ")
    for block in content or []:
        kind = block.get("type", "")
        if kind == "text":
            return str(block.get("text", ""))[:100].replace("\n", " ")
        if kind == "tool_use":
            return f"{kind} {block.get('name', '')}"
        if kind:
            return str(kind)
    return ""


def open_model_view(state: SessionState, uid: str, parent: QWidget) -> None:
    """Ask for the request of a node and show it."""

    def answered(result: dict[str, Any]) -> None:
        def title_of(origin: str) -> str:
            row = state.tree.row(origin)
            return tree_text.title(state.tree, row) if row >= 0 else ""

        dialog = ModelViewDialog(View.model_validate(result), title_of, parent)
        Again(dialog, lambda window, state: open_model_view(state, uid, window))
        dialog.show()

    state.request("view", {"node": uid}, answered)
