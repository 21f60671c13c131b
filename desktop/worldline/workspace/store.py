"""The object store of one workspace: a bare git repository of ours, outside the workspace.

It reads no configuration of the person, runs no filter and no hook, and borrows no object from elsewhere: whatever a
state needs is in it, so that no `git gc` of the person can break a state.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pygit2

from worldline.core.errors import WorkspaceError
from worldline.core.plainfile import read_plain
from worldline.workspace import after_power, durable
from worldline.workspace.objects import (
    BLOB,
    TREE,
    PackWriter,
    TreeEntry,
    encode_tree,
    object_id,
    write_loose,
)
from worldline.workspace.packnames import PackNames
from worldline.workspace.treecache import TreeCache

_LOOSE_LIMIT = 24
"""Up to so many new objects are written one by one; more go into one pack."""
_PENDING_BYTES = 8 << 20
_MAX_UNSYNCED = 500
_SIZES = 20_000
_TEXTS = 32
_SMALL = 32 << 10
_STORED = 50_000
BUNDLED = "refs/worldline/bundle/"
"""Refs of states that came from somebody else: of these only the files are put back."""
FREE_FLOOR = 32 << 20
"""Bytes that a capture leaves free on the disk of the store."""
_OURS = ("bare = true", "hooksPath = /dev/null", "logAllRefUpdates = false")
_CONFIG = (
    "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tautocrlf = false\n\tfsmonitor = false\n"
    "\thooksPath = /dev/null\n\tlogAllRefUpdates = false\n[gc]\n\tauto = 0\n[commit]\n\tgpgSign = false\n"
)


def make(path: Path) -> None:
    """Make an empty store: it is there whole, or a kill leaves nothing under its name."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    passing = path.with_name(f".{path.name}.new")
    shutil.rmtree(passing, ignore_errors=True)
    passing.mkdir(mode=0o700)
    try:
        pygit2.init_repository(str(passing), bare=True)
        # A store is known by it: a loss of power must not leave it empty.
        durable.write_durably(passing / "config", _CONFIG.encode("ascii"))
        if path.exists():
            # Beside what is there already, also of an earlier attempt; what makes it a store comes last.
            shutil.copytree(passing, path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("HEAD"))
            (passing / "HEAD").replace(path / "HEAD")
            shutil.rmtree(passing)
        else:
            passing.rename(path)
    except BaseException:  # also when the person stops it
        shutil.rmtree(passing, ignore_errors=True)
        raise


def _is_ours(path: Path) -> bool:
    try:
        return all(line in read_plain(path / "config").decode("utf-8", "replace") for line in _OURS)
    except OSError:
        return False


def _is_unpacked(path: Path) -> bool:
    """Whether it is what an older version made of a bundle: a store without our configuration, and nothing else in it."""
    try:
        repository = pygit2.Repository(str(path))
    except pygit2.GitError:
        return False
    names = list(repository.references)
    return repository.is_bare and bool(names) and all(name.startswith(BUNDLED) for name in names)


class Store:
    """Objects in and out. One thread at a time; one writing process at a time (`lock`)."""

    def __init__(self, path: Path, *, free_floor: int = FREE_FLOOR) -> None:
        self.path = path
        self.free_floor = free_floor
        if not (path / "HEAD").is_file():
            make(path)
        elif not _is_ours(path) and _is_unpacked(path):
            with contextlib.suppress(OSError):  # it may be looked at only
                durable.write_durably(path / "config", _CONFIG.encode("ascii"))
        elif not _is_ours(path):
            # Named by a session file that came from elsewhere: pruning would delete what somebody else keeps there.
            raise WorkspaceError(
                f"{path} is a git repository of somebody else and no store of states.",
                "Do not go on with this session file if you do not know where it comes from.",
                kind="refused",
            )
        self.repo = pygit2.Repository(str(path))
        self._pending: list[tuple[bytes, int, bytes]] = []
        self._pending_bytes = 0
        self._new: dict[bytes, int] = {}
        self._unsynced: list[str] = []
        self._new_pack = False
        """There is a pack whose name is not on disk yet."""
        self._pack: PackWriter | None = None
        self.trees = TreeCache(self.read_new)
        self._stored: set[bytes] = set()
        """Objects that are known to be there."""
        self._packed = PackNames(self.path / "objects" / "pack")
        self._texts: dict[bytes, bytes] = {}
        """Small files that were captured last: their lines are counted next."""
        self._sizes: dict[bytes, int] = {}
        """Bytes of objects by id."""
        self._lock_fd = -1
        self.has_gaps = False
        """A tree that is there may lack what it names, since a loss of power."""
        self.memo: dict[str, object] = {}
        """For what is made of objects of the store; forgotten when they may have gone."""

    # --- one writer -------------------------------------------------------------------------------------------

    @property
    def is_locked(self) -> bool:
        """Whether this object is the one writer."""
        return self._lock_fd >= 0

    def lock(self) -> None:
        """Become the one writer. Raises `WorkspaceError` (kind `locked`) when another process is, and (kind `unreadable`) where
        nobody can look what is in the store. The kernel lets go of the lock when its owner dies, so there is no stale lock
        to heal."""
        if self._lock_fd >= 0:
            return
        fd = os.open(self.path / "writer.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
            os.close(fd)
            raise WorkspaceError(
                f"This workspace is in use by another Worldline process (pid {owner or 'unknown'}).",
                "Close the other window of this session, or wait until it has finished.",
                kind="locked",
            ) from error
        os.ftruncate(fd, 0)
        os.pwrite(fd, str(os.getpid()).encode(), 0)
        self._lock_fd = fd
        try:
            self._clean()
        except BaseException as error:
            # Not the writer of what was not looked at: objects that the power has emptied would be taken for whole.
            self._lock_fd = -1
            os.close(fd)
            if isinstance(error, OSError):
                raise WorkspaceError(
                    f"The store of this session, {self.path}, cannot be looked through ({error}).",
                    "Check the disk and the permissions of this folder, then try again.",
                    kind="unreadable",
                ) from error
            raise

    def _clean(self) -> None:
        """Remove what a killed writer left. Only ever called by the one writer."""
        shutil.rmtree(self.path / "blanks", ignore_errors=True)
        objects = self.path / "objects"
        for pattern in ("pack/tmp_*", "tmp_*"):
            for leftover in objects.glob(pattern):
                leftover.unlink(missing_ok=True)
        # Killed between the two renames, or between the two removals of `prune`: nobody can read the one without the other.
        for half, other in ((".pack", ".idx"), (".idx", ".pack")):
            for file in (objects / "pack").glob(f"pack-*{half}"):
                if not file.with_suffix(other).exists():
                    file.unlink(missing_ok=True)
        after_power.look(self.path, lambda oid: self.repo.read(pygit2.Oid(raw=oid)), pygit2.GitError)
        self.has_gaps = after_power.has_gaps(self.path)

    def reopen(self) -> None:
        """Forget what is known of the files of the store."""
        self.repo.free()
        self.trees.clear()
        self._sizes.clear()
        self._texts.clear()
        self._stored.clear()
        self._packed.forget()
        self.memo.clear()
        self.repo = pygit2.Repository(str(self.path))

    def close(self) -> None:
        self.discard()
        with contextlib.suppress(OSError):  # a disk that is gone takes nothing with it that was promised
            self.sync()
        self.repo.free()
        self._packed.forget()
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1

    # --- writing ----------------------------------------------------------------------------------------------

    def check_space(self) -> None:
        free = shutil.disk_usage(self.path).free
        if free < self.free_floor:
            raise WorkspaceError(
                f"Only {free >> 20} MB are free where Worldline keeps its copies.",
                "Free some disk space, or prune old states in the storage panel.",
                kind="disk_full",
            )

    def put(self, kind: int, data: bytes) -> bytes:
        """Add an object; it can be read by others after `flush`. Returns its id (20 bytes)."""
        oid = object_id(kind, data)
        self.put_known(oid, kind, data)
        return oid

    def put_known(self, oid: bytes, kind: int, data: bytes) -> None:
        if oid in self._new:
            return
        if self._pack is None and self.has(oid):
            return
        self._new[oid] = kind
        if self._pack is not None:
            self._pack.add(oid, kind, data)
            return
        self._pending.append((oid, kind, data))
        self._pending_bytes += len(data)
        if len(self._pending) > _LOOSE_LIMIT or self._pending_bytes > _PENDING_BYTES:
            self._pack = PackWriter(self.path / "objects" / "pack")
            for row in self._pending:
                self._pack.add(*row)
            self._pending = []
            self._pending_bytes = 0

    def flush(self) -> None:
        """Make everything added so far readable."""
        try:
            if self._pack is not None:
                self._pack.finish()
                self._pack = None
                self._new_pack = True
                self._packed.forget()
            for oid, kind, data in self._pending:
                write_loose(self.path / "objects", oid, kind, data)
                self._unsynced.append(oid.hex())
                if kind == BLOB and len(data) <= _SMALL:
                    self._texts[oid] = data
                    if len(self._texts) > _TEXTS:
                        del self._texts[next(iter(self._texts))]
        finally:
            self.discard()
        if len(self._unsynced) > _MAX_UNSYNCED:
            self.sync()

    def sync(self) -> None:
        """Make everything flushed so far survive a loss of power.

        Packs are synced when they are written. The few loose objects of a small capture are not, since that would cost
        more than the capture: they survive a kill at once, and a loss of power from here on. Called before a restore
        touches anything, when the store is closed, and now and then.
        """
        if not (self._unsynced or self._new_pack):
            return
        objects = self.path / "objects"
        names, self._unsynced = self._unsynced, []
        durable.sync_files(objects / name[:2] / name[2:] for name in names)
        folders = [objects / fan for fan in sorted({name[:2] for name in names})]
        if self._new_pack:
            folders.append(objects / "pack")
        for folder in (*folders, objects) if folders else ():
            with contextlib.suppress(FileNotFoundError):  # pruned
                durable.sync_path(folder)
        self._new_pack = False

    def discard(self) -> None:
        """Forget what was added since the last `flush`."""
        if self._pack is not None:
            self._pack.abort()
            self._pack = None
        self._pending = []
        self._pending_bytes = 0
        self._new = {}

    def put_tree(self, entries: list[TreeEntry]) -> bytes:
        return self.put(TREE, encode_tree(entries))

    # --- reading ----------------------------------------------------------------------------------------------

    def has(self, oid: bytes) -> bool:
        if oid in self._new or oid in self._stored:
            return True
        if self._lock_fd < 0:  # others may add and prune
            return pygit2.Oid(raw=oid) in self.repo.odb
        name = oid.hex()
        try:
            found = os.path.lexists(f"{self.path}/objects/{name[:2]}/{name[2:]}") or self._packed.hold(oid)
        except (OSError, ValueError):  # an index that is not as ours are
            found = pygit2.Oid(raw=oid) in self.repo.odb
        # Going to and fro asks for the same ones each time.
        if found and len(self._stored) < _STORED:
            self._stored.add(oid)
        return found

    def read(self, oid: bytes) -> bytes:
        """The content of an object. Raises `WorkspaceError` (kind `missing_object`)."""
        known = self._texts.get(oid)
        if known is not None:
            return known
        try:
            return self.repo.read(pygit2.Oid(raw=oid))[1]
        except (KeyError, pygit2.GitError) as error:
            raise WorkspaceError(
                f"The store no longer has object {oid.hex()}.",
                "The store was damaged or pruned; run `worldline verify` on the session.",
                kind="missing_object",
            ) from error

    def read_new(self, oid: bytes) -> bytes:
        """Like `read`, also for what was added since the last `flush`."""
        if oid in self._new:
            for known, _, data in self._pending:
                if known == oid:
                    return data
            assert self._pack is not None
            return self._pack.read(oid)
        return self.read(oid)

    def size_of(self, oid: bytes) -> int:
        size = self._sizes.get(oid)
        if size is None and (known := self._texts.get(oid)) is not None:
            return len(known)
        if size is None:
            if len(self._sizes) >= _SIZES:
                self._sizes.clear()
            size = self._sizes[oid] = int(self.repo.odb.read_header(pygit2.Oid(raw=oid))[1])
        return size

    def tree(self, oid: bytes) -> list[TreeEntry]:
        """Entries of a tree; shared, not to be changed."""
        return self.trees.entries(oid)

    def raw_tree(self, oid: bytes) -> bytes:
        """A tree as it is stored, also one that was added since the last `flush`."""
        return self.trees.raw(oid)

    def subtree(self, tree: bytes, name: str) -> TreeEntry | None:
        for entry in self.tree(tree):
            if entry.name == name:
                return entry
        return None

    def lookup(self, tree: bytes, path: str) -> TreeEntry | None:
        """The entry at `path` below a tree, or None."""
        found: TreeEntry | None = TreeEntry("", 0o040000, tree)
        for part in path.split("/"):
            if found is None or found.mode != 0o040000:
                return None
            found = self.subtree(found.oid, part)
        return found

    # --- refs -------------------------------------------------------------------------------------------------

    def delete_ref(self, name: str) -> None:
        with contextlib.suppress(KeyError):
            self.repo.references.delete(name)

    def is_bundled(self, state: str) -> bool:
        name = f"{BUNDLED}{state}"
        # Asked for each restore, and as a rule there is none at all.
        if os.access(f"{self.path}/{name}", os.F_OK) or os.access(f"{self.path}/packed-refs", os.F_OK):
            return name in self.repo.references
        return False

    def refs(self) -> Iterator[tuple[str, str]]:
        for name in self.repo.references:
            reference = self.repo.references[name]
            if isinstance(reference.target, pygit2.Oid):
                yield name, str(reference.target)
