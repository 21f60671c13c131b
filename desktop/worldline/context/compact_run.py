"""Make room in a conversation: ask for a summary, judge it, and fall back. Stores nothing.

Cancelling changes nothing: the result is only handed back when it is whole, and the caller stores it as one node.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from worldline.context.budget import Limits
from worldline.context.compact_text import (
    SYSTEM,
    appendix,
    files_of,
    requests_of,
    summary_request,
)
from worldline.context.compaction import (
    KEEP_TOKENS,
    Plan,
    Trigger,
    accept_summary,
    keep_budget,
    plan_compaction,
    verify,
)
from worldline.context.model import PathNode, ViewOptions
from worldline.context.select import SUMMARIES, select
from worldline.context.texts import SUMMARY_HEAD, TRUNCATED
from worldline.context.view import build_view
from worldline.core.kinds import NodeKind, Outcome
from worldline.session.model import NodeDraft

MOST_TRIES = 2
SUMMARY_TOKENS = 8_000


@dataclass(slots=True, frozen=True)
class SummaryAnswer:
    """What came of a summary request. `failure` is a sentence for people; then the rest is void."""

    text: str = ""
    stop_reason: str = ""
    failure: str = ""
    model: str = ""


Ask = Callable[[str, list[dict[str, Any]], int], Awaitable[SummaryAnswer]]
"""(system, messages, max_tokens) → answer. Never raises but for cancellation; retries and fallback are inside."""


@dataclass(slots=True)
class Compacted:
    """The outcome of one attempt to make room."""

    draft: NodeDraft | None
    """The node to store; None = nothing is to be stored."""
    tokens_before: int
    tokens_after: int
    notes: list[str] = field(default_factory=list)
    """Sentences for the person: why a summary was refused, that the conversation was truncated."""
    truncated: bool = False
    nothing_to_do: bool = False
    """Everything is within what would be kept anyway."""
    fits: bool = True
    """False: even so the request is over the trigger; the run ends with `context_limit`."""
    asked: int = 0


async def compact(
    path: Sequence[PathNode],
    options: ViewOptions,
    limits: Limits,
    *,
    ask: Ask,
    fixed_tokens: int = 0,
    scale: float = 1.0,
    task_state: dict[str, Any] | None = None,
    instructions: str = "",
    trigger: Trigger = "auto",
    keep_tokens: int = KEEP_TOKENS,
) -> Compacted:
    """Summarise the older part of the view of `path`.

    `fixed_tokens`: system text and tools. `scale`: true tokens per estimated token, known after a server has counted
    or refused. At most two summaries are asked for; if neither can be used the conversation is truncated, marked as
    such. The outcome is judged by whether the next request fits.
    """
    before = int(build_view(path, options).tokens * scale) + fixed_tokens
    keep = int(keep_budget(limits, keep_tokens) / scale)
    if trigger == "overflow":
        keep //= 2
    plan = plan_compaction(path, options, keep)
    if plan is None and before > limits.trigger and keep > 1_000:
        plan = plan_compaction(path, options, 1_000)
    if plan is None:
        return Compacted(None, before, before, nothing_to_do=True, fits=before <= limits.trigger)
    outcome = Compacted(None, before, before)
    by_uid = {node.uid: node for node in path}
    covered = [by_uid[uid] for uid in plan.covers]
    extra = _word_for_word(path, options, set(plan.keeps), task_state)
    text = await _summary(covered, plan, limits, ask, task_state, instructions, outcome)
    head = SUMMARY_HEAD if text else TRUNCATED
    whole = "\n\n".join(part for part in (head, text, extra) if part)
    detail: dict[str, Any] = {
        "summary": whole,
        "kept_from": plan.kept_from,
        "covers": [plan.covers[0], plan.covers[-1]],
        "steps": len(plan.covers),
        "trigger": trigger,
        "tokens_before": before,
    }
    if not text:
        detail["truncated"] = True
        outcome.truncated = True
        outcome.notes.append(
            "No usable summary could be made: the earlier conversation is left out, marked as such."
        )
    verify(path, options, plan)
    outcome.tokens_after = int(_view_after(path, options, detail) * scale) + fixed_tokens
    if outcome.tokens_after > limits.trigger and plan.keeps:
        _keep_less(path, options, plan, detail, outcome, scale, fixed_tokens)
    detail["tokens_after"] = outcome.tokens_after
    outcome.fits = outcome.tokens_after <= limits.trigger
    if outcome.tokens_after >= before:
        outcome.notes.append("Compacting would not make the conversation smaller, so nothing was changed.")
        outcome.tokens_after = before
        outcome.fits = before <= limits.trigger
        return outcome
    outcome.draft = NodeDraft(
        NodeKind.COMPACTION,
        path[-1].uid,
        detail=detail,
        preview=_preview(plan, outcome),
        outcome=Outcome.OK,
        search_text=text,
    )
    return outcome


def _word_for_word(
    path: Sequence[PathNode], options: ViewOptions, kept: set[str], task_state: dict[str, Any] | None
) -> str:
    """Requests, files and plan, from the originals: they are on the path, however often it has been compacted, so
    no compaction has to carry a copy of what an earlier one said. What the person left out stays out."""
    everything = replace(options, expand=options.expand | {n.uid for n in path if n.kind in SUMMARIES})
    nodes = [
        item.node
        for item in select(path, everything).items
        if item.node.uid not in kept and item.text is None and not item.reason
    ]
    return appendix(requests_of(nodes), files_of(nodes), task_state)


async def _summary(
    covered: list[PathNode],
    plan: Plan,
    limits: Limits,
    ask: Ask,
    task_state: dict[str, Any] | None,
    instructions: str,
    outcome: Compacted,
) -> str:
    """An accepted summary, or "". The second try sends half as much: the first may have been refused for its size."""
    room = limits.window - SUMMARY_TOKENS - 4_000
    limit = max(4_000, min(plan.tokens_covered * 7 // 2, room * 2))
    for attempt in range(MOST_TRIES):
        messages = summary_request(
            covered, limit >> attempt, task_state=task_state, instructions=instructions
        )
        outcome.asked += 1
        answer = await ask(SYSTEM, messages, min(SUMMARY_TOKENS, limits.max_output))
        why = answer.failure or accept_summary(answer.text, answer.stop_reason, plan.tokens_covered)
        if not why:
            return answer.text.strip()
        outcome.notes.append(f"Summary {attempt + 1} of {MOST_TRIES} cannot be used: {why}.")
    return ""


def _view_after(path: Sequence[PathNode], options: ViewOptions, detail: dict[str, Any]) -> int:
    trial = PathNode("\0trial", NodeKind.COMPACTION, Outcome.OK, None, detail=detail)
    return build_view([*path, trial], options).tokens


def _keep_less(
    path: Sequence[PathNode],
    options: ViewOptions,
    plan: Plan,
    detail: dict[str, Any],
    outcome: Compacted,
    scale: float,
    fixed_tokens: int,
) -> None:
    """Still too long: let go of the kept part as well, if that is what helps. It is marked: the summary does not
    know of it."""
    smaller = {**detail, "kept_from": "", "covers": [plan.covers[0], plan.keeps[-1]]}
    smaller["steps"] = len(plan.covers) + len(plan.keeps)
    by_uid = {node.uid: node for node in path}
    kept = [by_uid[uid] for uid in plan.keeps]
    more = appendix(requests_of(kept), files_of(kept), None)
    smaller["summary"] = "\n\n".join(part for part in (detail["summary"], TRUNCATED, more) if part)
    after = int(_view_after(path, options, smaller) * scale) + fixed_tokens
    if after >= outcome.tokens_after:
        return
    whole = Plan([*plan.covers, *plan.keeps], [], plan.tokens_covered + plan.tokens_kept, 0)
    verify(path, options, whole)
    detail.clear()
    detail.update(smaller)
    outcome.tokens_after = after
    outcome.truncated = True
    outcome.notes.append("The newest steps did not fit either and are left out, marked as such.")


def _preview(plan: Plan, outcome: Compacted) -> str:
    what = "Truncated" if outcome.truncated else "Summarised"
    steps = "1 step" if len(plan.covers) == 1 else f"{len(plan.covers)} steps"
    return f"{what} {steps}: {outcome.tokens_before:,} → {outcome.tokens_after:,} tokens"
