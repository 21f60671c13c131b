"""Which files differ between two states, or a state and the disk.

Costs what differs. Runs on the workspace thread; each file is a step after which it can be cancelled.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Sequence
from typing import Literal

import pygit2
from pygit2.enums import DeltaStatus, DiffOption, FileMode

from worldline.protocol.model import FileChange
from worldline.workspace import difftext, nested_code
from worldline.workspace.authorship import USER, Step, last_authors
from worldline.workspace.model import ProgressCall, _Disk
from worldline.workspace.pair import Pair, both, compared
from worldline.workspace.renames import MAX_COUNTED
from worldline.workspace.runs_later import asks_content, runs_later
from worldline.workspace.sources import Ref, Source

MAX_TEXT = 16 << 20
"""Bytes of one side above which a file is not compared line by line unless asked for."""
_STATUS: dict[int, Literal["A", "M", "D", "R", "T"]] = {
    DeltaStatus.ADDED: "A",
    DeltaStatus.DELETED: "D",
    DeltaStatus.MODIFIED: "M",
    DeltaStatus.RENAMED: "R",
    DeltaStatus.TYPECHANGE: "T",
}


def changes(
    workspace: Source,
    a: Ref,
    b: Ref,
    *,
    path_states: Sequence[Step] = (),
    disk_author: str = USER,
    progress: ProgressCall | None = None,
) -> list[FileChange]:
    """Changed paths from `a` to `b`, in order of path. `path_states`: the states on the way, to name who changed each
    file last; what lies between the last of them and the disk is `disk_author`'s. `progress` may raise `Cancelled`."""
    pair = both(workspace, a, b)
    diff = compared(workspace, pair.old.files, pair.new.files, DiffOption.INCLUDE_TYPECHANGE)
    found: list[FileChange] = []
    total = len(diff)
    for number, delta in enumerate(diff.deltas):
        if progress is not None and number % 20 == 0:
            progress("diff", number, total)
        change = _change(workspace, delta, total > MAX_COUNTED)
        if total <= MAX_COUNTED and not change.binary:
            _, change.added, change.removed = _stats(workspace, delta)
        found.append(change)
    found += _permission_changes(pair, {c.path for c in found})
    found += _repository_changes(pair)
    if path_states:
        who = last_authors(workspace.store, whole_way(path_states, b, pair, disk_author))
        for change in found:
            change.author = who.get(raw_path(change), "")
    return sorted(found, key=lambda c: c.path)


def changes_of(workspace: Source, pair: Pair) -> Iterable[FileChange]:
    """The same one by one, without counted lines and authors."""
    diff = compared(workspace, pair.old.files, pair.new.files, DiffOption.INCLUDE_TYPECHANGE)
    seen = set()
    for delta in diff.deltas:
        change = _change(workspace, delta)
        seen.add(change.path)
        yield change
    yield from _permission_changes(pair, seen)
    yield from _repository_changes(pair)


def whole_way(steps: Sequence[Step], b: Ref, pair: Pair, disk_author: str) -> list[Step]:
    """`steps`, and the disk as their end where that is what is compared."""
    if not isinstance(b, _Disk):
        return list(steps)
    return [*steps, Step(disk_author, pair.new.id, disk_author == USER)]


def raw_path(change: FileChange) -> str:
    """The path as it is on disk; `path` is for people."""
    return os.fsdecode(base64.b64decode(change.path_bytes)) if change.path_bytes else change.path


def _stats(workspace: Source, delta: pygit2.DiffDelta) -> tuple[int, int, int]:
    old, new = _content(workspace, delta.old_file), _content(workspace, delta.new_file)
    if max(len(old or b""), len(new or b"")) > MAX_TEXT:
        return 0, 0, 0
    stats = pygit2.Patch.create_from(old or b"", new or b"", context_lines=0).line_stats
    return stats[0], stats[1], stats[2]


def _content(workspace: Source, file: pygit2.DiffFile) -> bytes | None:
    if file.id == pygit2.Oid(raw=b"\0" * 20) or file.mode == FileMode.TREE:
        return None
    return workspace.store.read(bytes(file.id.raw))


def _size(workspace: Source, file: pygit2.DiffFile) -> int:
    if file.id == pygit2.Oid(raw=b"\0" * 20) or file.mode == FileMode.TREE:
        return -1
    return workspace.store.size_of(bytes(file.id.raw))


def _change(workspace: Source, delta: pygit2.DiffDelta, light: bool = False) -> FileChange:
    """`light`: of so many files only those are read whose content says whether they run later."""
    old, new = delta.old_file, delta.new_file
    raw = (old if delta.status == DeltaStatus.DELETED else new).raw_path
    path, path_bytes = difftext.path_text(raw)
    status = _STATUS.get(delta.status, "M")
    if status == "M" and old.id == new.id:
        status = "T"
    light = light and not asks_content(path)
    old_data, new_data = (None, None) if light else (_content(workspace, old), _content(workspace, new))
    change = FileChange(
        path=path,
        path_bytes=path_bytes,
        status=status,
        old_path=difftext.path_text(old.raw_path)[0] if status == "R" else "",
        old_mode=0 if delta.status == DeltaStatus.ADDED else old.mode,
        new_mode=0 if delta.status == DeltaStatus.DELETED else new.mode,
        old_size=_size(workspace, old),
        new_size=_size(workspace, new),
        binary=any(
            d is not None and difftext.is_binary(difftext.as_lines_of_text(d)) for d in (old_data, new_data)
        ),
    )
    change.runs_later = status != "D" and runs_later(path, old_data, new_data)
    return change


def _permission_changes(pair: Pair, known: set[str]) -> list[FileChange]:
    found = []
    for path in sorted((pair.old.perms.keys() | pair.new.perms.keys()) - known):
        old, new = (s.store.lookup(s.files, path) for s in (pair.old, pair.new))
        if old is None or new is None or old.mode != new.mode or old.mode == FileMode.LINK:
            continue
        folder, executable = old.mode == FileMode.TREE, old.mode == FileMode.BLOB_EXECUTABLE
        modes = [s.permission(path, executable, folder) for s in (pair.old, pair.new)]
        if modes[0] != modes[1]:
            text, raw = difftext.path_text(os.fsencode(path))
            found.append(
                FileChange(path=text, path_bytes=raw, status="T", old_mode=modes[0], new_mode=modes[1])
            )
    return found


def _repository_changes(pair: Pair) -> list[FileChange]:
    """Nested repositories and submodules that stand at another commit, came or went, or name other programs to run."""
    old = {root.path: root.head for root in pair.old.roots if root.path}
    new = {root.path: root.head for root in pair.new.roots if root.path}
    code = nested_code.changed(pair.old, pair.new)
    return [
        FileChange(path=path, status="S", runs_later=path in code)
        for path in sorted(old.keys() | new.keys())
        if old.get(path) != new.get(path) or path in code
    ]
