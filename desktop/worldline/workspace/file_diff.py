"""The lines of one file that differs between two states, or a state and the disk, and who wrote them.

Runs on the workspace thread; each hunk is a step after which it can be cancelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pygit2
from pygit2.enums import DiffOption, FileMode

from worldline.core.errors import WorkspaceError
from worldline.protocol.model import DiffRow, FileChange, FileDiff
from worldline.workspace import difftext, nested_code
from worldline.workspace.authorship import USER, Step, attribute, authors_of
from worldline.workspace.changes import MAX_TEXT, changes_of, raw_path, whole_way
from worldline.workspace.model import ProgressCall
from worldline.workspace.pair import Pair, both
from worldline.workspace.sources import Ref, Source
from worldline.workspace.states import State


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
    pair = both(workspace, a, b)
    wanted = next((c for c in changes_of(workspace, pair) if c.path == path), None)
    if wanted is None:
        return _unchanged(pair, path)
    if wanted.status == "S":
        return FileDiff(change=wanted, note=_repository_note(pair, path))
    new_name = raw_path(wanted)
    old_name = wanted.old_path or new_name
    old, new = _read(pair.old, old_name), _read(pair.new, new_name)
    result = FileDiff(change=wanted, old_image=difftext.image_text(old), new_image=difftext.image_text(new))
    _fill(result, old, new, context, ignore_space, max_rows, max_bytes, progress)
    if path_states and result.rows:
        steps = whole_way(path_states, b, pair, disk_author)
        known = authors_of(workspace.store, steps, old_name, new_name, progress)
        beside = authors_of(workspace.store, old_states, old_name, old_name, progress) if old_states else None
        attribute(result.rows, known, beside)
    return result


def _read(state: State, path: str) -> bytes | None:
    entry = state.store.lookup(state.files, path)
    return None if entry is None or entry.mode == FileMode.TREE else state.store.read(entry.oid)


def _unchanged(pair: Pair, path: str) -> FileDiff:
    note = pair.new.omitted.get(path) or pair.old.omitted.get(path)
    if note is None and _read(pair.new, path) is None and _read(pair.old, path) is None:
        raise WorkspaceError(
            f"{path} is in neither of the two states.", "Choose another file.", kind="missing_file"
        )
    text = f"Not captured: {note}." if note else "The file is the same in both."
    return FileDiff(change=FileChange(path=path, status="M"), note=text)


def _repository_note(pair: Pair, path: str) -> str:
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
