"""Which nodes belong to the conversation at a node."""

from __future__ import annotations

from typing import Any

from worldline.core.kinds import NodeFlag, NodeKind
from worldline.session.document import SessionDocument
from worldline.session.model import NodeBody


def on_side_branch(flags: int) -> bool:
    """A step of a sub-agent of ours. Side branches of imported sessions are left as they came."""
    return bool(flags & NodeFlag.SIDE_BRANCH and not flags & NodeFlag.IMPORTED)


def conversation_bodies(doc: SessionDocument, uid: str) -> list[NodeBody]:
    """The nodes on the path to `uid` that belong to its conversation: below the start of a side branch, the sub-agent's
    alone, since it was given its task and nothing else."""
    return doc.bodies_at(conversation_seqs(doc, uid))


def conversation_seqs(doc: SessionDocument, uid: str) -> list[int]:
    """`conversation_bodies` as numbers of nodes."""
    return doc.tree.path(doc.seq(uid))[side_start(doc, uid) :]


def side_start(doc: SessionDocument, uid: str) -> int:
    """Position on the path to `uid` where a side branch begins; 0 = there is none (a root is never one)."""
    tree = doc.tree
    for index, seq in enumerate(tree.path(doc.seq(uid))):
        if on_side_branch(tree.flags(seq)):
            return index
    return 0


def last_words(bodies: list[NodeBody]) -> str:
    """Text of the last reply that says something."""
    for body in reversed(bodies):
        if body.kind is not NodeKind.ASSISTANT:
            continue
        content: list[dict[str, Any]] = (body.message or {}).get("content", [])
        said = "\n".join(str(b.get("text", "")) for b in content if b.get("type") == "text").strip()
        if said:
            return said
    return ""
