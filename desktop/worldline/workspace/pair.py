"""Two states side by side: the states themselves, and libgit2's comparison of their trees."""

from __future__ import annotations

from dataclasses import dataclass

import pygit2
from pygit2.enums import DiffOption

from worldline.workspace import renames
from worldline.workspace.model import NOT_CAPTURED
from worldline.workspace.sources import Ref, Source, load
from worldline.workspace.states import State


@dataclass(slots=True)
class Pair:
    """Two states ready to be compared."""

    old: State
    new: State


def both(workspace: Source, a: Ref, b: Ref) -> Pair:
    """What is on disk is captured now. Raises `WorkspaceError` (`missing_state`, `not_captured`)."""
    near_a, near_b = (r if isinstance(r, str) and r != NOT_CAPTURED else "" for r in (a, b))
    return Pair(load(workspace, a, near_b), load(workspace, b, near_a))


def compared(workspace: Source, old: bytes, new: bytes, flags: DiffOption, context: int = 3) -> pygit2.Diff:
    """What differs between two trees, renames found."""
    repo = workspace.store.repo
    trees = [repo[pygit2.Oid(raw=tree)].peel(pygit2.Tree) for tree in (old, new)]
    diff = trees[0].diff_to_tree(trees[1], flags=flags, context_lines=context)
    renames.find(diff)
    return diff
