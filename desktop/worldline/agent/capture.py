"""Which state of the workspace belongs to which node."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from worldline.core.background import while_ran
from worldline.core.kinds import NodeFlag, NodeKind
from worldline.session.document import SessionDocument
from worldline.session.model import NodeDraft, NodeEnd
from worldline.workspace.model import NOT_CAPTURED, CaptureResult, Omitted

OUTSIDE = "outside"
"""Kind of the record of a tool node that says what was changed on disk just before it, and by no step: its state and paths,
and in `commands` what ran in the background meanwhile; without any it was the person."""


def last_good_state(doc: SessionDocument, uid: str) -> str:
    """The nearest state on the path that could be captured; "" when there is none."""
    up = doc.tree.path(doc.seq(uid))
    up.reverse()
    for start in range(0, len(up), 64):
        # `headers_of` answers in the order of `seq`, which is the order of the path.
        for header in sorted(doc.headers_of(up[start : start + 64]), key=lambda h: -h.seq):
            if header.state not in ("", NOT_CAPTURED):
                return header.state
    return ""


_ROWS = 200
"""Paths with reasons that a node lists at most."""


def lacks(result: CaptureResult, doc: SessionDocument, uid: str) -> dict[str, Any]:
    """For the detail of a node that follows on `uid`: what its files lack (`not_captured`) and what else there is to say of
    them (`remarks`), each a list of paths with reasons; left out where it was said before on the path."""
    tree = doc.tree
    up = list(tree.ancestors(doc.seq(uid)))
    told = next(at for at in up if at == up[-1] or tree.flags(at) & NodeFlag.PARTLY_CAPTURED)
    last, first = _said(doc, told), _said(doc, up[-1])
    known = [*last.get("not_captured", ()), *_left_behind(result, doc)]
    return _news(
        result, {"not_captured": known, "remarks": [*last.get("remarks", ()), *first.get("remarks", ())]}
    )


_LOOKED_AT = 50


def _left_behind(result: CaptureResult, doc: SessionDocument) -> list[dict[str, str]]:
    """What another branch said of files that were there before: what was never captured stays when one goes elsewhere."""
    if not result.seen:
        return []
    flagged = doc.tree.flagged(NodeFlag.PARTLY_CAPTURED, _LOOKED_AT)
    rows = [row for seq in flagged for row in _said(doc, seq).get("not_captured", ())]
    return [row for row in rows if row.get("path") in result.seen]


def _said(doc: SessionDocument, seq: int) -> dict[str, Any]:
    body = doc.body(doc.headers_of([seq])[0].uid)
    return {**body.detail, **body.end_detail}


def root_lacks(result: CaptureResult) -> dict[str, Any]:
    """`lacks` for the first node: all there is to say."""
    return {"not_captured": _listed(result.omitted), **_news(result, {})}


def _news(result: CaptureResult, told: dict[str, Any]) -> dict[str, Any]:
    detail: dict[str, Any] = {}
    known = {row.get("path") for row in told.get("not_captured") or []}
    # Of those that no list has room for nobody can say whether they are new.
    if any(one.path not in known for one in result.omitted[:_ROWS]):
        detail["not_captured"] = _listed(result.omitted)
    said = {(row.get("path"), row.get("reason")) for row in told.get("remarks") or []}
    if remarks := [one for one in result.notes[:_ROWS] if (one.path, one.reason) not in said]:
        detail["remarks"] = _listed(remarks)
    return detail


def _listed(found: Sequence[Omitted]) -> list[dict[str, str]]:
    return [{"path": one.path, "reason": one.reason} for one in found[:_ROWS]]


def partly(detail: dict[str, Any]) -> NodeFlag:
    """The flag of a node that lists what it lacks."""
    return NodeFlag.PARTLY_CAPTURED if detail.get("not_captured") else NodeFlag.NONE


_NAMED = 50


def change_from_outside(
    result: CaptureResult, doc: SessionDocument, parent: str, commands: Sequence[str] = ()
) -> NodeDraft:
    """The node for what no step changed, as it was found on disk. `commands` ran in the background meanwhile: it was one
    of them or the person."""
    lack = lacks(result, doc, parent)
    names = ", ".join(result.paths[:3])
    how = while_ran(commands, mark=",") if commands else "from outside"
    if not names:
        shown = f"the git repository was changed {how}"
    elif result.files == 1:
        shown = f"1 file changed {how}: {names}"
    else:
        shown = f"{result.files} files changed {how}: {names}"
    return NodeDraft(
        kind=NodeKind.EXTERNAL_CHANGE,
        parent=parent,
        detail={"paths": result.paths, "head": result.head, **doubt(commands), **lack},
        flags=partly(lack),
        preview=shown,
        state=result.state,
        added=result.added,
        removed=result.removed,
        files=result.files,
    )


def doubt(commands: Sequence[str]) -> dict[str, list[str]]:
    """For the detail of a node: what may have made its changes in place of the person."""
    return {"commands": list(commands)} if commands else {}


class StateTracker:
    """Follows the workspace along one branch while a run writes to it."""

    def __init__(
        self, capture: Callable[[str | None, str], Awaitable[CaptureResult]], doc: SessionDocument, tip: str
    ) -> None:
        """`tip`: the node that the branch goes on from."""
        self._capture = capture
        self._good = last_good_state(doc, tip)
        self._lost = doc.state(tip) == NOT_CAPTURED
        self._doc, self._tip = doc, tip
        self._told: dict[str, Any] | None = None
        """What was said last of what the files lack; None = nothing by this run."""
        self._moved = False
        """A change before this step is in no node yet."""

    async def before(self) -> CaptureResult | None:
        """What somebody else has changed on disk since the last step, kept as a state of its own; None = nothing."""
        if not self._good or self._lost:
            return None
        result = await self._capture(self._good, "changed while the run went on")
        if result.state == NOT_CAPTURED or not result.changed or not result.paths:
            return None
        self._good = result.state
        self._moved = True
        return result

    def placed(self) -> None:
        """What `before` found is in a node of its own."""
        self._moved = False

    async def after(self, label: str) -> CaptureResult:
        """Capture what is on disk now, as the child of the last state that could be captured."""
        return await self._capture(self._good or None, label)

    def describe(self, result: CaptureResult, end: NodeEnd) -> None:
        """Write the result into the end of the node."""
        if result.state == NOT_CAPTURED:
            self._lost = True
            end.state = NOT_CAPTURED
            end.flags |= NodeFlag.NOT_CAPTURED
            end.detail["not_captured_why"] = result.error
            return
        if result.changed or self._lost or self._moved:
            end.state = result.state
        self._lost = self._moved = False
        self._good = result.state
        end.added, end.removed, end.files = result.added, result.removed, result.files
        if result.changed and result.files:
            end.flags |= NodeFlag.FILES_CHANGED
            end.detail["paths"] = result.paths
        if result.runs_later:
            end.flags |= NodeFlag.CODE_RUNS_LATER
            end.detail["runs_later"] = result.runs_later[:_NAMED]
        if result.head:
            end.detail["head"] = result.head
        said = lacks(result, self._doc, self._tip) if self._told is None else _news(result, self._told)
        end.detail.update(said)
        end.flags |= partly(said)
        self._told = root_lacks(result)
