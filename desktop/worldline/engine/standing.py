"""What the window shows of a session that nothing runs in: how it was left, and how full the context is at the cursor."""

from __future__ import annotations

from worldline.core.kinds import NodeKind, Outcome
from worldline.engine.shared import Shared

_BYTES_PER_TOKEN = 3.5
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
    """Estimate what a request at the cursor holds, from headers and the usage of the last answer, reading no bodies; without
    such usage the system text and the tools are counted in. The next request is measured exactly."""
    doc = shared.doc
    path = doc.headers_of(doc.tree.path(doc.seq(doc.cursor)))
    headers = [h for h in path if h.kind not in _NOT_SENT]
    start = next((at for at in range(len(headers) - 1, -1, -1) if headers[at].kind in _RESETS), 0)
    size = sum(h.size for h in headers[start:])
    counted: float | None = None
    after = 0
    for header in reversed(headers[start:]):
        if header.kind in _RESETS:
            break
        if header.kind is NodeKind.ASSISTANT and header.outcome not in _BROKEN_OFF:
            usage = doc.usage(header.uid)
            if usage.context_tokens:
                counted = usage.context_tokens + usage.output_tokens + after / _BYTES_PER_TOKEN
                break
        after += header.size
    if counted is None and headers:
        size += _fixed_bytes(shared)
    tokens = size / _BYTES_PER_TOKEN if counted is None else counted
    shared.status.set(context_tokens=int(tokens), context_bytes=size)


def _fixed_bytes(shared: Shared) -> int:
    """What goes with every request at the cursor: system text and tools."""
    # Loads all that builds runs, which a session that has its answers need not wait for.
    from worldline.agent.compact import fixed_size
    from worldline.engine.factory import view_base

    base = view_base(shared, at=shared.doc.cursor)["base"]
    return fixed_size(base["system"][0]["text"], base["tools"])
