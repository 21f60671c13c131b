"""The person's staging area, as bringing a commit home needs it: read and written as bytes, for libgit2 refuses those
that are split or sparse."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from worldline.core.errors import WorkspaceError
from worldline.workspace import gitfiles, indexfile
from worldline.workspace.home_changes import Objects
from worldline.workspace.indexfile import INTENT_TO_ADD, NO_STAT, SKIP_WORKTREE, Entry
from worldline.workspace.objects import MODE_DIR
from worldline.workspace.treediff import Leaf

_UNMERGED = Leaf(0, b"")
"""Like nothing that a commit could have."""


class Staging:
    """What is staged in a repository."""

    def __init__(self, gitdir: Path, objects: Objects) -> None:
        """Raises `WorkspaceError` (`bad_index`) for one that cannot be read."""
        self._objects = objects
        self.data: bytes | None = None
        """The file as it was read, None = there is none."""
        try:
            self.data = gitfiles.read(gitdir, "index")
        except FileNotFoundError:
            self._entries: list[Entry] = []
        except OSError as error:
            raise _unreadable(str(error)) from error
        else:
            try:
                self._entries = indexfile.parse(
                    self.data, shared=lambda name: gitfiles.read(gitdir, f"sharedindex.{name}")
                )
            except indexfile.UnreadableIndex as error:
                raise _unreadable(str(error)) from error
        self._known = {entry.path: entry for entry in self._entries}
        self._folders = [entry for entry in self._entries if entry.mode == MODE_DIR]

    def leaf(self, path: str) -> Leaf | None:
        """What the next commit would have at this path, as things are."""
        entry = self._known.get(path)
        if entry is not None:
            return (
                None
                if entry.flags & INTENT_TO_ADD
                else _UNMERGED
                if entry.stage
                else Leaf(entry.mode, entry.oid)
            )
        folder = self._folder_of(path)
        return self._objects.leaf(folder.oid, path[len(folder.path) :]) if folder is not None else None

    def is_hidden(self, path: str) -> bool:
        """Whether a sparse checkout keeps the file off the disk."""
        entry = self._known.get(path) or self._folder_of(path)
        return entry is not None and bool(entry.flags & SKIP_WORKTREE)

    def _folder_of(self, path: str) -> Entry | None:
        return next((folder for folder in self._folders if path.startswith(folder.path)), None)

    def changed(self, wanted: Mapping[str, Leaf | None]) -> bytes:
        """The file with these paths staged as said; None: not any more."""
        kept = {entry.path: [entry] for entry in self._entries if not entry.stage}
        for entry in self._entries:
            if entry.stage:
                kept.setdefault(entry.path, []).append(entry)
        for path in wanted:
            self._open(kept, path)
        added = {path for path, leaf in wanted.items() if leaf is not None}
        above = {path[:at] for path in added for at, letter in enumerate(path) if letter == "/"}
        for path in [path for path in kept if path in above or not added.isdisjoint(_parents(path))]:
            del kept[path]  # a file where a folder comes, or the other way round
        for path, leaf in wanted.items():
            kept.pop(path, None)
            if leaf is not None:
                hidden = SKIP_WORKTREE if self.is_hidden(path) else 0
                kept[path] = [Entry(path, leaf.mode, leaf.oid, 0, hidden, NO_STAT, 0)]
        return indexfile.encode([entry for entries in kept.values() for entry in entries])

    def _open(self, kept: dict[str, list[Entry]], path: str) -> None:
        """Name what is in the folders above `path` one by one, where a sparse index has only the folder."""
        for folder in _parents(path):
            entry = kept.get(folder + "/", [None])[0]
            if entry is None:
                continue
            del kept[entry.path]
            for name, row in self._objects.tree(entry.oid).items():
                inner = entry.path + name + ("/" if row.mode == MODE_DIR else "")
                kept[inner] = [Entry(inner, row.mode, row.oid, 0, SKIP_WORKTREE, NO_STAT, 0)]


def _parents(path: str) -> list[str]:
    return [path[:at] for at, letter in enumerate(path) if letter == "/" and at < len(path) - 1]


def _unreadable(why: str) -> WorkspaceError:
    return WorkspaceError(
        f"Your staging area cannot be read ({why}); nothing was changed.",
        "Bring the work as a branch of its own.",
        kind="bad_index",
    )
