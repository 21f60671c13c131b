"""The row of a call that waits for the person says so while it waits; nothing of that is stored."""

from __future__ import annotations

from worldline.engine.shared import Shared
from worldline.protocol.events import NodeEnded
from worldline.protocol.model import Header


def show_row(shared: Shared, node: str, *, waiting: bool = False) -> None:
    """Announce a node as it is stored, or as one that waits. "" = no node."""
    if node:
        header = Header.of(shared.doc.header(node))
        if waiting:
            header = header.model_copy(update={"outcome": "waiting"})
        shared.emit("node_ended", NodeEnded(header=header))
