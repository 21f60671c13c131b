"""task: a sub-agent that works in a side branch of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field

from worldline.core.errors import ErrorClass, ToolError
from worldline.tools.base import BaseTool, text
from worldline.tools.envelope import cut
from worldline.tools.model import AccessRequest, ToolContext, ToolInput, ToolResult, fail

GRACE_S = 10.0
"""To settle and to compare the files."""
_AFTER_TIMEOUT = "Give it a smaller piece of work, or do it yourself."


@dataclass(slots=True)
class TaskReport:
    """How a sub-agent ended. `diff` is what it really changed, taken from the files, not from what it says."""

    report: str
    stop_reason: str = "completed"
    detail: str = ""
    diff: str = ""
    files: list[str] = field(default_factory=list)
    node: str = ""
    """Last node of its side branch."""


TaskService = Callable[[str, str, float], Awaitable[TaskReport]]
"""`ctx.services["task"]`: (prompt, title, seconds) → report. Cancelled when the time is over."""


class TaskInput(ToolInput):
    prompt: str = Field(
        description="Everything the sub-agent needs to know; it sees nothing of this talk.", min_length=1
    )
    title: str = Field(default="", description="A few words for the tree.")
    timeout_s: float = Field(default=900, description="Seconds it may take.", gt=0, le=3600)


class Task(BaseTool):
    name = "task"
    description = (
        "Give a separate, clearly bounded piece of work to a sub-agent. Its report comes back with the diff of what it "
        "really changed: trust the diff, not the report."
    )
    Input = TaskInput
    access = "ask"
    changes_files = True
    aliases = {"description": "title", "task": "prompt", "instructions": "prompt", "timeout": "timeout_s"}

    def prepare(self, args: TaskInput, ctx: ToolContext) -> AccessRequest:
        return self.request(args, ctx, summary=args.title or args.prompt[:80])

    async def run(self, args: TaskInput, ctx: ToolContext) -> ToolResult:
        service: TaskService | None = ctx.services.get("task")
        if service is None:
            raise fail(
                ErrorClass.SYSTEM,
                "no_sub_agents",
                "Sub-agents are not available here.",
                next_="Do the work yourself.",
            )
        try:
            # The sub-agent ends by its own limit first and still says what it did; this is for one that does not.
            async with asyncio.timeout(args.timeout_s + GRACE_S):
                report = await service(args.prompt, args.title or args.prompt[:60], args.timeout_s)
        except TimeoutError:
            raise fail(
                ErrorClass.ENVIRONMENT,
                "timeout",
                f"The sub-agent did not finish within {args.timeout_s:g} s and was stopped.",
                hint="What it did by then stays in its side branch.",
                next_=_AFTER_TIMEOUT,
            ) from None
        detail: dict[str, Any] = {
            "stop_reason": report.stop_reason,
            "files": report.files,
            "diff": report.diff,
            "side_node": report.node,
        }
        changed = (
            f"Files that it really changed: {', '.join(report.files)}"
            if report.files
            else "It changed no file."
        )
        parts = [f"[its report, not checked]\n{report.report.strip() or '(nothing)'}", f"[{changed}]"]
        if report.diff:
            parts.append(cut(report.diff, 20_000, "see the side branch for the whole diff"))
        return ToolResult(
            content=text("\n\n".join(parts)),
            error=_error(report, args.timeout_s),
            summary=f"{len(report.files)} files" if report.stop_reason == "completed" else report.stop_reason,
            detail=detail,
            paths=report.files,
        )


def _error(report: TaskReport, seconds: float) -> ToolError | None:
    """What went wrong with a sub-agent. Its files are shown all the same: they are there."""
    if report.stop_reason == "time_limit":
        kind, message, advice = (
            "timeout",
            f"The sub-agent did not finish within {seconds:g} s and was stopped.",
            _AFTER_TIMEOUT,
        )
    elif report.stop_reason != "completed":
        kind = "task_failed"
        message = f"The sub-agent ended without being done: {report.stop_reason}. {report.detail}".strip()
        advice = "Look at what is there, then do the rest yourself or give a smaller piece of work."
    elif not report.report.strip():
        kind = "empty_report"
        message = "The sub-agent ended without saying anything."
        advice = "Judge by the files, or do the work yourself."
    else:
        return None
    return ToolError(error_class=ErrorClass.ENVIRONMENT, type=kind, message=message, next=advice)
