"""Inputs and outputs of view building."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from worldline.core.kinds import NodeKind, Outcome


@dataclass(slots=True)
class PathNode:
    """One node of the path root → cursor, as view building needs it."""

    uid: str
    kind: NodeKind
    outcome: Outcome
    message: dict[str, Any] | None
    """What was stored; never changed by view building."""
    end_message: dict[str, Any] | None = None
    """Result of a tool call, when it has one."""
    call: dict[str, Any] | None = None
    """{"id", "name", "input"} of a tool node."""
    detail: dict[str, Any] = field(default_factory=dict)
    created: int = 0


@dataclass(slots=True)
class Repair:
    """A difference between history and view. Recorded as a diagnostic of its node."""

    kind: str
    """missing_result, orphan_result, duplicate_result, duplicate_id, bad_id, order, empty_block, empty_message,
    trailing_assistant, surrogate, bad_input, oversized_image, image_limit, poisoned, thinking_dropped,
    result_shortened, summary_applied, left_out, replaced, unknown_block, forked_call."""
    node: str
    detail: str
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class View:
    """The messages of a request and where each came from. A pure function of the path and the options."""

    messages: list[dict[str, Any]]
    origin: list[list[tuple[str, int]]]
    """origin[i][j] = (uid, index of the block in that node's message) of block j of message i; ("", -1) = made up.
    Maps `messages.I.content.J` of a refusal back to history."""
    repairs: list[Repair] = field(default_factory=list)
    tokens: int = 0
    """Estimate."""
    bytes: int = 0


@dataclass(slots=True)
class ViewOptions:
    """Everything but the path that a view depends on."""

    model: str = ""
    local: bool = False
    drop_thinking: bool = False
    poisoned: dict[tuple[str, int], str] = field(default_factory=dict)
    """(uid, block index) → note that stands in the view in place of the block."""
    max_images: int = 100
    max_image_side: int = 2000
    max_bytes: int = 30_000_000
    keep_failed_results: int = 4
    """Older failed results are shortened so that they do not crowd the context."""
    truncate_before: str = ""
    """uid: what is before it is left out behind the mark `[Earlier conversation truncated]`."""
    reminders: list[str] = field(default_factory=list)
    """Texts appended to the last user message (never inserted earlier: that would void caches and thinking)."""
