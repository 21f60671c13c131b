"""A pipeline over a real folder, with a policy that allows everything, and calls as the provider makes them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worldline.core.access import AccessAnswer, AccessRequest, CommandResult, Emit
from worldline.tools.envelope import Envelope
from worldline.tools.hooks import Hook, Hooks
from worldline.tools.model import TaskState, Tool, ToolContext, ToolOutcome
from worldline.tools.pipeline import Pipeline
from worldline.tools.process import run_command
from worldline.tools.process_table import ProcessTable
from worldline.tools.registry import default_tools


@dataclass
class Call:
    id: str
    name: str
    raw: str
    input: dict[str, Any] = field(default_factory=dict)
    error: str = ""


class AllowAll:
    def __init__(self) -> None:
        self.asked: list[AccessRequest] = []
        self.answer = AccessAnswer()

    async def decide(self, request: AccessRequest) -> AccessAnswer:
        self.asked.append(request)
        return self.answer


class PlainRunner:
    """A `CommandRunner` without confinement."""

    def __init__(self, table: ProcessTable | None = None) -> None:
        self.table = table

    async def run(
        self, command: str, *, cwd: Path, timeout_s: float, emit: Emit, background: bool = False
    ) -> CommandResult:
        return await run_command(
            command, cwd=cwd, timeout_s=timeout_s, emit=emit, background=background, table=self.table
        )


class Bench:
    """Everything that a tool call needs, and `call`, which makes one."""

    def __init__(
        self, root: Path, tools: dict[str, Tool] | None = None, hooks: list[Hook] | None = None
    ) -> None:
        self.root = root
        self.state = TaskState()
        self.policy = AllowAll()
        self.table = ProcessTable()
        self.services: dict[str, Any] = {"processes": self.table}
        self.answers: list[str] = []
        self.live: list[str] = []
        self.count = 0
        self.pipeline = Pipeline(
            tools if tools is not None else default_tools(),
            self.policy,
            Hooks(hooks or []),
            envelope=Envelope(root),
            delays=(0.0, 0.0, 0.0),
        )

    def context(self) -> ToolContext:
        async def ask(text: str, choices: list[str], multiple: bool) -> str:
            return self.answers.pop(0)

        return ToolContext(
            root=self.root,
            state=self.state,
            emit=lambda text, stream: self.live.append(text),
            runner=PlainRunner(self.table),
            ask=ask,
            services=self.services,
        )

    async def raw(self, name: str, raw: str) -> ToolOutcome:
        self.count += 1
        return await self.pipeline.execute(Call(f"toolu_{self.count}", name, raw), self.context())

    async def call(self, tool: str, /, **fields: Any) -> ToolOutcome:
        return await self.raw(tool, json.dumps(fields))


def text_of(outcome: ToolOutcome) -> str:
    return "\n".join(part.get("text", "") for part in outcome.block["content"])


def error_of(outcome: ToolOutcome) -> str:
    return outcome.error.type if outcome.error else ""
