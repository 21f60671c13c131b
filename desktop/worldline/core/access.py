"""What a tool call wants to do to the world, in words that both the tools and the policy understand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal, Protocol

from worldline.core.errors import ToolError

Access = Literal["read", "write", "execute", "ask", "network"]
Emit = Callable[[str, Literal["out", "err"]], None]


@dataclass(slots=True)
class AccessRequest:
    """One call, described before it runs. `input` is exactly what will run: an approval is bound to its digest."""

    call_id: str
    tool: str
    access: Access
    input: dict[str, Any]
    root: Path
    summary: str = ""
    """A few words for the title of a dialog: `edit src/a.py`."""
    command: str = ""
    cwd: Path | None = None
    reads: list[Path] = field(default_factory=list)
    """Absolute, with every symlink resolved."""
    writes: list[Path] = field(default_factory=list)
    read_roots: list[Path] = field(default_factory=list)
    """Folders outside the workspace that may be read as well."""
    url: str = ""
    target: str = ""
    """Of `request_access`: what is asked for (`write:/opt/x`, `net:host:443`, `socket:/run/x.sock`)."""
    before: str | None = None
    """Text of the file before a write, None if there was none or it is no text."""
    after: str | None = None
    agent_says: str = ""
    grants: list[dict[str, Any]] = field(default_factory=list)
    """`TaskState.grants` of the branch: a grant "for this branch" is appended here."""
    node: str = ""
    """Node that the call belongs to, for the dialog."""


@dataclass(slots=True)
class AccessAnswer:
    """What the policy said. With `error` the call does not run and the error is its result."""

    error: ToolError | None = None
    edited_input: dict[str, Any] | None = None
    """Arguments as the person changed them; validated again before they run."""
    by_person: bool = False
    """The person denied it: the same call is not asked about again."""
    why: str = ""
    """What decided: a rule, the mode, the person."""


class Policy(Protocol):
    """Decides about a call, asking the person where it must. Never raises but for defects and cancellation."""

    async def decide(self, request: AccessRequest) -> AccessAnswer: ...


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
    way_on: tuple[str, str] | None = None
    """(why, what to do) where it is known what the command would have needed."""
    effects: list[dict[str, Any]] = field(default_factory=list)
    whole: IO[bytes] | None = None
    """A file with all of the output, or as much from its start as is kept, where `output` leaves some out. Whoever takes
    it closes it."""


class CommandRunner(Protocol):
    """Runs a command for a tool, confined as far as the machine allows (see `policy`)."""

    async def run(
        self, command: str, *, cwd: Path, timeout_s: float, emit: Emit, background: bool = False
    ) -> CommandResult: ...
