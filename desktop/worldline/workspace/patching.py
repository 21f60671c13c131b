"""What differs between two states, or a state and the disk, as a patch for git.

Runs on the workspace thread; it can be cancelled after each few files.
"""

from __future__ import annotations

import os
import re

import pygit2
from pygit2.enums import DeltaStatus, DiffOption

from worldline.workspace import difftext
from worldline.workspace.model import ProgressCall
from worldline.workspace.objects import EMPTY_TREE
from worldline.workspace.pair import both, compared
from worldline.workspace.sources import Ref, Source
from worldline.workspace.treediff import Leaf
from worldline.workspace.trees import edited_tree

_INDEX_LINE = re.compile(rb"^index [0-9a-f]+\.\.[0-9a-f]+", re.MULTILINE)
_DIFFERS = re.compile(rb"^Binary files .* differ\n", re.MULTILINE)


def patch(workspace: Source, a: Ref, b: Ref, *, progress: ProgressCall | None = None) -> str:
    """A patch that `git apply` takes and that makes `b` of `a`, binary files included. Text that is not UTF-8 is put in
    as binary, so that no byte is lost. Empty folders and unusual permissions cannot be said in a patch."""
    pair = both(workspace, a, b)
    # A file that became a link: git wants that said as one that went and one that came.
    diff = compared(workspace, pair.old.files, pair.new.files, DiffOption.SHOW_BINARY)
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
    store = workspace.store
    made = []
    for side in ("old_file", "new_file"):
        files = [getattr(delta, side) for delta in deltas]
        there = {
            os.fsdecode(file.raw_path): Leaf(file.mode, file.id.raw) for file in files if any(file.id.raw)
        }
        made.append(edited_tree(store, EMPTY_TREE, there))
    store.flush()
    trees = [store.repo[pygit2.Oid(raw=tree)].peel(pygit2.Tree) for tree in made]
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
