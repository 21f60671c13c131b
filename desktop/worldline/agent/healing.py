"""What the API once refused in a conversation, remembered by its diagnostics so that it is not sent again.

Each is stored with the node at which it was refused: what was thought after that was thought without it in view, and
stays valid. Nothing is dropped for ever because one block was bad once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from worldline.agent.journal import Journal
from worldline.context.model import View, ViewOptions
from worldline.context.poison import find_poison
from worldline.provider.model import Answer, Failure
from worldline.session.document import SessionDocument


def remembered(doc: SessionDocument, options: ViewOptions, node: str = "") -> ViewOptions:
    """`options` with what the session's diagnostics say of earlier refusals on the path to `node` ("" = the cursor)."""
    here = doc.seq(node or doc.cursor)
    at: dict[tuple[str, int], str] = {}
    thinking = options.thinking_after
    for data in _diagnosed(doc, "poisoned"):
        if "uid" in data and "block" in data and data.get("at"):
            at[(data["uid"], data["block"])] = data["at"]
    for data in _diagnosed(doc, "thinking_refused"):
        if data.get("at") and doc.tree.is_ancestor(doc.seq(data["at"]), here):
            thinking = data["at"]
    return replace(options, poisoned_at={**at, **options.poisoned_at}, thinking_after=thinking)


def _diagnosed(doc: SessionDocument, kind: str) -> list[dict[str, Any]]:
    found = [r.data for r in doc.records("diagnostic", holding=kind)]
    return [data.get("data") or {} for data in found if data.get("kind") == kind]


@dataclass(slots=True)
class Healer:
    """Changes view options after a refusal, and records why. Each way once for a reply is the caller's business."""

    journal: Journal
    transformations: set[str] = field(default_factory=set)
    """Told already."""

    def without_thinking(self, options: ViewOptions) -> ViewOptions:
        """Leave out all thinking so far; what is thought from here on is kept."""
        at = self.journal.tip
        self.journal.diagnose(
            "thinking_refused",
            "The API refused earlier thinking; it is left out of the request.",
            node=at,
            data={"at": at},
        )
        return replace(options, thinking_after=at)

    def without_block(self, failure: Failure, view: View, options: ViewOptions) -> ViewOptions | None:
        """Put a note in place of the block that the API refused, on this and every later request. None: it names no
        block that could be replaced."""
        found = find_poison(view, failure.api_said)
        at = self.journal.tip
        fresh = {place: note for place, note in found.blocks.items() if place not in options.poisoned}
        if not fresh and (not found.drop_thinking or options.thinking_after == at):
            return None
        if found.drop_thinking and options.thinking_after != at:
            options = self.without_thinking(options)
        for (uid, position), note in fresh.items():
            self.journal.diagnose(
                "poisoned",
                "The API refused one part of the conversation; a note stands in its place from now on.",
                node=uid,
                data={"uid": uid, "block": position, "note": note, "at": at, "api_said": failure.api_said},
            )
        return replace(
            options,
            poisoned={**options.poisoned, **fresh},
            poisoned_at={**options.poisoned_at, **dict.fromkeys(fresh, at)},
        )

    def note_transformations(self, answer: Answer) -> None:
        """What the server itself left out of the request (thinking that it could not read): recorded once."""
        changes = answer.exchange.raw.get("input_transformations")
        for change in changes if isinstance(changes, list) else []:
            if not isinstance(change, dict):
                continue
            kind, reason = str(change.get("type", "")), str(change.get("reason", ""))
            key = f"{kind} {change.get('path', '')} {reason}"
            if key in self.transformations:
                continue
            self.transformations.add(key)
            sentence = f"The server changed the request before the model saw it: {kind.replace('_', ' ')}"
            self.journal.diagnose(
                "input_transformation",
                f"{sentence} ({reason})." if reason else f"{sentence}.",
                node=self.journal.tip,
                data={k: str(v)[:500] for k, v in change.items()},
            )
