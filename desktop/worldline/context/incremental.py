"""Views that share their beginning with an earlier one: only what comes after it is built.

Everything before a reply that both paths hold stays as it is; from there on the view is built anew and joined to it. So the
next step of a branch costs what it adds, and a jump what lies between the fork and the place gone to. That is only done where
it is certain to give what a full build gives; a test compares both on random paths and jumps.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import is_

from worldline.context.limits import waiting_failures
from worldline.context.model import PathNode, View, ViewOptions
from worldline.context.select import SUMMARIES
from worldline.context.view import Built, build, sum_up
from worldline.core.kinds import NodeKind

_MOST = 8
"""Views that are remembered: the branches that a person goes to and fro between."""


@dataclass(slots=True)
class _Known:
    path: list[PathNode]
    options: ViewOptions
    built: Built
    places: dict[str, int]
    mark: int
    """Place of the newest node with an effect on what stands before it; -1 = there is none."""


@dataclass(slots=True)
class ViewBuilder:
    """Builds the views of one session. Pure but for its memory: the same path and options give the same view. What it
    returns must not be changed. Nodes are the same if they are the same object."""

    extended: int = 0
    """How many views were made from an earlier one, for tests."""
    _known: list[_Known] = field(default_factory=list, repr=False)
    """The view of last time first."""

    def build(self, path: Sequence[PathNode], options: ViewOptions) -> View:
        made: _Known | None = None
        for known, common in self._nearest(path, options):
            made = _continued(known, common, path, options)
            if made is not None:
                self.extended += 1
                if common == len(known.path):
                    self._known = [other for other in self._known if other is not known]
                break
        if made is None:
            places = {node.uid: place for place, node in enumerate(path)}
            mark = max((i for i, node in enumerate(path) if _marks(node)), default=-1)
            made = _Known(list(path), options, build(path, options), places, mark)
        self._known.insert(0, made)
        del self._known[_MOST:]
        return made.built.view

    def forget(self) -> None:
        self._known.clear()

    def _nearest(self, path: Sequence[PathNode], options: ViewOptions) -> list[tuple[_Known, int]]:
        """Views that may be gone on from, with the number of nodes that both paths begin with; the most first."""
        if options.truncate_before:
            return []
        found = [(k, _common(k.path, path)) for k in self._known if _are_alike(k.options, options)]
        return sorted(found, key=lambda pair: -pair[1])


def _common(one: Sequence[PathNode], other: Sequence[PathNode]) -> int:
    same = list(map(is_, one, other))
    return same.index(False) if False in same else len(same)


def _are_alike(one: ViewOptions, other: ViewOptions) -> bool:
    """Whether they differ at most in what has an effect on a few known places."""
    return one == replace(other, reminders=one.reminders, forked_calls=one.forked_calls)


def _continued(known: _Known, common: int, path: Sequence[PathNode], options: ViewOptions) -> _Known | None:
    """The view of `path`, whose first `common` nodes are those of `known`; None where a full build is needed."""
    fresh = path[common:]
    named = {options.thinking_after, *options.poisoned_at.values()}
    if any(_marks(node) or node.uid in named for node in fresh):
        return None
    if any(known.places.get(uid, -1) >= common for uid in named):
        return None
    cut = _boundary(known.built, common)
    if cut is None:
        return None
    message, place = cut
    before = known.built
    if known.mark >= place or before.limited or any(c.where < place < c.since for c in before.changes):
        return None
    moved = known.options.forked_calls ^ options.forked_calls
    if any(known.places.get(uid, place) < place for uid, _ in moved):
        return None
    if common == len(known.path):
        places = known.places | {node.uid: number for number, node in enumerate(fresh, common)}
        ids = dict(before.ids)
    else:
        places = {node.uid: number for number, node in enumerate(path)}
        ids = {use_id: first for use_id, first in before.ids.items() if first < place}
    after = build(path[place:], options, start=place, places=places)
    if not _independent(before, after, place, message, options):
        return None
    view = _joined(before, after, message, place, places)
    counts = [*before.images[:message], *after.images]
    sum_up(view, counts)
    if view.images > options.max_images or view.bytes > options.max_bytes:
        return None
    built = Built(
        view,
        [*before.places[:message], *after.places],
        counts,
        [*(c for c in before.changes if c.where < place), *after.changes],
        ids | after.ids,
        [*before.failures[: bisect_left(before.failures, place)], *after.failures],
        limited=False,
    )
    return _Known(list(path), options, built, places, known.mark)


def _marks(node: PathNode) -> bool:
    """Has an effect on what stands before it."""
    return (
        node.kind in SUMMARIES
        or node.kind is NodeKind.CONTEXT_EDIT
        or bool(node.detail.get("guessed_parent"))
    )


def _boundary(built: Built, common: int) -> tuple[int, int] | None:
    """Index in the view of the newest reply among the first `common` nodes of the path, and its place."""
    messages, places = built.view.messages, built.places
    for index in range(len(messages) - 1, 1, -1):
        if places[index] < common and messages[index]["role"] == "assistant":
            return (index, places[index]) if places[index] > 0 else None
    return None


def _independent(before: Built, after: Built, place: int, message: int, options: ViewOptions) -> bool:
    """Whether nothing in one part has an effect on the other."""
    view = after.view
    if not view.messages or view.messages[0]["role"] != "assistant" or after.limited:
        return False
    if max(before.places[:message], default=-1) >= place:
        return False
    if any(before.ids.get(use_id, place) < place for use_id in after.ids):
        return False
    if any(repair.kind == "orphan_result" for repair in view.repairs):
        return False
    whole = waiting_failures(bisect_left(before.failures, place), options.keep_failed_results)
    return whole + len(after.failures) <= 2 * max(1, options.keep_failed_results)


def _joined(before: Built, after: Built, message: int, place: int, places: dict[str, int]) -> View:
    old, new = before.view, after.view
    return View(
        [*old.messages[:message], *new.messages],
        [*old.origin[:message], *new.origin],
        [*(r for r in old.repairs if places.get(r.node, place) < place), *new.repairs],
        tail=new.tail,
        thinking_intact=new.thinking_intact,
        sizes=[*old.sizes[:message], *new.sizes],
    )
