"""What is told of a confined command when it is over: refusals worth telling, and effects that are told once."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from worldline.core.errors import ErrorClass, ToolError, ToolFailure
from worldline.policy.copies import SavedCopy
from worldline.policy.ledger import effect
from worldline.policy.sandbox.confine import NOT_RUN, SandboxFailed, not_started
from worldline.policy.sandbox.model import Denial, Grant, Report

_QUIET_WRITES = (
    "/__pycache__",
    ".pyc",
    "/.cache/",
    "/.npm/_logs",
    "/.python_history",
    "/.local/state/",
    "/.git/logs/refs/",
)
"""Programs try these and go on without; naming them would only send the model astray."""


def effect_key(effect: dict[str, Any]) -> tuple[str, ...]:
    """What an effect is about, whatever became of its figures since."""
    detail = effect["detail"]
    return (
        effect["kind"],
        *(str(detail.get(name, "")) for name in ("path", "target", "ref", "new", "command")),
    )


def not_seen(grants: Sequence[Grant], command: str, error: Exception) -> list[dict[str, Any]]:
    """Where nothing was opened, nothing can have happened outside."""
    opened = ", ".join(g.target for g in grants)
    if not opened:
        return []
    said = f"May have changed {opened[:200]}: what this command did could not be read ({error})"
    return [effect("unknown", "irreversible", "assumed", said, command=command)]


def remove_unused_places(copies: Sequence[SavedCopy], report: Report) -> None:
    """Take away the empty files that were made so that they could be mounted, where the command did not touch them."""
    used = {g.target for g in report.used}
    for saved in copies:
        if not saved.existed and str(saved.target) not in used:
            with contextlib.suppress(OSError):
                if saved.target.is_file() and saved.target.stat().st_size == 0:
                    saved.target.unlink()


def denials_of(report: Report) -> list[dict[str, Any]]:
    """Refusals worth telling, by name, at most 50."""
    told = [d for d in report.denials if not _quiet(d)]
    return [
        {"kind": d.kind, "target": d.target, "how": d.how, "by": d.program, "count": d.count}
        | ({"why": d.why} if d.why else {})
        for d in told[:50]
    ]


def _quiet(denial: Denial) -> bool:
    if denial.kind == "write":
        return any(part in denial.target for part in _QUIET_WRITES)
    return denial.kind == "lookup" and "." not in denial.target


def closed_reads(places: Sequence[Path], said: str) -> list[dict[str, Any]]:
    """Which of these a command was kept from reading, as far as its output tells: no kernel names that."""
    if "Permission denied" not in said:
        return []
    named = [place for place in places if place.name in said][:10]
    return [{"kind": "read", "target": str(place), "how": "", "by": "", "count": 1} for place in named]


def folder_is_closed() -> ToolFailure:
    return _not_run(
        "permission_denied",
        "A rule denies reading in the folder in which the command should run, so it was not run.",
        hint="This is a boundary of the person or the project, not a fault.",
        then="Run it in another folder, or tell the person what you would need and why.",
    )


def repository_changed() -> ToolFailure:
    return _not_run(
        "repository_changed",
        "The .git of the workspace leads to another repository than when the session began, so nothing was run.",
        hint="Commands would work on a repository that the person did not choose.",
        then="Do not try to get round it. Tell the person; they can put .git back or open a new session.",
    )


def _not_run(what: str, message: str, *, hint: str, then: str) -> ToolFailure:
    return ToolFailure(
        ToolError(error_class=ErrorClass.PERMISSION, type=what, message=message, hint=hint, next=then)
    )


def sandbox_failure(error: SandboxFailed, output: bytes) -> SandboxFailed:
    """For the person, in the words of what refused."""
    return SandboxFailed(not_started(output.decode(errors="replace").strip() or error.message), NOT_RUN)
