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
    """What view building reads of it: `model` (assistant), `view_tail` (assistant: `View.tail` of the request that
    it answers, so that later views repeat what the model saw), `summary`, `kept_from`, `covers`, `kept`
    (compactions), `guessed_parent` (imported: what is before it may be another branch), `summary` (branch summaries), `target` or `targets`, `replacement`, `scope`, `restore`, `expand`
    (context edits)."""
    created: int = 0
    cache: Any = field(default=None, repr=False, compare=False)
    """Checked blocks of the node, kept from one view to the next. Nodes never change, so it is never stale."""


@dataclass(slots=True)
class Repair:
    """A difference between history and view. Recorded as a diagnostic of its node."""

    kind: str
    """missing_result, orphan_result, duplicate_result, duplicate_id, bad_id, bad_name, order, empty_block,
    empty_message, trailing_assistant, leading_assistant, surrogate, bad_input, bad_block, extra_field,
    oversized_image, bad_image, image_limit, byte_limit, oversized_result, poisoned, thinking_dropped,
    result_shortened, summary_applied, summary_mismatch, truncated, left_out, replaced, unknown_block,
    forked_call, interrupted_call, server_orphan."""
    node: str
    """uid; "" = the difference belongs to no single node."""
    detail: str
    """A sentence for people."""
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
    """Estimate of the messages alone, without system text and tools."""
    bytes: int = 0
    """Of the messages as JSON."""
    tail: list[str] = field(default_factory=list)
    """Texts that this request carries at its end and no node holds (reminders, a request to go on). Store them as
    `view_tail` in the detail of the answer's node: thinking and caches are bound to what was sent."""
    thinking_intact: bool = True
    """False: thinking was left out of the newest assistant message. Models with a fixed thinking budget refuse to
    think on top of it, so the request should switch thinking off."""
    images: int = 0
    sizes: list[int] = field(default_factory=list)
    """Bytes of each message."""


@dataclass(slots=True)
class ViewOptions:
    """Everything but the path that a view depends on."""

    model: str = ""
    local: bool = False
    drop_thinking: bool = False
    poisoned: dict[tuple[str, int], str] = field(default_factory=dict)
    """(uid, block index) → note that stands in the view in place of the block."""
    poisoned_at: dict[tuple[str, int], str] = field(default_factory=dict)
    """For each of `poisoned` the last node of the path when it was refused: what was thought after that was thought
    with the note in view, and stays valid."""
    thinking_after: str = ""
    """uid: thinking up to and including this node was refused once and is left out; later thinking stays."""
    max_images: int = 100
    max_image_side: int = 2000
    """Pixels. 8,000 is allowed for few images, 2,000 beyond twenty: one limit keeps old bytes stable."""
    max_image_bytes: int = 5_000_000
    """Of one image as base64."""
    max_bytes: int = 30_000_000
    max_result_bytes: int = 90_000
    """Of one tool result; the middle of a longer one is left out (about 25,000 tokens remain)."""
    keep_failed_results: int = 4
    """Older failed results are shortened so that they do not crowd the context. Done in batches: a change that
    came with every failure would void the cache each time."""
    truncate_before: str = ""
    """uid: what is before it is left out behind the mark `[Earlier conversation truncated]`."""
    reminders: list[str] = field(default_factory=list)
    """Texts appended to the last user message (never inserted earlier: that would void caches and thinking)."""
    forked_calls: frozenset[tuple[str, str]] = frozenset()
    """(uid of the assistant node, id of the call) of calls that ran, but not on this path."""
    expand: frozenset[str] = frozenset()
    """uids of compactions that are not applied: the originals stand in the view again."""
    prefill: bool = False
    """The model takes a request that ends with an assistant message."""
