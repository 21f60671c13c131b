"""Row widgets that are not in use at the moment: a jump fills them again instead of making thirty new ones."""

from __future__ import annotations

import shiboken6
from PySide6.QtWidgets import QAbstractScrollArea

from worldline.ui.chat.ask_rows import ApprovalRow, QuestionRow
from worldline.ui.chat.divider_rows import DividerRow, StopRow
from worldline.ui.chat.message_rows import ReplyRow, UserRow
from worldline.ui.chat.row_base import RowSignals, RowWidget
from worldline.ui.chat.tool_card import ToolCard
from worldline.ui.hiding import hide
from worldline.viewmodel.chat_rows import ChatRow, RowKind

SPARE = 24
"""Widgets of each kind that are kept: about a screenful."""
_WIDGETS: dict[RowKind, type[RowWidget]] = {
    RowKind.USER: UserRow,
    RowKind.REPLY: ReplyRow,
    RowKind.LIVE: ReplyRow,
    RowKind.TOOL: ToolCard,
    RowKind.DIVIDER: DividerRow,
    RowKind.STOP: StopRow,
    RowKind.APPROVAL: ApprovalRow,
    RowKind.QUESTION: QuestionRow,
}


class RowPool:
    """Hands out widgets for rows and takes them back."""

    def __init__(self, signals: RowSignals, area: QAbstractScrollArea) -> None:
        """The rows stand in the viewport of `area`. It is asked for each time: PySide takes the object that stands for
        a viewport for deleted after a while (seen after changes of the theme), though the viewport is there."""
        self._signals = signals
        self._area = area
        self._spare: dict[type[RowWidget], list[RowWidget]] = {}

    def take(self, row: ChatRow) -> RowWidget:
        """A widget that shows this row; hidden."""
        kind = _WIDGETS[row.kind]
        spare = self._spare.get(kind)
        if spare:
            widget = spare.pop()
            widget.reuse(row)
            return widget
        return kind(row, self._signals, self._area.viewport())

    def give(self, widget: RowWidget) -> None:
        """The widget is not needed now."""
        hide(widget, self._area)
        spare = self._spare.setdefault(type(widget), [])
        if widget.reusable and len(spare) < SPARE:
            spare.append(widget)
        else:
            widget.deleteLater()

    def clear(self) -> None:
        """Let go of all spare widgets at once: before a change of the style, which would go through each of them."""
        for spare in self._spare.values():
            for widget in spare:
                shiboken6.delete(widget)
        self._spare.clear()
