"""What a tool is, what it is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from pydantic import BaseModel, ConfigDict

from worldline.core.errors import ToolError
from worldline.core.kinds import NodeFlag


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
    paths: list[str] = field(default_factory=list)
    """Paths it wrote, as far as it knows."""
    flags: NodeFlag = NodeFlag.NONE
    effects: list[dict[str, Any]] = field(default_factory=list)


Access = Literal["read", "write", "execute", "ask", "network"]
Emit = Callable[[str, Literal["out", "err"]], None]


class CommandRunner(Protocol):
    """Runs a command for a tool, confined as far as the machine allows (see `policy`)."""

    async def run(
        self, command: str, *, cwd: Path, timeout_s: float, emit: Emit, background: bool = False
    ) -> CommandResult: ...


@dataclass(slots=True)
class CommandResult:
    exit_code: int | None
    """None = ended by us (time-out, cancel)."""
    output: bytes
    """Standard output and error as they came, bounded by `output_limit`; the middle is left out beyond it."""
    total_bytes: int
    timed_out: bool = False
    cancelled: bool = False
    signal: int = 0
    duration_ms: int = 0
    survivors: list[int] = field(default_factory=list)
    """Processes of the command that still run."""
    denials: list[dict[str, Any]] = field(default_factory=list)
    """What the sandbox refused: [{"kind": write | connect | socket | exec, "target", "count"}]."""
    confinement: Literal["complete", "partial", "none"] = "none"
    process_id: str = ""
    """Of a background process."""
    effects: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class ToolContext:
    """What a tool may use. One per call."""

    root: Path
    """The workspace folder. Relative paths are meant from here; `work_dir` may be a folder in it."""
    state: TaskState
    emit: Emit
    """Live output for the window."""
    runner: CommandRunner
    ask: Callable[[str, list[str], bool], Awaitable[str]]
    """Ask the person: (text, choices, multiple) → answer. Raises ToolFailure when nobody answers."""
    read_roots: list[Path] = field(default_factory=list)
    """Folders outside the workspace that may be read as well."""
    services: dict[str, Any] = field(default_factory=dict)
    """What single tools need of the engine: "task" starts a sub-agent, "memory_dir", "processes", …"""


class Tool(Protocol):
    name: ClassVar[str]
    description: ClassVar[str]
    Input: ClassVar[type[ToolInput]]
    access: ClassVar[Access]
    parallel: ClassVar[bool]
    """May run beside other calls of the same reply (only reads)."""
    aliases: ClassVar[dict[str, str]]
    """Known other names of a field → its name: {"file_path": "path"}."""

    async def run(self, args: Any, ctx: ToolContext) -> ToolResult: ...
