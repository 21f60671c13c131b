"""What was read and built for the views of one open session, kept from one look to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from worldline.context.incremental import ViewBuilder
from worldline.context.model import PathNode
from worldline.context.source import path_node
from worldline.core.kinds import Outcome
from worldline.session.reader import SessionReader

_MAY_CHANGE = (Outcome.RUNNING, Outcome.WAITING, Outcome.INTERRUPTED)
"""Such a node can still get its end."""
_MOST_BYTES = 48_000_000
"""Of stored messages. Beyond it only the path that is looked at is kept."""


@dataclass(slots=True)
class ViewMemory:
    """Nodes as view building needs them, each read once, and the views that were built of them (`views`).

    A node with its end never changes, so what was read stays true; one without is read again each time. Belongs to the
    thread of `doc`."""

    doc: SessionReader
    views: ViewBuilder = field(default_factory=ViewBuilder)
    _nodes: dict[int, PathNode] = field(default_factory=dict, repr=False)
    _sizes: dict[int, int] = field(default_factory=dict, repr=False)

    def path(self, seqs: Sequence[int]) -> list[PathNode]:
        """The nodes with these numbers, in this order."""
        nodes = self._nodes
        wanted = [seq for seq in seqs if seq not in nodes or nodes[seq].outcome in _MAY_CHANGE]
        if wanted:
            for seq, body in zip(wanted, self.doc.bodies_at(wanted), strict=True):
                node = path_node(body)
                # One that is as it was stays the same object: views are found again by it.
                if nodes.get(seq) != node:
                    nodes[seq] = node
                    self._sizes[seq] = len(body.message_bytes) + len(body.end_message_bytes)
            if len(nodes) > len(seqs) and sum(self._sizes.values()) > _MOST_BYTES:
                self._keep_only(seqs)
                nodes = self._nodes
        return [nodes[seq] for seq in seqs]

    def _keep_only(self, seqs: Sequence[int]) -> None:
        self._nodes = {seq: self._nodes[seq] for seq in seqs}
        self._sizes = {seq: self._sizes[seq] for seq in seqs}
        self.views.forget()
