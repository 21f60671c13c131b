"""What the window shows of a session that nothing runs in: how it was left, and how full the context is at the cursor."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from worldline.core.errors import SessionError
from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeKind, Outcome
from worldline.engine.shared import Shared
from worldline.session.document import SessionDocument

logger = logging.getLogger(__name__)

_BYTES_PER_TOKEN = 3.5
_AT_ONCE = 200
_RESETS = (NodeKind.COMPACTION, NodeKind.IMPORTED_COMPACTION, NodeKind.CONTEXT_EDIT)
_NOT_SENT = (NodeKind.ROOT, NodeKind.JUMP)
_BROKEN_OFF = (Outcome.ABORTED, Outcome.FAILED, Outcome.INTERRUPTED)


def show_standing(shared: Shared) -> None:
    """Show how the session was left. The mode is that of the last run: a restart is no reason to ask again what was
    allowed; unless one was ordered for this start."""
    known, unpriced = shared.doc.known_cost()
    runs = shared.doc.runs()
    last = runs[-1] if runs else None
    mode = shared.settings.get("mode")
    if last is not None and not shared.settings.ordered("mode"):
        mode = last.settings.get("mode") or mode
    shared.status.set(
        state="ready",
        mode=mode,
        branch=shared.branch.removeprefix("refs/heads/"),
        cost=known if known is not None or unpriced else 0.0,
        cost_note="Some answers have no known price; they are not in the sum." if unpriced else "",
        last_stop=last.stop_reason.value if last and last.stop_reason else "",
        last_stop_detail=last.detail if last else "",
    )


def show_context(shared: Shared) -> None:
    """Estimate what the next request at the cursor holds: what the last answer of this way was asked with, that answer, and
    what came after it. Without such an answer from the sizes of all nodes, with the system text and the tools counted in.
    The next request is measured exactly."""
    doc = shared.doc
    size = after = 0
    later: list[str] = []
    counted: float | None = None
    for header in _newest_first(doc):
        if header.kind in _NOT_SENT:
            continue
        size += header.size
        if header.kind in _RESETS:
            break
        if header.kind is NodeKind.ASSISTANT and header.outcome not in _BROKEN_OFF and counted is None:
            usage = doc.usage(header.uid)
            if usage.context_tokens:
                counted = usage.context_tokens + usage.output_tokens + after / _BYTES_PER_TOKEN
                if asked := doc.body(header.uid).detail.get("request_bytes"):
                    size = int(asked) + _message_bytes(doc, [header.uid, *later])
                    break
        later.append(header.uid)
        after += header.size
    if counted is None and size:
        size += _fixed_bytes(shared)
    tokens = size / _BYTES_PER_TOKEN if counted is None else counted
    shared.status.set(context_tokens=int(tokens), context_bytes=size)


def show_context_left(shared: Shared) -> None:
    """After a run: what the next request holds, as after a jump to this node. Until then it was what the last one held."""
    try:
        show_context(shared)
    except SessionError as error:
        logger.warning("how full the context is cannot be read: %s", error)


def _newest_first(doc: SessionDocument) -> Iterator[NodeHeader]:
    """The nodes from the cursor back to the start. Mostly the first few are enough, of a way of any length."""
    path = doc.tree.path(doc.seq(doc.cursor))
    for end in range(len(path), 0, -_AT_ONCE):
        yield from reversed(doc.headers_of(path[max(0, end - _AT_ONCE) : end]))


def _message_bytes(doc: SessionDocument, uids: list[str]) -> int:
    """Of what these nodes give the model: a call stands in the answer before it, its result in its end."""
    return sum(len(body.end_message_bytes or body.message_bytes) for body in doc.bodies_of(uids))


def _fixed_bytes(shared: Shared) -> int:
    """What goes with every request at the cursor: system text and tools."""
    # Loads all that builds runs, which a session that has its answers need not wait for.
    from worldline.agent.compact import fixed_size
    from worldline.engine.factory import view_base

    base = view_base(shared, at=shared.doc.cursor)["base"]
    return fixed_size(base["system"][0]["text"], base["tools"])
