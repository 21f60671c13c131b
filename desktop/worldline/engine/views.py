"""What the model would be sent at a node."""

from __future__ import annotations

from typing import Any

from worldline.agent.conversation import conversation_seqs
from worldline.agent.healing import remembered
from worldline.context.budget import Limits
from worldline.context.lossy import lossy_at
from worldline.context.model import ViewOptions
from worldline.context.source import forked_calls, path_nodes
from worldline.core.kinds import NodeKind
from worldline.engine.shared import Shared
from worldline.protocol import commands as c
from worldline.protocol.model import Diagnostic
from worldline.session.document import SessionDocument


def poisoned_blocks(shared: Shared) -> dict[tuple[str, int], str]:
    """Blocks that the API refused once, with the notes that stand for them since."""
    return {
        (data["uid"], data["block"]): data["note"]
        for record in shared.doc.records("diagnostic", holding="poisoned")
        if record.data.get("kind") == "poisoned"
        and {"uid", "block", "note"} <= (data := record.data["data"]).keys()
    }


def calls_elsewhere(shared: Shared, uid: str) -> frozenset[tuple[str, str]]:
    """Calls of replies on the path to `uid` that ran on another branch."""
    doc, tree = shared.doc, shared.doc.tree
    path = conversation_seqs(doc, uid)
    on_path = set(path)
    started: dict[str, list[str]] = {}
    for seq in path:
        if tree.kind(seq) is not NodeKind.ASSISTANT:
            continue
        tools: list[int] = []
        ahead = [c for c in tree.children(seq) if c not in on_path]
        while ahead:
            child = ahead.pop()
            if tree.kind(child) is NodeKind.TOOL:
                tools.append(child)
                ahead += tree.children(child)
        if tools:
            bodies = doc.bodies_at(tools)
            started[doc.uid(seq)] = [str(b.detail["call"]["id"]) for b in bodies if "call" in b.detail]
    return forked_calls(shared.memory.path(path), started) if started else frozenset()


def lossy_note(doc: SessionDocument, uid: str, window: int) -> str:
    """What the model at a node knows only as a summary, in words, and whether the originals would fit into `window`
    tokens; "" = nothing."""
    path = doc.tree.path(doc.seq(uid))
    if not any(doc.tree.kind(seq) in (NodeKind.COMPACTION, NodeKind.IMPORTED_COMPACTION) for seq in path):
        return ""
    return lossy_at(path_nodes(doc.path_bodies(uid)), ViewOptions(), Limits(window)).note


def view_at(shared: Shared, ref: str, *, model: str, local: bool, base: dict[str, Any]) -> c.View:
    """The request that the model would get at this node. `base` is the part without messages."""
    doc = shared.doc
    uid = doc.resolve(ref)
    options = remembered(
        doc,
        ViewOptions(
            model=model,
            local=local,
            poisoned=poisoned_blocks(shared),
            forked_calls=calls_elsewhere(shared, uid),
        ),
        uid,
    )
    view = shared.memory.views.build(shared.memory.path(conversation_seqs(doc, uid)), options)
    items = [
        Diagnostic(id=0, kind=r.kind, node=r.node, at=0, detail=r.detail, data=r.data) for r in view.repairs
    ]
    origin = [next((uid for uid, _ in blocks if uid), "") for blocks in view.origin]
    return c.View(
        request={**base, "messages": view.messages},
        origin=origin,
        diagnostics=items,
        tokens=view.tokens,
        bytes=view.bytes,
    )
