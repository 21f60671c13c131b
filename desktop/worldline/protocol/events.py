"""Notifications of the engine. `EVENTS` is the whole list.

Order is guaranteed. A node is announced only after it is durable. Text deltas of one block are merged; at most one
batch leaves the engine every 16 ms.
"""

from __future__ import annotations

from typing import Any, Literal

from worldline.protocol.model import (
    Approval,
    Diagnostic,
    EffectInfo,
    Header,
    NodeLabels,
    ProcessInfo,
    Question,
    RunInfo,
    Status,
)
from worldline.protocol.wire import Message


class Batch(Message):
    """Several notifications in one line: [{"method", "params"}]."""

    events: list[dict[str, Any]]


class NodeStored(Message):
    header: Header


class NodeEnded(Message):
    header: Header
    """The whole row, with its outcome."""


class CursorMoved(Message):
    node: str
    why: Literal["append", "jump", "open", "fork"]
    branch: str = ""


class RunStarted(Message):
    run: RunInfo


class RunEnded(Message):
    run: RunInfo
    offers: list[str] = []
    """What the person may do next: go_on, backtrack, retry, settings, login, billing, compact, bigger_model,
    drop_results."""


class Delta(Message):
    """Text of the reply that is coming in, not stored yet. `block` counts within the reply."""

    run: str
    turn: int
    block: int
    kind: Literal["text", "thinking", "tool_input"]
    text: str
    tool: str = ""


class ReplyDiscarded(Message):
    """What was streamed for this turn is void (a retry starts it again)."""

    run: str
    turn: int
    why: str


class ToolOutput(Message):
    node: str
    text: str
    stream: Literal["out", "err"] = "out"


class StatusChanged(Message):
    status: Status


class ApprovalAsked(Message):
    approval: Approval


class ApprovalGone(Message):
    id: str
    why: Literal["answered", "timeout", "stopped"]


class QuestionAsked(Message):
    question: Question


class QuestionGone(Message):
    id: str


class EffectChanged(Message):
    effect: EffectInfo


class ProcessChanged(Message):
    process: ProcessInfo


class Diagnosed(Message):
    diagnostic: Diagnostic


class QueueChanged(Message):
    items: list[dict[str, Any]]
    """[{"id", "text", "when"}]."""


class LabelChanged(NodeLabels):
    """All that is written on the node now."""


class TitleChanged(Message):
    title: str


class Progress(Message):
    """A long operation. `total` 0 = unknown. `done` < 0 = it is over."""

    op: str
    text: str
    done: int
    total: int = 0


class FilesChanged(Message):
    """The files on disk are not what the panel showed; ask for the diff again."""

    node: str = ""


class LinesCounted(Message):
    """Lines of nodes that changed too much to count them at once: node → added, removed."""

    nodes: dict[str, tuple[int, int]]


class EngineReady(Message):
    """The SDK is loaded; until then a prompt waits and the status says so."""

    seconds: float


class WriterChanged(Message):
    """Of a session that is open for reading because another process writes it: whether one does still."""

    lives: bool


class WritingEnded(Message):
    """The session is open for reading alone from now on: its file was found damaged."""

    why: str


EVENTS: dict[str, type[Message]] = {
    "batch": Batch,
    "node_stored": NodeStored,
    "node_ended": NodeEnded,
    "cursor_moved": CursorMoved,
    "run_started": RunStarted,
    "run_ended": RunEnded,
    "delta": Delta,
    "reply_discarded": ReplyDiscarded,
    "tool_output": ToolOutput,
    "status": StatusChanged,
    "approval_asked": ApprovalAsked,
    "approval_gone": ApprovalGone,
    "question_asked": QuestionAsked,
    "question_gone": QuestionGone,
    "effect_changed": EffectChanged,
    "process_changed": ProcessChanged,
    "diagnosed": Diagnosed,
    "queue_changed": QueueChanged,
    "label_changed": LabelChanged,
    "title_changed": TitleChanged,
    "progress": Progress,
    "files_changed": FilesChanged,
    "lines_counted": LinesCounted,
    "engine_ready": EngineReady,
    "writer_changed": WriterChanged,
    "writing_ended": WritingEnded,
}
