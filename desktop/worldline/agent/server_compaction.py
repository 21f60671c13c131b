"""Compaction by the server: it reads the request as it is and answers with one signed block that stands for all of it.

The block is kept byte for byte: what the model thinks after it stays valid only behind exactly that block.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from worldline.agent.deps import ModelPort, RunDeps
from worldline.context.blocks import token_estimate
from worldline.context.budget import Limits
from worldline.context.compact_run import Compacted
from worldline.context.compact_text import appendix, files_of, requests_of
from worldline.context.compaction import Trigger
from worldline.context.model import PathNode
from worldline.context.texts import SERVER_SUMMARY
from worldline.core.kinds import NodeKind, Outcome
from worldline.provider.model import FallbackEvent, ModelRequest, RetryEvent, StreamEvent
from worldline.session.model import NodeDraft


async def compact_on_server(
    path: Sequence[PathNode],
    request: ModelRequest,
    model: ModelPort,
    deps: RunDeps,
    *,
    limits: Limits,
    before: int,
    fixed_tokens: int,
    task_state: dict[str, Any] | None,
    instructions: str,
    trigger: Trigger,
) -> tuple[Compacted | None, str]:
    """What came of it, or why nothing did. Stores nothing; raises nothing but what cancelling raises."""

    def listen(event: StreamEvent | RetryEvent | FallbackEvent) -> None:
        if isinstance(event, RetryEvent):
            deps.watcher.retrying(event)

    wish = {"type": "summarize", **({"instructions": instructions} if instructions else {})}
    answer = await model.ask(
        replace(request, extra={**request.extra, "compaction": wish}),
        listen,
        chain=[],
        retry_now=deps.retry_now,
    )
    deps.watcher.retrying(None)
    exchange = answer.exchange
    if answer.failure is not None:
        return None, answer.failure.sentence
    deps.watcher.used(exchange.usage, exchange.model or answer.asked_model)
    block = next((b for b in exchange.blocks if b.get("type") == "compaction"), None)
    if exchange.stop_reason != "compaction" or block is None:
        return None, f"it answered with {exchange.stop_reason or 'no stop reason'}"
    text = block.get("content")
    if not isinstance(text, str) or not text.strip():
        return None, "its summary is empty"
    spoken = [node for node in path if node.message is not None or node.end_message is not None]
    extra = "\n\n".join(
        part for part in (SERVER_SUMMARY, appendix(requests_of(path), files_of(path), task_state)) if part
    )
    after = token_estimate(len(json.dumps(block)) + len(extra.encode()), 0, 0) + fixed_tokens
    if after >= before:
        return None, "its summary is no smaller than what it would replace"
    draft = NodeDraft(
        NodeKind.COMPACTION,
        path[-1].uid,
        message={"role": "assistant", "content": [block]},
        detail={
            "summary": text, "kept_from": "", "covers": [path[0].uid, path[-1].uid], "steps": len(spoken),
            "trigger": trigger, "tokens_before": before, "tokens_after": after, "server": True,
            "appendix": extra, "model": exchange.model or answer.asked_model,
        },
        preview=f"Summarised {'1 step' if len(spoken) == 1 else f'{len(spoken)} steps'} on the server: {before:,} → {after:,} tokens",
        outcome=Outcome.OK,
        model=exchange.model or answer.asked_model,
        usage=exchange.usage if exchange.usage.answers else None,
        search_text=text,
    )  # fmt: skip
    return Compacted(draft, before, after, fits=after <= limits.trigger), ""
