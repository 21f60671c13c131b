"""Changed files as a list or as a tree of folders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from worldline.protocol.commands import Changes
from worldline.protocol.model import FileChange


@dataclass(slots=True)
class FileNode:
    """A folder (`change` None) or a changed file. Folders with one folder inside are joined (`a/b`)."""

    name: str
    change: FileChange | None = None
    children: list[FileNode] = field(default_factory=list)


def by_path(changes: Iterable[FileChange]) -> list[FileChange]:
    """All files, by their paths."""
    return sorted(changes, key=attrgetter("path"))


def file_tree(changes: Iterable[FileChange]) -> list[FileNode]:
    """Folders first, then files, both by name."""
    root = FileNode("")
    folders: dict[str, FileNode] = {"": root}
    for change in by_path(changes):
        folder, _, name = change.path.rpartition("/")
        _folder(folders, folder).children.append(FileNode(name, change))
    _tidy(root)
    return root.children


def _folder(folders: dict[str, FileNode], path: str) -> FileNode:
    missing = []
    at = path
    while at not in folders:
        missing.append(at)
        at = at.rpartition("/")[0]
    node = folders[at]
    for full in reversed(missing):
        child = folders[full] = FileNode(full.rpartition("/")[2])
        node.children.append(child)
        node = child
    return node


def _tidy(root: FileNode) -> None:
    stack = [root]
    while stack:
        node = stack.pop()
        for child in node.children:
            while child.change is None and len(child.children) == 1 and child.children[0].change is None:
                only = child.children[0]
                child.name, child.children = f"{child.name}/{only.name}", only.children
        node.children.sort(key=lambda child: (child.change is not None, child.name))
        stack += node.children


def totals(changes: Sequence[FileChange]) -> tuple[int, int, int]:
    """Files, lines added, lines removed."""
    return len(changes), sum(change.added for change in changes), sum(change.removed for change in changes)


def take_lines(changes: Changes, lines: Mapping[str, Sequence[int]]) -> None:
    """Enter lines that were counted later. Among so many files a renamed one is an equal one: it has none."""
    for change in changes.files:
        if change.status != "R":
            change.added, change.removed = lines.get(change.path, (0, 0))
    _, changes.added, changes.removed = totals(changes.files)
    changes.counted = True
