"""What the model at a node knows only as a summary, and whether the originals could be sent instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from worldline.context.budget import Limits
from worldline.context.model import PathNode, ViewOptions
from worldline.context.select import SUMMARIES, select
from worldline.context.view import build_view
from worldline.core.kinds import NodeKind, Outcome
from worldline.session.model import NodeDraft


@dataclass(slots=True)
class Lossy:
    """`note` "" = the model at this node knows everything word for word."""

    note: str = ""
    compactions: tuple[str, ...] = ()
    """uids of the compactions on the path."""
    steps: int = 0
    """How many steps are known only as a summary."""
    can_expand: bool = False


def lossy_at(path: Sequence[PathNode], options: ViewOptions, limits: Limits, fixed_tokens: int = 0) -> Lossy:
    """What is lost at the last node of `path`, and whether expanding it from the originals would fit."""
    items = select(path, options).items
    if not any(item.node.kind in SUMMARIES for item in items):
        return Lossy()
    uids = tuple(node.uid for node in path if node.kind in SUMMARIES)
    expanded = replace(options, expand=options.expand | set(uids), truncate_before="")
    originals = select(path, expanded).items
    here = {item.node.uid for item in items}
    hidden = [item for item in originals if item.node.uid not in here]
    truncated = any(i.node.detail.get("truncated") is True for i in items if i.node.kind in SUMMARIES)
    tokens = build_view(path, expanded).tokens + fixed_tokens
    fits = tokens <= limits.trigger
    note = _first_known(len(hidden), truncated)
    if hidden:
        they = "it" if len(hidden) == 1 else "they"
        note += (
            f" {they.capitalize()} can be sent word for word again."
            if fits
            else f" Sent word for word {they} would need {tokens:,} tokens, more than this model takes."
        )
    return Lossy(note, uids, len(hidden), fits and bool(hidden))


def expand_draft(parent: str, lossy: Lossy) -> NodeDraft:
    """The node after which, on its branch, the originals stand in the view again."""
    return NodeDraft(
        NodeKind.CONTEXT_EDIT,
        parent,
        detail={"targets": list(lossy.compactions), "expand": True},
        preview=(
            "1 earlier step is sent word for word again"
            if lossy.steps == 1
            else f"{lossy.steps} earlier steps are sent word for word again"
        ),
        outcome=Outcome.OK,
    )


def _first_known(count: int, truncated: bool) -> str:
    if count == 1:
        if truncated:
            return "From here the model knows the first message not at all: it was cut off."
        return "From here the model knows the first message only as a summary."
    knows = "not at all: they were cut off" if truncated else "only as a summary"
    return f"From here the model knows the first {count} messages {knows}."
