"""Errors by audience.

Exception
├── WorldlineError          for the person: a sentence and what to do next
│   ├── BadInput            wrong usage, unreadable input (exit code 2 on the command line)
│   ├── SessionError        the document: locked, damaged, newer, not saved
│   ├── WorkspaceError      capture, restore, worktrees
│   ├── SandboxError        no command can be confined, so none is run (never shown to the model)
│   └── ProviderError       the model cannot be reached (never shown to the model)
├── ToolFailure             for the model: becomes a structured tool result
└── anything else           a defect of ours: logged, shown, ends the run with `internal_error`
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict


class WorldlineError(Exception):
    """Something went wrong that the person should read about. `message` says what, `hint` what to do next;
    `kind` is a stable word for programs."""

    kind = "error"

    def __init__(self, message: str, hint: str = "", *, kind: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if kind is not None:
            self.kind = kind

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class BadInput(WorldlineError):
    kind = "bad_input"


class SessionError(WorldlineError):
    kind = "session_error"


class WorkspaceError(WorldlineError):
    kind = "workspace_error"


class SandboxError(WorldlineError):
    """Infrastructure: the model can do nothing about it, so it ends the run."""

    kind = "sandbox_failed"


class ProviderError(WorldlineError):
    kind = "provider_error"


class ErrorClass(StrEnum):
    """Who can still deal with a failed tool call (the four classes of the envelope)."""

    USER = "user"
    """The call was wrong: how to correct it."""
    ENVIRONMENT = "environment"
    """The world was in the way: a missing file, an exit code, a time-out."""
    PERMISSION = "permission"
    """A boundary: where it runs and the legitimate way round."""
    SYSTEM = "system"
    """Something under the tool is broken and no other arguments will help."""


class ToolError(BaseModel):
    """The one envelope in which a failure reaches the model: short, no stack trace, no secret, no inner path."""

    model_config = ConfigDict(frozen=True)

    error_class: ErrorClass
    type: str
    """A stable word: `file_not_found`, `no_match`, `nonzero_exit`, `unknown_tool`, `invalid_arguments`, `stale_file`,
    `permission_denied`, `sandbox_denied`, `approval_timeout`, `timeout`, `cancelled`, `retries_exhausted`, …"""
    message: str
    hint: str = ""
    """What is there instead, or what the cause may be."""
    next: str = ""
    """The next step to take."""
    retryable: bool = False
    details: dict[str, Any] = {}

    def as_result(self) -> dict[str, Any]:
        """The JSON object that the model receives."""
        error: dict[str, Any] = {"class": self.error_class.value, "type": self.type, "message": self.message}
        if self.hint:
            error["hint"] = self.hint
        if self.next:
            error["next"] = self.next
        error["retryable"] = self.retryable
        if self.details:
            error["details"] = self.details
        return {"error": error}


class ToolFailure(Exception):
    """Raised by a tool to hand a failure to the model. Everything else that a tool raises is a defect."""

    def __init__(self, error: ToolError) -> None:
        super().__init__(error.message)
        self.error = error
