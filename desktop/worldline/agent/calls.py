"""The tool calls of one reply: stored when they start, run, captured, ended; in source order."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from worldline.agent.breaker import BreakerPort
from worldline.agent.capture import StateTracker
from worldline.agent.deps import RunDeps
from worldline.agent.journal import Journal, one_line
from worldline.agent.limits import Meter
from worldline.agent.onlooker import Onlooker
from worldline.agent.outputs import kept_output
from worldline.agent.stops import Stopped
from worldline.core.errors import ErrorClass, SandboxError, SessionError, ToolError
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.core.secrets import mask, mask_value
from worldline.policy.copies import Copies, SavedCopy
from worldline.policy.ledger import hard_link_effects, write_effect
from worldline.provider.model import ToolUse
from worldline.session.model import NodeDraft, NodeEnd
from worldline.tools.model import AccessRequest, TaskState, Tool, ToolContext, ToolOutcome
from worldline.tools.pipeline import Pipeline, Prepared
from worldline.workspace.model import NOT_CAPTURED


@dataclass(slots=True)
class _Running:
    call: ToolUse
    node: str
    outcome: ToolOutcome | None = None
    ended: bool = False
    begun: bool = False
    """The tool itself runs, or has run: nobody is asked any more whether it may."""
    copies: list[SavedCopy] = field(default_factory=list)
    """Of files outside the workspace, made before the tool wrote there."""


@dataclass(slots=True)
class CallRunner:
    """Runs calls for one run. Never lets a started call go without an end, also when it is cancelled."""

    journal: Journal
    deps: RunDeps
    pipeline: Pipeline
    tools: dict[str, Tool]
    breaker: BreakerPort
    meter: Meter
    states: StateTracker
    task: TaskState
    context: Callable[[str, str], ToolContext]
    """(call id, node) → what the tool may use."""
    on_effects: Callable[[str, list[dict[str, Any]]], None]
    """(node, effects that the call reported)."""
    copies: Copies | None = None
    """Keeps what a tool is about to overwrite outside the workspace."""
    stop_outcome: Outcome = Outcome.ABORTED
    """How a call that is running ends when the run is stopped."""
    onlooker: Onlooker = field(init=False)
    _running: list[_Running] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.onlooker = Onlooker(self.journal, self.deps, self.states)

    async def run(self, calls: list[ToolUse], says: str) -> None:
        """Run all of them, or raise Stopped by a brake or the breaker. A call that never started has no node; the
        view tells the model about it."""
        pending = [[calls[i] for i in indices] for indices in self.pipeline.groups(calls)]
        while pending:
            await self.deps.gate.wait()
            if brake := self.meter.brake_for_calls():
                raise Stopped(brake.reason, brake.sentence)
            group = pending.pop(0)
            allowed = self.meter.calls_left(len(group))
            if group[allowed:]:
                pending.insert(0, group[allowed:])
                group = group[:allowed]
            self._running = []
            try:
                for call in group:
                    self._running.append(self._start(call))
                    self.meter.tool_calls += 1
                await self._run_group(says)
            except BaseException as error:
                # Cancelled, or a defect: what was started is settled before anything else happens.
                await self._settle(error)
                raise
            if stop := self.breaker.verdict():
                raise Stopped(stop.reason, stop.sentence)

    def _start(self, call: ToolUse) -> _Running:
        value, masked = mask_value(call.input)
        stored: dict[str, Any] = {"id": call.id, "name": call.name, "input": value}
        if call.error or not call.input:
            stored["raw"], more = mask(call.raw)
            masked += more
        preview, _ = mask(call_preview(call, 2000))
        header = self.journal.append(
            NodeDraft(
                kind=NodeKind.TOOL,
                parent=self.journal.tip,
                detail={"call": stored},
                preview=one_line(preview),
                outcome=Outcome.RUNNING,
                flags=NodeFlag.SECRET_MASKED if masked else NodeFlag.NONE,
                tool=call.name,
                search_text=preview,
            )
        )
        return _Running(call, header.uid)

    async def _run_group(self, says: str) -> None:
        running = self._running
        self.deps.watcher.working(
            f"Running {one_line(mask(call_preview(running[0].call, 2000))[0], 60)}."
            if len(running) == 1
            else f"Running {len(running)} reads."
        )
        if len(running) == 1:
            running[0].outcome = await self._execute(running[0], says)
        else:
            # All run to their end, also beside one that breaks: none is lost because of another.
            for failure in await asyncio.gather(
                *(self._keep(r, says) for r in running), return_exceptions=True
            ):
                if isinstance(failure, BaseException):
                    raise failure
        for item in running:
            assert item.outcome is not None
            await self._finish(item, item.outcome)

    async def _keep(self, item: _Running, says: str) -> None:
        item.outcome = await self._execute(item, says)

    async def _execute(self, item: _Running, says: str) -> ToolOutcome:
        context = self.context(item.call.id, item.node)

        async def on_start(prepared: Prepared) -> None:
            item.copies = await asyncio.to_thread(self._copy, prepared.request)
            if _may_write(prepared.tool):
                await self.onlooker.before_step(item.node)
            item.begun = True

        return await self.pipeline.execute(item.call, context, on_start=on_start, agent_says=says)

    def _copy(self, request: AccessRequest) -> list[SavedCopy]:
        root = request.root.resolve()
        if self.copies is None:
            return []
        return [self.copies.save(path) for path in request.writes if not path.is_relative_to(root)]

    def _outside(self, copies: list[SavedCopy], paths: list[str]) -> list[dict[str, Any]]:
        """What a tool changed outside the workspace: by an approved write, or through a second name of a file."""
        found = [entry for saved in copies if (entry := write_effect(saved)) is not None]
        return found + hard_link_effects(self.deps.root, paths)

    async def _finish(
        self, item: _Running, outcome: ToolOutcome, *, stopped: bool = False, learn: bool = True
    ) -> None:
        tool = self.tools.get(outcome.tool)
        wrote = outcome.started and (tool is None or _may_write(tool))
        advice = None if stopped or not learn else self.breaker.after(item.call, outcome)
        meanwhile = self.deps.meanwhile if wrote else None
        seen = await meanwhile.look() if meanwhile is not None else None
        after = await self.states.after(item.call.name) if wrote else None
        effects = list(outcome.result.effects) if outcome.result is not None else []
        if after is not None:
            effects += await asyncio.to_thread(self._outside, item.copies, after.paths)
        output, masked = await kept_output(self.journal.doc, outcome.result)
        outcome.masked = max(outcome.masked, masked)
        block = dict(outcome.block)
        detail = self._detail(outcome, output)
        if advice is not None:
            block = (
                with_feedback(block, advice.text)
                if advice.instead is None
                else error_block(item.call.id, advice.instead)
            )
            detail["repeated"] = advice.fact
        end = NodeEnd(
            outcome=self.stop_outcome if stopped else outcome.outcome,
            message={"role": "user", "content": [block]},
            detail=detail,
            preview=one_line(mask(f"{call_preview(item.call, 140)}  {outcome.summary}".rstrip())[0]),
            flags=outcome.flags
            | (NodeFlag.SECRET_MASKED if masked else NodeFlag.NONE)
            | (NodeFlag.REPAIR if outcome.repairs else NodeFlag.NONE),
            task_state=self.task.to_json(),
        )
        if outcome.result is not None:
            end.flags |= outcome.result.flags
        if effects:
            end.flags |= NodeFlag.EFFECT
            if any(effect.get("reversibility", "irreversible") != "undoable" for effect in effects):
                end.flags |= NodeFlag.IRREVERSIBLE  # no jump takes it back, though a counter move may exist
        if after is not None:
            self.states.describe(after, end)
        with self.journal.doc.transaction():
            header = self.journal.store_end(item.node, end)
            if meanwhile is not None and seen is not None and end.state != NOT_CAPTURED:
                meanwhile.settle(seen)
        item.ended = True
        self.journal.announce_end(header)
        for repair in outcome.repairs:
            self.journal.diagnose("repair", repair, node=item.node)
        for note in outcome.notes:
            self.journal.diagnose("hook", note, node=item.node)
        if advice is not None:
            self.journal.diagnose("breaker", advice.text, node=item.node)
        if outcome.masked:
            self.journal.diagnose("secret_masked", f"{outcome.masked} secrets were masked.", node=item.node)
        if effects:
            self.on_effects(item.node, effects)
        if end.files:
            self.deps.watcher.files_changed(item.node)

    def _detail(self, outcome: ToolOutcome, output: Any) -> dict[str, Any]:
        detail: dict[str, Any] = dict(outcome.result.detail) if outcome.result else {}
        detail["input"], masked = mask_value(outcome.input)
        if masked:
            detail["masked_input"] = masked
        if outcome.summary:
            detail["summary"] = outcome.summary
        if outcome.error is not None:
            detail["error"] = outcome.error.as_result()["error"]
        if outcome.repairs:
            detail["repairs"] = outcome.repairs
        if outcome.attempts:
            detail["attempts"] = outcome.attempts
        if output is not None:
            detail["output"] = output
        return detail

    async def _settle(self, cause: BaseException) -> None:
        """Give every started call an end. A session that cannot be written is left as it is: the next start shows
        these calls as interrupted."""
        if isinstance(cause, SessionError):
            return
        cancelled = isinstance(cause, asyncio.CancelledError)
        for item in self._running:
            if item.ended:
                continue
            if item.outcome is not None:
                await self._finish(item, item.outcome)
                continue
            if cancelled and not item.begun:
                # Whatever ended the run: a call that nobody began has not been interrupted, and does not wait.
                outcome = refused(item.call, _not_begun(), Outcome.ABORTED)
                await self._finish(item, outcome, learn=False)
                continue
            ended = Outcome.ABORTED if cancelled else Outcome.FAILED
            outcome = refused(item.call, _unfinished(cause), ended)
            outcome.started = True
            await self._finish(item, outcome, stopped=cancelled)


def _not_begun() -> ToolError:
    """What the model is told of a call that was stopped while it waited for its turn or for the person."""
    return ToolError(
        error_class=ErrorClass.ENVIRONMENT, type="not_run",
        message="This call was not run: the run ended before it could begin.",
        next="Make it again when it is still needed.",
    )  # fmt: skip


def _unfinished(cause: BaseException) -> ToolError:
    """What the model is told of a call that had started when `cause` ended the run."""
    if isinstance(cause, asyncio.CancelledError):
        return ToolError(
            error_class=ErrorClass.ENVIRONMENT, type="cancelled",
            message="This call was stopped before it finished; what it did by then stays.",
            next="Check what is there before you do it again.",
        )  # fmt: skip
    if isinstance(cause, SandboxError):
        return ToolError(
            error_class=ErrorClass.ENVIRONMENT, type="not_run",
            message="This command was not run: the run ended before it could begin.",
            next="Run it when it is still needed.",
        )  # fmt: skip
    return ToolError(
        error_class=ErrorClass.SYSTEM, type="internal_error",
        message="The tool broke; this is a fault of the program and not of the call.",
        next="Do not try the same call again.",
    )  # fmt: skip


def _may_write(tool: Tool) -> bool:
    return tool.changes_files or tool.access not in ("read", "ask")


def refused(call: ToolUse, error: ToolError, outcome: Outcome = Outcome.FAILED) -> ToolOutcome:
    """The outcome of a call that never reached its tool."""
    block = error_block(call.id, error)
    return ToolOutcome(
        call_id=call.id, tool=call.name, block=block, outcome=outcome, input=call.input, error=error,
        summary=error.type.replace("_", " "),
    )  # fmt: skip


def error_block(call_id: str, error: ToolError) -> dict[str, Any]:
    text = json.dumps(error.as_result(), ensure_ascii=False)
    return {
        "type": "tool_result",
        "tool_use_id": call_id,
        "is_error": True,
        "content": [{"type": "text", "text": text}],
    }


def with_feedback(block: dict[str, Any], feedback: str) -> dict[str, Any]:
    content = block.get("content", [])
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    return {**block, "content": [*blocks, {"type": "text", "text": feedback}]}


def call_preview(call: ToolUse, limit: int = 180) -> str:
    """`bash pytest -q`, `edit src/a.py`: the name and the argument that says most."""
    for key in ("command", "path", "file_path", "pattern", "query", "url", "text", "question"):
        value = call.input.get(key)
        if isinstance(value, str) and value:
            return one_line(f"{call.name} {value}", limit)
    return one_line(call.name or "(no name)", limit)
