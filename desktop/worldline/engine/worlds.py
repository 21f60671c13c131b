"""Comparing what two states say of the world."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from worldline.workspace.engine import Workspace
    from worldline.workspace.states import State


def same_but_for_branch(workspace: Workspace, a: str, b: str) -> bool:
    """Whether two states differ in nothing but the name of the checked-out branch: a jump of ours changes that, and it
    is no edit of anybody. Runs on the workspace thread."""

    def facts(state: State) -> object:
        roots = [(r.path, r.head, r.operation, r.index, r.progress) for r in state.roots]
        return (state.files, state.perms_tree, roots)

    return a == b or facts(workspace.state(a)) == facts(workspace.state(b))
