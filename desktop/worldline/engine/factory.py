"""Putting a run together: model, system text, tools, policy, breaker, limits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import replace
from typing import Any

from worldline.agent.calls import CallRunner
from worldline.agent.capture import StateTracker
from worldline.agent.compact import Compactor, fixed_size
from worldline.agent.conversation import side_start
from worldline.agent.deps import RunDeps, RunSettings
from worldline.agent.healing import remembered
from worldline.agent.journal import Journal
from worldline.agent.limits import Limits, Meter, Past, unknown_price
from worldline.agent.loop import PAUSED, RunLoop
from worldline.agent.side import SideJournal, SideLoop
from worldline.agent.turn import TurnRunner
from worldline.context.model import ViewOptions
from worldline.core import paths
from worldline.core.kinds import NodeKind
from worldline.core.secrets import mask
from worldline.core.usage import Usage
from worldline.engine.ahead import build_ahead
from worldline.engine.approvals import Approvals
from worldline.engine.breaker import BranchBreaker
from worldline.engine.effects import EffectList
from worldline.engine.frozen import frozen_system, frozen_tools
from worldline.engine.mcp import McpDesk, OfferedTool
from worldline.engine.memory_folder import adopt_notes, memory_folder
from worldline.engine.models import ModelDesk
from worldline.engine.questions import Questions
from worldline.engine.runs import Runs
from worldline.engine.shared import Shared
from worldline.engine.subagents import Parent, SubAgents, services_for
from worldline.engine.views import calls_elsewhere, poisoned_blocks, view_at
from worldline.protocol import commands as c
from worldline.protocol.commands import Prompt
from worldline.protocol.events import ToolOutput
from worldline.provider import catalog
from worldline.session.model import RunRecord
from worldline.tools.breaker import Breaker
from worldline.tools.envelope import Envelope
from worldline.tools.hooks import Hooks, parse_hooks
from worldline.tools.model import TaskState, Tool, ToolContext
from worldline.tools.pipeline import Pipeline
from worldline.tools.process_table import ProcessTable
from worldline.tools.registry import default_tools
from worldline.tools.schema import tool_schemas
from worldline.workspace.model import NOT_CAPTURED, CaptureResult

_TOOLS_NEED = {"task": "task"}
"""Tool → the service it cannot work without."""


def usable_tools(services: Container[str], more: Sequence[Tool] = ()) -> dict[str, Tool]:
    return default_tools(
        more, without=[tool for tool, service in _TOOLS_NEED.items() if service not in services]
    )


def view_base(shared: Shared, model: str = "", at: str = "") -> dict[str, Any]:
    """Arguments for `view_at`: the request at the node `at` without its messages."""
    mode = shared.settings.get("mode")
    name = model or shared.settings.text("model") or catalog.DEFAULT_MODEL
    facts = catalog.facts(name)
    node = at or shared.doc.cursor
    services = () if side_start(shared.doc, node) else ("task",)
    tools = usable_tools(services, [OfferedTool(entry, None) for entry in frozen_tools(shared, node)])
    base = {
        "model": name,
        "max_tokens": min(facts.max_output or 32_000, 32_000),
        "system": [{"type": "text", "text": frozen_system(shared, mode, shared.status.now.sandbox, at=node)}],
        "tools": tool_schemas(tools),
        "stream": True,
    }
    return {"model": name, "local": False, "base": base}


def past_of(shared: Shared) -> Past:
    """What this session has used, in steps and time; imported steps were not made here."""
    tree, runs = shared.doc.tree, shared.doc.runs()
    paused = sum(float(r.data["seconds"]) for r in shared.doc.records(PAUSED))
    kinds = [tree.kind(seq) for seq in range(1, len(tree) + 1)]
    return Past(
        turns=kinds.count(NodeKind.ASSISTANT),
        tool_calls=kinds.count(NodeKind.TOOL),
        seconds=max(0.0, sum(r.ended - r.started for r in runs if r.ended) / 1000 - paused),
    )


class LoopMaker:
    """Makes the loop of a run, ready to go."""

    def __init__(
        self,
        shared: Shared,
        models: ModelDesk,
        approvals: Approvals,
        questions: Questions,
        effects: EffectList,
        processes: ProcessTable,
        runs: Runs,
    ) -> None:
        self._shared = shared
        self._models = models
        self._approvals = approvals
        self._questions = questions
        self._effects = effects
        self._processes = processes
        self._runs = runs
        self._mcp = McpDesk(shared, approvals)
        self._started = False
        self._told: set[str] = set()

    def view(self, node: str) -> c.View:
        return view_at(
            self._shared,
            node,
            **view_base(self._shared, self._models.place().model, self._shared.doc.resolve(node)),
        )

    def settings_for(self, prompt: Prompt, turns: int) -> RunSettings:
        settings = self._shared.settings
        limits = Limits.from_settings(settings.get("limits") or {})
        if turns:
            limits = limits.for_the_run_alone()
            limits.turns = turns
        place = self._models.place(prompt.model)
        facts = self._models.facts(place.model)
        return RunSettings(
            mode=prompt.mode or settings.get("mode"),
            model=place.model,
            effort=prompt.effort or settings.text("effort"),
            base_url=place.base_url,
            local=place.local,
            chain=self._models.chain(place.model),
            max_tokens=min(facts.max_output or 32_000, 32_000),
            limits=limits,
            auto_compact=bool(settings.get("auto_compact")),
        )

    async def make(self, run: RunRecord, prompt: Prompt, turns: int) -> RunLoop:
        shared = self._shared
        await self._models.choose()
        settings = self.settings_for(prompt, turns)
        shared.status.set(asked_model=settings.model, model=settings.model, fallback_why="")
        doc = shared.doc
        journal = shared.journal(run.uid)
        self._approvals.begin_run(settings.mode)
        more = await self._mcp.tools(journal)
        task = TaskState.from_json(doc.task_state(doc.cursor))
        configured, problems = parse_hooks(shared.settings.get("hooks"))
        for problem in problems:
            journal.diagnose("hook", problem, node=journal.tip)
        note = self._say_price(journal, settings)
        deps = RunDeps(
            watcher=shared.status,
            capture=self._capture,
            deliveries=self._runs.queue.take_for_step,
            delivered=self._runs.queue.delivered,
            gate=self._runs.gate,
            retry_now=self._runs.retry_now,
            hooks=Hooks(configured),
            root=shared.root,
            stirred=self._stirred,
            meanwhile=shared.meanwhile,
            waiting=lambda: bool(self._questions.open) or self._approvals.waiting(),
            session_starts=not self._started and bool(run.uid),
            prompt=prompt.text,
            note=note,
        )
        if deps.session_starts:
            await self._adopt_notes(journal)
        self._started = self._started or bool(run.uid)
        meter = Meter(settings.limits, doc.usage_total(), deps.gate.now, past_of(shared))
        services = set(self._services()) | ({"task"} if not side_start(doc, doc.cursor) else set())
        tools = usable_tools(services, more)
        system = frozen_system(shared, settings.mode, shared.status.now.sandbox)
        agents = SubAgents(
            shared,
            Parent(run.uid, settings, deps, meter, task),
            lambda *parts: self._build_side(usable_tools((), more), *parts),
        )
        if prompt.text:
            # Somebody said something: what went round before may be right now.
            Breaker(task.breaker).reset()
        turn, calls = self._parts(journal, settings, deps, meter, task, tools, system, agents)
        loop = RunLoop(journal, turn, calls, deps, settings, meter)
        agents.outer_end = lambda: loop.why
        return loop

    async def _adopt_notes(self, journal: Journal) -> None:
        """Once for a session of an older version, which kept its notes for itself."""
        folder = memory_folder(self._shared.info.root)
        try:
            moved = await asyncio.to_thread(adopt_notes, self._shared.slug, folder)
        except OSError as error:
            said = f"Notes of this session could not be moved to those of the project: {error.strerror or error}."
        else:
            said = f"Notes of this session that belong to the project now: {moved}." if moved else ""
        if said:
            journal.diagnose("memory", said, node=journal.tip)

    def _say_price(self, journal: Journal, settings: RunSettings) -> str:
        """Tell, once for each model and limit, that a limit in dollars is kept by tokens."""
        one = Usage(input_tokens=1, answers=1)
        known = self._models.price(one, settings.model).cost is not None
        note = "" if known or not journal.run else unknown_price(settings.limits, settings.model)
        self._shared.status.limit_note = note
        if note and note not in self._told:
            self._told.add(note)
            self._shared.status.set(cost_note=note)
            journal.diagnose("price_unknown", note, node=journal.tip)
        return note

    def _build_side(
        self, tools: dict[str, Tool], journal: SideJournal, settings: RunSettings, deps: RunDeps, meter: Meter,
        task: TaskState, role: str,
    ) -> SideLoop:  # fmt: skip
        shared = self._shared
        # Agents at work beside one another change the same files: what changes there is not the person's.
        deps = replace(deps, stirred=_never, meanwhile=None)
        system = frozen_system(shared, settings.mode, shared.status.now.sandbox, at=journal.tip, role=role)
        turn, calls = self._parts(journal, settings, deps, meter, task, tools, system, None)
        return SideLoop(journal, turn, calls, deps, settings, meter)

    def _parts(
        self, journal: Journal, settings: RunSettings, deps: RunDeps, meter: Meter, task: TaskState,
        tools: dict[str, Tool], system: str, agents: SubAgents | None,
    ) -> tuple[TurnRunner, CallRunner]:  # fmt: skip
        """What asks the model and what runs its calls, for the branch at the journal's tip."""
        shared, doc = self._shared, self._shared.doc
        facts = self._models.facts(settings.model)
        schemas = tool_schemas(tools)
        turn = TurnRunner(
            journal=journal,
            deps=deps,
            settings=settings,
            model=self._models,
            system=system,
            tools=schemas,
            options=self._options(settings.model, settings.local, journal.tip),
            compactor=Compactor(
                journal, deps, settings, self._models, task, facts.context, fixed_size(system, schemas)
            ),
            memory=shared.memory,
            price=self._models.price,
            context_limit=facts.context,
        )  # fmt: skip
        calls = CallRunner(
            journal=journal,
            deps=deps,
            pipeline=Pipeline(
                tools,
                self._approvals.policy,
                deps.hooks,
                envelope=Envelope(shared.root, mask, hidden=(paths.data_home(),)),
            ),
            tools=tools,
            breaker=BranchBreaker(task.breaker, tools),
            meter=meter,
            states=StateTracker(self._capture, doc, journal.tip),
            task=task,
            context=self._context(task, agents),
            on_effects=self._effects.add,
            copies=self._approvals.sandbox.copies,
        )
        return turn, calls

    def _options(self, model: str, local: bool, tip: str) -> ViewOptions:
        shared = self._shared
        return ViewOptions(
            model=model, local=local, poisoned=poisoned_blocks(shared), forked_calls=calls_elsewhere(shared, tip)
        )  # fmt: skip

    async def build_ahead(self, wanted: Callable[[], bool]) -> None:
        """Have the view at the cursor ready for the first message, see `engine.ahead`."""
        shared = self._shared
        if not len(shared.doc.tree):
            return
        place = self._models.place()
        options = remembered(shared.doc, self._options(place.model, place.local, shared.doc.cursor))
        await build_ahead(shared, options, wanted)

    async def close(self) -> None:
        await self._mcp.close()

    async def compact(self, instructions: str, how: str = "summary") -> None:
        """Compact the current branch on the person's command."""
        shared = self._shared
        await self._models.choose()
        loop = await self.make(RunRecord(uid="", prompt="", started=0), Prompt(text=""), 0)
        shared.status.set(state="compacting", sentence="Compacting the conversation.")
        try:
            await loop.compact(instructions, how)
        finally:
            shared.status.set(state="ready", sentence="")

    async def _stirred(self) -> bool:
        """Without a watcher every look would be a walk through all files: then it is not taken before each step."""
        work = self._shared.work
        return work is not None and await work.call(lambda workspace: workspace.stirred)

    def _services(self) -> dict[str, Any]:
        return {
            "processes": self._processes,
            "memory_dir": memory_folder(self._shared.info.root),
            "may_not_read": self._approvals.gate.may_not_read,
        }

    def _context(self, task: TaskState, agents: SubAgents | None) -> Callable[[str, str], ToolContext]:
        shared = self._shared
        services = self._services()

        def context(call_id: str, node: str) -> ToolContext:
            async def ask(text: str, choices: list[str], multiple: bool) -> str:
                return await self._questions.ask(node, text, choices, multiple)

            def emit(text: str, stream: str) -> None:
                shared.emit(
                    "tool_output",
                    ToolOutput(node=node, text=text, stream="err" if stream == "err" else "out"),
                )

            return ToolContext(
                root=shared.root, state=task, emit=emit, runner=self._approvals.runner(self._processes, node, task.grants), ask=ask,
                call_id=call_id, node=node,
                services=services if agents is None else services | services_for(agents, node),
            )  # fmt: skip

        return context

    @property
    def _capture(self) -> Callable[[str | None, str], Awaitable[CaptureResult]]:
        work = self._shared.work
        if work is not None:
            return work.capture

        async def nothing(parent: str | None, label: str) -> CaptureResult:
            return CaptureResult(
                state=NOT_CAPTURED, changed=False, error="This session has no files of its own."
            )

        return nothing


async def _never() -> bool:
    return False
