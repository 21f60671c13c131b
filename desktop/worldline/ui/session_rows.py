"""The rows of one session: read ahead from its file, completed and kept up to date by the engine."""

from __future__ import annotations

import contextlib
import logging
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal

from worldline.client.process import EngineProcess
from worldline.core.kinds import NodeKind
from worldline.core.row_reader import Details
from worldline.ui.read_ahead import DetailReader, ReadAhead
from worldline.ui.session_signals import SessionSignals
from worldline.viewmodel.tree_model import NO_ROW, NodeLabel, TreeModel

log = logging.getLogger("worldline.ui")

PAGE = 2_000
"""Headers asked for or taken over in one step: about 10 ms of work, so the window never stands still."""


class SessionRows(SessionSignals):
    """`tree` is the model of all rows. What the engine sends is taken in order of `seq`."""

    _details_read = Signal(object)

    def __init__(self, client: EngineProcess, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.client = client
        client.setParent(self)
        self.tree = TreeModel()
        self.cursor = ""
        self.is_loaded = False
        self._loading = True
        self._early: list[dict[str, Any]] = []
        """Nodes announced while older rows are still being read."""
        self._lines: dict[str, Sequence[int]] = {}
        """Lines added and removed by node, where the engine counted them later."""
        self._dirty_from = -1
        self._ahead_of: Path | None = None
        self._details: DetailReader | None = None
        self._details_read.connect(self._take_details, Qt.ConnectionType.QueuedConnection)

    def read_ahead(self, ahead: Path | ReadAhead) -> None:
        """Take the rows straight from the file while the engine still starts."""
        reader = ahead if isinstance(ahead, ReadAhead) else ReadAhead(ahead)
        shape, details = reader.result()
        if not len(shape):
            return
        self._ahead_of = reader.path
        self.tree.take_shape(shape, reader.uids)
        for part in details:
            self.tree.take_details(part)
        self.headers_changed.emit(0)
        if 0 < shape.cursor <= len(self.tree):
            self._set_cursor(self.tree.uid(shape.cursor - 1))

    def read_details(self) -> None:
        """Read the words of all rows that were read ahead; for after the first paint."""
        self.tree.uids.fill()
        if self._ahead_of is not None and self._details is None:

            def take(details: Details) -> None:
                # The session may be closed while the thread still reads.
                with contextlib.suppress(RuntimeError):
                    self._details_read.emit(details)

            self._details = DetailReader(self._ahead_of, len(self.tree), take)
            self.destroyed.connect(self._details.cancelled.set)
            self._details.start()

    def _take_details(self, details: Details) -> None:
        self.tree.take_details(details)
        self._take_lines({})
        self.details_changed.emit()

    @abstractmethod
    def _set_cursor(self, uid: str) -> None:
        """The session stands at this node now."""

    def _load(self, since: int) -> None:
        """Ask for rows in pages until there are no more."""
        self._loading = True
        self.client.request("headers", {"since": since, "limit": PAGE}, self._take_page, self.failed.emit)

    def _take_page(self, page: dict[str, Any]) -> None:
        rows = page["headers"]
        for raw in rows:
            self._take_header(raw)
        if len(rows) >= PAGE:
            since = int(rows[-1]["seq"])
            self.client.request("headers", {"since": since, "limit": PAGE}, self._take_page, self.failed.emit)
        else:
            self._loading = False
            early, self._early = self._early, []
            for raw in early:
                self._take_header(raw)
        self._announce_rows()
        if not self._loading:
            self.is_loaded = True
            self._take_lines({})
            self.loaded.emit()
            self.cursor_changed.emit(self.cursor)

    def _take_labels(self, result: dict[str, Any]) -> None:
        for item in result.get("labels", []):
            self._take_label(item)

    def _take_label(self, item: Mapping[str, Any]) -> None:
        row = self.tree.row(str(item["node"]))
        if row != NO_ROW:
            label = NodeLabel(*(str(item.get(name, "")) for name in ("label", "note", "bookmark", "color")))
            self.tree.set_label(row, label)
            self.label_changed.emit(str(item["node"]))

    def _take_lines(self, nodes: Mapping[str, Sequence[int]]) -> list[int]:
        """Lines that the engine counted later, for rows that are here and for those that come; the rows that changed."""
        self._lines.update(nodes)
        changed = []
        for uid, (added, removed) in self._lines.items():
            row = self.tree.row(uid)
            if row != NO_ROW and self.tree.set_lines(row, added, removed):
                changed.append(row)
        return changed

    def _take_all_lines(self, result: dict[str, Any]) -> None:
        if self._take_lines(result.get("nodes", {})):
            self.details_changed.emit()

    def _on_lines_counted(self, params: dict[str, Any]) -> None:
        for row in self._take_lines(params["nodes"]):
            self.node_ended.emit(row + 1)

    def _take_header(self, raw: Mapping[str, Any]) -> None:
        # Not needed before the first paint.
        from worldline.viewmodel.headers import header_of

        header = header_of(raw)
        if header.seq <= len(self.tree):
            row = self.tree.update(header)
            if (lines := self._lines.get(header.uid)) is not None:
                self.tree.set_lines(row, *lines)
            self.node_ended.emit(header.seq)
        elif header.seq == len(self.tree) + 1:
            row = self.tree.append(header)
            if self._dirty_from < 0:
                self._dirty_from = row
        else:
            self._early.append(dict(raw))
            if not self._loading:
                self._load(len(self.tree))

    def _announce_rows(self) -> None:
        if self._dirty_from >= 0:
            first, self._dirty_from = self._dirty_from, -1
            self.headers_changed.emit(first)

    def is_prompt(self, row: int) -> bool:
        return self.tree.kind_of(row) in (NodeKind.USER, NodeKind.IMPORTED_USER)
