"""Take a file, or some of its changes, from a node onto disk."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pygit2

from worldline.core.errors import WorkspaceError
from worldline.workspace.merge3 import merge_content
from worldline.workspace.model import NOT_CAPTURED, ProgressCall, RestoreReport
from worldline.workspace.objects import BLOB, MODE_FILE, MODE_LINK
from worldline.workspace.putfiles import leaf_of, put_files, saved
from worldline.workspace.states import State
from worldline.workspace.treediff import Leaf

if TYPE_CHECKING:
    from worldline.workspace.engine import Workspace


@dataclass(slots=True)
class Taken:
    report: RestoreReport
    safety: str
    """The state of the disk before: make a node of it if `safety_changed`."""
    safety_changed: bool
    note: str


def take_file(
    workspace: Workspace,
    state: str,
    path: str,
    *,
    hunks: Collection[int] | None = None,
    against: str = "",
    last: str = "",
    context: int = 3,
    progress: ProgressCall | None = None,
) -> Taken:
    """Put `path` as it is in `state` onto disk; what is there is saved first.

    `hunks`: only these hunks (counted from 0) of the diff `against` → `state` as it was shown with `context` lines;
    `against` "" = the disk. They are merged into what is on disk. `last`: the state of the cursor, to tell whether the
    disk has something that no node has. Raises `WorkspaceError`: `missing_file`, `not_captured`, `conflict`,
    `bad_hunk`; then nothing was changed.
    """
    if state == NOT_CAPTURED:
        raise WorkspaceError(
            "The files of this step were not captured.",
            "Choose a node before or after it.",
            kind="not_captured",
        )
    source = workspace.state(state)
    wanted = leaf_of(source, path)
    if wanted is None:
        raise WorkspaceError(f"{path} is not in that state.", "Choose another node.", kind="missing_file")
    now = saved(workspace, last)
    if hunks is not None:
        base = workspace.state(against) if against else now
        wanted = _some(workspace, source, base, now, path, hunks, context)
    report = put_files(workspace, now, {path: wanted}, progress=progress)
    changed = now.id != last
    note = f"{path} is now as it was there." if report.done and hunks is None else report.note
    if report.done and hunks is not None:
        note = f"{len(hunks)} of its changes are now in {path}."
    if report.failed:
        note = "; ".join(f"{f.path}: {f.reason}" for f in report.failed)
    return Taken(report, now.id, changed, note)


def _some(
    workspace: Workspace,
    source: State,
    base: State,
    now: State,
    path: str,
    hunks: Collection[int],
    context: int,
) -> Leaf:
    before, after, there = (leaf_of(s, path) for s in (base, source, now))
    if any(leaf is not None and leaf.mode == MODE_LINK for leaf in (before, after, there)):
        raise WorkspaceError(f"{path} is a link.", "Take it as a whole.", kind="bad_hunk")
    store = workspace.store
    old, new, ours = (b"" if leaf is None else store.read(leaf.oid) for leaf in (before, after, there))
    theirs = with_hunks(old, new, hunks, context)
    merged = merge_content(store.repo, old, ours, theirs)
    if merged is None:
        raise WorkspaceError(
            f"{path} was changed on disk in the same place; nothing was written.",
            "Take the whole file (what is there is saved first), or make the change by hand.",
            kind="conflict",
        )
    oid = store.put(BLOB, merged)
    store.flush()
    mode = there.mode if there is not None else after.mode if after is not None else MODE_FILE
    return Leaf(mode, oid)


def with_hunks(old: bytes, new: bytes, hunks: Collection[int], context: int = 3) -> bytes:
    """`old` with only some hunks of its diff to `new`. Raises `WorkspaceError` (`bad_hunk`) for a number there is not."""
    found = list(pygit2.Patch.create_from(old, new, context_lines=context).hunks)
    if any(not 0 <= number < len(found) for number in hunks):
        raise WorkspaceError(
            "This change is not there any more.",
            "The file was changed meanwhile; look at the diff again.",
            kind="bad_hunk",
        )
    lines = _lines(old)
    result: list[bytes] = []
    at = 0
    for number, hunk in enumerate(found):
        if number not in hunks:
            continue
        start = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
        result += lines[at:start]
        result += [line.raw_content for line in hunk.lines if line.origin in (" ", "+")]
        at = start + hunk.old_lines
    result += lines[at:]
    return b"".join(result)


def _lines(data: bytes) -> list[bytes]:
    """Split at line feeds only: a lone carriage return is no line end for git."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
