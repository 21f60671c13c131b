"""Making room in the context, a bounded number of times. What is stored is one node, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from worldline.agent.deps import ModelPort, RunDeps, RunSettings
from worldline.agent.journal import Journal, text_of
from worldline.agent.stops import Stopped
from worldline.context.budget import BYTES_PER_TOKEN, Budget, Limits, measure
from worldline.context.compact_run import Compacted, SummaryAnswer, compact
from worldline.context.compaction import Guard, Trigger
from worldline.context.model import PathNode, View, ViewOptions
from worldline.core.jsontext import dumps
from worldline.core.stop import StopReason
from worldline.provider.model import FallbackEvent, ModelRequest, RetryEvent, StreamEvent
from worldline.tools.model import TaskState

UNKNOWN_WINDOW = 200_000
"""For a model of which nothing is known. Too small only compacts early; too large is found out by a refusal."""


@dataclass(slots=True)
class Compactor:
    journal: Journal
    deps: RunDeps
    settings: RunSettings
    model: ModelPort
    task: TaskState
    window: int
    """Of the model, in tokens; 0 = not known."""
    fixed_bytes: int
    """System text and tools, as JSON."""
    guard: Guard = field(default_factory=Guard)

    def __post_init__(self) -> None:
        self.guard = Guard.from_json(self.task.variables.get("compaction"))
        self.guard.person_acted()  # a run begins with something the person did

    @property
    def limits(self) -> Limits:
        return Limits(self.window or UNKNOWN_WINDOW, max_output=self.settings.max_tokens)

    def budget(self, path: Sequence[PathNode], view: View) -> Budget:
        return measure(view, self.limits, path=path, fixed_bytes=self.fixed_bytes)

    def answered(self) -> None:
        self.guard.answered()

    async def make_room(
        self,
        path: Sequence[PathNode],
        view: View,
        options: ViewOptions,
        trigger: Trigger,
        turn: int,
        why: str = "",
        instructions: str = "",
    ) -> bool:
        """Compact if there is need. True = the path has a new node. Raises Stopped `context_limit` when the request
        cannot be made to fit."""
        budget = self.budget(path, view)
        if trigger == "auto" and not (self.settings.auto_compact and budget.over):
            return False
        refused = self.guard.refuse(turn, path[-1].kind if path else None, trigger)
        if refused:
            self._no_room(refused, budget, trigger, why)
            return False
        self.deps.watcher.working("Compacting the conversation.", "compacting")
        estimate = view.tokens + int(self.fixed_bytes / BYTES_PER_TOKEN)
        outcome = await compact(
            path,
            options,
            self.limits,
            ask=self._ask,
            fixed_tokens=int(self.fixed_bytes / BYTES_PER_TOKEN),
            scale=max(1.0, budget.tokens / estimate) if estimate else 1.0,
            task_state=self.task.to_json(),
            instructions=instructions,
            trigger=trigger,
        )
        return self._take(outcome, budget, trigger, turn, why)

    def _take(self, outcome: Compacted, budget: Budget, trigger: Trigger, turn: int, why: str) -> bool:
        fixed = int(self.fixed_bytes / BYTES_PER_TOKEN)
        if outcome.draft is None:
            for note in outcome.notes:
                self.journal.diagnose("compaction", note, node=self.journal.tip)
            if trigger == "manual":
                if outcome.nothing_to_do:
                    self.journal.diagnose(
                        "compaction", "There is nothing to compact yet.", node=self.journal.tip
                    )
                return False
            self._no_room(self.guard.no_room(outcome.tokens_after, self.limits, fixed), budget, trigger, why)
            return False
        notice = self.guard.done(turn, trigger, outcome.tokens_after, self.limits, fixed)
        self.task.variables["compaction"] = self.guard.to_json()
        outcome.draft.parent = self.journal.tip
        outcome.draft.task_state = self.task.to_json()
        header = self.journal.append(outcome.draft)
        data = {"before": outcome.tokens_before, "after": outcome.tokens_after, "trigger": trigger}
        self.journal.diagnose("compaction", header.preview, node=header.uid, data=data)
        for note in (*outcome.notes, *([notice] if notice else [])):
            self.journal.diagnose("compaction", note, node=header.uid)
        if not outcome.fits and trigger == "overflow":
            raise Stopped(
                StopReason.CONTEXT_LIMIT, notice or "The conversation is longer than the model can read."
            )
        return True

    def _no_room(self, sentence: str, budget: Budget, trigger: Trigger, why: str) -> None:
        self.task.variables["compaction"] = self.guard.to_json()
        if trigger == "auto" and budget.fits:
            self.journal.diagnose("compaction", sentence, node=self.journal.tip)
            # It is said once; until the person acts, what still fits is sent as it is.
            self.settings.auto_compact = False
            return
        if trigger == "manual":
            self.journal.diagnose("compaction", sentence, node=self.journal.tip)
            return
        raise Stopped(StopReason.CONTEXT_LIMIT, f"{why} {sentence}".strip())

    async def _ask(self, system: str, messages: list[dict[str, Any]], max_tokens: int) -> SummaryAnswer:
        def listen(event: StreamEvent | RetryEvent | FallbackEvent) -> None:
            if isinstance(event, RetryEvent):
                self.deps.watcher.retrying(event)

        answer = await self.model.ask(
            ModelRequest(self.settings.endpoint(), system, messages, [], max_tokens=max_tokens),
            listen,
            chain=self.settings.chain,
            retry_now=self.deps.retry_now,
        )
        self.deps.watcher.retrying(None)
        exchange = answer.exchange
        self.deps.watcher.used(exchange.usage, exchange.model or answer.asked_model)
        if answer.failure is not None:
            return SummaryAnswer(failure=answer.failure.sentence)
        return SummaryAnswer(text_of(exchange.blocks), exchange.stop_reason, model=exchange.model)


def fixed_size(system: str, tools: list[dict[str, Any]]) -> int:
    return len(dumps(system)) + len(dumps(tools))
