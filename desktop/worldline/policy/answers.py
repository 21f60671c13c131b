"""What the person is shown about a write, and what the model is told when a call may not run."""

from __future__ import annotations

import difflib
from pathlib import Path

from worldline.core.access import AccessRequest
from worldline.core.errors import ErrorClass, ToolError
from worldline.policy.approvals import Verdict
from worldline.policy.rules import Judgement, protected
from worldline.protocol.model import DiffRow, FileChange, FileDiff


def file_diff(request: AccessRequest, path: Path, limit: int = 2000) -> FileDiff:
    """The change of a write as the dialog shows it."""
    root = request.root.resolve()
    shown = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    before, after = (request.before or "").splitlines(), (request.after or "").splitlines()
    rows: list[DiffRow] = []
    old = new = added = removed = 0
    for line in list(difflib.unified_diff(before, after, lineterm="", n=3))[2:]:
        kind, text = line[:1], line[1:]
        if line.startswith("@@"):
            spans = line.split()
            old, new = (abs(int(span.split(",")[0])) for span in spans[1:3])
            rows.append(DiffRow(kind="@", text=line))
        elif kind == "+":
            rows.append(DiffRow(kind="+", new=new, text=text))
            new, added = new + 1, added + 1
        elif kind == "-":
            rows.append(DiffRow(kind="-", old=old, text=text))
            old, removed = old + 1, removed + 1
        else:
            rows.append(DiffRow(kind=" ", old=old, new=new, text=text))
            old, new = old + 1, new + 1
    change = FileChange(
        path=shown, status="A" if request.before is None else "M", added=added, removed=removed
    )
    change.runs_later = protected(path, root)
    return FileDiff(change=change, rows=rows[:limit], truncated=len(rows) > limit)


# --- what the model is told --------------------------------------------------------------------------------------------


def _error(type_: str, message: str, hint: str, next_: str) -> ToolError:
    return ToolError(error_class=ErrorClass.PERMISSION, type=type_, message=message, hint=hint, next=next_)


def plan_mode(request: AccessRequest) -> ToolError:
    what = "runs commands" if request.access == "execute" else "changes files"
    return _error(
        "permission_denied",
        f"This run is in plan mode: it only reads, and {request.tool} {what}.",
        "The person chose this mode.",
        "Read what you need with read, grep, glob and list_dir, then say what you would do.",
    )


def denied_by_rule(judgement: Judgement) -> ToolError:
    return _error(
        "permission_denied",
        f"Not permitted: {judgement.why}.",
        "This is a boundary of the person or the project, not a fault.",
        "Reach the goal without it, or tell the person what you would need and why; do not try another way round it.",
    )


def nobody_there(judgement: Judgement) -> ToolError:
    return _error(
        "permission_denied",
        f"It would have to be approved ({judgement.why}), and nobody is there to do it.",
        "This run goes on without a person; nothing risky happens unasked.",
        "Reach the goal with what is allowed, or end with a note of what is left to do.",
    )


def refused(request: AccessRequest, verdict: Verdict) -> ToolError:
    if verdict.why == "timeout":
        return _error(
            "approval_timeout",
            "The person did not answer in time, which counts as a denial.",
            "It was not run.",
            "Do what can be done without it, and say what still waits for the person.",
        )
    if verdict.why == "stopped":
        return ToolError(
            error_class=ErrorClass.USER,
            type="cancelled",
            message="The run was stopped while this waited for approval; it was not run.",
        )
    said = f" The person says: {verdict.reason}" if verdict.reason else ""
    return _error(
        "permission_denied",
        f"The person denied this {'command' if request.command else 'call'}.{said}",
        "The boundary is theirs to move. The same call will not be asked about again.",
        "Follow what the person said, or reach the goal another way; ask with ask_user if you cannot go on without it.",
    )
