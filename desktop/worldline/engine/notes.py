"""What the model is told about the world when it cannot know it from the conversation: after a jump, after edits by
the person, after a crash."""

from __future__ import annotations

from typing import Any

from worldline.core.kinds import NodeKind
from worldline.engine.shared import Shared
from worldline.session.model import Record
from worldline.workspace.model import CaptureResult

_SHOWN = 40


def some(paths: list[str], limit: int = _SHOWN) -> str:
    shown = ", ".join(paths[:limit])
    return f"{shown} and {len(paths) - limit} more" if len(paths) > limit else shown


def external_change_note(result: CaptureResult) -> str:
    if not result.paths:
        return (
            f"[Worldline: since your last step something was staged, committed or checked out, and not by you; HEAD is at "
            f"{result.head[:12]}, the files are as they were.]"
        )
    return (
        "[Worldline: since your last step these files were changed, and not by you: "
        f"{some(result.paths)}. Read them again before you rely on what you remember of them.]"
    )


def arrival(shared: Shared) -> Record | None:
    """The jump that brought the cursor where it is, when nothing was asked there since."""
    doc = shared.doc
    jumps = doc.records("jump")
    if not jumps:
        return None
    last = jumps[-1]
    return last if last.data.get("cursor") == doc.cursor else None


def fork_note(shared: Shared, jump: Record, effects_elsewhere: list[str]) -> str:
    """For the first message after a jump."""
    data: dict[str, Any] = jump.data
    parts = [
        "[Worldline: this conversation was taken back to an earlier point and continues from here as a new attempt. "
        "Steps that were made after this point on other attempts are not part of it.",
        f"Your working folder is {shared.root}.",
    ]
    if shared.state(shared.doc.cursor) == "!":
        parts.append("Its files could not be put back to this point: look at what is there.")
    else:
        parts.append("Its files are as they were at this point.")
    kept = data.get("kept", [])
    if kept:
        parts.append(f"Not put back, because the person changed or kept them: {some(kept)}.")
    if data.get("branch"):
        parts.append(f"The git branch is {data['branch']}.")
    if effects_elsewhere:
        parts.append(
            "Done on other attempts and still in effect outside the files: "
            + "; ".join(effects_elsewhere[:20])
            + "."
        )
    if data.get("lesson"):
        parts.append(str(data["lesson"]))
    return " ".join(parts) + "]"


def lesson_from(shared: Shared, stop_reason: str, detail: str) -> str:
    """A short note of what failed on the path that is left, for the attempt that follows it."""
    failed = [
        body
        for body in shared.doc.path_bodies(shared.doc.cursor)[-12:]
        if body.kind is NodeKind.TOOL and body.outcome.value in ("failed", "stopped")
    ]
    tried = [shared.doc.header(b.uid).preview for b in failed[-4:]]
    note = f"The attempt before this one ended with {stop_reason.replace('_', ' ')}"
    note += f" ({detail})." if detail else "."
    if tried:
        note += " Its last failed steps: " + "; ".join(tried) + ". Try another way than that one."
    return note
