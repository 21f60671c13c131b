"""“As the model sees it”: the request of a node, message by message, beside the nodes they came from."""

from __future__ import annotations

import json
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
from worldline.viewmodel import tree_text

ROLE = Qt.ItemDataRole.UserRole


class ModelViewDialog(Dialog):
    """Left: every part of the request, marked where it is not history as it happened. Right: that part as JSON."""

    def __init__(self, view: View, titles: dict[str, str], parent: QWidget | None = None) -> None:
        super().__init__(self.tr("As the model sees it"), parent, width=1000)
        self.resize(1000, 640)
        self._view = view
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
        self.json = SlicedText(self)
        self.json.setAccessibleName(self.tr("This part as JSON"))
        split = QSplitter(Qt.Orientation.Horizontal, self)
        split.addWidget(self.parts)
        split.addWidget(self.json)
        split.setSizes([380, 600])
        self.body.addWidget(split, 1)
        self._fill(titles)
        self.parts.currentItemChanged.connect(self._show)
        self.parts.setCurrentRow(0)
        whole = self.tr("Copy the whole request")
        self.add_button(
            whole, lambda: copy_text(json.dumps(view.request, ensure_ascii=False, indent=2)), left=True
        )
        self.add_button(self.tr("Close"), self.reject)

    def _fill(self, titles: dict[str, str]) -> None:
        request = self._view.request
        repaired = {diagnostic.node for diagnostic in self._view.diagnostics if diagnostic.node}
        rest = {key: value for key, value in request.items() if key not in ("messages", "system", "tools")}
        self._add(self.tr("parameters"), rest, "muted")
        if request.get("system"):
            self._add(self.tr("system prompt"), request["system"], "muted")
        if request.get("tools"):
            self._add(self.tr("%n tool(s)", "", len(request["tools"])), request["tools"], "muted")
        for at, message in enumerate(request.get("messages", [])):
            origin = self._view.origin[at] if at < len(self._view.origin) else ""
            role = self.tr("you") if message.get("role") == "user" else self.tr("model")
            if _is_result(message):
                role = self.tr("result")
            text = titles.get(origin) or _first_words(message)
            if not origin:
                self._add(
                    f"⇲ {role}  {text}", message, "info", self.tr("Made for the request; not in the history")
                )
            elif origin in repaired:
                self._add(f"✚ {role}  {text}", message, "info", self.tr("Repaired for the request"))
            else:
                self._add(f"    {role}  {text}", message, "text")

    def _add(self, text: str, part: object, token: str, tip: str = "") -> None:
        item = QListWidgetItem(text[:160])
        item.setData(ROLE, part)
        ink(item, token)
        item.setToolTip(as_tip(tip))
        if tip:
            item.setData(Qt.ItemDataRole.AccessibleDescriptionRole, tip)
        self.parts.addItem(item)

    def _show(self, item: QListWidgetItem | None) -> None:
        part = item.data(ROLE) if item is not None else None
        text = part if isinstance(part, str) else json.dumps(part, ensure_ascii=False, indent=2)
        self.json.set_whole(text)


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
        view = View.model_validate(result)
        titles = {}
        for origin in view.origin:
            row = state.tree.row(origin) if origin else -1
            if row >= 0:
                titles[origin] = tree_text.title(state.tree, row)
        dialog = ModelViewDialog(view, titles, parent)
        Again(dialog, lambda window, state: open_model_view(state, uid, window))
        dialog.show()

    state.request("view", {"node": uid}, answered)
