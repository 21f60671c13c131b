"""What goes into the session document and what comes out of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

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


RecordKind = Literal[
    "label", "note", "bookmark", "diagnostic", "approval", "effect", "effect_update", "queue", "queue_done",
    "jump", "capture", "branch", "grant", "frozen_prompt", "retry", "fallback", "setting", "process", "import",
]  # fmt: skip


@dataclass(slots=True)
class Record:
    """A fact beside the tree: never in the parent chain, never sent to the model by itself. Append-only."""

    seq: int
    kind: str
    at: int
    node: str
    run: str
    data: dict[str, Any]


@dataclass(slots=True)
class NodeBody:
    """A node read back with its bodies."""

    uid: str
    kind: NodeKind
    outcome: Outcome
    message: dict[str, Any] | None
    detail: dict[str, Any]
    end_message: dict[str, Any] | None
    end_detail: dict[str, Any]
    message_bytes: bytes
    """`message` exactly as stored: request-ready JSON; b"" = none."""
    end_message_bytes: bytes
