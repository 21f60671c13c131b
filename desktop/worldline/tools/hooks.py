"""Hooks: commands of the person or the project that run around tool calls, prompts and runs.

A hook gets one JSON object on standard input and answers with its exit code. `PreToolUse` and `UserPromptSubmit`
block with any non-zero code, and their output goes to the model; the others only add text. A hook that is missing,
crashes or takes too long is skipped with a note that the person sees: a broken hook must not stop the work, and the
model has no part in it.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from worldline.core.errors import ErrorClass, ToolError
from worldline.tools.process import end, finish, start

HookEvent = Literal["PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop", "SessionStart"]
EVENTS: tuple[HookEvent, ...] = ("PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop", "SessionStart")
OUTPUT_LIMIT = 8_000
_NOT_RUN = (126, 127)


@dataclass(frozen=True, slots=True)
class Hook:
    event: HookEvent
    command: str
    matcher: str = "*"
    """Tool names, `|`-separated patterns; for the tool events only."""
    timeout_s: float = 30.0

    def matches(self, tool: str) -> bool:
        return any(fnmatch.fnmatchcase(tool, part.strip()) for part in self.matcher.split("|"))


@dataclass(slots=True)
class HookAnswer:
    error: ToolError | None = None
    """The call (or the prompt) is blocked."""
    text: str = ""
    """Of hooks that passed: for the model."""
    notes: list[str] = field(default_factory=list)
    """For the person: skipped, timed out, cut."""


def parse_hooks(config: Any) -> tuple[list[Hook], list[str]]:
    """Hooks of a configuration `{"PreToolUse": [{"matcher", "command", "timeout"}]}`, and what was wrong in it."""
    hooks: list[Hook] = []
    problems: list[str] = []
    if config is None:
        return hooks, problems
    if not isinstance(config, dict):
        return hooks, ["hooks: must be an object of lists; all hooks are skipped"]
    for event, entries in config.items():
        if event not in EVENTS:
            problems.append(f"hooks: there is no event {event!r}; known are {', '.join(EVENTS)}")
            continue
        for index, entry in enumerate(entries if isinstance(entries, list) else [entries]):
            command = entry.get("command") if isinstance(entry, dict) else entry
            if not isinstance(command, str) or not command.strip():
                problems.append(f"hooks.{event}.{index}: `command` must be a text; skipped")
                continue
            more = entry if isinstance(entry, dict) else {}
            timeout = more.get("timeout", 30)
            if isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout <= 0:
                problems.append(f"hooks.{event}.{index}: `timeout` must be a number of seconds; 30 is used")
                timeout = 30
            hooks.append(Hook(event, command, str(more.get("matcher") or "*"), float(timeout)))
    return hooks, problems


class Hooks:
    """The hooks of a session, run one after the other in the order of the configuration."""

    def __init__(self, hooks: Sequence[Hook] = ()) -> None:
        self.hooks = tuple(hooks)

    async def before_tool(self, tool: str, value: dict[str, Any], root: Path) -> HookAnswer:
        return await self._run("PreToolUse", {"tool": tool, "input": value}, root, tool)

    async def after_tool(self, tool: str, value: dict[str, Any], root: Path, ok: bool) -> HookAnswer:
        return await self._run("PostToolUse", {"tool": tool, "input": value, "ok": ok}, root, tool)

    async def on_prompt(self, prompt: str, root: Path) -> HookAnswer:
        return await self._run("UserPromptSubmit", {"prompt": prompt}, root)

    async def on_stop(self, stop_reason: str, root: Path) -> HookAnswer:
        return await self._run("Stop", {"stop_reason": stop_reason}, root)

    async def on_session_start(self, root: Path) -> HookAnswer:
        return await self._run("SessionStart", {}, root)

    async def _run(self, event: HookEvent, data: dict[str, Any], root: Path, tool: str = "") -> HookAnswer:
        answer = HookAnswer()
        for hook in self.hooks:
            if hook.event != event or (tool and not hook.matches(tool)):
                continue
            payload = json.dumps({"event": event, "workspace": str(root), **data})
            code, output = await self._one(hook, payload, root, answer)
            if code is None:
                continue
            if code == 0:
                answer.text = "\n".join(part for part in (answer.text, output) if part)
            elif event in ("PreToolUse", "UserPromptSubmit"):
                answer.error = ToolError(
                    error_class=ErrorClass.PERMISSION,
                    type="hook_blocked",
                    message=f"A hook of this project blocked it: {output or f'exit code {code}'}",
                    hint="This is a rule of the person or the project, not a fault.",
                    next="Do what the hook asks for, or another way that it allows; do not try to get round it.",
                )
                return answer
            else:
                answer.notes.append(
                    f"hook {hook.command!r} ({event}) ended with exit code {code}: {output[:200]}"
                )
        return answer

    async def _one(self, hook: Hook, payload: str, root: Path, answer: HookAnswer) -> tuple[int | None, str]:
        name = f"hook {hook.command!r} ({hook.event})"
        try:
            started = start(
                ["/bin/sh", "-c", hook.command], cwd=root, stdin=payload.encode(), limit=2 * OUTPUT_LIMIT
            )
        except OSError as error:
            answer.notes.append(f"{name} could not be started and was skipped: {error.strerror}")
            return None, ""
        result = await finish(started, hook.timeout_s)
        if result.survivors:
            await end(started.mark, started.process.pid)
        if result.timed_out:
            answer.notes.append(f"{name} took longer than {hook.timeout_s:g} s, was ended and skipped")
            return None, ""
        text = result.output[:OUTPUT_LIMIT].decode("utf-8", "replace").strip()
        if result.total_bytes > OUTPUT_LIMIT:
            answer.notes.append(f"{name} wrote more than {OUTPUT_LIMIT:,} bytes; the rest was cut")
            text += "\n[cut: the hook wrote more]"
        if result.exit_code in _NOT_RUN:
            answer.notes.append(f"{name} was not found or cannot be run, and was skipped: {text[:200]}")
            return None, ""
        if result.signal:
            answer.notes.append(f"{name} crashed (signal {result.signal}) and was skipped")
            return None, ""
        return result.exit_code, text
