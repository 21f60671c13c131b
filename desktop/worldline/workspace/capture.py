"""Making a state of what is on disk. Costs one walk over stat data, and the content of what changed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Set
from pathlib import Path

import pygit2

from worldline.workspace import memory
from worldline.workspace.filesig import FileSig
from worldline.workspace.folders import IGNORED, Context, Dir, is_staging
from worldline.workspace.gitcopy import GitCopier
from worldline.workspace.keep import Keeper
from worldline.workspace.known_repos import KnownRepos
from worldline.workspace.learned import Learned, remake
from worldline.workspace.looking import Looker
from worldline.workspace.model import ProgressCall
from worldline.workspace.repos import GitRoot, Head, operation_of
from worldline.workspace.scan import Walk
from worldline.workspace.states import VERSION, RootState, State, put_index, put_omitted, put_progress
from worldline.workspace.store import Store
from worldline.workspace.trees import build_trees
from worldline.workspace.watch import Dirty, Watcher


def umask() -> int:
    """The permission bits that new files do not get."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text("ascii").splitlines():
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    # No such file here: the only other way to ask is to set it, for a moment and for all threads.
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


_NO_REPOSITORY = "is no repository that can be read"


class Capturer:
    """The memory of the last walk and the making of states. `take` either returns a whole state or raises and leaves
    nothing half-known behind."""

    def __init__(self, work: Path, store: Store, chosen: tuple[str, ...], max_bytes: int) -> None:
        self.work = work
        self.store = store
        mask = umask()
        self.context = Context(
            store, chosen=chosen, max_bytes=max_bytes, file_perm=0o666 & ~mask, dir_perm=0o777 & ~mask,
        )  # fmt: skip
        self.top = Dir()
        self.repos = KnownRepos(work, self.context)
        self.keeper = Keeper(store)
        self.copier = GitCopier(store)
        self._omitted: dict[str, str] = {}
        self._clashes: list[str] = []
        self._found: list[str] = []
        self._walked = False
        self._looker = Looker(work)
        self._watcher: Watcher | None = None
        self.learned = Learned(self._mark)
        self._looked_up: tuple[str, Dir | None] | None = None
        """The last folder that `sig_of` looked into."""

    def remember(self) -> None:
        """Take up the walk of an earlier process."""
        kept = memory.load(self.store.path, self.work, self.context)
        if kept is None:
            return
        self.top, rules_text, index_sigs = kept
        self.repos.remember(self.top, rules_text, index_sigs)

    def save(self) -> None:
        """Keep the walk for the next process."""
        if self._walked:
            sigs = self.repos.index_sigs()
            with contextlib.suppress(OSError):  # a full disk costs time, nothing else
                memory.save(self.store.path, self.work, self.context, self.top, self.repos.rules_text, sigs)

    def watch(self) -> None:
        """Let the kernel tell what changes; from the next capture on only that is looked at."""
        if self._watcher is None:
            self._watcher = Watcher(self.work, is_staging)
            self.context.watch = self._watcher.watch if self._watcher.works else None

    def _mark(self) -> None:
        if self._watcher is not None:
            self._watcher.mark()

    @property
    def stirred(self) -> bool:
        """Whether files are known to have changed since the last capture. Costs nothing; False where nobody watches."""
        return self._watcher is not None and self._watcher.stirred

    def close(self) -> None:
        self.unwatch()
        self._looker.close()

    def unwatch(self) -> None:
        self.context.watch = None
        if self._watcher is not None:
            self._watcher.close()
            self._watcher = None

    def forget(self) -> None:
        """Read everything again the next time."""
        self.top = Dir()
        self.context.special = {}
        self.keeper = Keeper(self.store)
        self.copier = GitCopier(self.store)
        self.repos.forget()
        self._walked = False
        self.learned.clear()
        self._looked_up = None
        if self._watcher is not None:
            # What it watches may be a folder that has gone, with another one in its place by the next time.
            self.unwatch()
            self.watch()
        self.store.discard()

    def take(self, label: str, progress: ProgressCall | None = None) -> State:
        """The state of the disk now, not yet saved. Raises OSError and `WorkspaceError`."""
        try:
            return self._take(label, progress)
        except BaseException:
            self.forget()
            raise

    def _take(self, label: str, progress: ProgressCall | None) -> State:
        done = 0
        self._looked_up = None

        def tick() -> None:
            nonlocal done
            done += 1
            if progress is not None and done % 50 == 0:
                progress("capture", done, 0)

        self.context.tick = tick if progress is not None else None
        known = self.learned.known(self.top)
        dirty = self._told(known)
        if self._watcher is not None and not self._watcher.works:
            self.context.watch = None
        everything = self.repos.refresh(self.top) or not self._walked
        self.context.dirty = None if everything else dirty
        self.context.learned = self.learned.by_inode
        learned = self.learned.put(self.top, dirty)
        fd = os.open(self.work, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            changed = Walk(self.context, self._looker).run(fd, self.top)
        finally:
            os.close(fd)
        if self.context.watch is not None:
            self._looker.close()  # the next walk is told what changed
        if changed or not self._walked:
            self._collect()
            self._walked = True
        remake(self.top, learned)
        self.learned.clear()
        self.repos.forget_all_but(self._found)
        files, perms = build_trees(self.top, self.context)
        return self._state(label, files, perms)

    def _told(self, known: Mapping[str, Set[str]]) -> Dirty | None:
        """What is to be looked at, as far as it is known. Asked for before anything is looked at: what changes later is told
        the next time. `known`: see `Watcher.drain`."""
        if self._watcher is None:
            return None
        now = self.work.stat()
        if self._walked and (now.st_dev, now.st_ino) != (self.context.device, self.top.ino):
            # Another folder is in its place, since one above it was renamed: of this one nothing is told.
            self.unwatch()
            self.watch()
        dirty = self._watcher.drain(known)
        if dirty is not None:
            for prefix, node in self.context.special.items():
                if node.linked and (names := dirty.setdefault(prefix, set())) is not None:
                    names |= node.linked
        return dirty

    def _collect(self) -> None:
        self._omitted, self._clashes, self._found = {}, [], []
        for prefix, node in sorted(self.context.special.items()):
            if self.top.below(prefix) is not node:
                del self.context.special[prefix]
                continue
            if node.repo and prefix:
                self._found.append(prefix[:-1])
                if prefix[:-1] not in self.repos.roots:
                    self._omitted[f"{prefix}.git"] = _NO_REPOSITORY
            for name, reason in node.skipped.items():
                if reason != IGNORED:
                    self._omitted[prefix + name] = reason
            self._clashes += [prefix + name for name in node.clash]
        main = self.repos.roots.get("")
        if (main is None or main.outer) and os.path.lexists(f"{self.work}/.git"):
            self._omitted[".git"] = _NO_REPOSITORY

    def sig_of(self, path: str) -> FileSig | None:
        """Stat data and content of a file as the last walk saw them, None when it did not see it."""
        folder, _, name = path.rpartition("/")
        if self._looked_up is None or self._looked_up[0] != folder:
            self._looked_up = (folder, self.top.below(folder + "/" if folder else ""))
        node = self._looked_up[1]
        return node.files.get(name) if node is not None else None

    def ignored_paths(self, limit: int) -> list[str]:
        """Files that are ignored now, at most `limit`; looks into ignored folders."""
        found: list[str] = []

        def inside(folder: str) -> None:
            for place, _, names in os.walk(self.work / folder):
                for name in names:
                    if len(found) < limit:
                        found.append(os.path.relpath(Path(place) / name, self.work))
                if len(found) >= limit:
                    return

        def visit(node: Dir, prefix: str) -> None:
            for name, reason in node.skipped.items():
                if reason == IGNORED and len(found) < limit:
                    path = os.fspath(self.work / prefix / name)
                    # A link may name what no path can be; of what cannot be reached these say no as well.
                    if not os.path.islink(path) and os.path.isdir(path):  # noqa: PTH112, PTH114
                        inside(prefix + name)
                    else:
                        found.append(prefix + name)
            for name, child in node.dirs.items():
                visit(child, f"{prefix}{name}/")

        visit(self.top, "")
        return found

    # --- the state --------------------------------------------------------------------------------------------

    def _state(self, label: str, files: bytes, perms: bytes) -> State:
        known = self.repos.roots
        roots = [self._root_state(known[path]) for path in sorted(known)]
        meta = {
            "version": VERSION,
            "roots": [root.meta() for root in roots],
            "rules": self.repos.rules_text,
            "chosen": list(self.context.chosen),
            "file_perm": self.context.file_perm,
            "dir_perm": self.context.dir_perm,
            "clashes": self._clashes,
        }
        omitted = put_omitted(self.store, self._omitted)
        return State(self.store, "", files, meta, roots, perms, omitted, label=label)

    def _root_state(self, root: GitRoot) -> RootState:
        head = root.head() if not root.trouble else Head()
        state = RootState(
            root.path, head.commit, head.ref, os.fsdecode(root.pointer), root.trouble,
            exclude=root.exclude_rules().text.decode("latin-1") if root.path else "",
        )  # fmt: skip
        if root.trouble:
            return state
        try:
            state.kept = self._keep(root, head.commit)
        except (KeyError, ValueError, pygit2.GitError) as error:
            # Somebody deleted a part of it, or stopped a clone half-way: all the more are its files worth something.
            lost = f"a part of its history cannot be read ({error})"
            return RootState(root.path, pointer=state.pointer, trouble=lost, exclude=state.exclude)
        if not root.index_tree:
            root.index_tree = put_index(self.store, root.entries)
        state.index = root.index_tree
        progress = root.progress()
        state.progress = put_progress(self.store, progress)
        state.operation = operation_of(set(progress))
        if root.path:
            state.git = self.copier.copy(root)
            state.uncopied = self.copier.why_not(root)
        state.trouble = root.trouble
        return state

    def _keep(self, root: GitRoot, commit: str) -> bytes:
        try:
            return self.keeper.keep(root, commit)
        except (KeyError, ValueError, pygit2.GitError):
            root.reopen()  # a `git gc` that ends just now has put it elsewhere
            return self.keeper.keep(root, commit)
