"""What a tool is, what it is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from pydantic import BaseModel, ConfigDict

from worldline.core.access import (
    Access,
    AccessAnswer,
    AccessRequest,
    CommandResult,
    CommandRunner,
    Emit,
    Policy,
)
from worldline.core.errors import ErrorClass, ToolError, ToolFailure
from worldline.core.kinds import NodeFlag, Outcome

__all__ = [
    "Access",
    "AccessAnswer",
    "AccessRequest",
    "CommandResult",
    "CommandRunner",
    "Emit",
    "FileVersion",
    "Policy",
    "TaskState",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolDefect",
    "ToolInput",
    "ToolOutcome",
    "ToolResult",
    "fail",
]


class ToolInput(BaseModel):
    """Base of all argument models: strict, no unknown fields. Field descriptions are what the model reads."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


@dataclass(slots=True)
class FileVersion:
    """What a branch knows of a file: digest and mtime when it last read or wrote it."""

    digest: str
    mtime_ns: int
    whole: bool = True
    """False if only a part was read."""


@dataclass(slots=True)
class TaskState:
    """State that belongs to a branch and travels with its nodes: stored with each, restored by a jump."""

    files: dict[str, FileVersion] = field(default_factory=dict)
    """Workspace-relative path → the version this branch has seen."""
    plan: list[dict[str, str]] = field(default_factory=list)
    """[{"text", "status": pending | active | done}]."""
    grants: list[dict[str, Any]] = field(default_factory=list)
    """Given "for this branch"."""
    breaker: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "files": {p: [v.digest, v.mtime_ns, v.whole] for p, v in self.files.items()},
            "plan": self.plan,
            "grants": self.grants,
            "breaker": self.breaker,
            "variables": self.variables,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any] | None) -> TaskState:
        data = data or {}
        return cls(
            files={p: FileVersion(v[0], v[1], v[2]) for p, v in data.get("files", {}).items()},
            plan=list(data.get("plan", [])),
            grants=list(data.get("grants", [])),
            breaker=dict(data.get("breaker", {})),
            variables=dict(data.get("variables", {})),
        )


@dataclass(slots=True)
class ToolResult:
    """What a tool returns when it worked (a command with exit code 1 did work: its result has `error`)."""

    content: list[dict[str, Any]]
    """Content blocks for the model: text, or image."""
    error: ToolError | None = None
    summary: str = ""
    """A few words for the tree: `exit 1`, `+3 −1`, `12 matches`."""
    detail: dict[str, Any] = field(default_factory=dict)
    """For the window: output, diff, exit_code, duration_ms, …"""
    full_output: bytes | None = None
    """Kept whole in the session when `content` holds only a part."""
    whole: IO[bytes] | None = None
    """The same, in place of `full_output`, for what is more than is held in memory. Whoever stores the result closes it."""
    paths: list[str] = field(default_factory=list)
    """Paths it wrote, as far as it knows."""
    flags: NodeFlag = NodeFlag.NONE
    effects: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class ToolContext:
    """What a tool may use. One per call."""

    root: Path
    """The workspace folder. Relative paths are meant from here."""
    state: TaskState
    emit: Emit
    """Live output for the window."""
    runner: CommandRunner
    ask: Callable[[str, list[str], bool], Awaitable[str]]
    """Ask the person: (text, choices, multiple) → answer. Raises ToolFailure when nobody answers."""
    read_roots: list[Path] = field(default_factory=list)
    """Folders outside the workspace that may be read as well."""
    call_id: str = ""
    node: str = ""
    services: dict[str, Any] = field(default_factory=dict)
    """What single tools need of the engine: "task" starts a sub-agent, "memory_dir", "processes", …"""


class ToolCall(Protocol):
    """A call as the provider hands it over (`provider.model.ToolUse`)."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def raw(self) -> str: ...
    @property
    def input(self) -> dict[str, Any]: ...
    @property
    def error(self) -> str: ...


class Tool(Protocol):
    """One tool. `tools.base.BaseTool` has sensible answers for everything but name, description, Input and run."""

    name: str
    description: str
    access: Access
    parallel: bool
    """May run beside other calls of the same reply (only reads)."""
    aliases: dict[str, str]
    """Known other names of a field → its name: {"file_path": "path"}."""
    retry_safe: bool
    """A transient failure may be tried again by itself: nothing was done."""
    polling: bool
    """Asking again with the same arguments is its purpose (waiting for a process)."""
    changes_files: bool
    """The files may be different after it, although it needs no access of its own (a sub-agent has its own calls)."""

    def schema(self) -> dict[str, Any]: ...

    def validate(self, value: dict[str, Any]) -> Any:
        """The arguments of `run`. Raises ToolFailure `invalid_arguments`."""
        ...

    def prepare(self, args: Any, ctx: ToolContext) -> AccessRequest:
        """The business check, without any effect: raises ToolFailure, or says what the call wants. Blocking."""
        ...

    async def run(self, args: Any, ctx: ToolContext) -> ToolResult: ...


@dataclass(slots=True)
class ToolOutcome:
    """How one call ended. There is one for each call, whatever happened."""

    call_id: str
    tool: str
    """Its real name, or the legal form of what the model wrote."""
    block: dict[str, Any]
    """The tool_result block."""
    outcome: Outcome
    input: dict[str, Any] = field(default_factory=dict)
    """Arguments as they ran: after repair, and after the person's edit."""
    error: ToolError | None = None
    result: ToolResult | None = None
    repairs: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """For the diagnostics: a hook that was skipped, a retry."""
    attempts: list[str] = field(default_factory=list)
    masked: int = 0
    """How many secrets were masked."""
    flags: NodeFlag = NodeFlag.NONE
    started: bool = False
    """The tool itself ran."""
    summary: str = ""

    @property
    def ok(self) -> bool:
        return self.error is None


class ToolDefect(Exception):
    """A tool broke: no result for the model, the run ends `internal_error`. The cause is chained."""

    def __init__(self, tool: str, call_id: str, cause: BaseException) -> None:
        super().__init__(f"the tool {tool} failed with {type(cause).__name__}")
        self.tool = tool
        self.call_id = call_id


def fail(
    error_class: ErrorClass,
    type_: str,
    message: str,
    *,
    hint: str = "",
    next_: str = "",
    retryable: bool = False,
    **details: Any,
) -> ToolFailure:
    """A failure for the model, to be raised."""
    return ToolFailure(
        ToolError(
            error_class=error_class,
            type=type_,
            message=message,
            hint=hint,
            next=next_,
            retryable=retryable,
            details=details,
        )
    )
