"""Ways through trees of every shape: what is found in C is what a walk from row to row finds."""

from __future__ import annotations

import itertools
import random

import pytest

from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.viewmodel import tree_paths
from worldline.viewmodel.tree_items import FILTERS, TreeItems
from worldline.viewmodel.tree_model import NodeLabel, TreeModel

KINDS = (NodeKind.USER, NodeKind.ASSISTANT, NodeKind.TOOL)
FLAGS = (NodeFlag.NONE, NodeFlag.EFFECT, NodeFlag.CHECKS_FAILED, NodeFlag.FILES_CHANGED)


def tree_of(seed: int, count: int, forks: float) -> TreeModel:
    rng = random.Random(seed)
    tree = TreeModel()
    for seq in range(1, count + 1):
        parent = seq - 1 if rng.random() > forks else rng.randint(0, seq - 1)
        tree.append(
            NodeHeader(seq, f"{seq:016x}", parent, rng.choice(KINDS), 0, f"word{seq % 7}",
                       rng.choice((Outcome.OK, Outcome.FAILED)), rng.choice(FLAGS), files=rng.randint(0, 1))
        )  # fmt: skip
    for row in rng.sample(range(count), min(3, count)):
        tree.set_label(row, NodeLabel(label="mark"))
    return tree


TREES = [tree_of(seed, count, forks) for seed, (count, forks) in enumerate(
    (count, forks) for count in (1, 2, 40, 120) for forks in (0.0, 0.05, 0.4, 1.0)
)]  # fmt: skip


def walked(tree: TreeModel, row: int) -> list[int]:
    found = []
    while row >= 0:
        found.append(row)
        row = tree.parent[row]
    return found[::-1]


@pytest.mark.parametrize("tree", TREES)
def test_paths_are_those_of_a_walk(tree: TreeModel) -> None:
    for row in range(len(tree)):
        path = walked(tree, row)
        assert tree.path(row) == path and tree_paths.root_of(tree, row) == path[0]
        for most in (1, 2, 7, 1_000):
            rows, above, prompts = tree_paths.end_of_path(tree, row, most)
            assert rows == path[-most:] and above == len(path) - len(rows)
            assert prompts == sum(tree.kind_of(one) is NodeKind.USER for one in path[:above])
        forks = [(a, b) for a, b in itertools.pairwise(path) if tree.children[a] > 1]
        assert list(tree_paths.forks_up(tree, row)) == forks[::-1]
        for other in range(len(tree)):
            below = path[::-1].index(other) if other in path else -1
            assert tree_paths.places_on_path(tree, row, other) == below


@pytest.mark.parametrize("tree", TREES)
def test_ends_and_forks_below_are_those_of_a_walk(tree: TreeModel) -> None:
    for row in range(len(tree)):
        at, fork = row, -1
        while tree.children[at]:
            at = tree.children_of(at)[-1]
            if fork < 0 and tree.children[at] != 1:
                fork = at
        assert tree.leaf_of(row) == at
        assert tree_paths.next_fork(tree, row) == (fork if fork >= 0 else row)
        if tree.children[row]:
            assert tree.first_child(row) == tree.children_of(row)[0]


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("text", ["", "word3"])
def test_filters_for_all_rows_at_once_are_those_for_one(tree: TreeModel, text: str) -> None:
    items = TreeItems(tree)
    counts = items.counts()
    for name in FILTERS:
        items.show(filter_name=name, text=text, folding=False, keep=(0, len(tree) - 1))
        test = items._test()
        wanted = (
            {row for row in range(len(tree)) if test(row)} if name != "all" or text else set(range(len(tree)))
        )
        assert list(items._first) == sorted(wanted | {0, len(tree) - 1})
        assert text or counts[name] == len(wanted)
