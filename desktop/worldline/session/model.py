"""What goes into the session document and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from worldline.core.jsontext import dumps, loads
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.core.stop import StopReason
from worldline.core.usage import Usage


@dataclass(slots=True)
class NodeDraft:
    """A node about to be appended. Kinds that have no later end (all but `tool`) carry their outcome here."""

    kind: NodeKind
    parent: str | None
    """uid; None only for a root."""
    message: dict[str, Any] | None = None
    """What the model gets: {"role", "content": [blocks]}, request-ready. None for nodes that are not in the view
    as they are (root, jump, external_change, tool while it runs)."""
    detail: dict[str, Any] = field(default_factory=dict)
    """Kind-specific. tool: {"call": {"id", "name", "input", "raw"?}, "repairs": [...]}. assistant: {"stop_reason",
    "model", "asked_model", "message_id", "usage", "attempts"}. compaction: {"summary", "kept_from": uid,
    "covers": [first uid, last uid]}. context_edit: {"target": uid, "replacement": str | None}."""
    preview: str = ""
    outcome: Outcome = Outcome.NONE
    flags: NodeFlag = NodeFlag.NONE
    run: str = ""
    branch: str = ""
    tool: str = ""
    model: str = ""
    state: str = ""
    """Workspace state after this node: "" = the same as the parent's, "!" = could not be captured."""
    usage: Usage | None = None
    task_state: dict[str, Any] | None = None
    """The branch's task state after this node (plan, file versions read, breaker counters, grants); None = unchanged."""
    search_text: str = ""
    """What full-text search should find; "" = text of the message."""
    uid: str = ""
    """"" = a new one."""
    created: int = 0
    """Milliseconds since the epoch; 0 = now."""
    raw_kind: str = ""
    added: int = 0
    removed: int = 0
    files: int = 0


@dataclass(slots=True)
class NodeEnd:
    """The end of a node that was appended before it was done (a tool call)."""

    outcome: Outcome
    message: dict[str, Any] | None = None
    """{"role": "user", "content": [one tool_result block]}."""
    detail: dict[str, Any] = field(default_factory=dict)
    preview: str = ""
    """"" = keep the first one."""
    flags: NodeFlag = NodeFlag.NONE
    """Added to the flags given when it was appended."""
    state: str = ""
    added: int = 0
    removed: int = 0
    files: int = 0
    task_state: dict[str, Any] | None = None
    search_text: str = ""
    at: int = 0
    """Milliseconds since the epoch; 0 = now."""


@dataclass(slots=True)
class RunRecord:
    uid: str
    prompt: str
    """uid of the prompt node."""
    started: int
    settings: dict[str, Any] = field(default_factory=dict)
    """mode, model, effort, limits."""
    ended: int = 0
    stop_reason: StopReason | None = None
    detail: str = ""
    api_said: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(slots=True)
class Record:
    """A fact beside the tree: never in the parent chain, never sent to the model by itself. Append-only."""

    seq: int
    kind: str
    """label, note, bookmark, diagnostic, approval, effect, effect_update, queue, queue_done, jump, branch, …: whoever
    writes a kind reads it again; all others pass over it."""
    at: int
    node: str
    run: str
    data: dict[str, Any]


class NodeBody:
    """A node read back with its bodies. JSON is parsed when it is first asked for: a walk over thousands of nodes that
    joins stored bytes parses nothing."""

    __slots__ = (
        "_detail", "_end_detail", "_end_message", "_message", "detail_bytes", "end_detail_bytes", "end_message_bytes",
        "kind", "message_bytes", "outcome", "uid",
    )  # fmt: skip

    def __init__(
        self,
        uid: str,
        kind: NodeKind,
        outcome: Outcome,
        message: dict[str, Any] | None = None,
        detail: dict[str, Any] | None = None,
        end_message: dict[str, Any] | None = None,
        end_detail: dict[str, Any] | None = None,
        message_bytes: bytes = b"",
        end_message_bytes: bytes = b"",
        detail_bytes: bytes = b"",
        end_detail_bytes: bytes = b"",
    ) -> None:
        self.uid = uid
        self.kind = kind
        self.outcome = outcome
        self._message = message
        self._detail = detail
        self._end_message = end_message
        self._end_detail = end_detail
        self.message_bytes = message_bytes or _bytes(message)
        """`message` exactly as stored: request-ready JSON; b"" = none."""
        self.end_message_bytes = end_message_bytes or _bytes(end_message)
        self.detail_bytes = detail_bytes or _bytes(detail)
        self.end_detail_bytes = end_detail_bytes or _bytes(end_detail)

    @property
    def message(self) -> dict[str, Any] | None:
        if self._message is None and self.message_bytes:
            self._message = loads(self.message_bytes)
        return self._message

    @property
    def detail(self) -> dict[str, Any]:
        if self._detail is None:
            self._detail = loads(self.detail_bytes) if self.detail_bytes else {}
        return self._detail

    @property
    def end_message(self) -> dict[str, Any] | None:
        if self._end_message is None and self.end_message_bytes:
            self._end_message = loads(self.end_message_bytes)
        return self._end_message

    @property
    def end_detail(self) -> dict[str, Any]:
        if self._end_detail is None:
            self._end_detail = loads(self.end_detail_bytes) if self.end_detail_bytes else {}
        return self._end_detail

    def __repr__(self) -> str:
        return f"NodeBody({self.uid}, {self.kind}, {self.outcome}, {len(self.message_bytes)} bytes)"


def _bytes(value: dict[str, Any] | None) -> bytes:
    return dumps(value) if value else b""


@dataclass(slots=True)
class SearchHit:
    session: str
    """Path of the session file."""
    seq: int
    uid: str
    kind: str
    snippet: str
    """Plain text with the matches between U+0002 and U+0003."""


@dataclass(slots=True)
class Marks:
    """What the person wrote on a node. "" = nothing."""

    label: str = ""
    note: str = ""
    bookmark: str = ""
    color: str = ""
