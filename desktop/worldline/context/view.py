"""What the model sees at a node: a pure function of the path and the options.

History is never changed. Every difference between the two is a `Repair` that names its node, never pretends success,
and is the same each time: the same path and options give the same bytes, which is what prompt caches and signed
thinking rest on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from worldline.context.blocks import THINKING, made_up, token_estimate
from worldline.context.entries import ASSISTANTS, entries_of, strip_end, with_tails
from worldline.context.limits import apply_limits
from worldline.context.model import PathNode, Repair, View, ViewOptions
from worldline.context.pairing import Group, Paired, group, merge, pair
from worldline.context.select import NEVER, Change, Item, select
from worldline.context.texts import CONTINUE, FORKED, NOT_EXECUTED, NOTHING_LEFT, START_MISSING
from worldline.core.jsontext import clean_text

_PLAIN = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})


def build_view(path: Sequence[PathNode], options: ViewOptions) -> View:
    """The messages of a request at the last node of `path`.

    Always acceptable to the API, whatever was stored and wherever the path was cut: first and last message from the
    user (unless `options.prefill`), alternating, nothing empty, one result for each call. Empty only if no node of
    the path speaks to the model. Idempotent: a view of a view is the same.
    """
    return build(path, options).view


@dataclass(slots=True)
class Built:
    """A view, and what is needed to extend it by what is appended to its path (`context.incremental`)."""

    view: View
    places: list[int]
    """Place on the path of the first node of each message; -1 = it is made up."""
    images: list[tuple[int, int]]
    """Number and bytes of the images of each message."""
    changes: list[Change]
    ids: dict[str, int]
    """Ids of calls, as stored and as sent → place of their node."""
    failures: list[int]
    """Places of long failed results."""
    limited: bool
    """Images or bytes were over a limit: what is left out then depends on all of the path."""


def build(
    path: Sequence[PathNode], options: ViewOptions, *, start: int = 0, places: dict[str, int] | None = None
) -> Built:
    """`build_view`, with its workings. `start` > 0: `path` begins at this place of a longer path, with a reply, and
    nothing before it has an effect on it; `places` are those of the longer path."""
    selection = select(path, options, start=start, places=places)
    entries, repairs, tails = entries_of(selection, options)
    if start:
        tails.pop(0, None)  # stands at the end of what is before
    paired = pair(
        group(with_tails(entries, tails)),
        missing=lambda uid, use_id: (
            ("forked_call", FORKED)
            if (uid, use_id) in options.forked_calls
            else ("missing_result", NOT_EXECUTED)
        ),
        gone_calls=selection.gone_calls,
    )
    paired.changes.extend(selection.changes)
    paired.repairs = [*selection.repairs, *repairs, *paired.repairs]
    _server_orphans(paired)
    failures, limited = apply_limits(paired, options)
    models = {item.node.uid: item for item in selection.items if item.node.kind in ASSISTANTS}
    refused = selection.places.get(options.thinking_after, -1)
    intact = _drop_thinking(paired, models, refused)
    spoke = bool(selection.items)
    view, images = _finish(paired, options, spoke=spoke, intact=intact, inner=start > 0)
    firsts = [item.nodes[0][0] if item.nodes else -1 for item in paired.groups]
    return Built(view, firsts, images, paired.changes, paired.ids, failures, limited)


# -- whole messages


def _server_orphans(paired: Paired) -> None:
    """Calls that the server runs and their results go together, inside one reply."""
    lost_any = False
    for item in paired.groups:
        if item.role != "assistant":
            continue
        kinds = [p.block["type"] for p in item.pieces]
        if _PLAIN.issuperset(kinds):
            continue
        uses = {p.block.get("id") for p, k in zip(item.pieces, kinds, strict=True) if k.endswith("_tool_use")}
        results = {
            p.block.get("tool_use_id")
            for p, k in zip(item.pieces, kinds, strict=True)
            if k.endswith("_tool_result")
        }
        kept = []
        for piece, kind in zip(item.pieces, kinds, strict=True):
            lost = (kind.endswith("_tool_use") and piece.block.get("id") not in results) or (
                kind.endswith("_tool_result") and piece.block.get("tool_use_id") not in uses
            )
            if lost:
                paired.repairs.append(
                    Repair("server_orphan", piece.uid, f"A {kind} block without its counterpart is not sent.")
                )
            else:
                kept.append(piece)
        if len(kept) < len(item.pieces):
            item.pieces = kept
            lost_any = True
    if lost_any:
        paired.groups = merge(paired.groups)


def _drop_thinking(paired: Paired, replies: dict[str, Item], refused: int = -1) -> bool:
    """Leave out thinking that is no longer valid: signed thinking is bound to everything before it.

    A reply keeps its thinking only if the view before it is what it was when the reply was given, and comes after
    `refused`, the place on the path up to which the API refused it. Returns whether the newest reply still has all of
    its thinking.
    """
    positions = [item.pos for item in replies.values()]
    invalid = _invalid_positions(paired.changes, positions)
    invalid.update(pos for pos in positions if pos <= refused)
    newest = max((i for i, g in enumerate(paired.groups) if g.role == "assistant"), default=-1)
    # A thought may have been left out when the reply was stored: it held a secret.
    intact = newest < 0 or not any(
        replies[uid].node.detail.get("thinking_lost")
        for _, uid in paired.groups[newest].nodes
        if uid in replies
    )
    lost_any = False
    for index, item in enumerate(paired.groups):
        if item.role != "assistant" or THINKING.isdisjoint([p.block["type"] for p in item.pieces]):
            continue
        mixed = len(item.nodes) > 1 and item.pieces[0].block["type"] not in THINKING
        ends_so = item.pieces[-1].block["type"] in THINKING
        kept = []
        for piece in item.pieces:
            if piece.block["type"] in THINKING and (mixed or ends_so or piece.pos in invalid):
                why = (
                    "the reply has nothing after it"
                    if ends_so
                    else "the conversation before it is not what it was"
                )
                paired.repairs.append(
                    Repair("thinking_dropped", piece.uid, f"A thinking block is not sent: {why}.")
                )
                intact = intact and index != newest
            else:
                kept.append(piece)
        lost_any = lost_any or len(kept) < len(item.pieces)
        item.pieces = kept
    if lost_any:
        paired.groups = merge(paired.groups)
    return intact


def _invalid_positions(changes: list[Change], positions: list[int]) -> set[int]:
    """Positions p with a change where < p < since."""
    if not changes:
        return set()
    return {p for p in positions if any(c.where < p < c.since for c in changes)}


def _finish(
    paired: Paired, options: ViewOptions, *, spoke: bool, intact: bool, inner: bool
) -> tuple[View, list[tuple[int, int]]]:
    groups = paired.groups
    view = View([], [], paired.repairs, thinking_intact=intact)
    opens = not inner and groups and groups[0].role == "assistant"
    if opens and groups[0].pieces[0].block["type"] != "compaction":
        groups.insert(0, Group("user", [made_up(START_MISSING, -1)]))
        view.repairs.append(
            Repair(
                "leading_assistant",
                groups[1].nodes[0][1],
                "The conversation begins with a reply; a note stands before it.",
            )
        )
    if not groups and spoke:
        groups.append(Group("user", [made_up(NOTHING_LEFT, -1)]))
        view.repairs.append(
            Repair(
                "empty_message", "", "Nothing of the conversation can be sent; a note stands in its place."
            )
        )
    view.tail = [clean_text(t) for t in options.reminders if t.strip()] if groups else []
    if groups and groups[-1].role == "assistant":
        cut = strip_end(groups[-1].pieces)
        if not options.prefill:
            view.tail.insert(0, CONTINUE)
        if cut or not options.prefill:
            view.repairs.append(
                Repair(
                    "trailing_assistant",
                    groups[-1].nodes[-1][1],
                    "The conversation ends with a reply; a note asks to go on.",
                )
            )
    if view.tail:
        if groups[-1].role == "assistant":
            groups.append(Group("user"))
        groups[-1].pieces.extend(made_up(t, NEVER) for t in view.tail)
    counts: list[tuple[int, int]] = []
    for item in groups:
        pieces = item.pieces
        images = image_bytes = 0
        view.messages.append({"role": item.role, "content": [p.block for p in pieces]})
        view.origin.append([(p.uid, p.index) if p.index >= 0 else ("", -1) for p in pieces])
        view.sizes.append(34 + len(pieces) + sum([p.size for p in pieces]))
        for piece in pieces:
            if piece.images:
                images += piece.images
                image_bytes += piece.image_bytes
        counts.append((images, image_bytes))
    sum_up(view, counts)
    return view, counts


def sum_up(view: View, counts: list[tuple[int, int]]) -> None:
    """The sums over the messages of a view."""
    view.bytes = sum(view.sizes) + 2
    view.images = sum([n for n, _ in counts])
    view.tokens = token_estimate(view.bytes, view.images, sum([size for _, size in counts]))
