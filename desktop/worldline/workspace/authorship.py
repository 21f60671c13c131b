"""Who wrote which line of a file along a path of states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pygit2

from worldline.workspace import difftext
from worldline.workspace.model import NOT_CAPTURED, ProgressCall
from worldline.workspace.objects import MODE_DIR, MODE_LINK
from worldline.workspace.states import State
from worldline.workspace.store import Store
from worldline.workspace.treediff import diff

USER = "user"
_MAX_BYTES = 4 << 20


class Step(NamedTuple):
    """One node on the path: its uid, the state after it, and whether the person made the change."""

    uid: str
    state: str
    is_user: bool = False


@dataclass(slots=True)
class Authors:
    lines: list[str] = field(default_factory=list)
    """For each line of the newest content who wrote it; "" = it was there from the start."""
    removed: dict[int, str] = field(default_factory=dict)
    """Line number in the oldest content → who removed it."""


def last_authors(store: Store, steps: Sequence[Step]) -> dict[str, str]:
    """Path → who changed it last on the way."""
    found: dict[str, str] = {}
    for before, step in _pairs(store, steps):
        for difference in diff(store, before.files, State.load(store, step.state).files):
            found[difference.path] = USER if step.is_user else step.uid
    return found


def _pairs(store: Store, steps: Sequence[Step]) -> list[tuple[State, Step]]:
    """Each step that has a state of its own, with the state before it."""
    pairs = []
    before: Step | None = None
    for step in steps:
        if step.state in ("", NOT_CAPTURED):
            continue
        if before is not None and before.state != step.state:
            pairs.append((State.load(store, before.state), step))
        before = step
    return pairs


def authors_of(
    store: Store, steps: Sequence[Step], old_path: str, new_path: str, progress: ProgressCall | None = None
) -> Authors:
    """Follow a file through the states: only steps that changed it are compared. It is looked for under both names,
    so a rename on the way is followed."""
    with_state = [step for step in steps if step.state not in ("", NOT_CAPTURED)]
    if not with_state:
        return Authors()
    current = _text(store, with_state[0].state, old_path, new_path)
    count = _line_count(current)
    result = Authors([""] * count)
    origin: list[int] = list(range(1, count + 1))
    for number, step in enumerate(with_state[1:]):
        if progress is not None:
            progress("authors", number, len(with_state))
        newer = _text(store, step.state, new_path, old_path)
        if newer == current:
            continue
        _apply(result, origin, current, newer, USER if step.is_user else step.uid)
        current = newer
    return result


def _text(store: Store, state: str, first: str, second: str) -> bytes:
    files = State.load(store, state).files
    for path in (first, second):
        entry = store.lookup(files, path)
        if (
            entry is not None
            and entry.mode not in (MODE_DIR, MODE_LINK)
            and store.size_of(entry.oid) <= _MAX_BYTES
        ):
            return difftext.as_lines_of_text(store.read(entry.oid))
    return b""


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
