"""A worktree of its own for a session, carrying the person's uncommitted work byte for byte.

Made by hand rather than with `git worktree add`: no hook and no filter runs, the configuration, the packed refs and the
staging area of the person are not touched. In their repository only a branch under `worldline/` and the worktree's own
entry appear; the entry is locked, so that git never prunes it.

Files are copied (cloned where the file system can). An overlay mount would take milliseconds, but needs root in the
person's mount namespace and is gone after a reboot; hard links would let an edit in place reach the person's own files.
Most of the time of copying is the kernel's, in making the files, as with git; several threads and `cp` were tried and brought
nothing. Several processes do (`copying`).
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pygit2

from worldline.core import paths
from worldline.core.errors import WorkspaceError
from worldline.core.plainfile import read_plain
from worldline.workspace import copytree, guard, indexfile, isolate_ready, leases, nogc, registration
from worldline.workspace.carried import uncommitted
from worldline.workspace.copier import Copied
from worldline.workspace.ignore import RuleSet
from worldline.workspace.isolate_ready import Ready
from worldline.workspace.isolate_update import Doubt, Update
from worldline.workspace.model import ProgressCall
from worldline.workspace.removal import remove_tree
from worldline.workspace.repos import GitRoot, Head

logger = logging.getLogger(__name__)

INCLUDE_FILE = ".worktreeinclude"
_CARRIED_OPERATIONS = ("MERGE_", "CHERRY_PICK_HEAD", "REVERT_HEAD", "SQUASH_MSG", "AUTO_MERGE", "sequencer/",
    "rebase-merge/", "rebase-apply/", "REBASE_HEAD",
)  # fmt: skip

_WORD = 0xFFFFFFFF
_S = 10**9
_UNSURE: indexfile.Seen = (indexfile.NO_STAT, 0)


@dataclass(slots=True)
class Isolated:
    """A worktree that is ready to work in."""

    path: Path
    """Where the agent works: the top of the worktree, also when a folder inside the repository was opened."""
    root: Path
    base_commit: str
    """"" = the repository has no commit yet."""
    base_branch: str
    """Short name; "" = HEAD was detached."""
    branch: str
    """The session's first branch, short name."""
    included: list[str] = field(default_factory=list)
    """Ignored files that were carried over."""
    notes: list[str] = field(default_factory=list)
    """What could not be carried over, for people."""
    uncommitted: int = 0
    """Files that were carried over and differ from HEAD."""


def include_rules(source: Path, include_ignored: Sequence[str] | None) -> RuleSet:
    """Which ignored files go along beside `.env*`: the given patterns, or what `.worktreeinclude` names."""
    if include_ignored is not None:
        return RuleSet(os.fsencode("\n".join(include_ignored)))
    try:
        text = read_plain(source / INCLUDE_FILE)
    except OSError:
        text = b""
    return RuleSet(text)


def prepare(
    source: Path,
    session_id: str,
    *,
    include_ignored: Sequence[str] | None = None,
    progress: ProgressCall | None = None,
) -> Isolated:
    """Make the worktree. Raises `WorkspaceError`: kinds of `guard.refuse`, `no_repository` and `cannot_isolate` (work in
    the folder instead). On any failure nothing of it stays."""
    folder = Path(source).expanduser().absolute()
    guard.refuse(folder)
    root, outer = root_of(folder)
    with nogc.paused():
        isolated = _Maker(root, session_id, include_rules(root.work, include_ignored), progress).run()
        root.entries = []
    if outer:
        # A part of a worktree could not be put back with its HEAD and staging area.
        isolated.notes.append(f"You opened {outer.rstrip('/')}; the agent works in the whole repository.")
    return isolated


def root_of(folder: Path) -> tuple[GitRoot, str]:
    """The repository that a worktree for this folder is made of, and where in it the folder is. Raises `WorkspaceError`
    (kinds `no_repository`, `cannot_isolate`)."""
    root = GitRoot.find(folder, "") or GitRoot.find_outer(folder)
    if root is None:
        raise WorkspaceError(
            f"{folder} is not in a git repository.", "Work in the folder itself.", kind="no_repository"
        )
    outer, root.outer, root.trouble = root.outer, "", root.find_trouble()
    if root.trouble or root.repo is None:
        raise WorkspaceError(
            f"A worktree of {root.work} cannot be made: {root.trouble}.",
            "Work in the folder itself.",
            kind="cannot_isolate",
        )
    return root, outer


def take_back(source: Path, session_id: str, isolated: Isolated) -> None:
    """Remove a worktree that was just made and that nothing was done in, with its branch and its entry."""
    folder = Path(source).expanduser().absolute()
    root = GitRoot.find(folder, "") or GitRoot.find_outer(folder)
    if root is not None:
        ref = f"refs/heads/{isolated.branch}"
        _Maker(root, session_id, RuleSet(b""), None).remove(ref, root.resolve(ref))


class _Maker:
    def __init__(
        self, root: GitRoot, session_id: str, include: RuleSet, progress: ProgressCall | None
    ) -> None:
        self.root, self.session, self.include, self.progress = root, session_id, include, progress
        slug = re.sub(r"[^A-Za-z0-9._-]+", "-", root.work.name).strip(".-") or "work"
        self.name = f"{slug[:40]}-{session_id}"
        self.dest = paths.worktrees_dir() / self.name
        self.entry = root.common / "worktrees" / self.name
        self.files = self.dest
        """Where the files are as long as the worktree is being made."""
        self.notes: list[str] = []

    def run(self) -> Isolated:
        if self.dest.exists() or self.entry.exists():
            raise WorkspaceError(
                f"There is a worktree for this session already: {self.dest}.",
                "Open it, or remove it first.",
                kind="exists",
            )
        ready = isolate_ready.claim(self.root.work)
        if ready is not None:
            try:
                return self._make(ready)
            except (WorkspaceError, Doubt) as reason:
                # Whatever it is: made anew, the worktree is right, or the same refusal comes from there.
                logger.warning("a copy that was kept ready is not used: %s", reason)
            finally:
                isolate_ready.discard(ready.folder)
        return self._make(None)

    def _make(self, ready: Ready | None) -> Isolated:
        self.notes = []
        self.files = ready.files if ready is not None else self.dest
        head = self.root.head()
        start = self._rebased() or head.commit
        branch = f"worldline/{self.session}/start"
        ref = f"refs/heads/{branch}"
        made_branch = False
        try:
            copy = self._copy(ready)
            if ready is not None:
                isolate_ready.plan(ready, dest=self.dest, entry=self.entry, ref=ref, commit=start)
            leases.take(self.dest, self.session)
            self._write_info(head)
            self.entry.mkdir(parents=True)
            if head.commit:
                assert self.root.repo is not None
                self.root.repo.references.create(ref, pygit2.Oid(hex=start), force=False)
                made_branch = True
            self._write_entry(ref)
            if ready is None:
                copy.run()
            self.notes += copy.notes
            unsure = self._write_index(copy)
            self._carry_operation(ref, head)
            number = uncommitted(self.root, copy, head, unsure) if unsure is not None else 0
            if ready is not None:
                isolate_ready.hand_over(ready, self.dest)
        except BaseException as error:
            # Of a copy that was kept ready nothing is in its place yet.
            self.remove(ref if made_branch else "", start, files=ready is None)
            if isinstance(error, (OSError, pygit2.GitError, KeyError, ValueError)):
                raise WorkspaceError(
                    f"The worktree could not be made ({error}).",
                    "Free some space or work in the folder itself.",
                    kind="cannot_isolate",
                ) from error
            raise
        return Isolated(
            self.dest, self.dest, head.commit, head.branch, branch, copy.included, self.notes, number
        )

    def _copy(self, ready: Ready | None) -> copytree.Copy:
        """A copy that is up to date, out of one that was kept ready; or one that is still to be run."""
        if ready is None:
            self.dest.mkdir(parents=True, mode=0o700)
            return copytree.Copy(self.root, self.dest, self.include, self.progress)
        update = Update(self.root, ready.files, self.include, self.progress, ready.manifest)
        update.run()
        return update

    def _rebased(self) -> str:
        """Where the branch was that is being rebased: git wants to find it there at the end. "" = no rebase."""
        files = self.root.progress()
        for folder in ("rebase-merge", "rebase-apply"):
            if files.get(f"{folder}/head-name", b"").startswith(b"refs/heads/"):
                return files.get(f"{folder}/orig-head", b"").decode("ascii", "replace").strip()
        return ""

    def _write_info(self, head: Head) -> None:
        info = {
            "source": str(self.root.work), "entry": str(self.entry), "session": self.session,
            "base_commit": head.commit, "base_branch": head.branch,
        }  # fmt: skip
        self.dest.with_name(self.name + ".info").write_text(json.dumps(info), "utf-8")

    def _write_entry(self, ref: str) -> None:
        (self.entry / "locked").write_text(f"used by Worldline session {self.session}\n", "utf-8")
        (self.entry / "commondir").write_text("../..\n", "utf-8")
        (self.entry / "gitdir").write_bytes(os.fsencode(self.dest / ".git") + b"\n")
        (self.entry / "HEAD").write_text(f"ref: {ref}\n", "utf-8")
        (self.files / ".git").write_bytes(b"gitdir: " + os.fsencode(self.entry) + b"\n")
        copytree.carry_settings(self.root.gitdir, self.entry)

    def _write_index(self, copy: copytree.Copy) -> list[indexfile.Entry] | None:
        """Those that are not known to be clean; None when it is in a form that only git can read."""
        source = self.root.gitdir / "index"
        if not source.is_file():
            self.root.entries = []
            return []
        if self.root.trouble:  # of a kind that only git itself can read: as it is
            for file in (source, *self.root.gitdir.glob("sharedindex.*")):
                shutil.copy2(file, self.entry / file.name)
            return None
        written_ns = self.root.index_sig[0]  # of what `entries` were read from
        entries, pairs = self.root.entries, copy.pairs
        seen = [_seen(entry, pairs, written_ns) for entry in entries]
        (self.entry / "index").write_bytes(indexfile.encode(entries, seen))
        return [entry for entry, now in zip(entries, seen, strict=True) if now is _UNSURE]

    def _carry_operation(self, ref: str, head: Head) -> None:
        files = self.root.progress()
        for name in files:
            (self.entry / name).parent.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            if name.startswith(_CARRIED_OPERATIONS) and not name.endswith("/head-name"):
                (self.entry / name).write_bytes(data)
            elif name.endswith("/head-name") and data.startswith(b"refs/heads/"):
                # The rebase ends on the session's branch here; the person's own goes on in their folder.
                (self.entry / name).write_text(f"{ref}\n", "utf-8")
                if head.commit:  # else it was taken to a branch without a commit meanwhile
                    (self.entry / "HEAD").write_text(f"{head.commit}\n", "ascii")
                self.notes.append(
                    "A rebase is in progress in your folder. Here it goes on with a branch of the session; yours stays as it is."
                )

    def remove(self, ref: str, commit: str, *, files: bool = True) -> None:
        """Take away what this failed attempt made; nothing else is in these folders."""
        registration.remove(self.entry)
        if files:
            remove_tree(self.dest)
        leases.release(self.dest)
        self.dest.with_name(self.name + ".info").unlink(missing_ok=True)
        if ref and self.root.resolve(ref) == commit:
            for path in (self.root.common / ref, self.root.common / "logs" / ref):
                path.unlink(missing_ok=True)


def _seen(entry: indexfile.Entry, pairs: Mapping[str, Copied], written_ns: int) -> indexfile.Seen:
    """Clean in the source means clean in the copy; whatever is not sure is left for git to read."""
    path, _, _, stage, _, old, old_size = entry
    pair = pairs.get(path)
    if pair is None or stage:
        return _UNSURE
    mtime, ctime, size, inode, made_mtime, made_ctime, made_size, made_inode, _, device, uid, gid = pair
    # Of what was changed while it was copied the ctime is no time at all.
    ctime_s, ctime_ns = divmod(ctime, _S)
    mtime_s, mtime_ns = divmod(mtime, _S)
    known = (ctime_s & _WORD, ctime_ns, mtime_s & _WORD, mtime_ns, inode & _WORD)
    if old[:4] != known[:4] or old[5] != known[4] or size & _WORD != old_size or mtime >= written_ns:
        return _UNSURE
    if made_mtime != mtime:
        mtime_s, mtime_ns = divmod(made_mtime, _S)
    ctime_s, ctime_ns = divmod(made_ctime, _S)
    return (
        ctime_s & _WORD, ctime_ns, mtime_s & _WORD, mtime_ns, device & _WORD, made_inode & _WORD, uid & _WORD, gid & _WORD,
    ), made_size & _WORD  # fmt: skip


def release(worktree: Path) -> None:
    """The session is closed: the worktree stays, its lease is given back."""
    leases.release(worktree)
