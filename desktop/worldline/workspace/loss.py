"""What removing a worktree would lose: what is in no commit, in no node of its session and not in the person's folder."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import pygit2
from pygit2.enums import FileStatus

from worldline.core.plainfile import is_endless, read_plain
from worldline.workspace import gitfiles, indexfile, reflog
from worldline.workspace.kept import Kept, same_file
from worldline.workspace.objects import MODE_GITLINK
from worldline.workspace.repos import GitRoot, operation_of
from worldline.workspace.safefs import SafeTree, content_id

_OWN_REFS = ("refs/bisect/", "refs/worktree/", "refs/rewritten/")
"""Refs that git keeps for one worktree alone: they go with it."""
_HIDDEN_CHANGES = indexfile.ASSUME_VALID | indexfile.SKIP_WORKTREE
"""Flags of files that git does not look at (assume unchanged, skip worktree)."""
_STAGED = (
    FileStatus.INDEX_NEW | FileStatus.INDEX_MODIFIED | FileStatus.INDEX_TYPECHANGE | FileStatus.INDEX_RENAMED
)
_CHANGED_AFTER = FileStatus.WT_MODIFIED | FileStatus.WT_DELETED | FileStatus.WT_TYPECHANGE


_RULES = (".gitignore", ".gitattributes", ".gitmodules")
"""Files that libgit2 reads when it is asked what changed."""
_MAX_POINTER = 10_000
_MAX_LOGGED = 50
"""Commits that only the reflog leads to and that are named one by one."""


@dataclass(slots=True)
class Loss:
    lines: list[str] = field(default_factory=list)
    """One for each thing that would be nowhere any more, in English."""
    kept: int = 0
    """Files in no commit that a node of the session keeps."""


def registered(work: Path) -> GitRoot | None:
    """The repository of a worktree, if its registration there leads back to this folder. A `.git` that leads elsewhere
    would have us ask a repository that knows nothing of these files, and one inside the folder goes with it."""
    root = GitRoot.find(work, "")
    if root is None or not root.pointer or root.common.is_relative_to(work.resolve()):
        return None
    try:
        back = Path(os.fsdecode(read_plain(root.gitdir / "gitdir", _MAX_POINTER)).strip()).resolve()
    except (OSError, ValueError):
        return None
    if back != (work / ".git").resolve() or _is_trap(root):
        return None
    return root


def _is_trap(root: GitRoot) -> bool:
    """Whether its git folder holds something that git would wait for or follow elsewhere."""
    info = (root.common / "info" / name for name in ("exclude", "attributes"))
    return bool(gitfiles.strange_parts(root.gitdir)) or any(is_endless(path) for path in info)


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
        self._commits(root, repo)
        files = root.progress()
        operation = operation_of(set(files))
        if operation and not (self._kept is not None and self._kept.operation(files)):
            lines.append(operation_line(operation))
        unread: list[OSError] = []
        endless = self._endless_rules(unread)
        try:
            status = None if endless else repo.status(untracked_files="all", ignored=True)
        except pygit2.GitError:  # a kind of staging area that it cannot read
            status = None
        if status is None:
            self._all_files()
            return
        root.refresh_index()
        links = {entry.path for entry in root.entries if entry.mode == MODE_GITLINK}
        intended = _intended(root)
        late: list[str] = []
        for name, flags in sorted(status.items()):
            plain = name.rstrip("/")
            if plain in links or (name.endswith("/") and (self.work / plain / ".git").exists()):
                links.add(plain)
            elif flags & FileStatus.IGNORED:
                if name.endswith("/") or not self._is_safe(name):
                    late.append(ignored_line(name))
            elif not name.endswith("/"):
                self._file(repo, name, FileStatus(flags), name in intended)
        for entry in root.entries:
            if entry.path not in status and self._hides_change(entry.path, entry):
                lines.append(changed_line(entry.path))
        lines += [repository_line(name) for name in sorted(links) if self._loses_repository(name)]
        lines += late
        for error in unread:
            self._unread(error)

    def _endless_rules(self, unread: list[OSError]) -> bool:
        """Whether libgit2 would not come back when asked about these files: a pipe is where it reads rules. Also finds
        folders that cannot be read: they are missing in its answer without a word."""
        found = False
        for place, _, names in os.walk(self.work, onerror=unread.append):
            found = found or any(name in names and is_endless(Path(place, name)) for name in _RULES)
        return found

    def _file(self, repo: pygit2.Repository, name: str, flags: FileStatus, is_intended: bool) -> None:
        if flags & (FileStatus.WT_DELETED | FileStatus.INDEX_DELETED) and self._seen(name) is None:
            if not (self._kept is not None and self._kept.gone(name)) and not self._gone_there(name):
                self.loss.lines.append(deleted_line(name))
        elif not self._is_safe(name):
            is_new = is_intended or bool(flags & FileStatus.INDEX_NEW)
            line = new_line if is_new else untracked_line if flags & FileStatus.WT_NEW else changed_line
            self.loss.lines.append(line(name))
        if not is_intended and self._loses_staged(repo, name, flags):
            self.loss.lines.append(staged_line(name))

    def _loses_staged(self, repo: pygit2.Repository, name: str, flags: int) -> bool:
        """Whether it is staged with a content that it has not any more, and that no node has."""
        if not (flags & _STAGED and flags & _CHANGED_AFTER):
            return False
        return self._kept is None or not self._kept.blob(bytes(repo.index[name].id.raw))

    def _commits(self, root: GitRoot, repo: pygit2.Repository) -> None:
        """Name commits that only HEAD, its reflog or refs of this worktree alone lead to. A branch stays in the repository,
        and its reflog too."""
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
        tips = [tip for tip in tips if tip in repo]  # the commit of an own ref may be gone already
        self.loss.lines += [commit_line(c) for c in reflog.walk(repo, tips, safe) if not self._keeps(c)]
        known = {*tips, *safe}
        left = [c for c in reflog.commits(repo, reflog.entries(root.gitdir, repo.config)) if c not in known]
        lost = list(islice(reflog.walk(repo, left, known), _MAX_LOGGED + 1))
        if lost:
            others = reflog.commits(repo, reflog.elsewhere(root.gitdir, root.common, repo.config))
            lost = list(islice(reflog.walk(repo, left, {*known, *others}), _MAX_LOGGED + 1))
        named = [c for c in lost[:_MAX_LOGGED] if not self._keeps(c)]
        self.loss.lines += [logged_line(c) for c in named]
        if len(lost) > _MAX_LOGGED:
            self.loss.lines.append(more_logged_line())

    def _keeps(self, commit: pygit2.Commit) -> bool:
        return self._kept is not None and self._kept.commit(str(commit.id))

    def _hides_change(self, name: str, entry: indexfile.Entry) -> bool:
        """Whether git was told not to look at a file that is another than the staged one."""
        seen = self._seen(name) if entry.flags & _HIDDEN_CHANGES else None
        if seen is None or same_file(seen, (entry.oid.hex(), entry.mode)):
            return False
        return not self._is_safe(name)

    def _loses_repository(self, name: str) -> bool:
        """Whether the repository at `name` has anything that the one at the same place in the person's folder has not."""
        ours = self.work / name
        if not (ours / ".git").exists():
            return False
        theirs = self.source / name if self.source is not None else None
        if theirs is None or not (theirs / ".git").exists():
            return True
        root = GitRoot.find(ours, name)
        if root is None or root.trouble or _is_trap(root):
            return True
        try:
            mine, other = pygit2.Repository(str(root.gitdir)), pygit2.Repository(str(theirs / ".git"))
            if mine.workdir is None or Path(mine.workdir).resolve() != ours.resolve():
                return True  # it would be asked about other files
            return self._has_more(name, root, mine, other)
        except (pygit2.GitError, KeyError, ValueError, OSError):
            return True

    def _has_more(self, name: str, root: GitRoot, mine: pygit2.Repository, other: pygit2.Repository) -> bool:
        tips = [mine.references[one].target for one in mine.references]
        if not mine.head_is_unborn:
            tips.append(mine.head.target)
        if "refs/stash" in mine.references:
            tips += [entry.oid_new for entry in mine.references["refs/stash"].log()]
        if any(isinstance(tip, pygit2.Oid) and tip not in other for tip in tips):
            return True
        if operation_of(set(root.progress())):
            return True
        logged = reflog.commits(mine, reflog.entries(root.gitdir, mine.config))
        if any(oid not in other for oid in logged):
            return True
        root.refresh_index()
        intended = _intended(root)
        for one, flags in mine.status(untracked_files="all", ignored=True).items():
            if one.endswith("/") or not self._is_safe(f"{name}/{one}"):
                return True
            if (
                one not in intended
                and self._loses_staged(mine, one, flags)
                and not _same_staged(mine.index, other.index, one)
            ):
                return True
        for entry in root.entries:
            path = f"{name}/{entry.path}"
            if self._hides_change(path, entry):
                return True
            if entry.mode == MODE_GITLINK and self._loses_repository(path):
                return True
        return False

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
        return other is not None and same_file(seen, other)


def _intended(root: GitRoot) -> set[str]:
    """Files that git was only told of (`git add -N`): nothing of them is staged."""
    return {entry.path for entry in root.entries if entry.flags & indexfile.INTENT_TO_ADD}


def _same_staged(mine: pygit2.Index, other: pygit2.Index, name: str) -> bool:
    return name in other and bool(other[name].id == mine[name].id)


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


def logged_line(commit: pygit2.Commit) -> str:
    return f"{commit_line(commit)} (only the reflog leads to it)"


def more_logged_line() -> str:
    return "more commits that only the reflog leads to"


def operation_line(operation: str) -> str:
    return f"the {operation} that is in progress"


def changed_line(name: str) -> str:
    return f"changed file {name}"


def untracked_line(name: str) -> str:
    return f"untracked file {name}"


def new_line(name: str) -> str:
    return f"new file {name}"


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
