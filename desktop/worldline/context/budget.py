"""Two budgets of a request: tokens (what the model can read) and bytes (what the server takes)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from worldline.context.model import PathNode, View
from worldline.core.kinds import NodeKind, Outcome
from worldline.core.usage import Usage

BYTES_PER_TOKEN = 3.5
REQUEST_BYTES = 32_000_000
"""What the Messages API takes at most."""
_RESETS = (NodeKind.COMPACTION, NodeKind.IMPORTED_COMPACTION, NodeKind.CONTEXT_EDIT)
_BAD = (Outcome.ABORTED, Outcome.FAILED, Outcome.INTERRUPTED)


@dataclass(slots=True, frozen=True)
class Limits:
    """What a model takes."""

    window: int
    max_output: int = 32_000
    max_bytes: int = REQUEST_BYTES
    trigger_ratio: float = 0.85

    @property
    def trigger(self) -> int:
        """Tokens of a request above which the conversation is compacted: room for a reply must be left."""
        return min(
            int(self.window * self.trigger_ratio), self.window - min(self.max_output, self.window // 5)
        )

    @property
    def trigger_bytes(self) -> int:
        return self.max_bytes * 95 // 100

    def output_room(self, tokens: int) -> int:
        """`max_tokens` that fits beside a request of `tokens`; 0 if nothing sensible does."""
        room = self.window - tokens - max(64, self.window // 200)
        return min(self.max_output, room) if room >= 256 else 0


@dataclass(slots=True, frozen=True)
class Budget:
    tokens: int
    bytes: int
    limits: Limits
    source: Literal["server", "calibrated", "estimate"]
    """Counted by the server; the usage of the last answer plus an estimate of what came after; an estimate."""

    @property
    def over(self) -> bool:
        """Time to make room."""
        return self.tokens > self.limits.trigger or self.bytes > self.limits.trigger_bytes

    @property
    def fits(self) -> bool:
        """The request can be sent, and leaves room for a reply."""
        return self.limits.output_room(self.tokens) > 0 and self.bytes <= self.limits.max_bytes

    @property
    def used(self) -> float:
        """0..1 of the window."""
        return self.tokens / self.limits.window if self.limits.window else 1.0


def usage_of(detail: dict[str, Any]) -> Usage | None:
    """The usage that is stored with a reply, in our form or as the API sent it."""
    raw = detail.get("usage")
    if isinstance(raw, Usage):
        return raw
    if not isinstance(raw, dict) or not raw:
        return None
    ours = "cache_read_tokens" in raw or "answers" in raw
    return Usage.model_validate(raw) if ours else Usage.from_api(raw)


def last_usage(path: Sequence[PathNode]) -> tuple[str, Usage] | None:
    """The newest usage that still says something about the view: not from before a compaction or an edit (the view
    was another one), not of a reply that broke off (it counts only what had arrived)."""
    for node in reversed(path):
        if node.kind in _RESETS:
            return None
        if node.kind is NodeKind.ASSISTANT and node.outcome not in _BAD:
            usage = usage_of(node.detail)
            if usage is not None and usage.context_tokens > 0:
                return node.uid, usage
    return None


def measure(
    view: View,
    limits: Limits,
    *,
    path: Sequence[PathNode] = (),
    fixed_bytes: int = 0,
    counted: int | None = None,
) -> Budget:
    """The budget of a request.

    `fixed_bytes`: system text and tool definitions as JSON. `counted`: what the server counted for exactly this
    request, if it was asked. Otherwise the usage of the last answer, which is exact up to there, plus an estimate of
    what came after; without usage, an estimate of all.
    """
    total_bytes = view.bytes + fixed_bytes
    if counted is not None and counted > 0:
        return Budget(counted, total_bytes, limits, "server")
    known = last_usage(path)
    if known is not None:
        uid, usage = known
        at = _message_of(view, uid)
        if at is not None:
            ratio = _ratio(view, at, fixed_bytes, usage)
            rest = _tokens(view, at + 1, ratio)
            return Budget(
                usage.context_tokens + usage.output_tokens + rest, total_bytes, limits, "calibrated"
            )
    return Budget(view.tokens + int(fixed_bytes / BYTES_PER_TOKEN), total_bytes, limits, "estimate")


def _message_of(view: View, uid: str) -> int | None:
    for index in range(len(view.origin) - 1, -1, -1):
        if any(origin[0] == uid for origin in view.origin[index]):
            return index
    return None


def _ratio(view: View, at: int, fixed_bytes: int, usage: Usage) -> float:
    """Bytes per token of this conversation, within bounds: images and Chinese text pull it far from the average."""
    sent = sum(view.sizes[:at]) + fixed_bytes - _image_bytes(view, 0, at)
    return min(6.0, max(1.5, sent / usage.context_tokens))


def _image_bytes(view: View, start: int, end: int) -> int:
    total = 0
    for message in view.messages[start:end]:
        for block in message["content"]:
            inner = block["content"] if isinstance(block.get("content"), list) else [block]
            for item in inner:
                if item.get("type") == "image" and item["source"].get("type") == "base64":
                    total += len(item["source"]["data"])
    return total


def _tokens(view: View, start: int, ratio: float) -> int:
    images = sum(
        1
        for message in view.messages[start:]
        for block in message["content"]
        for item in (block["content"] if isinstance(block.get("content"), list) else [block])
        if item.get("type") == "image"
    )
    size = sum(view.sizes[start:]) - _image_bytes(view, start, len(view.messages))
    return int(size / ratio) + images * 1_600
