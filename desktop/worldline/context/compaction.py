"""When to compact, what to keep, and the checks around it. Pure; `compact_run` does the asking.

A compaction is a node: what is before it stays in the tree and keeps its full view. Nothing is stored before the
invariant is checked: what is summarised and what is kept are the old view, and have nothing in common.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from worldline.context.blocks import token_estimate
from worldline.context.budget import Limits
from worldline.context.model import PathNode, ViewOptions
from worldline.context.select import SUMMARIES, Item, select
from worldline.context.view import build_view
from worldline.core.errors import WorldlineError
from worldline.core.kinds import NodeKind, Outcome

Trigger = Literal["auto", "manual", "overflow"]
KEEP_TOKENS = 20_000
_PROMPTS = (NodeKind.USER, NodeKind.IMPORTED_USER)
_TOOLS = (NodeKind.TOOL, NodeKind.IMPORTED_TOOL)


class CompactionRefused(WorldlineError):
    """A plan would lose a part of the conversation. A defect: nothing is stored."""

    kind = "compaction_refused"


@dataclass(slots=True)
class Plan:
    """What a compaction would do to the view of a path."""

    covers: list[str]
    """uids whose content the summary replaces, in view order. May begin with an earlier compaction."""
    keeps: list[str]
    """uids that stay word for word."""
    tokens_covered: int
    tokens_kept: int

    @property
    def kept_from(self) -> str:
        return self.keeps[0] if self.keeps else ""


def keep_budget(limits: Limits, wanted: int = KEEP_TOKENS) -> int:
    """Tokens of the newest conversation to keep: never so many that the result is over the trigger again."""
    return max(0, min(wanted, limits.trigger // 3))


def plan_compaction(
    path: Sequence[PathNode], options: ViewOptions, keep_tokens: int, *, most: int | None = None
) -> Plan | None:
    """Choose the cut. None if there is nothing to summarise: everything fits into what is to be kept, or all that is
    before it already is a summary.

    The kept part never begins at a tool result. It begins with a prompt if one is near, else with a reply: a turn that
    is longer than what may be kept is split. `most`: tokens that the kept part may reach so that a long last batch of
    calls stays whole; default twice `keep_tokens`.
    """
    items = select(path, options).items
    sizes = item_tokens(path, options, items)
    most = 2 * keep_tokens if most is None else most
    cut = _cut(items, sizes, keep_tokens, most)
    covered = items[:cut]
    if not any(item.node.kind not in SUMMARIES for item in covered):
        return None
    plan = Plan(
        [item.node.uid for item in covered],
        [item.node.uid for item in items[cut:]],
        sum(sizes[:cut]),
        sum(sizes[cut:]),
    )
    verify(path, options, plan)
    return plan


def item_tokens(path: Sequence[PathNode], options: ViewOptions, items: Sequence[Item]) -> list[int]:
    """Estimated tokens of each item as it stands in the view."""
    view = build_view(path, options)
    by_uid: dict[str, float] = {}
    for message, origin, size in zip(view.messages, view.origin, view.sizes, strict=True):
        weights = [_weight(block) for block in message["content"]]
        total = sum(weights) or 1
        for (uid, _), weight in zip(origin, weights, strict=True):
            share = size * weight / total if weight > 1_600 * 7 // 2 else weight
            by_uid[uid] = by_uid.get(uid, 0.0) + share
    return [token_estimate(int(by_uid.get(item.node.uid, 0)), 0, 0) for item in items]


def _weight(block: dict[str, Any]) -> int:
    """Bytes that a block counts for; an image as many as its tokens are worth."""
    if block["type"] == "image":
        return 1_600 * 7 // 2
    total = 60
    for value in block.values():
        if isinstance(value, str):
            total += len(value.encode())
        elif isinstance(value, list):
            total += sum(_weight(v) if isinstance(v, dict) and "type" in v else len(str(v)) for v in value)
        elif isinstance(value, dict):
            total += len(str(value).encode())
    return total


def _legal(items: Sequence[Item], cut: int) -> bool:
    return cut == len(items) or items[cut].node.kind not in _TOOLS


def _cut(items: Sequence[Item], sizes: Sequence[int], keep: int, most: int) -> int:
    """Index of the first item to keep."""
    total, cut = 0, len(items)
    while cut > 0 and total + sizes[cut - 1] <= keep:
        cut -= 1
        total += sizes[cut]
    if cut == 0:
        return 0
    if not _legal(items, cut):
        # Inside a batch of calls: keep it whole if that is affordable, else summarise it whole.
        back, size = cut, total
        while not _legal(items, back):
            back -= 1
            size += sizes[back]
        if size <= most:
            cut, total = back, size
        else:
            while not _legal(items, cut):
                total -= sizes[cut]
                cut += 1
    if cut == len(items):
        cut = _last_batch(items, sizes, most)
    # A whole turn reads better than a part of one, if at least half of what may be kept remains.
    remaining, ahead = sum(sizes[cut:]), cut
    while ahead < len(items) and remaining * 2 >= keep:
        if items[ahead].node.kind in _PROMPTS:
            return ahead
        remaining -= sizes[ahead]
        ahead += 1
    return cut


def _last_batch(items: Sequence[Item], sizes: Sequence[int], most: int) -> int:
    """Nothing fits: keep at least the newest step, if it is affordable at all."""
    cut, size = len(items), 0
    while cut > 0:
        cut -= 1
        size += sizes[cut]
        if _legal(items, cut):
            break
    return cut if size <= most else len(items)


def verify(path: Sequence[PathNode], options: ViewOptions, plan: Plan) -> None:
    """Raise `CompactionRefused` unless summarised ∪ kept = old view, disjoint, in order, and the view after the
    compaction is exactly its summary and what is kept."""
    old = [item.node.uid for item in select(path, options).items]
    trial = PathNode(
        "\0trial", NodeKind.COMPACTION, Outcome.OK, None, detail={"summary": "x", "kept_from": plan.kept_from}
    )
    new = [item.node.uid for item in select([*path, trial], options).items]
    if (
        [*plan.covers, *plan.keeps] != old
        or set(plan.covers) & set(plan.keeps)
        or new != [trial.uid, *plan.keeps]
    ):
        raise CompactionRefused(
            "The compaction was not made: it would have lost a part of the conversation.",
            "The conversation is unchanged. Go back to an earlier step, or continue with a model of a larger window.",
        )


def accept_summary(text: str, stop_reason: str, tokens_covered: int) -> str:
    """Why a summary is refused; "" = it is accepted. A cut or empty one would be a loss that nobody notices."""
    if stop_reason not in ("end_turn", "stop_sequence"):
        return f"the summary did not end normally ({stop_reason or 'no stop reason'})"
    if len(text.strip()) < 40:
        return "the summary is empty"
    if len(text.encode()) * 2 // 7 >= tokens_covered:
        return "the summary is no smaller than what it would replace"
    return ""


# -- cheap reduction


def plan_trim(
    path: Sequence[PathNode], options: ViewOptions, keep_tokens: int, *, smallest: int = 2_000
) -> tuple[list[str], int]:
    """Older tool outputs that could be left out, and about how many tokens that frees. They become a context edit of
    their own: nothing is deleted, and the tool can be called again."""
    items = select(path, options).items
    sizes = item_tokens(path, options, items)
    total = 0
    newest = len(items)
    while newest > 0 and total + sizes[newest - 1] <= keep_tokens:
        newest -= 1
        total += sizes[newest]
    chosen = [
        (item.node.uid, size - 40)
        for item, size in zip(items[:newest], sizes[:newest], strict=True)
        if item.node.kind in _TOOLS and not item.reason and size > smallest
    ]
    return [uid for uid, _ in chosen], sum(size for _, size in chosen)


def next_strategy(order: Sequence[str], tried: Iterable[tuple[str, int]]) -> str:
    """The next way to make room: in order, each at most once. "" = none is left."""
    done = {name for name, _ in tried}
    return next((name for name in order if name not in done), "")


# -- the brake on automatic compaction


@dataclass(slots=True)
class Guard:
    """Keeps automatic compaction from running in circles. One per branch; lives with the branch's task state."""

    disarmed: str = ""
    """Why automatic compaction is off until the person acts; "" = it is on."""
    at: list[int] = field(default_factory=list)
    """Turns (model answers) at which the newest compactions took place."""
    overflow_tries: int = 0
    """Emergency compactions since the last answer."""

    MOST_IN_A_ROW = 3
    WITHIN_TURNS = 3
    MOST_OVERFLOWS = 2

    def refuse(self, turn: int, newest: NodeKind | None, trigger: Trigger) -> str:
        """Why there must be no compaction now, in words for people; "" = go ahead."""
        if newest in SUMMARIES:
            return "The conversation was compacted just now; there is nothing new to summarise."
        if trigger == "manual":
            return ""
        if trigger == "overflow" and self.overflow_tries >= self.MOST_OVERFLOWS:
            return f"The model refused the request as too long {self.overflow_tries + 1} times, compacted or not."
        recent = self.at[-self.MOST_IN_A_ROW :]
        apart = turn - recent[0] if recent else 0
        if len(recent) == self.MOST_IN_A_ROW and 0 <= apart <= self.WITHIN_TURNS * self.MOST_IN_A_ROW:
            return (
                f"The context filled up again {self.MOST_IN_A_ROW} times within {apart} turns. "
                "Tool outputs may be too long, or the window of this model too small."
            )
        return self.disarmed if trigger == "auto" else ""

    def done(self, turn: int, trigger: Trigger, tokens_after: int, limits: Limits, fixed_tokens: int) -> str:
        """Take note of a compaction. Returns a notice for the person if it did not restore room: then automatic
        compaction is off until the person acts."""
        self.at = [*self.at[-5:], turn]
        if trigger == "overflow":
            self.overflow_tries += 1
        if tokens_after <= limits.trigger:
            return ""
        return self.no_room(tokens_after, limits, fixed_tokens)

    def no_room(self, tokens: int, limits: Limits, fixed_tokens: int) -> str:
        self.disarmed = (
            f"Compaction cannot make enough room: {tokens:,} tokens remain, {fixed_tokens:,} of them system text and "
            f"tools, and this model should not go above {limits.trigger:,} of {limits.window:,}. Automatic compaction "
            "is off until you act: choose a model with a larger window, switch tools off, or go back."
        )
        return self.disarmed

    def answered(self) -> None:
        """The model took a request."""
        self.overflow_tries = 0

    def person_acted(self) -> None:
        """A new run: turns are counted anew, and automatic compaction may be tried again."""
        self.disarmed = ""
        self.at = []

    def to_json(self) -> dict[str, Any]:
        return {"disarmed": self.disarmed, "at": self.at, "overflow_tries": self.overflow_tries}

    @classmethod
    def from_json(cls, data: dict[str, Any] | None) -> Guard:
        data = data or {}
        return cls(
            str(data.get("disarmed", "")), list(data.get("at", [])), int(data.get("overflow_tries", 0))
        )
