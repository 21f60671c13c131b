"""What the model is told about the world when it cannot know it from the conversation: after a jump, after edits by
the person, after a crash."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from worldline.core.background import while_ran
from worldline.core.kinds import NodeKind
from worldline.engine.effects import EffectList, still_there
from worldline.engine.shared import Shared
from worldline.session.model import Record
from worldline.workspace.model import CaptureResult

_SHOWN = 40


def some(paths: list[str], limit: int = _SHOWN) -> str:
    shown = ", ".join(paths[:limit])
    return f"{shown} and {len(paths) - limit} more" if len(paths) > limit else shown


def external_change_note(result: CaptureResult, commands: Sequence[str] = ()) -> str:
    """`commands`: what ran in the background meanwhile and may have done it in place of the person."""
    who = f" {while_ran(commands, 'the person', ',')}" if commands else ", and not by you"
    if not result.paths:
        return (
            f"[Worldline: since your last step something was staged, committed or checked out{who}; HEAD is at "
            f"{result.head[:12]}, the files are as they were.]"
        )
    return (
        f"[Worldline: since your last step these files were changed{who}: "
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
    unsure = data.get("kept_unsure", [])
    kept = [path for path in data.get("kept", []) if path not in unsure]
    if kept:
        parts.append(f"Not put back, because the person changed or kept them: {some(kept)}.")
    if unsure:
        parts.append(
            "Not put back, because they were changed while a command ran in the background, by it or by the person: "
            f"{some(unsure)}."
        )
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


def asks_to_ignore(text: str) -> bool:
    """Whether the person asks that what was said before be ignored, which deletes nothing."""
    return _IGNORE.search(text[:2000]) is not None


def remains_note(shared: Shared) -> str:
    """For a message that asks to ignore what was said: what was done by then and is still there."""
    doc = shared.doc
    paths: dict[str, None] = {}
    for body in doc.path_bodies(doc.cursor):
        if body.kind is NodeKind.TOOL:
            paths.update(dict.fromkeys(map(str, body.end_detail.get("paths", []))))
    here, _ = EffectList(shared).split(doc.cursor)
    effects = [e.summary for e in here if still_there(e)]
    parts = [
        "[Worldline: nothing is deleted by this. What was said stays in the conversation and what was done stays done; "
        "from here on what you said above counts as withdrawn.",
        f"Still there, files changed on this branch: {some(list(paths))}."
        if paths
        else "No file was changed on this branch.",
        f"Still in effect outside the files: {'; '.join(effects[:20])}."
        if effects
        else "No effect outside the files is on record.",
        "Say which of these remain, and undo none of them unasked. To be rid of the steps themselves, the person can go "
        "back to an earlier node.]",
    ]
    return " ".join(parts)


_IGNORE = re.compile(
    r"\b(?:ignore|disregard|forget|scratch|never\s*mind)\b[^.\n]{0,40}\b(?:above|before|earlier|previous(?:ly)?|said|"
    r"wrote|told|suggested|answer|reply|message|everything|all\s+(?:of\s+)?(?:that|this))\b"
    r"|(?:忽略|无视|不用管|别管|忘掉|忘记|当我没说|作废)[^。\n]{0,12}(?:上面|以上|之前|前面|刚才|说的|回答|内容)"
    r"|(?:上面|以上|之前|前面|刚才)[^。\n]{0,12}(?:忽略|无视|不算|作废|忘掉|忘记)",
    re.IGNORECASE,
)
