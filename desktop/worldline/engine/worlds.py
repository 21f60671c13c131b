"""Comparing what two states say of the world."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worldline.core.kinds import NodeKind

if TYPE_CHECKING:
    from worldline.engine.shared import Shared
    from worldline.workspace.engine import Workspace
    from worldline.workspace.states import State


def same_but_for_branch(workspace: Workspace, a: str, b: str) -> bool:
    """Whether two states differ in nothing but the name of the checked-out branch: a jump of ours changes that, and it
    is no edit of anybody. Runs on the workspace thread."""

    def facts(state: State) -> object:
        roots = [(r.path, r.head, r.operation, r.index, r.progress) for r in state.roots]
        return (state.files, state.perms_tree, roots)

    return a == b or facts(workspace.state(a)) == facts(workspace.state(b))


def same_inside(workspace: Workspace, a: str, b: str) -> bool:
    """Whether two states have the same in the git folders of the repositories inside. Runs on the workspace thread."""

    def copies(state: State) -> object:
        return [(r.path, r.git) for r in state.roots if r.path]

    return a == b or copies(workspace.state(a)) == copies(workspace.state(b))


_LOOKED_AT = 200


async def newest_on(shared: Shared, branch: str) -> str:
    """The newest node whose files stand on this branch of the person, else the root. A node that was begun there may
    have put HEAD on a branch of its own, so its state decides and not its name for the branch."""
    name = f"refs/heads/{branch}"
    nodes = [h.uid for h in shared.doc.headers() if h.branch == name and h.kind is not NodeKind.USER]
    nodes = nodes[: -_LOOKED_AT - 1 : -1]
    states = [shared.good_state(uid) for uid in nodes]

    def find(workspace: Workspace) -> str:
        for uid, state in zip(nodes, states, strict=True):
            top = next((r for r in workspace.state(state).roots if not r.path), None) if state else None
            if top is None or top.ref in ("", name):
                return uid
        return "root"

    return await shared.workspace().call(find)
