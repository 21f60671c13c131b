"""A copy of a nested repository's own git folder, so that it can be made again when an agent deletes it.

Its files, staging area and HEAD are parts of a state anyway; what would be lost with the folder is its history.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
from pathlib import Path

from worldline.workspace.filesig import size_text
from worldline.workspace.objects import BLOB, MODE_DIR, MODE_EXEC, MODE_FILE, MODE_LINK, TreeEntry, object_id
from worldline.workspace.repos import GitRoot
from worldline.workspace.store import Store

MAX_BYTES = 2 << 30
MAX_FILES = 100_000
"""Larger histories are not copied, nor those that would fill the disk; the state says so and why."""
CHUNK = 8 << 20
"""Larger files (packs) are stored in parts of this size, so that no copy needs more memory than one."""
_CHUNKS = ".worldline-parts"
"""Marks a tree that stands for a file: its other entries are the parts, named by number."""
_MEMORY = "large-copies"
_LEFT_OUT = frozenset({"index", "worldline-restore", "gc.pid", "fsmonitor--daemon", "fsmonitor--daemon.ipc"})

_Sig = tuple[int, int, int]


class TooLarge(Exception):
    """The history is above the limits; says which."""


class GitCopier:
    """Copies git folders into the store; what did not change since the last copy is not read again."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, tuple[tuple[object, ...], bytes]] = {}
        self._blobs: dict[str, dict[str, tuple[_Sig, bytes]]] = {}
        self._reasons: dict[str, str] = {}
        self._large: dict[str, tuple[_Sig, bytes]] | None = None
        """Place of a large file → what it was when it was copied, also by an earlier process."""

    def why_not(self, root: GitRoot) -> str:
        """Why there is no copy of its history, in words for people."""
        return self._reasons.get(root.path, "")

    def copy(self, root: GitRoot) -> bytes:
        """Id of the stored copy; b"" for one that is too large, or whose git folder lies elsewhere (see `why_not`)."""
        if root.pointer or root.gitdir != root.common or (root.work / ".git").is_symlink():
            self._reasons[root.path] = "" if root.pointer else "its git folder lies elsewhere"
            return b""
        signature = self._signature(root)
        known = self._known.get(root.path)
        if known is not None and known[0] == signature:
            return known[1]
        self._files = 0
        self._bytes = 0
        # Half of what is free: the person needs the rest, and other states come.
        self._room = min(MAX_BYTES, shutil.disk_usage(self._store.path).free // 2)
        self._reasons[root.path] = ""
        seen: dict[str, tuple[_Sig, bytes]] = {}
        try:
            tree = self._folder(root.gitdir, "", self._blobs.get(root.path, {}), seen)
        except TooLarge as error:
            tree, self._reasons[root.path] = b"", str(error)
        self._blobs[root.path] = seen
        self._known[root.path] = (signature, tree)
        return tree

    @staticmethod
    def _signature(root: GitRoot) -> tuple[object, ...]:
        """Changes when anything in it did. New objects alone are worth nothing: something comes to name them."""
        found: list[object] = [root.index_sig]
        for place, folders, names in os.walk(root.gitdir):
            here = Path(place)
            names += [name for name in folders if (here / name).is_symlink()]
            if "objects" in folders:
                folders.remove("objects")
                names += ["objects", "objects/pack"]
            folders.sort()
            found += folders  # those that are empty, too
            left_out = _LEFT_OUT if here == root.gitdir else ()
            for name in sorted(names):
                if name in left_out or name.endswith((".lock", ".sample")):
                    continue
                try:
                    status = (here / name).lstat()
                    found.append((place, name, status.st_mtime_ns, status.st_size, status.st_ino))
                except OSError:
                    found.append((place, name))
        return (*found, *(root.resolve(ref) for ref in _branches(root)))

    def _folder(
        self,
        folder: Path,
        prefix: str,
        known: dict[str, tuple[_Sig, bytes]],
        seen: dict[str, tuple[_Sig, bytes]],
    ) -> bytes:
        rows = []
        for entry in _parts(folder, prefix):
            path = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                rows.append(
                    TreeEntry(entry.name, MODE_DIR, self._folder(Path(entry.path), path + "/", known, seen))
                )
            elif entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                self._count(status.st_size)
                sig = (status.st_mtime_ns, status.st_size, status.st_ino)
                if status.st_size > CHUNK:
                    seen[path] = (sig, self._in_parts(Path(entry.path), sig))
                    rows.append(TreeEntry(entry.name, MODE_DIR, seen[path][1]))
                    continue
                before = known.get(path)
                if before is not None and before[0] == sig:
                    seen[path] = before
                else:
                    seen[path] = (sig, self._store.put(BLOB, Path(entry.path).read_bytes()))
                mode = MODE_EXEC if status.st_mode & stat.S_IXUSR else MODE_FILE
                rows.append(TreeEntry(entry.name, mode, seen[path][1]))
            elif (
                entry.is_symlink()
            ):  # a hook, as a rule: where git itself would follow one, nothing is copied
                text = os.fsencode(Path(entry.path).readlink())
                rows.append(TreeEntry(entry.name, MODE_LINK, self._store.put(BLOB, text)))
        return self._store.put_tree(rows)

    def _count(self, size: int) -> None:
        self._files += 1
        self._bytes += size
        if self._files > MAX_FILES:
            raise TooLarge(f"it has more than {MAX_FILES:,} files")
        if self._bytes > MAX_BYTES:
            raise TooLarge(f"it is larger than {size_text(MAX_BYTES)}")
        if self._bytes > self._room:
            raise TooLarge(f"it is larger than half of the free space ({size_text(self._room)})")

    def _in_parts(self, path: Path, sig: _Sig) -> bytes:
        """Store a large file; one that was stored before is not read again. Packs are never changed by git, they come
        and go."""
        if self._large is None:
            self._large = self._load()
        known = self._large.get(str(path))
        if known is not None and known[0] == sig and self._store.has(known[1]):
            return known[1]
        rows = [TreeEntry(_CHUNKS, MODE_FILE, self._store.put(BLOB, b""))]
        with path.open("rb") as file:
            while data := file.read(CHUNK):
                oid = object_id(BLOB, data)
                if not self._store.has(oid):
                    self._store.put_known(oid, BLOB, data)
                rows.append(TreeEntry(f"{len(rows):08}", MODE_FILE, oid))
            now = os.fstat(file.fileno())
        tree = self._store.put_tree(rows)
        if (now.st_mtime_ns, now.st_size, now.st_ino) == sig:
            self._large[str(path)] = (sig, tree)
            self._save()
        return tree

    def _load(self) -> dict[str, tuple[_Sig, bytes]]:
        try:
            rows = json.loads((self._store.path / _MEMORY).read_bytes())
            return {path: ((a, b, c), bytes.fromhex(tree)) for path, (a, b, c), tree in rows}
        except (OSError, ValueError):  # only a saving
            return {}

    def _save(self) -> None:
        large = {path: row for path, row in (self._large or {}).items() if os.path.lexists(path)}
        rows = [[path, list(sig), tree.hex()] for path, (sig, tree) in large.items()]
        temp = self._store.path / f"{_MEMORY}.tmp"
        with contextlib.suppress(OSError):
            temp.write_text(json.dumps(rows), "ascii")
            temp.replace(self._store.path / _MEMORY)


def _parts(folder: Path, prefix: str) -> list[os.DirEntry[str]]:
    """What is copied of a folder in a git folder, in order. Whoever replaces a file meanwhile may have it listed twice."""
    with os.scandir(folder) as entries:
        found = {
            entry.name: entry
            for entry in entries
            if not entry.name.endswith((".lock", ".sample"))
            and not entry.name.startswith("tmp_")
            and (prefix or (entry.name not in _LEFT_OUT and ".worldline" not in entry.name))
        }
    return [found[name] for name in sorted(found)]


def is_copied(store: Store, tree: bytes, folder: Path, prefix: str = "") -> bool:
    """Whether a stored git folder has all that is in `folder` now. Objects are told by their names, which say their content.
    Raises OSError."""
    copied = {entry.name: entry for entry in store.tree(tree)}
    for part in _parts(folder, prefix):
        known = copied.get(part.name)
        if part.is_dir(follow_symlinks=False):
            inner = f"{prefix}{part.name}/"
            if (
                known is None
                or known.mode != MODE_DIR
                or not is_copied(store, known.oid, Path(part.path), inner)
            ):
                return False
        elif part.is_file(follow_symlinks=False):
            if known is None:
                return False
            if prefix.startswith("objects/") or known.mode == MODE_DIR:
                continue
            if object_id(BLOB, Path(part.path).read_bytes()) != known.oid:
                return False
        elif part.is_symlink():
            text = os.fsencode(Path(part.path).readlink())
            if known is None or (known.mode, known.oid) != (MODE_LINK, object_id(BLOB, text)):
                return False
    return True


def _branches(root: GitRoot) -> list[str]:
    heads = root.gitdir / "refs" / "heads"
    return sorted(str(path.relative_to(root.gitdir)) for path in heads.rglob("*") if path.is_file())


def write_copy(store: Store, tree: bytes, folder: Path) -> None:
    """Write a stored git folder. `folder` must not exist yet; `git` ignores objects that are read-only or not alike."""
    folder.mkdir(mode=0o755)
    for entry in store.tree(tree):
        path = folder / entry.name
        if entry.mode == MODE_DIR and store.subtree(entry.oid, _CHUNKS) is None:
            write_copy(store, entry.oid, path)
            continue
        if entry.mode == MODE_LINK:
            path.symlink_to(os.fsdecode(store.read(entry.oid)))
            continue
        if entry.mode == MODE_DIR:
            with path.open("wb") as file:
                for part in sorted(store.tree(entry.oid)):
                    if part.name != _CHUNKS:
                        file.write(store.read(part.oid))
        else:
            path.write_bytes(store.read(entry.oid))
        if entry.mode == MODE_EXEC:
            path.chmod(0o755)
        elif folder.parent.name == "objects" or folder.name == "pack":
            path.chmod(0o444)
