"""The one way of every call: known tool → strict JSON → repair → validation → business check → hooks → policy →
(the loop stores "started") → run → result.

`prepare` does everything up to the policy's answer, without an effect; `run` does the rest. Between the two the
loop makes the call durable. `execute` joins them. Exactly one `ToolOutcome` comes back for each call; the only
exceptions are `asyncio.CancelledError`, `ToolDefect` and `SandboxError`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rapidfuzz import fuzz, process

from worldline.core.errors import ErrorClass, SandboxError, ToolError, ToolFailure
from worldline.core.kinds import NodeFlag, Outcome
from worldline.tools.arguments import json_failure, kind_of, parse_raw, repair
from worldline.tools.breaker import Breaker
from worldline.tools.envelope import Envelope
from worldline.tools.hooks import Hooks
from worldline.tools.model import (
    AccessRequest,
    Policy,
    Tool,
    ToolCall,
    ToolContext,
    ToolDefect,
    ToolOutcome,
    ToolResult,
    fail,
)
from worldline.tools.schema import legal_name

RETRY_DELAYS = (0.5, 1.0, 2.0)

_SYNONYMS = {
    "search": "grep", "search_files": "grep", "find": "glob", "find_files": "glob", "ls": "list_dir", "cat": "read",
    "open": "read", "view": "read", "read_file": "read", "create": "write", "write_file": "write",
    "create_file": "write", "str_replace": "edit", "str_replace_editor": "edit", "replace": "edit",
    "apply_patch": "edit", "shell": "bash", "run": "bash", "execute": "bash", "run_command": "bash",
    "terminal": "bash", "todo": "plan", "todowrite": "plan", "todo_write": "plan", "fetch": "web_fetch",
    "webfetch": "web_fetch", "ask": "ask_user", "question": "ask_user", "agent": "task", "multiedit": "multi_edit",
    "list": "list_dir", "list_directory": "list_dir",
}  # fmt: skip


@dataclass(slots=True)
class Prepared:
    """A call that may run. `input` is what will run, after repair and the person's edit."""

    call_id: str
    tool: Tool
    args: Any
    input: dict[str, Any]
    request: AccessRequest
    repairs: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    why: str = ""


def find_tool(name: str, names: Sequence[str]) -> tuple[str, str]:
    """The tool that `name` means and a note about the spelling; ("", "") if that is not beyond doubt."""
    if name in names:
        return name, ""
    bare = name.strip().rsplit(".", 1)[-1].rsplit(":", 1)[-1].rsplit("/", 1)[-1].strip()
    folded = bare.lower().replace("-", "_")
    found = [other for other in names if other.lower().replace("-", "_") == folded]
    if len(found) != 1:
        squeezed = folded.replace("_", "")
        found = [other for other in names if other.lower().replace("-", "").replace("_", "") == squeezed]
    if len(found) == 1 and bare:
        return found[0], f"the tool name {name!r} was taken as {found[0]!r}"
    return "", ""


def unknown_tool(name: str, names: Sequence[str]) -> ToolFailure:
    lower = {other.lower(): other for other in names}
    key = name.strip().lower()
    likely = [lower[_SYNONYMS[key]]] if _SYNONYMS.get(key, "") in lower else []
    known = {other: other for other in lower} | {
        word: real for word, real in _SYNONYMS.items() if real in lower
    }
    scored = process.extract(key[:100], list(known), scorer=fuzz.ratio, limit=3)
    likely += [lower[known[str(item[0])]] for item in scored]
    likely = list(dict.fromkeys(likely))[:3]
    return fail(
        ErrorClass.USER,
        "unknown_tool",
        f"There is no tool {name[:80]!r}." if name.strip() else "The call names no tool.",
        hint=f"Closest: {', '.join(likely)}. All tools: {', '.join(names)}."
        if names
        else "There are no tools.",
        next_=f"Call {likely[0]} instead, with its own fields." if likely else "Go on without tools.",
        candidates=likely,
    )


class Pipeline:
    """Executes the calls of one session. Tools, policy and hooks are fixed; the context comes with each call."""

    def __init__(
        self,
        tools: dict[str, Tool],
        policy: Policy,
        hooks: Hooks | None = None,
        *,
        envelope: Envelope,
        delays: Sequence[float] = RETRY_DELAYS,
    ) -> None:
        self.tools = tools
        self.policy = policy
        self.hooks = hooks or Hooks()
        self.envelope = envelope
        self.delays = tuple(delays)

    async def execute(
        self,
        call: ToolCall,
        ctx: ToolContext,
        *,
        on_start: Callable[[Prepared], Awaitable[None]] | None = None,
        agent_says: str = "",
    ) -> ToolOutcome:
        """All stages of one call. `on_start` is awaited before the tool runs; if it raises, the tool does not run."""
        prepared = await self.prepare(call, ctx, agent_says=agent_says)
        if isinstance(prepared, ToolOutcome):
            return prepared
        if on_start is not None:
            await on_start(prepared)
        return await self.run(prepared, ctx)

    async def prepare(
        self, call: ToolCall, ctx: ToolContext, *, agent_says: str = ""
    ) -> Prepared | ToolOutcome:
        """Everything before the effect. A `ToolOutcome` means that the call ended here."""
        repairs: list[str] = []
        notes: list[str] = []
        value: dict[str, Any] = {}
        name = legal_name(call.name)
        ctx.call_id = call.id
        try:
            found, note = find_tool(call.name, list(self.tools))
            if not found:
                raise unknown_tool(call.name, list(self.tools))
            if note:
                repairs.append(note)
            name, tool = found, self.tools[found]
            value, more = self._parse(call)
            repairs += more
            value, more = repair(value, tool.schema(), tool.aliases, name)
            repairs += more
            args, request = await self._check(tool, value, ctx)
            breaker = Breaker(ctx.state.breaker)
            if (again := breaker.denied_before(name, value)) is not None:
                raise ToolFailure(again)
            blocked = await self.hooks.before_tool(name, request.input, ctx.root)
            notes += blocked.notes
            if blocked.error is not None:
                raise ToolFailure(blocked.error)
            request.agent_says = request.agent_says or agent_says  # a tool may have a reason of its own
            answer = await self.policy.decide(request)
            if answer.error is not None:
                if answer.by_person:
                    breaker.denied(name, value)
                raise ToolFailure(answer.error)
            if answer.edited_input is not None:
                # What the person wrote is checked like what the model wrote, but not asked about once more.
                value = answer.edited_input
                repairs.append("the person changed the arguments")
                args, request = await self._check(tool, value, ctx)
        except ToolFailure as failure:
            return self.refused(call.id, name, value, failure.error, repairs, notes)
        return Prepared(call.id, tool, args, value, request, repairs, notes, answer.why)

    def _parse(self, call: ToolCall) -> tuple[dict[str, Any], list[str]]:
        if call.raw.strip():
            return parse_raw(call.raw)
        if not isinstance(call.input, dict):
            raise fail(
                ErrorClass.USER,
                "invalid_json",
                f"The arguments must be one JSON object, not {kind_of(call.input)}.",
                next_="Send the call again with an object.",
            )
        if call.error and not call.input:
            raise json_failure("", call.error)
        return call.input, []

    async def _check(self, tool: Tool, value: dict[str, Any], ctx: ToolContext) -> tuple[Any, AccessRequest]:
        args = tool.validate(value)
        try:
            request = await asyncio.to_thread(tool.prepare, args, ctx)
        except ToolFailure:
            raise
        except Exception as error:
            raise ToolDefect(tool.name, ctx.call_id, error) from error
        request.input = value
        return args, request

    async def run(self, prepared: Prepared, ctx: ToolContext) -> ToolOutcome:
        """Run a prepared call. Cancellation propagates after the tool has cleaned up."""
        attempts: list[str] = []
        result: ToolResult | None = None
        error: ToolError | None = None
        while True:
            try:
                if prepared.request.access in ("write", "execute"):
                    await _workspace_there(ctx)
                result = await prepared.tool.run(prepared.args, ctx)
                error = result.error
                break
            except ToolFailure as failure:
                error = failure.error
            except SandboxError:
                raise  # nobody's fault that the model could mend: the run ends
            except Exception as defect:
                raise ToolDefect(prepared.tool.name, prepared.call_id, defect) from defect
            if not (error.retryable and prepared.tool.retry_safe):
                break
            attempts.append(f"{len(attempts) + 1}: {error.type}: {error.message}")
            if len(attempts) > len(self.delays):
                error = self._exhausted(error, attempts)
                break
            await asyncio.sleep(self.delays[len(attempts) - 1])
        after = await self.hooks.after_tool(prepared.tool.name, prepared.input, ctx.root, error is None)
        return self._outcome(prepared, result, error, attempts, after.notes, after.text)

    def _exhausted(self, error: ToolError, attempts: list[str]) -> ToolError:
        return ToolError(
            error_class=error.error_class,
            type="retries_exhausted",
            message=f"{error.message} It was tried {len(attempts)} times.",
            hint=error.hint,
            next="Do not repeat the call now. Go another way, or tell the person what is not reachable.",
            details={"cause": error.type, "tried": attempts},
        )

    def _outcome(
        self,
        prepared: Prepared,
        result: ToolResult | None,
        error: ToolError | None,
        attempts: list[str],
        notes: list[str],
        hook_text: str,
    ) -> ToolOutcome:
        content = list(result.content) if result is not None else []
        if hook_text:
            content.append({"type": "text", "text": f"[hook] {hook_text}"})
        block, masked = self.envelope.block(prepared.call_id, content, error)
        if result is not None:
            masked = max(masked, self.envelope.mask_stored(result))
        flags = result.flags if result is not None else NodeFlag.NONE
        flags |= NodeFlag.REPAIR if prepared.repairs else NodeFlag.NONE
        flags |= NodeFlag.RETRIED if attempts else NodeFlag.NONE
        flags |= NodeFlag.SECRET_MASKED if masked else NodeFlag.NONE
        clean = self.envelope.clean_error(error)[0] if error is not None else None
        return ToolOutcome(
            call_id=prepared.call_id,
            tool=prepared.tool.name,
            block=block,
            outcome=outcome_of(error),
            input=prepared.input,
            error=clean,
            result=result,
            repairs=prepared.repairs,
            notes=prepared.notes + notes,
            attempts=attempts,
            masked=masked,
            flags=flags,
            started=True,
            summary=(result.summary if result is not None else "") or (clean.type if clean else ""),
        )

    def refused(
        self,
        call_id: str,
        tool: str,
        value: dict[str, Any],
        error: ToolError,
        repairs: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> ToolOutcome:
        """The outcome of a call that does not run: also for the loop (cancelled, stopped by the breaker)."""
        block, masked = self.envelope.block(call_id, [], error)
        flags = NodeFlag.REPAIR if repairs else NodeFlag.NONE
        return ToolOutcome(
            call_id=call_id,
            tool=tool,
            block=block,
            outcome=outcome_of(error),
            input=value,
            error=self.envelope.clean_error(error)[0],
            repairs=list(repairs),
            notes=list(notes),
            masked=masked,
            flags=flags | (NodeFlag.SECRET_MASKED if masked else NodeFlag.NONE),
            summary=error.type,
        )

    def groups(self, calls: Sequence[ToolCall]) -> list[list[int]]:
        """Indices of `calls` in source order, in groups: those of one group may run side by side, groups in order."""
        groups: list[list[int]] = []
        open_group = False
        for index, call in enumerate(calls):
            name, _ = find_tool(call.name, list(self.tools))
            parallel = bool(name) and self.tools[name].parallel
            if parallel and open_group:
                groups[-1].append(index)
            else:
                groups.append([index])
            open_group = parallel
        return groups


async def _workspace_there(ctx: ToolContext) -> None:
    """Refuse to make another folder in the place of one that was moved away: all that was in it would count as deleted."""
    if not await asyncio.to_thread(ctx.root.is_dir):
        raise fail(
            ErrorClass.SYSTEM,
            "workspace_gone",
            "The workspace folder is not there any more: it was moved or deleted.",
            next_="Do not make it anew. Stop, and tell the person that it has to be put back.",
        )


def outcome_of(error: ToolError | None) -> Outcome:
    if error is None:
        return Outcome.OK
    if error.type == "cancelled":
        return Outcome.ABORTED
    if error.error_class is ErrorClass.PERMISSION and error.type in ("permission_denied", "approval_timeout"):
        return Outcome.DENIED
    return Outcome.FAILED
