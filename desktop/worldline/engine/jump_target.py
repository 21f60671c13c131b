"""Where a click leads, and what was changed by no step on the way that is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from worldline.agent.capture import OUTSIDE
from worldline.core.errors import BadInput
from worldline.core.kinds import OF_THE_PERSON, NodeFlag, NodeKind
from worldline.engine.shared import Shared
from worldline.workspace.model import NOT_CAPTURED


@dataclass(slots=True)
class Target:
    """Where a click leads: `state` are the files, `cursor` the node that the next prompt hangs on."""

    node: str
    cursor: str
    state: str
    composer_text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Others:
    """What was changed by no step: the paths that are on record, which are not all of them, and the two states. With
    `commands` it was one of these, in the background, or the person; without any it was the person."""

    paths: list[str]
    steps: list[tuple[str, str]]
    commands: list[str]


def target_of(shared: Shared, ref: str) -> Target:
    """Raises BadInput for what names no node, and where the files were removed to give room back."""
    doc = shared.doc
    uid = doc.resolve(ref)
    header = doc.header(uid)
    if any(uid in record.data["nodes"] for record in doc.records("pruned")):
        raise BadInput(
            "The files of this step were removed to give room back, so it is not a place to go to any more.",
            "What was said there can be read: look at it with the arrow keys, or in Compare.",
            kind="pruned",
        )
    if header.kind in (NodeKind.USER, NodeKind.IMPORTED_USER) and header.parent:
        body = doc.body(uid)
        parent = doc.headers_of([header.parent])[0]
        if header.flags & NodeFlag.HIDDEN:
            # A note to the model, which nobody wrote: there is nothing to write again.
            return Target(uid, parent.uid, shared.state(uid), "")
        text = body.detail.get("text")
        if not isinstance(text, str):
            content = (body.message or {}).get("content", "")
            text = content if isinstance(content, str) else "\n".join(
                b.get("text", "") for b in content if b.get("type") == "text"
            )  # fmt: skip
        return Target(uid, parent.uid, shared.state(uid), text)
    state = shared.state(uid)
    note = ""
    if state == NOT_CAPTURED:
        note = "The files of this step could not be captured; the files on disk stay as they are."
    elif not state:
        note = "There are no files recorded for this step; the files on disk stay as they are."
    return Target(uid, uid, state, "", note)


def others_before(shared: Shared, target: Target) -> list[Others]:
    """What no step changed, on the way from where both paths part to the cursor."""
    doc = shared.doc
    tree = doc.tree
    here = doc.header(doc.cursor).seq
    common = tree.lca(here, doc.header(target.cursor).seq)
    on_the_way = [seq for seq in tree.path(here) if seq > common]
    found: list[Others] = []

    def add(seq: int, state: str, facts: dict[str, Any]) -> None:
        parent = tree.parent(seq)
        before = shared.good_state(doc.uid(parent)) if parent else ""
        steps = [(before, state)] if before and state not in ("", NOT_CAPTURED) else []
        found.append(Others(facts.get("paths", []), steps, facts.get("commands", [])))

    for seq in on_the_way:
        if tree.kind(seq) in OF_THE_PERSON:
            header = doc.headers_of([seq])[0]
            add(seq, header.state, doc.body(header.uid).detail)
    for record in doc.records(OUTSIDE):
        if (seq := doc.seq(record.node)) in on_the_way:
            add(seq, str(record.data["state"]), record.data)
    return found
