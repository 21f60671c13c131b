"""Ways through the tree that cost the forks on them, not the rows: a run of rows one below another is looked at in C."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from worldline.core.kinds import NodeFlag, NodeKind

if TYPE_CHECKING:
    from worldline.viewmodel.tree_model import TreeModel

_PROMPTS = (NodeKind.USER, NodeKind.IMPORTED_USER)


def runs_up(tree: TreeModel, row: int) -> Iterator[range]:
    """The way from `row` to its root in runs of rows that are one below another, the nearest first."""
    while row >= 0:
        start = max(0, tree.follows.rfind(0, 0, row + 1))
        yield range(start, row + 1)
        row = tree.parent[start]


def path(tree: TreeModel, row: int) -> list[int]:
    """Rows from the root to `row`."""
    return list(chain.from_iterable(reversed(list(runs_up(tree, row)))))


def end_of_path(tree: TreeModel, row: int, most: int) -> tuple[list[int], int, int]:
    """The last rows of the path to `row`, at most so many; how many there are above them; how many of those are prompts of
    the person."""
    kept: list[range] = []
    left, above, prompts = most, 0, 0
    for run in runs_up(tree, row):
        cut = max(run.start, run.stop - left)
        if cut < run.stop:
            kept.append(range(cut, run.stop))
            left -= run.stop - cut
        above += cut - run.start
        prompts += tree.prompts_between(run.start, cut)
    return list(chain.from_iterable(reversed(kept))), above, prompts


def places_on_path(tree: TreeModel, row: int, wanted: int) -> int:
    """How many rows lie below `wanted` on the path to `row`; -1 when it is not on it."""
    below = 0
    for run in runs_up(tree, row):
        if wanted >= run.start:
            return below + run.stop - 1 - wanted if wanted < run.stop else -1
        below += len(run)
    return -1


def root_of(tree: TreeModel, row: int) -> int:
    """The first row of the path to `row`."""
    start = row
    for run in runs_up(tree, row):
        start = run.start
    return start


def forks_up(tree: TreeModel, row: int) -> Iterator[tuple[int, int]]:
    """The rows above `row` with more than one child, the nearest first, each with the child that leads to `row`."""
    for run in runs_up(tree, row):
        at = tree.single.rfind(0, run.start, run.stop - 1)
        while at >= 0:
            yield at, at + 1
            at = tree.single.rfind(0, run.start, at)
        above = tree.parent[run.start]
        if above >= 0 and not tree.single[above]:
            yield above, run.start


def leaf_of(tree: TreeModel, row: int) -> int:
    """The newest end under `row`."""
    while tree.children[row]:
        row = _down(tree, row)
    return row


def next_fork(tree: TreeModel, row: int) -> int:
    """The next row below `row`, on the newest way, that has more than one child; else the end of that way."""
    if tree.children[row]:
        row = tree.children_of(row)[-1]
    while tree.single[row]:
        row = _down(tree, row)
    return row


def _down(tree: TreeModel, row: int) -> int:
    """From a row with children down the newest way: as far as each row has one child, the row below, or to the newest child."""
    many, broken = tree.single.find(0, row), tree.follows.find(0, row + 1)
    last = min(many, broken - 1 if broken >= 0 else len(tree) - 1)
    return last if last > row else tree.children_of(row)[-1]


def asked_for(tree: TreeModel, row: int) -> str:
    """What the person asked for last on the path to `row`: what the work there is about. Without any, the words of the
    node itself."""
    at = row
    while at >= 0:
        if tree.kind_of(at) in _PROMPTS and not tree.flags[at] & NodeFlag.HIDDEN:
            return tree.preview(at)
        at = tree.parent[at]
    return tree.preview(row) if row >= 0 else ""
