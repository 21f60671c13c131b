"""Extending the last view by what was appended to its path, instead of building all of it again.

Everything up to the newest reply stays as it is; from there on the view is built anew and joined to it. That is only done
where it is certain to give what a full build gives; a test compares both on random paths.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import is_

from worldline.context.limits import waiting_failures
from worldline.context.model import PathNode, View, ViewOptions
from worldline.context.select import SUMMARIES
from worldline.context.view import Built, build, sum_up
from worldline.core.kinds import NodeKind


@dataclass(slots=True)
class _Last:
    path: list[PathNode]
    options: ViewOptions
    built: Built
    places: dict[str, int]
    mark: int
    """Place of the newest compaction or edit; -1 = there is none."""


@dataclass(slots=True)
class ViewBuilder:
    """Builds the views of one branch as it grows. Pure but for its memory: the same path and options give the same
    view. What it returns must not be changed."""

    extended: int = 0
    """How many views were extended, for tests."""
    _last: _Last | None = field(default=None, repr=False)

    def build(self, path: Sequence[PathNode], options: ViewOptions) -> View:
        last = self._last
        view = self._extend(last, path, options) if last is not None else None
        if view is None:
            places = {node.uid: place for place, node in enumerate(path)}
            mark = max((i for i, node in enumerate(path) if _marks(node)), default=-1)
            self._last = _Last(list(path), options, build(path, options), places, mark)
            view = self._last.built.view
        return view

    def _extend(self, last: _Last, path: Sequence[PathNode], options: ViewOptions) -> View | None:
        """The view, or None where a full build is needed."""
        known = len(last.path)
        if len(path) < known or options != last.options or options.truncate_before:
            return None
        if not all(map(is_, last.path, path)):
            return None
        fresh = path[known:]
        named = {options.thinking_after, *options.poisoned_at.values()}
        if any(_marks(node) or node.uid in named for node in fresh):
            return None
        cut = _boundary(last.built)
        if cut is None:
            return None
        message, place = cut
        before = last.built
        if last.mark >= place or before.limited or any(c.where < place < c.since for c in before.changes):
            return None
        places = last.places
        for number, node in enumerate(fresh, known):
            places[node.uid] = number
        after = build(path[place:], options, start=place, places=places)
        if not _independent(before, after, place, message, options):
            return None
        view = _joined(before, after, message, place, places)
        counts = [*before.images[:message], *after.images]
        sum_up(view, counts)
        if view.images > options.max_images or view.bytes > options.max_bytes:
            return None
        earlier = before.failures[: bisect_left(before.failures, place)]
        before.ids.update(after.ids)
        self._last = _Last(
            [*last.path, *fresh],
            options,
            Built(
                view,
                [*before.places[:message], *after.places],
                counts,
                [*(c for c in before.changes if c.where < place), *after.changes],
                before.ids,
                [*earlier, *after.failures],
                limited=False,
            ),
            places,
            last.mark,
        )
        self.extended += 1
        return view


def _marks(node: PathNode) -> bool:
    """Has an effect on what stands before it."""
    return node.kind in SUMMARIES or node.kind is NodeKind.CONTEXT_EDIT


def _boundary(built: Built) -> tuple[int, int] | None:
    """Index of the newest reply in the view, and its place on the path."""
    messages = built.view.messages
    for index in range(len(messages) - 1, 1, -1):
        if messages[index]["role"] == "assistant":
            return (index, built.places[index]) if built.places[index] > 0 else None
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
