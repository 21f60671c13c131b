"""From the session document to the input of view building."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from worldline.context.model import PathNode
from worldline.core.kinds import NodeKind
from worldline.session.model import NodeBody


def path_node(body: NodeBody) -> PathNode:
    """One stored node. Nothing is copied: stored messages are never changed."""
    call = body.detail.get("call")
    detail = {**body.detail, **body.end_detail} if body.end_detail else body.detail
    return PathNode(
        body.uid,
        body.kind,
        body.outcome,
        body.message,
        body.end_message,
        call if isinstance(call, dict) else None,
        detail,
    )


def path_nodes(bodies: Iterable[NodeBody]) -> list[PathNode]:
    return [path_node(body) for body in bodies]


def forked_calls(
    path: Sequence[PathNode], started: Mapping[str, Iterable[str]]
) -> frozenset[tuple[str, str]]:
    """Calls of replies on this path that ran on another branch.

    `started`: uid of an assistant node → ids of its calls that have a tool node anywhere in the tree. What was run
    is settled before a fork can be made, so the answer for a path never changes later.
    """
    here: dict[str, set[str]] = {}
    reply = ""
    for node in path:
        if node.kind is NodeKind.ASSISTANT:
            reply = node.uid
        elif node.kind is NodeKind.TOOL and node.call is not None:
            here.setdefault(reply, set()).add(str(node.call.get("id", "")))
    return frozenset(
        (uid, use_id) for uid, ids in started.items() for use_id in ids if use_id not in here.get(uid, ())
    )
