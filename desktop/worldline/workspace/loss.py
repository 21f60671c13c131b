"""What removing a worktree would lose: what is in no commit, in no node of its session and not in the person's folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pygit2
from pygit2.enums import FileStatus

from worldline.core.errors import WorkspaceError
from worldline.workspace import indexfile
from worldline.workspace.objects import MODE_DIR, MODE_GITLINK, MODE_LINK
from worldline.workspace.repos import GitRoot, operation_of
from worldline.workspace.safefs import SafeTree, content_id
from worldline.workspace.states import State, read_progress
from worldline.workspace.store import Store

_OWN_REFS = ("refs/bisect/", "refs/worktree/", "refs/rewritten/")
"""Refs that git keeps for one worktree alone: they go with it."""
_HIDDEN_CHANGES = indexfile.ASSUME_VALID | (0x4000 << 16)
"""Flags of files that git does not look at (assume unchanged, skip worktree)."""
_STAGED = FileStatus.INDEX_NEW | FileStatus.INDEX_MODIFIED
_CHANGED_AFTER = FileStatus.WT_MODIFIED | FileStatus.WT_DELETED | FileStatus.WT_TYPECHANGE


@dataclass(slots=True)
class Loss:
    lines: list[str] = field(default_factory=list)
    """One for each thing that would be nowhere any more, in English."""
    kept: int = 0
    """Files in no commit that a node of the session keeps."""


class Kept:
    """What a session's states hold. Nothing is written; a store that is gone or not whole keeps nothing."""

    def __init__(self, store: Path, states: Sequence[str]) -> None:
        self._store: Store | None = None
        self._states: list[State] = []
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

    def file(self, name: str, seen: tuple[str, int]) -> bool:
        """Whether a node holds this file as it is: `seen` is its content's id and its mode."""
        assert self._store is not None or not self._states
        for state in self._states:
            entry = self._entry(state.files, name)
            if entry is not None and _same(seen, (entry[0], entry[1])):
                return True
        return False

    def gone(self, name: str) -> bool:
        """Whether a node knows the workspace without this file."""
        return any(self._entry(state.files, name) is None for state in self._states)

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


def _same(seen: tuple[str, int], other: tuple[str, int]) -> bool:
    """The same content as the same kind of file; of the permissions only what git knows of them counts."""
    kinds = [
        (mode & 0o170000 == MODE_LINK, mode & 0o170000 != MODE_LINK and bool(mode & 0o100))
        for mode in (seen[1], other[1])
    ]
    return bool(seen[0]) and seen[0] == other[0] and kinds[0] == kinds[1]


def registered(work: Path) -> GitRoot | None:
    """The repository of a worktree, if its registration there leads back to this folder. A `.git` that leads elsewhere
    would have us ask a repository that knows nothing of these files."""
    root = GitRoot.find(work, "")
    if root is None or not root.pointer:
        return None
    try:
        back = os.fsdecode((root.gitdir / "gitdir").read_bytes()).strip()
    except OSError:
        return None
    if Path(back).resolve() != (work / ".git").resolve():
        return None
    return root


class Look:
    """One look at a worktree. `source`: the person's folder that it was made from, None when it is not known."""

    def __init__(self, work: Path, source: Path | None, kept: Kept | None) -> None:
        self.work = work
        self.source = source
        self._kept = kept
        self.loss = Loss()

    def run(self) -> Loss:
        tree = SafeTree(self.work)
        try:
            theirs = SafeTree(self.source) if self.source is not None and self.source.is_dir() else None
        except OSError:
            theirs = None
        self._tree, self._theirs = tree, theirs
        try:
            root = registered(self.work)
            repo = root.repo if root is not None else None
            if root is None or repo is None:
                self._all_files()
            else:
                self._of_repository(root, repo)
        finally:
            tree.close()
            if theirs is not None:
                theirs.close()
        return self.loss

    # --- a worktree that git knows ---------------------------------------------------------------------------

    def _of_repository(self, root: GitRoot, repo: pygit2.Repository) -> None:
        lines = self.loss.lines
        lines += [commit_line(c) for c in self._commits(root, repo)]
        files = root.progress()
        operation = operation_of(set(files))
        if operation and not (self._kept is not None and self._kept.operation(files)):
            lines.append(operation_line(operation))
        status = repo.status(untracked_files="all", ignored=True)
        root.refresh_index()
        links = {entry.path for entry in root.entries if entry.mode == MODE_GITLINK}
        late: list[str] = []
        for name, flags in sorted(status.items()):
            plain = name.rstrip("/")
            if plain in links or (name.endswith("/") and (self.work / plain / ".git").exists()):
                links.add(plain)
            elif flags & FileStatus.IGNORED:
                if name.endswith("/") or not self._is_safe(name):
                    late.append(ignored_line(name))
            elif not name.endswith("/"):
                self._file(repo, name, FileStatus(flags))
        for entry in root.entries:
            if entry.flags & _HIDDEN_CHANGES and entry.path not in status and self._differs(entry):
                lines.append(changed_line(entry.path))
        lines += [repository_line(name) for name in sorted(links) if self._loses_repository(name)]
        lines += late
        # What cannot be read is missing in the status without a word.
        for _ in os.walk(self.work, onerror=self._unread):
            pass

    def _file(self, repo: pygit2.Repository, name: str, flags: FileStatus) -> None:
        if flags & (FileStatus.WT_DELETED | FileStatus.INDEX_DELETED) and self._seen(name) is None:
            if not (self._kept is not None and self._kept.gone(name)) and not self._gone_there(name):
                self.loss.lines.append(deleted_line(name))
        elif not self._is_safe(name):
            new = flags & (FileStatus.WT_NEW | FileStatus.INDEX_NEW) == FileStatus.WT_NEW
            self.loss.lines.append(untracked_line(name) if new else changed_line(name))
        if flags & _STAGED and flags & _CHANGED_AFTER:
            oid = bytes(repo.index[name].id.raw)
            if not (self._kept is not None and self._kept.blob(oid)):
                self.loss.lines.append(staged_line(name))

    def _commits(self, root: GitRoot, repo: pygit2.Repository) -> Iterator[pygit2.Commit]:
        """Commits that only HEAD or refs of this worktree alone lead to. A branch stays in the repository."""
        tips: list[pygit2.Oid] = []
        safe: list[pygit2.Oid] = []
        for name in repo.references:
            target = repo.references[name].target
            if isinstance(target, pygit2.Oid):
                try:
                    commit = repo[target].peel(pygit2.Commit).id
                except (pygit2.GitError, KeyError, ValueError):  # a tag of a file or tree protects no commit
                    continue
                (tips if name.startswith(_OWN_REFS) else safe).append(commit)
        head = root.head().commit
        if head:
            tips.append(pygit2.Oid(hex=head))
        walk = None
        for tip in tips:
            if tip not in repo:  # an own ref whose commit is gone already
                continue
            if walk is None:
                walk = repo.walk(tip)
            else:
                walk.push(tip)
        if walk is None:
            return
        for commit in safe:
            walk.hide(commit)
        for found in walk:
            if not (self._kept is not None and self._kept.commit(str(found.id))):
                yield found

    def _differs(self, entry: indexfile.Entry) -> bool:
        seen = self._seen(entry.path)
        return (
            seen is not None
            and not _same(seen, (entry.oid.hex(), entry.mode))
            and not self._is_safe(entry.path)
        )

    def _loses_repository(self, name: str) -> bool:
        """Whether the repository at `name` has anything that the one at the same place in the person's folder has not."""
        ours = self.work / name
        if not (ours / ".git").exists():
            return False
        theirs = self.source / name if self.source is not None else None
        if theirs is None or not (theirs / ".git").exists():
            return True
        try:
            mine, other = pygit2.Repository(str(ours / ".git")), pygit2.Repository(str(theirs / ".git"))
            tips = [mine.references[one].target for one in mine.references]
            if not mine.head_is_unborn:
                tips.append(mine.head.target)
            if any(isinstance(tip, pygit2.Oid) and tip not in other for tip in tips):
                return True
            return any(
                one.endswith("/") or not self._is_safe(f"{name}/{one}")
                for one in mine.status(untracked_files="all", ignored=True)
            )
        except (pygit2.GitError, KeyError, ValueError, OSError):
            return True

    # --- a folder that git says nothing of -------------------------------------------------------------------

    def _all_files(self) -> None:
        for place, folders, names in os.walk(self.work, onerror=self._unread):
            here = os.path.relpath(place, self.work)
            prefix = "" if here == "." else f"{here}/"
            links = [name for name in folders if (Path(place) / name).is_symlink()]
            if ".git" in folders:
                folders.remove(".git")
                if ".git" not in links:
                    self.loss.lines.append(repository_line(prefix.rstrip("/") or "."))
            for name in sorted((*names, *links)):
                if name != ".git" and not self._is_safe(prefix + name):
                    self.loss.lines.append(unknown_line(prefix + name))
            folders.sort()

    def _unread(self, error: OSError) -> None:
        self.loss.lines.append(unread_line(os.path.relpath(error.filename, self.work)))

    # --- one file --------------------------------------------------------------------------------------------

    def _seen(self, name: str) -> tuple[str, int] | None:
        """Content's id and mode; None = nothing is there."""
        return _content(self._tree, name)

    def _gone_there(self, name: str) -> bool:
        return self._theirs is not None and _content(self._theirs, name) is None

    def _is_safe(self, name: str) -> bool:
        """Whether the file is, as it is, in a node of the session or in the person's folder."""
        seen = self._seen(name)
        if seen is None:
            return True
        if self._kept is not None and self._kept.file(name, seen):
            self.loss.kept += 1
            return True
        other = _content(self._theirs, name) if self._theirs is not None else None
        return other is not None and _same(seen, other)


def _content(tree: SafeTree, name: str) -> tuple[str, int] | None:
    try:
        with tree.at(name) as (folder, last):
            return content_id(last, folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:  # it cannot be read: nobody can say that it is safe
        return "", 0


def commit_line(commit: pygit2.Commit) -> str:
    title = (commit.message.splitlines() or [""])[0]
    return f"commit {str(commit.id)[:10]} {title}"


def operation_line(operation: str) -> str:
    return f"the {operation} that is in progress"


def changed_line(name: str) -> str:
    return f"changed file {name}"


def untracked_line(name: str) -> str:
    return f"untracked file {name}"


def deleted_line(name: str) -> str:
    return f"that file {name} is deleted"


def staged_line(name: str) -> str:
    return f"what is staged of file {name}"


def ignored_line(name: str) -> str:
    return f"ignored folder {name}" if name.endswith("/") else f"ignored file {name}"


def repository_line(name: str) -> str:
    return f"repository {name} with its own commits and changes"


def unknown_line(name: str) -> str:
    return f"file {name} (git cannot say whether it is in a commit)"


def unread_line(name: str) -> str:
    return f"what is in folder {name}, which cannot be read"
