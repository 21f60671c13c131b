"""Who wrote which line of a file along a path of states."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pygit2
from pygit2.enums import DeltaStatus, DiffFind

from worldline.core.errors import WorkspaceError
from worldline.protocol.model import DiffRow
from worldline.workspace import difftext
from worldline.workspace.model import NOT_CAPTURED, ProgressCall
from worldline.workspace.objects import MODE_DIR, MODE_LINK
from worldline.workspace.states import State
from worldline.workspace.store import Store
from worldline.workspace.treediff import diff

USER = "user"
_MAX_BYTES = 4 << 20
_MANY = 2_000
"""Above so many changed files in one step a renamed file is recognised only by equal content."""


class Step(NamedTuple):
    """One node on the path: its uid (or `UNSURE`), the state after it, and whether the person made the change."""

    uid: str
    state: str
    is_user: bool = False


@dataclass(slots=True)
class Authors:
    lines: list[str] = field(default_factory=list)
    """For each line of the newest content who wrote it; "" = it was there from the start."""
    removed: dict[int, str] = field(default_factory=dict)
    """Line number in the oldest content → who removed it."""
    origin: list[int] = field(default_factory=list)
    """For each line of the newest content its number in the oldest; 0 = it came on the way."""


def last_authors(store: Store, steps: Sequence[Step]) -> dict[str, str]:
    """Path → who changed it last on the way."""
    found: dict[str, str] = {}
    known, states = _known(store, steps)
    for at in range(1, len(known)):
        author = USER if known[at].is_user else known[at].uid
        for difference in diff(store, states[at - 1].files, states[at].files):
            found[difference.path] = author
    return found


def authors_of(
    store: Store, steps: Sequence[Step], old_path: str, new_path: str, progress: ProgressCall | None = None
) -> Authors:
    """Follow a file through the states: only steps that changed it are compared. `new_path` is its name in the newest
    state; renames on the way are followed back from there, `old_path` is where it is looked for in the oldest."""
    with_state, states = _known(store, steps)
    if not with_state:
        return Authors()
    names = _names(store, states, new_path)
    held = _entry(store, states[0], names[0], old_path)
    current = _text(store, held)
    count = _line_count(current)
    result = Authors([""] * count, origin=list(range(1, count + 1)))
    for number, step in enumerate(with_state[1:], 1):
        if progress is not None:
            progress("authors", number, len(with_state))
        entry = _entry(store, states[number], names[number])
        if entry == held:
            continue
        held = entry
        newer = _text(store, entry)
        if newer == current:
            continue
        _apply(result, result.origin, current, newer, USER if step.is_user else step.uid)
        current = newer
    return result


def _known(store: Store, steps: Sequence[Step]) -> tuple[list[Step], list[State]]:
    """The steps that have a state, with these. Where states were pruned, nobody knows who made the change that is found
    behind the gap."""
    known: list[Step] = []
    states: list[State] = []
    gap = False
    for step in steps:
        if step.state in ("", NOT_CAPTURED):
            continue
        try:
            states.append(State.load(store, step.state))
        except WorkspaceError as error:
            if error.kind != "missing_state":
                raise
            gap = True
            continue
        known.append(Step("", step.state) if gap else step)
        gap = False
    return known, states


def _names(store: Store, states: Sequence[State], newest: str) -> list[str]:
    """The name of a file in each of the states, followed back from its name in the newest."""
    names = [newest]
    for at in range(len(states) - 1, 0, -1):
        older, newer = states[at - 1], states[at]
        name = names[-1]
        came = (
            older.files != newer.files
            and store.lookup(newer.files, name) is not None
            and store.lookup(older.files, name) is None
        )
        names.append(_renamed_from(store, older, newer, name) or name if came else name)
    names.reverse()
    return names


def _renamed_from(store: Store, older: State, newer: State, name: str) -> str:
    """The name that a file had one step before; "" = it was made in this step."""
    trees = [store.repo[pygit2.Oid(raw=state.files)].peel(pygit2.Tree) for state in (older, newer)]
    found = trees[0].diff_to_tree(trees[1])
    exact = DiffFind.FIND_EXACT_MATCH_ONLY if len(found) > _MANY else 0
    found.find_similar(flags=DiffFind.FIND_RENAMES | exact, rename_limit=400)
    wanted = os.fsencode(name)
    for delta in found.deltas:
        if delta.status == DeltaStatus.RENAMED and delta.new_file.raw_path == wanted:
            return os.fsdecode(delta.old_file.raw_path)
    return ""


def _entry(store: Store, state: State, *paths: str) -> bytes:
    """Id of the content of the first of these that is a file; b"" = none is."""
    for path in paths:
        entry = store.lookup(state.files, path)
        if entry is not None and entry.mode not in (MODE_DIR, MODE_LINK):
            return entry.oid
    return b""


def _text(store: Store, oid: bytes) -> bytes:
    if not oid or store.size_of(oid) > _MAX_BYTES:
        return b""
    return difftext.as_lines_of_text(store.read(oid))


def _line_count(data: bytes) -> int:
    return data.count(b"\n") + (1 if data and not data.endswith(b"\n") else 0)


def _apply(result: Authors, origin: list[int], old: bytes, new: bytes, author: str) -> None:
    """Carry the authors of `old` over to `new`. `origin`: for each line its number in the oldest content, 0 = newer."""
    if difftext.is_binary(old) or difftext.is_binary(new):
        count = _line_count(new)
        result.lines[:] = [author] * count
        origin[:] = [0] * count
        return
    lines: list[str] = []
    numbers: list[int] = []
    at = 0
    for hunk in pygit2.Patch.create_from(old, new, context_lines=0).hunks:
        # Without removed lines a hunk names the line before it.
        start = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
        lines += result.lines[at:start]
        numbers += origin[at:start]
        for number in origin[start : start + hunk.old_lines]:
            if number:
                result.removed[number] = author
        lines += [author] * hunk.new_lines
        numbers += [0] * hunk.new_lines
        at = start + hunk.old_lines
    lines += result.lines[at:]
    numbers += origin[at:]
    result.lines[:] = lines
    origin[:] = numbers


def attribute(rows: Sequence[DiffRow], new: Authors, old: Authors | None = None) -> None:
    """Write into the changed lines of a diff who made the change. `new`: the way to the newer side; `old`: the way to the
    older side, where the two parted before it. A line that the older side alone has was taken out by nobody."""
    for row in rows:
        if row.kind == "+" and 0 < row.new <= len(new.lines):
            row.author = new.lines[row.new - 1]
        elif row.kind == "-":
            number = row.old
            if old is not None:
                number = old.origin[row.old - 1] if 0 < row.old <= len(old.origin) else 0
            row.author = new.removed.get(number, "")
    _fill_gaps(rows)


def _fill_gaps(rows: Sequence[DiffRow]) -> None:
    """Two diffs may pair equal lines (a brace, an empty line) in different ways, so that a line of the one has no author
    in the other: it is of the same change as the line beside it."""
    for order in (rows, rows[::-1]):
        last = ""
        kind = ""
        for row in order:
            if row.kind not in "+-":
                last = "" if row.kind != "\\" else last
                continue
            if row.kind != kind:
                last, kind = "", row.kind
            if row.author:
                last = row.author
            else:
                row.author = last
