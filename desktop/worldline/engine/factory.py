"""Putting a run together: model, system text, tools, policy, breaker, limits."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from worldline.agent.calls import CallRunner
from worldline.agent.capture import StateTracker
from worldline.agent.compact import Compactor, fixed_size
from worldline.agent.deps import RunDeps, RunSettings
from worldline.agent.journal import Journal
from worldline.agent.limits import Limits, Meter
from worldline.agent.loop import RunLoop
from worldline.agent.turn import TurnRunner
from worldline.context.model import ViewOptions
from worldline.context.system_prompt import PromptParts, system_prompt
from worldline.core import paths
from worldline.engine.approvals import Approvals
from worldline.engine.asks import Questions
from worldline.engine.breaker import BranchBreaker
from worldline.engine.effects import EffectList
from worldline.engine.models import ModelDesk
from worldline.engine.runs import Runs
from worldline.engine.shared import Shared
from worldline.engine.views import poisoned_blocks, view_at
from worldline.policy.secrets import mask
from worldline.protocol import commands as c
from worldline.protocol.commands import Prompt
from worldline.protocol.events import ToolOutput
from worldline.provider import catalog
from worldline.session.model import RunRecord
from worldline.tools.envelope import Envelope
from worldline.tools.hooks import Hooks, parse_hooks
from worldline.tools.mcp_client import McpServer, parse_servers, start_servers
from worldline.tools.model import TaskState, Tool, ToolContext
from worldline.tools.pipeline import Pipeline
from worldline.tools.process_table import ProcessTable
from worldline.tools.registry import default_tools
from worldline.tools.schema import tool_schemas
from worldline.workspace.model import NOT_CAPTURED, CaptureResult

_INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md")
_TOOLS_NEED = {"task": "task"}
"""Tool → the service it cannot work without."""


def usable_tools(services: dict[str, Any], more: Sequence[Tool] = ()) -> dict[str, Tool]:
    return default_tools(
        more, without=[tool for tool, service in _TOOLS_NEED.items() if service not in services]
    )


def project_instructions(root: Path) -> list[tuple[str, str]]:
    """AGENTS.md and CLAUDE.md of the workspace; a file that says the same as the one before is left out."""
    found: list[tuple[str, str]] = []
    for name in _INSTRUCTION_FILES:
        try:
            text = (root / name).read_text("utf-8", "replace")
        except OSError:
            continue
        if text.strip() and text.strip() not in {t.strip() for _, t in found}:
            found.append((name, text))
    return found


def frozen_system(shared: Shared, mode: Any, confinement: Any) -> str:
    """The system text of this branch: the one it began with, as long as the mode is the same, so that caches and
    thinking stay valid."""
    doc = shared.doc
    on_path = doc.tree
    here = doc.seq(doc.cursor)
    for record in reversed(doc.records("frozen_prompt")):
        same = record.data.get("mode") == mode and record.data.get("root") == str(shared.root)
        if same and record.node and on_path.is_ancestor(doc.seq(record.node), here):
            return str(record.data["text"])
    text = system_prompt(
        PromptParts(
            root=str(shared.root),
            mode=mode,
            platform=f"{platform.system()}, shell {Path(os.environ.get('SHELL', 'sh')).name}",
            git=f"A git repository, on branch {shared.branch.removeprefix('refs/heads/')}."
            if shared.info.is_git
            else "",
            confinement=confinement,
            instructions=project_instructions(shared.root),
            extra=shared.settings.text("instructions"),
        )
    )
    if not shared.info.read_only:
        doc.add_record(
            "frozen_prompt", {"mode": mode, "root": str(shared.root), "text": text}, node=doc.cursor
        )
    return text


def view_base(shared: Shared, model: str = "") -> dict[str, Any]:
    """Arguments for `view_at`: the request without its messages."""
    mode = shared.settings.get("mode")
    name = model or shared.settings.text("model") or catalog.DEFAULT_MODEL
    facts = catalog.facts(name)
    base = {
        "model": name,
        "max_tokens": min(facts.max_output or 32_000, 32_000),
        "system": [{"type": "text", "text": frozen_system(shared, mode, shared.status.now.sandbox)}],
        "tools": tool_schemas(usable_tools({})),
        "stream": True,
    }
    return {"model": name, "local": False, "base": base}


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
        self._servers: list[McpServer] | None = None

    def view(self, node: str) -> c.View:
        return view_at(self._shared, node, **view_base(self._shared, self._models.place().model))

    def settings_for(self, prompt: Prompt, turns: int) -> RunSettings:
        settings = self._shared.settings
        limits = Limits.from_settings(settings.get("limits") or {})
        if turns:
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
        task = TaskState.from_json(doc.task_state(doc.cursor))
        tools = usable_tools(self._services(), await self._mcp_tools(journal))
        configured, problems = parse_hooks(shared.settings.get("hooks"))
        hooks = Hooks(configured)
        for problem in problems:
            journal.diagnose("hook", problem, node=journal.tip)
        self._approvals.begin_run(settings.mode)
        deps = RunDeps(
            watcher=shared.status,
            capture=self._capture,
            deliveries=self._runs.queue.take_for_step,
            delivered=self._runs.queue.delivered,
            gate=self._runs.gate,
            retry_now=self._runs.retry_now,
            hooks=hooks,
            root=shared.root,
            prompt=prompt.text,
        )
        facts = self._models.facts(settings.model)
        schemas = tool_schemas(tools)
        system = frozen_system(shared, settings.mode, shared.status.now.sandbox)
        options = ViewOptions(model=settings.model, local=settings.local, poisoned=poisoned_blocks(shared))
        meter = Meter(settings.limits, doc.usage_total(), time.monotonic)
        turn = TurnRunner(
            journal=journal,
            deps=deps,
            settings=settings,
            model=self._models,
            system=system,
            tools=schemas,
            options=options,
            compactor=Compactor(
                journal, deps, settings, self._models, task, facts.context, fixed_size(system, schemas)
            ),
            price=self._models.price,
            context_limit=facts.context,
        )
        breaker = BranchBreaker(task.breaker, tools)
        if prompt.text:
            # Somebody said something: what went round before may be right now.
            breaker.reset()
        calls = CallRunner(
            journal=journal,
            deps=deps,
            pipeline=Pipeline(tools, self._approvals.policy, hooks, envelope=Envelope(shared.root, mask)),
            tools=tools,
            breaker=breaker,
            meter=meter,
            states=StateTracker(self._capture, doc),
            task=task,
            context=self._context(task),
            on_effects=self._effects.add,
        )
        return RunLoop(journal, turn, calls, deps, settings, meter)

    async def _mcp_tools(self, journal: Journal) -> list[Any]:
        """Tools of the configured MCP servers, started with the first run that could use them."""
        if self._servers is None:
            configs, problems = parse_servers(self._shared.settings.get("mcpServers"), "user")
            self._servers, failed = await start_servers(configs, self._shared.root)
            for problem in (*problems, *failed):
                journal.diagnose("mcp", problem, node=journal.tip)
        return [tool for server in self._servers for tool in server.tools]

    async def close(self) -> None:
        for server in self._servers or []:
            await server.stop()

    async def compact(self, instructions: str) -> None:
        """Compact the current branch on the person's command."""
        shared = self._shared
        await self._models.choose()
        loop = await self.make(RunRecord(uid="", prompt="", started=0), Prompt(text=""), 0)
        shared.status.set(state="compacting", sentence="Compacting the conversation.")
        try:
            await loop.compact(instructions)
        finally:
            shared.status.set(state="ready", sentence="")

    def _services(self) -> dict[str, Any]:
        memory = paths.data_home() / "memory" / self._shared.slug
        return {"processes": self._processes, "memory_dir": memory}

    def _context(self, task: TaskState) -> Callable[[str, str], ToolContext]:
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
                call_id=call_id, node=node, services=services,
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
