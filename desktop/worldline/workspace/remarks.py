"""What is worth saying of a state beside its files: on the node, and in the plan of a jump."""

from __future__ import annotations

from worldline.workspace import linecount, nested_code, renames
from worldline.workspace.model import CaptureResult, Omitted
from worldline.workspace.runs_later import difference_runs_later
from worldline.workspace.states import State
from worldline.workspace.store import Store
from worldline.workspace.treediff import diff

_MAX_PATHS = 1_000


def tell_changes(store: Store, before: State, state: State, result: CaptureResult) -> None:
    """Fill in what has changed, for the node: a renamed file is one that changed, and both of its paths are named."""
    found = list(diff(store, before.files, state.files))
    result.paths = [d.path for d in found[:_MAX_PATHS]]
    result.runs_later = [
        *(d.path for d in found[:_MAX_PATHS] if difference_runs_later(store, d)),
        *nested_code.changed(before, state),
    ]
    joined = renames.join(store, before.files, state.files, found, quick=True)
    result.files = len(joined)
    result.added, result.removed = linecount.count(store, joined) or (0, 0)


def gaps_of(state: State) -> list[Omitted]:
    """What a state does not hold of the repositories in it, and why: for the node."""
    gaps = []
    for root in state.roots:
        place = f"{root.path}/.git" if root.path else ".git"
        if root.trouble:
            gaps.append(Omitted(place, f"staging area and HEAD are not captured: {root.trouble}"))
        elif root.uncopied:
            gaps.append(
                Omitted(place, f"its history is not copied: {root.uncopied}; deleted, it does not come back")
            )
    return gaps


def notes_of(state: State) -> list[Omitted]:
    notes = [
        Omitted(path, "case_collision: another name here differs only by case")
        for path in state.meta["clashes"]
    ]
    for root in state.roots:
        if root.path:
            history = (
                "its files and its history are captured"
                if root.git or root.pointer
                else "its files are captured, its history is not"
            )
            notes.append(Omitted(root.path, f"nested repository: {history}"))
        if root.trouble:
            notes.append(Omitted(root.path or ".", f"only files are captured: {root.trouble}"))
    return notes
