"""Which row has a widget: those in sight, and some that were seen lately."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, ValuesView

from worldline.ui.chat.message_rows import ReplyRow
from worldline.ui.chat.row_base import RowWidget
from worldline.ui.chat.row_pool import RowPool
from worldline.viewmodel.chat_rows import ChatRow, RowKind, text_of


class RowWidgets:
    """By the key of the row, the one that was used longest ago first."""

    def __init__(self, pool: RowPool) -> None:
        self._pool = pool
        self._of: OrderedDict[str, RowWidget] = OrderedDict()
        self._settling: ReplyRow | None = None
        """The row of a reply that has just been stored: its widget stays, so that nothing flickers."""
        self.builds = 0
        """How many were made."""

    def __iter__(self) -> Iterator[str]:
        return iter(self._of)

    def __contains__(self, key: str) -> bool:
        return key in self._of

    def get(self, key: str) -> RowWidget | None:
        return self._of.get(key)

    def values(self) -> ValuesView[RowWidget]:
        return self._of.values()

    def items(self) -> Iterable[tuple[str, RowWidget]]:
        return self._of.items()

    def used(self, key: str) -> None:
        """It is in sight."""
        self._of.move_to_end(key)

    def make(self, row: ChatRow) -> RowWidget:
        """One for a row that has none."""
        known = self._settling
        if known is not None and row.kind is RowKind.REPLY and known.text and known.text == text_of(row.body):
            self._settling = None
            known.show_row(row)
            widget: RowWidget = known
        else:
            widget = self._pool.take(row)
        widget.shown_revision = row.revision
        self._of[row.key] = widget
        self.builds += 1
        return widget

    def forget(self, gone: Iterable[str]) -> None:
        """These rows are no more. The widget of a reply that was being written waits until `settled` for the row that the
        stored reply has."""
        for key in gone:
            widget = self._of[key]
            if isinstance(widget, ReplyRow) and widget.row.kind is RowKind.LIVE and self._settling is None:
                self._settling = widget
                del self._of[key]
            else:
                self._drop(key)

    def settled(self) -> None:
        if self._settling is not None:
            self._pool.give(self._settling)
            self._settling = None

    def keep_only(self, keys: Collection[str]) -> None:
        """Let go of all others, spare ones too."""
        for key in [key for key in self._of if key not in keys]:
            self._drop(key)
        self._pool.clear()

    def trim(self, shown: Collection[str], kept: int) -> None:
        """Of those that are not shown keep no more than so many."""
        surplus = len(self._of) - len(shown) - kept
        for key in [key for key in self._of if key not in shown][: max(0, surplus)]:
            self._drop(key)

    def _drop(self, key: str) -> None:
        self._pool.give(self._of.pop(key))
