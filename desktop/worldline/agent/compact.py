"""Making room in the context, a bounded number of times. What is stored is one node, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from worldline.agent.deps import ModelPort, RunDeps, RunSettings
from worldline.agent.journal import Journal
from worldline.agent.server_compaction import compact_on_server
from worldline.agent.stops import Stopped
from worldline.agent.summaries import Summariser
from worldline.context.budget import BYTES_PER_TOKEN, Budget, Limits, measure
from worldline.context.compact_run import Compacted, compact
from worldline.context.compaction import KEEP_TOKENS, Guard, Trigger, keep_budget, next_strategy, plan_trim
from worldline.context.model import PathNode, View, ViewOptions
from worldline.context.texts import TRIMMED
from worldline.core.jsontext import dumps
from worldline.core.kinds import NodeKind
from worldline.core.stop import StopReason
from worldline.provider.model import ModelRequest
from worldline.session.model import NodeDraft
from worldline.tools.model import TaskState

UNKNOWN_WINDOW = 200_000
"""For a model of which nothing is known. Too small only compacts early; too large is found out by a refusal."""
COUNT_FROM = 0.6
"""Of the trigger: an estimate above this is checked against the server's own count."""
TRIM_TO = 0.7
"""Of the trigger: dropping old results is only worth a broken cache if it makes the context this small."""


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
    frame: Callable[[View], ModelRequest] | None = None
    """The request that a view is sent with."""
    _uncountable: bool = False
    """The server does not count."""
    _server_compacts: bool = True
    """Until it has failed to in this run."""

    def __post_init__(self) -> None:
        self.guard = Guard.from_json(self.task.variables.get("compaction"))
        self.guard.person_acted()  # a run begins with something the person did

    @property
    def limits(self) -> Limits:
        return Limits(self.window or UNKNOWN_WINDOW, max_output=self.settings.max_tokens)

    @property
    def fixed_tokens(self) -> int:
        return int(self.fixed_bytes / BYTES_PER_TOKEN)

    def budget(self, path: Sequence[PathNode], view: View) -> Budget:
        return measure(view, self.limits, path=path, fixed_bytes=self.fixed_bytes)

    def answered(self) -> None:
        self.guard.answered()

    async def counted(self, path: Sequence[PathNode], view: View) -> Budget:
        """The budget, counted by the server where that can change a decision: an estimate that comes near the limit."""
        budget = self.budget(path, view)
        near = budget.tokens > self.limits.trigger * COUNT_FROM
        if budget.source != "estimate" or not near or self._uncountable or self.frame is None:
            return budget
        tokens = await self.model.count_tokens(self.frame(view))
        self._uncountable = tokens is None
        return measure(view, self.limits, path=path, fixed_bytes=self.fixed_bytes, counted=tokens)

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
        budget = await self.counted(path, view) if trigger == "auto" else self.budget(path, view)
        if trigger == "auto" and not (self.settings.auto_compact and budget.over):
            return False
        refused = self.guard.refuse(turn, path[-1].kind if path else None, trigger)
        if refused:
            self._no_room(refused, budget, trigger, why)
            return False
        self.deps.watcher.working("Compacting the conversation.", "compacting")
        estimate = view.tokens + self.fixed_tokens
        scale = max(1.0, budget.tokens / estimate) if estimate else 1.0
        tried: list[tuple[str, int]] = []
        outcome = None
        order = ["summary"] if trigger == "manual" else ["trim", "summary"]
        if self._server_compacts and self.model.offers_compaction(self.settings.endpoint()):
            order.insert(order.index("summary"), "server")
        while strategy := next_strategy(order, tried):
            tried.append((strategy, turn))
            if strategy == "trim":
                if self._trim(path, options, budget, scale, trigger):
                    return True
            elif strategy == "server":
                outcome = await self._on_server(path, view, budget, trigger, instructions)
                if outcome is not None:
                    break
            else:
                outcome = await self._own_summary(path, options, scale, trigger, instructions)
        assert outcome is not None
        return self._take(outcome, budget, trigger, turn, why)

    def drop_results(self, path: Sequence[PathNode], options: ViewOptions) -> bool:
        """On the person's command: leave out older large tool results, however much room there is."""
        uids, freed = plan_trim(path, options, keep_budget(self.limits, KEEP_TOKENS))
        if uids:
            self._leave_out(uids, freed, "manual")
        return bool(uids)

    # -- ways to make room ------------------------------------------------------------------------------------------

    def _trim(
        self, path: Sequence[PathNode], options: ViewOptions, budget: Budget, scale: float, trigger: Trigger
    ) -> bool:
        """Leave out older large tool results, if that alone is enough for a while: what was said stays word for word.
        After a refusal only if the estimate had seen it coming: else nothing is known of how much must go."""
        uids, freed = plan_trim(path, options, int(keep_budget(self.limits, KEEP_TOKENS) / scale))
        after = budget.tokens - int(freed * scale)
        if not uids or after > self.limits.trigger * TRIM_TO or (trigger == "overflow" and not budget.over):
            return False
        if trigger == "overflow":
            self.guard.overflow_tries += 1
        self._leave_out(uids, int(freed * scale), trigger)
        return True

    def _leave_out(self, uids: list[str], freed: int, trigger: Trigger) -> None:
        self.task.variables["compaction"] = self.guard.to_json()
        sentence = (
            f"1 older tool result is left out: about {freed:,} tokens."
            if len(uids) == 1
            else f"{len(uids)} older tool results are left out: about {freed:,} tokens."
        )
        header = self.journal.append(
            NodeDraft(
                kind=NodeKind.CONTEXT_EDIT,
                parent=self.journal.tip,
                detail={"targets": uids, "replacement": TRIMMED, "trigger": trigger, "trim": True},
                preview=sentence,
                task_state=self.task.to_json(),
            )
        )
        data = {"strategy": "trim", "freed": freed, "trigger": trigger}
        self.journal.diagnose("compaction", sentence, node=header.uid, data=data)

    async def _own_summary(
        self,
        path: Sequence[PathNode],
        options: ViewOptions,
        scale: float,
        trigger: Trigger,
        instructions: str,
    ) -> Compacted:
        asker = Summariser(
            self.model, self.settings.endpoint(), self.settings.chain, self.deps.retry_now, self.deps.watcher
        )
        outcome = await compact(
            path,
            options,
            self.limits,
            ask=asker.ask,
            fixed_tokens=self.fixed_tokens,
            scale=scale,
            task_state=self.task.to_json(),
            instructions=instructions,
            trigger=trigger,
        )
        if outcome.draft is not None and asker.used.answers:
            outcome.draft.usage, outcome.draft.model = asker.used, asker.served
        return outcome

    async def _on_server(
        self, path: Sequence[PathNode], view: View, budget: Budget, trigger: Trigger, instructions: str
    ) -> Compacted | None:
        """The server's own compaction; None, with a record of why, where it comes to nothing."""
        if self.frame is None:
            return None
        outcome, why = await compact_on_server(
            path,
            self.frame(view),
            self.model,
            self.deps,
            limits=self.limits,
            before=budget.tokens,
            fixed_tokens=self.fixed_tokens,
            task_state=self.task.to_json(),
            instructions=instructions,
            trigger=trigger,
        )
        if outcome is None:
            self._server_compacts = False
            sentence = (
                f"The server could not compact the conversation ({why}); the model is asked for a summary."
            )
            self.journal.diagnose("compaction", sentence, node=self.journal.tip)
        return outcome

    # -- the outcome ------------------------------------------------------------------------------------------------

    def _take(self, outcome: Compacted, budget: Budget, trigger: Trigger, turn: int, why: str) -> bool:
        if outcome.draft is None:
            for note in outcome.notes:
                self.journal.diagnose("compaction", note, node=self.journal.tip)
            if trigger == "manual":
                if outcome.nothing_to_do:
                    self.journal.diagnose(
                        "compaction", "There is nothing to compact yet.", node=self.journal.tip
                    )
                return False
            refusal = self.guard.no_room(outcome.tokens_after, self.limits, self.fixed_tokens)
            self._no_room(refusal, budget, trigger, why)
            return False
        notice = self.guard.done(turn, trigger, outcome.tokens_after, self.limits, self.fixed_tokens)
        self.task.variables["compaction"] = self.guard.to_json()
        outcome.draft.parent = self.journal.tip
        outcome.draft.task_state = self.task.to_json()
        header = self.journal.append(outcome.draft)
        data: dict[str, Any] = {
            "before": outcome.tokens_before, "after": outcome.tokens_after, "trigger": trigger,
            "strategy": "server" if outcome.draft.detail.get("server") else "summary",
        }  # fmt: skip
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


def fixed_size(system: str, tools: list[dict[str, Any]]) -> int:
    return len(dumps(system)) + len(dumps(tools))
