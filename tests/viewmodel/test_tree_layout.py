"""Lanes and segments: a new node moves nothing, branches never lie on each other, cost does not grow."""

from __future__ import annotations

import itertools
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests_support import calls_of
from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeKind, Outcome
from worldline.viewmodel.tree_items import TreeItems
from worldline.viewmodel.tree_layout import FAR, TreeLayout
from worldline.viewmodel.tree_model import TreeModel
from worldline.viewmodel.tree_overview import Overview


def grown(parents: list[int]) -> TreeModel:
    """A model whose node i (from 1) hangs on parents[i - 1] (0 = root)."""
    model = TreeModel()
    for seq, parent in enumerate(parents, 1):
        model.append(NodeHeader(seq, f"{seq:016x}", parent, NodeKind.ASSISTANT, seq, f"node {seq}"))
    return model


@st.composite
def parent_lists(draw: st.DrawFn) -> list[int]:
    size = draw(st.integers(1, 120))
    return [0] + [draw(st.integers(max(1, seq - 30), seq)) for seq in range(1, size)]


@settings(max_examples=150, deadline=None)
@given(parent_lists())
def test_placing_is_stable_and_never_overlaps(parents: list[int]) -> None:
    model = TreeModel()
    layout = TreeLayout(model)
    placed: list[int] = []
    for seq, parent in enumerate(parents, 1):
        model.append(NodeHeader(seq, f"{seq:016x}", parent, NodeKind.ASSISTANT, seq, ""))
        layout.follow()
        assert list(layout.lane)[:-1] == placed
        placed = list(layout.lane)
    for segments in layout.lanes:
        spans = [(layout.seg_top[s], layout.seg_last[s]) for s in segments]
        for (_top, end), (top, _end) in itertools.pairwise(spans):
            assert end < top
    for row, parent in enumerate(model.parent):
        segment = layout.segment[row]
        assert layout.seg_first[segment] <= row <= layout.seg_last[segment]
        if row == layout.seg_first[segment]:
            assert layout.seg_parent[segment] == parent
        else:
            assert layout.segment[parent] == segment


@settings(max_examples=80, deadline=None)
@given(parent_lists(), st.data())
def test_visible_segments_are_those_that_touch_the_rows(parents: list[int], data: st.DataObject) -> None:
    layout = TreeLayout(grown(parents))
    layout.follow()
    first = data.draw(st.integers(0, len(parents) - 1))
    last = data.draw(st.integers(first, len(parents) - 1))
    expected = {
        s for s in range(len(layout.seg_lane)) if layout.seg_top[s] <= last and layout.seg_last[s] >= first
    }
    assert set(layout.segments_between(first, last)) == expected


def test_a_fork_from_far_above_is_a_stub_and_takes_no_long_lane() -> None:
    count = FAR + 50
    layout = TreeLayout(grown([0, *range(1, count), 5]))
    layout.follow()
    segment = layout.segment[count]
    assert layout.is_stub(segment)
    assert layout.seg_parent[segment] == 4
    assert layout.lane[count] == 1


def test_lanes_are_used_again_after_a_branch_has_ended() -> None:
    parents = [0, 1, 1, 2]
    for start in range(4, 200, 6):
        parents += [start, *range(start + 1, start + 5), start]
    layout = TreeLayout(grown(parents[:160]))
    layout.follow()
    assert layout.lane_count < 12


def test_appending_costs_the_same_at_any_size() -> None:
    rng = random.Random(7)

    def more(start: int, count: int) -> None:
        for seq in range(start + 1, start + count + 1):
            parent = (
                seq - 1 if rng.random() > 0.03 else rng.randint(max(1, seq - 300), seq - 1) if seq > 1 else 0
            )
            model.append(NodeHeader(seq, f"{seq:016x}", parent, NodeKind.TOOL, seq, "run pytest"))
            layout.follow()
            items.follow()

    def cost() -> int:
        return min(calls_of(lambda: more(len(model), 300)) for _ in range(3))

    model = TreeModel()
    layout, items = TreeLayout(model), TreeItems(model)
    more(0, 2_000)
    small = cost()
    more(len(model), 40_000)
    large = cost()
    assert large < small * 1.5
    assert model.bytes_used() / len(model) < 120


def test_failures_are_kept_in_order_when_they_end_late() -> None:
    model = grown([0, 1, 2, 3])
    layout = TreeLayout(model)
    layout.follow()
    for seq in (4, 2):
        header = NodeHeader(seq, f"{seq:016x}", seq - 1, NodeKind.TOOL, 0, "", Outcome.FAILED)
        layout.outcome_changed(model.update(header))
    assert list(layout.bad) == [1, 3]
    layout.outcome_changed(model.update(NodeHeader(2, "0" * 16, 1, NodeKind.TOOL, 0, "", Outcome.OK)))
    assert list(layout.bad) == [3]


@settings(max_examples=60, deadline=None)
@given(parent_lists(), st.integers(0, 4))
def test_the_overview_grows_to_what_it_would_be_drawn_as(parents: list[int], level: int) -> None:
    model = grown(parents[: len(parents) // 2 + 1])
    layout, items = TreeLayout(model), TreeItems(model)
    layout.follow()
    items.show(folding=False)
    overview = Overview(layout, items)
    overview.picture(level)
    for seq in range(len(model) + 1, len(parents) + 1):
        model.append(NodeHeader(seq, f"{seq:016x}", parents[seq - 1], NodeKind.ASSISTANT, seq, ""))
        layout.follow()
        items.follow()
        overview.follow(seq - 1)
    grown_picture = overview.picture(level)
    fresh = Overview(layout, items)
    wanted = fresh.picture(level)
    for row in range(len(model)):
        y, lane = row >> level, layout.lane[row]
        assert grown_picture.cells[y * grown_picture.width + lane] == 1
        assert wanted.cells[y * wanted.width + lane] == 1
