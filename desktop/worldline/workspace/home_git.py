"""The person's repository, as far as bringing work home needs it. No hook, no filter and no other program runs."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pygit2

from worldline.core.errors import WorkspaceError
from worldline.workspace import home_note
from worldline.workspace.gitlock import locked_replace
from worldline.workspace.home_changes import Objects
from worldline.workspace.home_index import Staging
from worldline.workspace.objects import BLOB, EMPTY_TREE, MODE_DIR, MODE_FILE, MODE_GITLINK, TREE
from worldline.workspace.repos import operation_of
from worldline.workspace.treediff import Leaf

_KINDS = {BLOB: pygit2.enums.ObjectType.BLOB, TREE: pygit2.enums.ObjectType.TREE}


@dataclass(slots=True, frozen=True)
class Head:
    commit: str
    """"" = none yet."""
    ref: str
    """Full name of the branch; "" = detached."""

    @property
    def branch(self) -> str:
        return self.ref.removeprefix("refs/heads/")


def open_repository(work: Path) -> pygit2.Repository | None:
    """None where there is no repository. Raises `WorkspaceError` (`no_repository`) for one that cannot be opened."""
    if not (work / ".git").exists():
        return None
    try:
        return pygit2.Repository(str(work))
    except (pygit2.GitError, OSError, KeyError, ValueError) as error:
        raise WorkspaceError(
            f"The repository in {work} cannot be opened ({error}).",
            "Create a patch instead.",
            kind="no_repository",
        ) from error


def object_folders(repo: pygit2.Repository | None) -> list[Path]:
    if repo is None:
        return []
    gitdir = Path(repo.path)
    common = gitdir / "commondir"
    if common.is_file():
        gitdir = (gitdir / common.read_text("utf-8").strip()).resolve()
    return [gitdir / "objects"]


def head(repo: pygit2.Repository | None) -> Head:
    if repo is None:
        return Head("", "")
    raw = repo.references.get("HEAD")
    ref = str(raw.target) if raw is not None and isinstance(raw.target, str) else ""
    commit = "" if repo.head_is_unborn else str(repo.head.peel(pygit2.Commit).id)
    return Head(commit, ref)


def common_commit(repo: pygit2.Repository | None, mine: str, theirs: str) -> str:
    """The newest commit that both sides have; the node's own if mine is unborn; "" = none."""
    if repo is None or not theirs or pygit2.Oid(hex=theirs) not in repo.odb:
        return mine
    if not mine:
        return theirs
    found = repo.merge_base(pygit2.Oid(hex=mine), pygit2.Oid(hex=theirs))
    return str(found) if found is not None else ""


def tree_of(repo: pygit2.Repository | None, commit: str) -> bytes:
    if repo is None or not commit:
        return b""
    return bytes(repo[pygit2.Oid(hex=commit)].peel(pygit2.Tree).id.raw)


def is_after(repo: pygit2.Repository | None, commit: str, earlier: str) -> bool:
    """Whether a commit comes after another one."""
    if repo is None or not commit or not earlier or commit == earlier:
        return False
    try:
        return repo.descendant_of(pygit2.Oid(hex=commit), pygit2.Oid(hex=earlier))
    except (KeyError, ValueError, pygit2.GitError):  # one of them is not there
        return False


def check_ready(repo: pygit2.Repository, where: Head) -> None:
    """Raises `WorkspaceError`: `detached`, `repo_busy`."""
    if not where.ref:
        raise WorkspaceError(
            "No branch is checked out there, so a commit would belong to none.",
            "Check out a branch, or bring the work as a branch of its own.",
            kind="detached",
        )
    names = {path.name for path in Path(repo.path).iterdir()}
    operation = operation_of(names)
    if operation:
        raise WorkspaceError(
            f"A {operation} is in progress there; nothing was touched.",
            "Finish it or give it up, then try again.",
            kind="repo_busy",
        )


def free_branch(repo: pygit2.Repository, name: str) -> str:
    """Raises `WorkspaceError`: `bad_branch`, `branch_exists`."""
    ref = f"refs/heads/{name}"
    if not name or name.startswith("-") or not pygit2.reference_is_valid_name(ref):
        raise WorkspaceError(
            f"“{name}” cannot be the name of a branch.", "Choose another name.", kind="bad_branch"
        )
    if repo.references.get(ref) is not None:
        raise WorkspaceError(
            f"There is a branch {name} already.", "Choose another name.", kind="branch_exists"
        )
    return name


def make_branch(repo: pygit2.Repository, name: str, commit: str) -> None:
    """Raises `WorkspaceError` (`branch_exists`)."""
    try:
        repo.references.create(f"refs/heads/{name}", pygit2.Oid(hex=commit), force=False)
    except (pygit2.AlreadyExistsError, pygit2.GitError, ValueError) as error:
        raise WorkspaceError(
            f"The branch {name} could not be made ({error}).", "Choose another name.", kind="branch_exists"
        ) from error


def can_be_committed(path: str) -> bool:
    """Whether git takes a file of this name: not one that is a git folder on another system (`.GIT`, `git~1`)."""
    try:
        pygit2.Index().add(
            pygit2.IndexEntry(path, pygit2.Oid(raw=EMPTY_TREE), pygit2.enums.FileMode(MODE_FILE))
        )
    except (pygit2.GitError, ValueError):
        return False
    return True


@dataclass(slots=True)
class CommitPlan:
    """One commit on top of `head` with some paths changed."""

    repo: pygit2.Repository
    objects: Objects
    head: Head
    wanted: Mapping[str, Leaf | None]
    message: str
    journal: Path
    """Folder of the journal of the restore that it belongs to."""

    def make(self) -> str:
        """Write the commit. No branch moves; what nobody refers to is thrown away by git some day. Raises `WorkspaceError`
        (`locked`)."""
        try:
            return self._make()
        except (pygit2.GitError, OSError) as error:
            raise _not_made(error) from error

    def _make(self) -> str:
        index = pygit2.Index()
        parents = []
        if self.head.commit:
            parents = [pygit2.Oid(hex=self.head.commit)]
            index.read_tree(
                self.objects.repo[pygit2.Oid(raw=tree_of(self.repo, self.head.commit))].peel(pygit2.Tree)
            )
        self._enter(index)
        tree = index.write_tree(self.objects.repo)
        _copy_tree(self.repo, self.objects, bytes(tree.raw))
        who = _signature(self.repo)
        text = self.message.rstrip() + "\n"
        return str(self.repo.create_commit(None, who, who, text, tree, parents))

    def _enter(self, index: pygit2.Index) -> None:
        """Give the paths of the commit their new entries."""
        for path, leaf in self.wanted.items():
            if leaf is not None:
                index.add(pygit2.IndexEntry(path, pygit2.Oid(raw=leaf.oid), pygit2.enums.FileMode(leaf.mode)))
            else:
                with contextlib.suppress(OSError, KeyError):
                    index.remove(path)

    def run(self) -> str:
        """Write the commit, stage its paths, move the branch. On a failure the branch is as before, and what was staged
        goes back with the files of the restore (see `ending.undo`). Raises `WorkspaceError` (`moved`, `locked`)."""
        commit = self.make()
        index_file = Path(self.repo.path) / "index"
        staging = Staging(index_file.parent, self.objects)
        try:
            staged = staging.changed(self.wanted)
            home_note.begin(self.journal, index_file.parent, self.head.ref, commit, staging.data, staged)
            locked_replace(
                index_file, staged, secrets.token_hex(8), check=lambda: self._refuse_changed(staging)
            )
            self._move(commit)
        except (pygit2.GitError, OSError) as error:
            raise _not_made(error) from error
        return commit

    def _refuse_changed(self, staging: Staging) -> None:
        """Raise `WorkspaceError` (`moved`) when somebody has staged something since."""
        if Staging(Path(self.repo.path), self.objects).data != staging.data:
            raise WorkspaceError(
                "Your staging area was changed meanwhile; nothing was changed.",
                "Look at the preview again.",
                kind="moved",
            )

    def _move(self, commit: str) -> None:
        ref = self.repo.references.get(self.head.ref)
        if ref is None:
            if self.head.commit:
                raise WorkspaceError(
                    "The branch is gone; nothing was changed.", "Look at it again.", kind="moved"
                )
            self.repo.references.create(self.head.ref, pygit2.Oid(hex=commit), force=False)
            return
        if str(ref.target) != self.head.commit:
            raise WorkspaceError(
                "The branch was moved meanwhile; nothing was changed.",
                "Look at the preview again.",
                kind="moved",
            )
        ref.set_target(pygit2.Oid(hex=commit), "commit: brought from a session")


def _not_made(error: Exception) -> WorkspaceError:
    return WorkspaceError(
        f"The commit could not be made ({error}); everything is as before.", "Try again.", kind="locked"
    )


def _signature(repo: pygit2.Repository) -> pygit2.Signature:
    try:
        return repo.default_signature
    except KeyError:
        return pygit2.Signature("Worldline", "worldline@localhost")


def _copy_tree(repo: pygit2.Repository, objects: Objects, tree: bytes) -> None:
    if pygit2.Oid(raw=tree) in repo.odb:
        return
    for entry in objects.tree(tree).values():
        if entry.mode == MODE_DIR:
            _copy_tree(repo, objects, entry.oid)
        elif entry.mode != MODE_GITLINK and pygit2.Oid(raw=entry.oid) not in repo.odb:
            repo.write(_KINDS[BLOB], objects.read(entry.oid))
    repo.write(_KINDS[TREE], objects.read(tree))
