"""Nodes of the tree: their headers and bodies, what the person wrote on them, what they cost."""

from __future__ import annotations

from typing import Literal

from worldline.core.usage import Usage
from worldline.protocol.model import Body, BranchInfo, Diagnostic, Header, NodeLabels
from worldline.protocol.wire import Message


class NodeRef(Message):
    node: str


class Nodes(Message):
    nodes: list[str]


class HeadersSince(Message):
    since: int = 0
    """Rows with a larger `seq`, and rows that ended since, come back."""
    limit: int = 100_000


class Headers(Message):
    headers: list[Header]
    cursor: str


class Bodies(Message):
    bodies: list[Body]


class BlobRef(Message):
    hash: str
    """Of one blob; or of those in which a very large output is kept, in order, with `+` between."""
    offset: int = 0
    limit: int = 1_000_000


class Blob(Message):
    data: str
    """Base64 of the slice."""
    total: int


class SetLabel(Message):
    """A label, note or bookmark of a node. "" takes it away. Never sent to the model."""

    node: str
    what: Literal["label", "note", "bookmark"]
    text: str
    color: str = ""


class Labels(Message):
    labels: list[NodeLabels]


class Branches(Message):
    branches: list[BranchInfo]


class UsageFor(Message):
    node: str = ""


class UsageResult(Message):
    node: Usage
    branch: Usage
    session: Usage
    run: Usage = Usage()
    """Of the run that the node belongs to."""
    prices_as_of: str = ""
    """Date of the price table; a cost of None means that the price of a model is not in it."""


class DiagnosticsSince(Message):
    since: int = 0


class Diagnostics(Message):
    items: list[Diagnostic]
