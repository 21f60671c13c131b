"""Who made the changes between two places of the session: the steps on the way, for the workspace to follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from worldline.agent.capture import OUTSIDE
from worldline.core.background import UNSURE
from worldline.core.kinds import OF_THE_PERSON, NodeKind, Outcome
from worldline.engine.shared import Shared
from worldline.workspace.authorship import USER, Step


@dataclass(frozen=True, slots=True)
class Way:
    new: list[Step]
    """From `a`, or from where the two part, to `b`."""
    old: list[Step]
    """From where the two part to `a`; empty when `a` lies on the way to `b`."""
    disk_author: str = USER
    """Whose what is on disk and in no node yet is."""


def way(shared: Shared, a: str, b: str) -> Way:
    """The steps between two nodes named as in `DiffFor`."""
    doc = shared.doc
    to = doc.cursor if b == "disk" else doc.resolve(b)
    end = doc.seq(to)
    if a == "parent":
        start = end if b == "disk" else doc.tree.parent(end) or end
    else:
        start = doc.seq(doc.resolve("root" if a == "base" else a))
    common = doc.tree.lca(start, end)
    if not common:
        return Way([], [])
    return Way(
        _steps(shared, common, end),
        _steps(shared, common, start) if start != common else [],
        _working(shared) if b == "disk" else USER,
    )


def _steps(shared: Shared, first: int, last: int) -> list[Step]:
    doc = shared.doc
    way = [seq for seq in doc.tree.path(last) if seq > first]
    steps = [Step("", shared.good_state(doc.uid(first)))]
    outside = {record.node: record.data for record in doc.records(OUTSIDE)}
    for header in sorted(doc.headers_of(way), key=lambda h: h.seq) if way else ():
        if header.uid in outside:
            steps.append(_of_others(str(outside[header.uid]["state"]), outside[header.uid]))
        if header.kind in OF_THE_PERSON:
            steps.append(_of_others(header.state, doc.body(header.uid).detail))
        else:
            steps.append(Step(header.uid, header.state))
    return steps


def _of_others(state: str, facts: dict[str, Any]) -> Step:
    """A step that no tool made."""
    return Step(UNSURE, state) if facts.get("commands") else Step(USER, state, is_user=True)


def _working(shared: Shared) -> str:
    """While a tool runs, what it has written so far is its own."""
    header = shared.doc.header(shared.doc.cursor)
    running = header.kind is NodeKind.TOOL and header.outcome in (Outcome.RUNNING, Outcome.WAITING)
    if running:
        return header.uid
    return UNSURE if shared.meanwhile.now().commands else USER
