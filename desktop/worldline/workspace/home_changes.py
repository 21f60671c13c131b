"""What a node changed since the commit it started from, as far as it can be brought to the person's branch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pygit2

from worldline.workspace.objects import EMPTY_TREE, MODE_DIR, MODE_GITLINK, TreeEntry, parse_tree
from worldline.workspace.states import State, read_index
from worldline.workspace.treediff import Leaf

_SKIP_WORKTREE = 0x4000


@dataclass(slots=True)
class Change:
    """One path at the node, and what it was before, best first: as the session found it, and at the common commit."""

    path: str
    bases: list[Leaf | None]
    theirs: Leaf | None
    committed: Leaf | None = None
    """The one of them that is as it was committed, not as on disk."""


@dataclass(slots=True)
class Brought:
    changes: list[Change] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """(path, why it stays where it is)."""


class Objects:
    """Reads objects of several repositories; writes only to the store it was opened on."""

    def __init__(self, repo: pygit2.Repository) -> None:
        self.repo = repo

    def read(self, oid: bytes) -> bytes:
        return bytes(self.repo.read(pygit2.Oid(raw=oid))[1])

    def tree(self, oid: bytes) -> dict[str, TreeEntry]:
        return {} if oid == EMPTY_TREE else {entry.name: entry for entry in parse_tree(self.read(oid))}

    def leaf(self, tree: bytes, path: str) -> Leaf | None:
        entry: TreeEntry | None = TreeEntry("", MODE_DIR, tree)
        for part in path.split("/"):
            if entry is None or entry.mode != MODE_DIR:
                return None
            entry = self.tree(entry.oid).get(part)
        return None if entry is None or entry.mode == MODE_DIR else Leaf(entry.mode, entry.oid)

    def differences(
        self, old: bytes, new: bytes, prefix: str = ""
    ) -> Iterator[tuple[str, Leaf | None, Leaf | None]]:
        """Files that differ, folders walked only where they differ."""
        before = self.tree(old) if old else {}
        after = self.tree(new) if new else {}
        for name in sorted(before.keys() | after.keys()):
            a, b = before.get(name), after.get(name)
            if a == b:
                continue
            folders = [e.oid if e is not None and e.mode == MODE_DIR else b"" for e in (a, b)]
            files = [Leaf(e.mode, e.oid) if e is not None and e.mode != MODE_DIR else None for e in (a, b)]
            if files[0] is not None or files[1] is not None:
                yield prefix + name, files[0], files[1]
            if folders[0] or folders[1]:
                yield from self.differences(folders[0], folders[1], f"{prefix}{name}/")


def changes_since(
    objects: Objects,
    base_tree: bytes,
    node: State,
    start: State | None,
    *,
    committed_since: bool = False,
    began_tree: bytes | None = None,
) -> Brought:
    """`start`: the first state of the session, `base_tree`: tree of the common commit (b"" = there is none),
    `committed_since`: the session did not begin at that commit; `began_tree`: it began at an earlier one, with this tree.

    With `start` only what changed during the session counts: what the person had edited before is theirs and is in
    their folder already, and line ends or filters, by which files differ from what is committed, say nothing.
    """
    found = Brought()
    nested = tuple(root.path + "/" for root in node.roots if root.path)
    hidden = _hidden(node)
    left_out = tuple(path for path in hidden if path.endswith("/"))
    old_tree = start.files if start is not None else base_tree
    rows = list(objects.differences(old_tree, node.files))
    if began_tree is not None:
        rows += _taken_back(objects, old_tree, node, (began_tree, base_tree), {row[0] for row in rows})
    for path, before, theirs in rows:
        inside = next((n[:-1] for n in nested if (path + "/").startswith(n)), "")
        if inside or MODE_GITLINK in {leaf.mode for leaf in (before, theirs) if leaf}:
            row = (inside or path, _NESTED)
            if row not in found.skipped and start is not None:
                found.skipped.append(row)
            continue
        if theirs is None and (path in hidden or path.startswith(left_out)):
            continue
        if theirs is None and not node.would_hold(path):
            found.skipped.append((path, _left_out(node, path)))
            continue
        committed = objects.leaf(base_tree, path) if base_tree else None
        if committed is None and node.rules.ignored(path) and path not in node.tracked:
            found.skipped.append((path, "it is ignored by git, so it stays in the session's folder"))
            continue
        bases = [before, committed] if base_tree and committed != before else [before]
        if committed_since:
            bases.reverse()
        found.changes.append(Change(path, bases, theirs, committed))
    return found


def _taken_back(
    objects: Objects, old_tree: bytes, node: State, commits: tuple[bytes, bytes], known: set[str]
) -> Iterator[tuple[str, Leaf | None, Leaf | None]]:
    """Files that were committed since the session began, and are at the node again as they were then: they differ from the
    common commit all the same."""
    for path, _, committed in objects.differences(*commits):
        theirs = objects.leaf(node.files, path)
        is_module = committed is not None and committed.mode == MODE_GITLINK
        if path not in known and not is_module and theirs != committed:
            yield path, objects.leaf(old_tree, path), theirs


def _left_out(node: State, path: str) -> str:
    """Why nobody knows whether the file is still there at the node."""
    parts = path.split("/")
    above = ("/".join(parts[:depth]) for depth in range(len(parts), 0, -1))
    reason = next((node.omitted[one] for one in above if one in node.omitted), "")
    return (
        f"not captured: it {reason}"
        if reason
        else "it is ignored at the node, so nobody knows whether it was deleted"
    )


_NESTED = "a repository of its own: commit and push it there"


def _hidden(node: State) -> set[str]:
    """Tracked files, and whole folders (with a slash at the end), that a sparse checkout keeps off the disk."""
    main = node.main
    if main is None or not main.index:
        return set()
    return {e.path for e in read_index(node.store, main.index) if (e.flags >> 16) & _SKIP_WORKTREE}


_LFS = b"version https://git-lfs"


def is_pointer(data: bytes) -> bool:
    """Committed by a filter: what is on disk cannot be committed without running its program."""
    return data.startswith(_LFS)
