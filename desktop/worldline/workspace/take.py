"""Take a file, or some of its changes, from a node onto disk."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pygit2

from worldline.core.errors import WorkspaceError
from worldline.workspace import difftext
from worldline.workspace.merge3 import merge_content
from worldline.workspace.model import NOT_CAPTURED, ProgressCall, RestoreReport
from worldline.workspace.objects import BLOB, MODE_FILE, MODE_LINK
from worldline.workspace.putfiles import leaf_of, obstacles, put_files, saved
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
    undo: bool = False,
    other: str = "",
    remove: str = "",
    progress: ProgressCall | None = None,
) -> Taken:
    """Put `path` as it is in `state` onto disk; what is there is saved first.

    `hunks`: only these hunks (counted from 0) of the diff `against` → `state` as it was shown with `context` lines;
    `against` "" = the disk. They are merged into what is on disk. `undo`: the diff that was shown is `state` → `against`,
    and its hunks are taken back. `other`: the name that the file has in the one of them where it has not `path` (a
    rename). `remove`: a path that goes from disk in the same step: the other name of a renamed file, or `path` itself
    where `state` does not have it. `last`: the state of the cursor, to tell whether the disk has something that no node
    has. Raises `WorkspaceError`: `missing_file`, `not_captured`, `conflict`, `bad_hunk`; then nothing was changed.
    """
    if state == NOT_CAPTURED:
        raise WorkspaceError(
            "The files of this step were not captured.",
            "Choose a node before or after it.",
            kind="not_captured",
        )
    source = workspace.state(state)
    known = leaf_of(source, path)
    now = saved(workspace, last)
    wanted: dict[str, Leaf | None] = {}
    if hunks is not None:
        sides = _Sides(source, workspace.state(against) if against else now, now, path, other)
        wanted[sides.place] = _some(sides, hunks, context, undo)
    elif known is not None or remove == path:
        wanted = {remove: None, path: known} if remove else {path: known}
    else:
        raise WorkspaceError(f"{path} is not in that state.", "Choose another node.", kind="missing_file")
    for name, why in obstacles(workspace.work, now, wanted).items():
        if why:
            raise WorkspaceError(
                f"{name} cannot be put down: {why}.",
                "Move that away, then take the file again.",
                kind="conflict",
            )
        del wanted[name]
    report = put_files(workspace, now, wanted, source=source, progress=progress)
    changed = now.id != last
    return Taken(report, now.id, changed, _note(report, path, hunks, known is None))


def _note(report: RestoreReport, path: str, hunks: Collection[int] | None, gone: bool) -> str:
    if report.failed:
        return "; ".join(f"{f.path}: {f.reason}" for f in report.failed)
    if not report.done:
        return report.note
    if hunks is not None:
        return f"{len(hunks)} of its changes are now in {path}."
    return f"{path} was not there, so it is gone now." if gone else f"{path} is now as it was there."


class _Sides:
    """The three contents that changes are merged from."""

    def __init__(self, source: State, base: State, now: State, path: str, other: str) -> None:
        self.path = path
        self.store = source.store
        names = (path, other) if other else (path,)
        self.place = next((name for name in names if leaf_of(now, name) is not None), path)
        self.source, self.base, self.there = (
            next((leaf for name in names if (leaf := leaf_of(state, name)) is not None), None)
            for state in (source, base, now)
        )

    def content(self, leaf: Leaf | None) -> bytes:
        return b"" if leaf is None else self.store.read(leaf.oid)


def _some(sides: _Sides, hunks: Collection[int], context: int, undo: bool) -> Leaf | None:
    path = sides.path
    before, after, there = sides.base, sides.source, sides.there
    if before is None and after is None:
        raise WorkspaceError(f"{path} is not in that state.", "Choose another node.", kind="missing_file")
    if any(leaf is not None and leaf.mode == MODE_LINK for leaf in (before, after, there)):
        raise WorkspaceError(f"{path} is a link.", "Take it as a whole.", kind="bad_hunk")
    old, new, ours = (sides.content(leaf) for leaf in (before, after, there))
    if any(difftext.as_lines_of_text(data) != data for data in (old, new, ours)):
        raise WorkspaceError(
            f"{path} is not written in UTF-8, so its parts cannot be taken one by one.",
            "Take it as a whole.",
            kind="bad_hunk",
        )
    theirs = without_hunks(new, old, hunks, context) if undo else with_hunks(old, new, hunks, context)
    merged = merge_content(sides.store.repo, old, ours, theirs)
    if merged is None:
        raise WorkspaceError(
            f"{path} was changed on disk in the same place; nothing was written.",
            "Take the whole file (what is there is saved first), or make the change by hand.",
            kind="conflict",
        )
    if not merged and after is None:
        return None
    store = sides.store
    oid = store.put(BLOB, merged)
    store.flush()
    mode = there.mode if there is not None else after.mode if after is not None else MODE_FILE
    return Leaf(mode, oid)


def with_hunks(old: bytes, new: bytes, hunks: Collection[int], context: int = 3) -> bytes:
    """`old` with only some hunks of its diff to `new`. Raises `WorkspaceError` (`bad_hunk`) for a number there is not."""
    chosen = _chosen(old, new, hunks, context)
    return _spliced(old, [(h.old_start, h.old_lines, _side(h, "+")) for h in chosen])


def without_hunks(old: bytes, new: bytes, hunks: Collection[int], context: int = 3) -> bytes:
    """`new` with some hunks of the diff from `old` taken back. Not the same as the hunks of the diff the other way: that
    one may cut them elsewhere. Raises as `with_hunks`."""
    chosen = _chosen(old, new, hunks, context)
    return _spliced(new, [(h.new_start, h.new_lines, _side(h, "-")) for h in chosen])


def _side(hunk: pygit2.DiffHunk, origin: str) -> list[bytes]:
    return [line.raw_content for line in hunk.lines if line.origin in (" ", origin)]


def _spliced(data: bytes, places: Iterable[tuple[int, int, list[bytes]]]) -> bytes:
    """`data` with other lines at some places: (first line from 1, number of lines, lines instead), in order. A place
    without lines lies behind the line that it names."""
    lines, result, at = _lines(data), [], 0
    for first, count, instead in places:
        start = first - 1 if count else first
        result += lines[at:start] + instead
        at = start + count
    return b"".join(result + lines[at:])


def _chosen(old: bytes, new: bytes, hunks: Collection[int], context: int) -> list[pygit2.DiffHunk]:
    found = list(pygit2.Patch.create_from(old, new, context_lines=context).hunks)
    if any(not 0 <= number < len(found) for number in hunks):
        raise WorkspaceError(
            "This change is not there any more.",
            "The file was changed meanwhile; look at the diff again.",
            kind="bad_hunk",
        )
    return [hunk for number, hunk in enumerate(found) if number in hunks]


def _lines(data: bytes) -> list[bytes]:
    """Split at line feeds only: a lone carriage return is no line end for git."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
