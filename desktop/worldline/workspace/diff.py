"""Differences between two states, or a state and the disk, for the screen and as a patch.

Costs what differs. Runs on the workspace thread; each file is a step after which it can be cancelled.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import pygit2
from pygit2.enums import DeltaStatus, DiffFind, DiffOption, FileMode

from worldline.core.errors import WorkspaceError
from worldline.protocol.model import DiffRow, FileChange, FileDiff
from worldline.workspace import difftext, nested_code
from worldline.workspace.authorship import USER, Step, attribute, authors_of, last_authors
from worldline.workspace.model import DISK, NOT_CAPTURED, ProgressCall, _Disk
from worldline.workspace.runs_later import asks_content, runs_later
from worldline.workspace.sources import Ref, Source, load
from worldline.workspace.states import State

MAX_COUNTED = 2_000
"""Above so many changed files, lines are not counted and renames are found by equal content only."""
MAX_TEXT = 16 << 20
"""Bytes of one side above which a file is not compared line by line unless asked for."""
_INDEX_LINE = re.compile(rb"^index [0-9a-f]+\.\.[0-9a-f]+", re.MULTILINE)
_DIFFERS = re.compile(rb"^Binary files .* differ\n", re.MULTILINE)
_STATUS: dict[int, Literal["A", "M", "D", "R", "T"]] = {
    DeltaStatus.ADDED: "A",
    DeltaStatus.DELETED: "D",
    DeltaStatus.MODIFIED: "M",
    DeltaStatus.RENAMED: "R",
    DeltaStatus.TYPECHANGE: "T",
}


@dataclass(slots=True)
class _Pair:
    """Two states ready to be compared."""

    old: State
    new: State


def _both(workspace: Source, a: Ref, b: Ref) -> _Pair:
    near_a, near_b = (r if isinstance(r, str) and r != NOT_CAPTURED else "" for r in (a, b))
    return _Pair(load(workspace, a, near_b), load(workspace, b, near_a))


def _diff(workspace: Source, old: bytes, new: bytes, flags: DiffOption, context: int = 3) -> pygit2.Diff:
    repo = workspace.store.repo
    trees = [repo[pygit2.Oid(raw=tree)].peel(pygit2.Tree) for tree in (old, new)]
    diff = trees[0].diff_to_tree(trees[1], flags=flags, context_lines=context)
    many = len(diff) > MAX_COUNTED
    diff.find_similar(
        flags=DiffFind.FIND_RENAMES | (DiffFind.FIND_EXACT_MATCH_ONLY if many else 0), rename_limit=400
    )
    return diff


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
    pair = _both(workspace, a, b)
    diff = _diff(workspace, pair.old.files, pair.new.files, DiffOption.INCLUDE_TYPECHANGE)
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
        who = last_authors(workspace.store, _whole_way(path_states, b, pair, disk_author))
        for change in found:
            change.author = who.get(_raw_path(change), "")
    return sorted(found, key=lambda c: c.path)


def _whole_way(steps: Sequence[Step], b: Ref, pair: _Pair, disk_author: str) -> list[Step]:
    if not isinstance(b, _Disk):
        return list(steps)
    return [*steps, Step(disk_author, pair.new.id, disk_author == USER)]


def _raw_path(change: FileChange) -> str:
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


def _permission_changes(pair: _Pair, known: set[str]) -> list[FileChange]:
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


def _repository_changes(pair: _Pair) -> list[FileChange]:
    """Nested repositories and submodules that stand at another commit, came or went, or name other programs to run."""
    old = {root.path: root.head for root in pair.old.roots if root.path}
    new = {root.path: root.head for root in pair.new.roots if root.path}
    code = nested_code.changed(pair.old, pair.new)
    return [
        FileChange(path=path, status="S", runs_later=path in code)
        for path in sorted(old.keys() | new.keys())
        if old.get(path) != new.get(path) or path in code
    ]


# -- one file


def file_diff(
    workspace: Source,
    a: Ref,
    b: Ref,
    path: str,
    *,
    context: int = 3,
    ignore_space: bool = False,
    max_rows: int = 200_000,
    max_bytes: int = MAX_TEXT,
    path_states: Sequence[Step] = (),
    old_states: Sequence[Step] = (),
    disk_author: str = USER,
    progress: ProgressCall | None = None,
) -> FileDiff:
    """The lines of one changed file. `path` as in `changes` (its `path_bytes` are found by it). Rows carry the uid of
    the node that wrote or removed them, or "user", if `path_states` are given: the way to `b` from `a`, or, where `a`
    lies on another branch, from where the two part; then `old_states` is the way from there to `a`. What lies between
    the last of them and the disk is `disk_author`'s. Raises `WorkspaceError` (`missing_file`) for a path that is in
    neither state."""
    pair = _both(workspace, a, b)
    wanted = next((c for c in _changes_of(workspace, pair) if c.path == path), None)
    if wanted is None:
        return _unchanged(pair, path)
    if wanted.status == "S":
        return FileDiff(change=wanted, note=_repository_note(pair, path))
    new_name = _raw_path(wanted)
    old_name = wanted.old_path or new_name
    old, new = _read(pair.old, old_name), _read(pair.new, new_name)
    result = FileDiff(change=wanted, old_image=difftext.image_text(old), new_image=difftext.image_text(new))
    _fill(result, old, new, context, ignore_space, max_rows, max_bytes, progress)
    if path_states and result.rows:
        steps = _whole_way(path_states, b, pair, disk_author)
        known = authors_of(workspace.store, steps, old_name, new_name, progress)
        beside = authors_of(workspace.store, old_states, old_name, old_name, progress) if old_states else None
        attribute(result.rows, known, beside)
    return result


def _changes_of(workspace: Source, pair: _Pair) -> Iterable[FileChange]:
    diff = _diff(workspace, pair.old.files, pair.new.files, DiffOption.INCLUDE_TYPECHANGE)
    seen = set()
    for delta in diff.deltas:
        change = _change(workspace, delta)
        seen.add(change.path)
        yield change
    yield from _permission_changes(pair, seen)
    yield from _repository_changes(pair)


def _read(state: State, path: str) -> bytes | None:
    entry = state.store.lookup(state.files, path)
    return None if entry is None or entry.mode == FileMode.TREE else state.store.read(entry.oid)


def _unchanged(pair: _Pair, path: str) -> FileDiff:
    note = pair.new.omitted.get(path) or pair.old.omitted.get(path)
    if note is None and _read(pair.new, path) is None and _read(pair.old, path) is None:
        raise WorkspaceError(
            f"{path} is in neither of the two states.", "Choose another file.", kind="missing_file"
        )
    text = f"Not captured: {note}." if note else "The file is the same in both."
    return FileDiff(change=FileChange(path=path, status="M"), note=text)


def _repository_note(pair: _Pair, path: str) -> str:
    heads = [next((r.head for r in s.roots if r.path == path), "") for s in (pair.old, pair.new)]
    names = [head[:12] or "none" for head in heads]
    code = nested_code.changed(pair.old, pair.new).get(path, [])
    if code:
        more = f" and {len(code) - nested_code.MOST} more" if len(code) > nested_code.MOST else ""
        named = f"{'; '.join(code[: nested_code.MOST])}{more}"
        return f"A repository of its own. When git is run in it, it runs: {named}."
    return f"A repository of its own: its commit changed from {names[0]} to {names[1]}. Its files are listed one by one."


def _fill(
    result: FileDiff,
    old: bytes | None,
    new: bytes | None,
    context: int,
    ignore_space: bool,
    max_rows: int,
    max_bytes: int,
    progress: ProgressCall | None,
) -> None:
    change = result.change
    if change.status == "T" and old == new:
        result.note = f"Only the mode changed: {change.old_mode:o} → {change.new_mode:o}."
        return
    if FileMode.LINK in (change.old_mode, change.new_mode):
        result.note = _link_note(change, old, new)
        return
    old, new = difftext.as_lines_of_text(old or b""), difftext.as_lines_of_text(new or b"")
    if difftext.is_binary(old) or difftext.is_binary(new):
        result.note = f"Binary: {max(change.old_size, 0):,} → {max(change.new_size, 0):,} bytes."
        return
    if max(len(old), len(new)) > max_bytes:
        result.note = f"Too large to compare line by line: {max(len(old), len(new)):,} bytes."
        result.truncated = True
        return
    ends = [difftext.line_ends(d) for d in (old, new)]
    mixed = "mixed" in ends or (all(ends) and ends[0] != ends[1])
    if mixed:
        result.note = f"Line ends: {ends[0] or 'none'} → {ends[1] or 'none'}; ␍ marks a carriage return."
    elif "crlf" in ends:
        result.note = "Line ends are CRLF."
    encodings = [difftext.encoding_of(d) for d in (old, new)]
    flags = DiffOption.IGNORE_WHITESPACE if ignore_space else DiffOption.NORMAL
    patch = pygit2.Patch.create_from(old, new, context_lines=context, flag=flags)
    _, change.added, change.removed = patch.line_stats
    _rows(result, patch, encodings, mixed, max_rows, progress)


def _link_note(change: FileChange, old: bytes | None, new: bytes | None) -> str:
    def said(mode: int, data: bytes | None) -> str:
        if data is None:
            return "nothing"
        return (
            f"a link to {difftext.path_text(data)[0]}"
            if mode == FileMode.LINK
            else f"a file of {len(data):,} bytes"
        )

    return f"{said(change.old_mode, old)} → {said(change.new_mode, new)}".capitalize()


def _rows(
    result: FileDiff,
    patch: pygit2.Patch,
    encodings: list[str],
    mixed: bool,
    max_rows: int,
    progress: ProgressCall | None,
) -> None:
    rows = result.rows
    for hunk in patch.hunks:
        if progress is not None:
            progress("diff", len(rows), 0)
        head = f"@@ -{hunk.old_start},{hunk.old_lines} +{hunk.new_start},{hunk.new_lines} @@"
        rows.append(DiffRow(kind="@", old=hunk.old_start, new=hunk.new_start, text=head))
        for line in hunk.lines:
            if len(rows) >= max_rows:
                result.truncated = True
                return
            origin = line.origin
            if origin in ("<", ">", "="):
                rows.append(DiffRow(kind="\\", text="No newline at end of file"))
                continue
            encoding = encodings[0] if origin == "-" else encodings[1]
            text = difftext.shown(line.raw_content, encoding, mark_cr=mixed)
            kind: Literal[" ", "+", "-"] = "+" if origin == "+" else "-" if origin == "-" else " "
            rows.append(
                DiffRow(kind=kind, old=max(0, line.old_lineno), new=max(0, line.new_lineno), text=text)
            )


# -- as a patch


def patch(workspace: Source, a: Ref, b: Ref, *, progress: ProgressCall | None = None) -> str:
    """A patch that `git apply` takes and that makes `b` of `a`, binary files included. Text that is not UTF-8 is put in
    as binary, so that no byte is lost. Empty folders and unusual permissions cannot be said in a patch."""
    pair = _both(workspace, a, b)
    # A file that became a link: git wants that said as one that went and one that came.
    diff = _diff(workspace, pair.old.files, pair.new.files, DiffOption.SHOW_BINARY)
    parts: list[tuple[bool, str]] = []
    odd: list[pygit2.DiffDelta] = []
    for number, item in enumerate(diff):
        if progress is not None and number % 20 == 0:
            progress("patch", number, len(diff))
        if item is None:
            continue
        try:
            parts.append((item.delta.status != DeltaStatus.DELETED, _patch_text(item).decode("utf-8")))
        except UnicodeDecodeError:
            odd.append(item.delta)
    parts += _binary_patch(workspace, odd)
    # What goes comes first: of a path that goes and comes again `git apply` would take the second for a mistake.
    return "".join(text for _, text in sorted(parts, key=lambda part: part[0]))


def _binary_patch(workspace: Source, deltas: list[pygit2.DiffDelta]) -> list[tuple[bool, str]]:
    if not deltas:
        return []
    repo = workspace.store.repo
    trees = []
    for side in ("old_file", "new_file"):
        index = pygit2.Index()
        for delta in deltas:
            file = getattr(delta, side)
            if file.id != pygit2.Oid(raw=b"\0" * 20):
                index.add(pygit2.IndexEntry(os.fsdecode(file.raw_path), file.id, file.mode))
        trees.append(repo[index.write_tree(repo)].peel(pygit2.Tree))
    flags = DiffOption.SHOW_BINARY | DiffOption.FORCE_BINARY
    forced = trees[0].diff_to_tree(trees[1], flags=flags)
    return [
        (item.delta.status != DeltaStatus.DELETED, _patch_text(item).decode("utf-8", "replace"))
        for item in forced
        if item is not None
    ]


def _patch_text(item: pygit2.Patch) -> bytes:
    """With whole ids: git refuses to apply a binary patch with shortened ones."""
    ids = b"index %s..%s" % (str(item.delta.old_file.id).encode(), str(item.delta.new_file.id).encode())
    if item.delta.old_file.id == item.delta.new_file.id:
        # Only the mode or the name changed; for a binary file libgit2 still says that it differs.
        return difftext.plain_names(_DIFFERS.sub(b"", item.data))
    return difftext.plain_names(_INDEX_LINE.sub(ids, item.data, count=1))


__all__ = ["DISK", "changes", "file_diff", "load", "patch"]
