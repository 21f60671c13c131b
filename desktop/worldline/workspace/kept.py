"""What the nodes of a session keep of a worktree that is about to be removed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pygit2

from worldline.core.errors import WorkspaceError
from worldline.workspace.objects import MODE_DIR, MODE_GITLINK, MODE_LINK
from worldline.workspace.states import State, read_progress
from worldline.workspace.store import Store


class Kept:
    """What a session's states hold. Nothing is written; a store that is gone or not whole keeps nothing."""

    def __init__(self, store: Path, states: Sequence[str]) -> None:
        self._store: Store | None = None
        self._states: list[State] = []
        self._trees: list[bytes] = []
        """Their files, each tree once: most nodes of a session have those of another one."""
        if not states or not (store / "HEAD").is_file():
            return
        try:
            self._store = Store(store)
        except (WorkspaceError, pygit2.GitError, OSError):
            return
        for state in states:
            try:
                self._states.append(State.load(self._store, state))
            except (WorkspaceError, pygit2.GitError, OSError, ValueError, KeyError, StopIteration):
                continue
        self._trees = list(dict.fromkeys(state.files for state in self._states))

    def file(self, name: str, seen: tuple[str, int]) -> bool:
        """Whether a node holds this file as it is: `seen` is its content's id and its mode."""
        return any(
            entry is not None and same_file(seen, entry)
            for entry in (self._entry(tree, name) for tree in self._trees)
        )

    def gone(self, name: str) -> bool:
        """Whether a node knows the workspace without this file."""
        return any(self._entry(tree, name) is None for tree in self._trees)

    def blob(self, oid: bytes) -> bool:
        return bool(self._states) and self._store is not None and self._store.has(oid)

    def commit(self, oid: str) -> bool:
        mains = [state.main for state in self._states]
        return any(
            main is not None and bool(main.kept) and self._entry(main.kept, f"c-{oid}") for main in mains
        )

    def operation(self, files: dict[str, bytes]) -> bool:
        for state in self._states:
            main = state.main
            if main is not None and main.progress and self._store is not None:
                try:
                    if read_progress(self._store, main.progress) == files:
                        return True
                except (WorkspaceError, ValueError):
                    continue
        return False

    def _entry(self, tree: bytes, name: str) -> tuple[str, int] | None:
        assert self._store is not None
        try:
            entry = self._store.lookup(tree, name)
            if entry is None or entry.mode in (MODE_DIR, MODE_GITLINK) or not self._store.has(entry.oid):
                return None
        except (WorkspaceError, pygit2.GitError, KeyError, ValueError):
            return None
        return entry.oid.hex(), entry.mode

    def close(self) -> None:
        if self._store is not None:
            self._store.close()


def same_file(seen: tuple[str, int], other: tuple[str, int]) -> bool:
    """The same content as the same kind of file; of the permissions only what git knows of them counts."""
    kinds = [
        (mode & 0o170000 == MODE_LINK, mode & 0o170000 != MODE_LINK and bool(mode & 0o100))
        for mode in (seen[1], other[1])
    ]
    return bool(seen[0]) and seen[0] == other[0] and kinds[0] == kinds[1]
