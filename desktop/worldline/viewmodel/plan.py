"""A jump plan, or a plan to bring changes home, grouped the way the dialog tells it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from worldline.core.kinds import NodeKind
from worldline.protocol.model import PlanEntry
from worldline.viewmodel.tree_model import TreeModel
from worldline.viewmodel.visible import visible

STEPS = frozenset({NodeKind.ASSISTANT, NodeKind.TOOL, NodeKind.IMPORTED_ASSISTANT, NodeKind.IMPORTED_TOOL})
SUMMARIES = frozenset({NodeKind.COMPACTION, NodeKind.IMPORTED_COMPACTION})

BACK = frozenset({"create", "overwrite", "delete", "chmod"})
MINE = frozenset({"keep_mine", "conflict"})


@dataclass(slots=True)
class PlanGroups:
    back: list[PlanEntry] = field(default_factory=list)
    """Will be put back."""
    mine: list[PlanEntry] = field(default_factory=list)
    """The person changed them: a choice for each."""
    foreign: list[PlanEntry] = field(default_factory=list)
    """Stay because nobody here made them."""
    not_captured: list[PlanEntry] = field(default_factory=list)


def group(entries: Iterable[PlanEntry]) -> PlanGroups:
    groups = PlanGroups()
    for entry in entries:
        if entry.choice or entry.action in MINE:
            groups.mine.append(entry)
        elif entry.action in BACK:
            groups.back.append(entry)
        elif entry.action == "not_captured":
            groups.not_captured.append(entry)
        else:
            groups.foreign.append(entry)
    return groups


def short_paths(entries: Iterable[PlanEntry], most: int = 3) -> tuple[str, int]:
    """The first few paths, hidden characters seen, and how many more there are."""
    paths = [visible(entry.path) for entry in entries]
    return ", ".join(paths[:most]), max(0, len(paths) - most)


def left_behind(tree: TreeModel, cursor: int, target: int) -> int:
    """How many steps of the path to the cursor are not on the way to the target: what the model there does not know."""
    steps, other = 0, target
    while cursor != other and cursor >= 0:
        if cursor > other:
            steps += tree.kind_of(cursor) in STEPS
            cursor = tree.parent[cursor]
        else:
            other = tree.parent[other]
    return steps


def summarised_on_the_way(tree: TreeModel, cursor: int, target: int) -> bool:
    """Whether the way to the target has a summary in place of history that the way to the cursor does not have."""
    # A parent is above its child: the ways meet without either of them being kept.
    while target != cursor and target >= 0:
        if target > cursor:
            if tree.kind_of(target) in SUMMARIES:
                return True
            target = tree.parent[target]
        else:
            cursor = tree.parent[cursor]
    return False
