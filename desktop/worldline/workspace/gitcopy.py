"""A copy of a nested repository's own git folder, so that it can be made again when an agent deletes it.

Its files, staging area and HEAD are parts of a state anyway; what would be lost with the folder is its history.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from worldline.workspace.objects import BLOB, MODE_DIR, MODE_EXEC, MODE_FILE, TreeEntry
from worldline.workspace.repos import GitRoot
from worldline.workspace.store import Store

MAX_BYTES = 64 << 20
MAX_FILES = 20_000
"""Larger histories are not copied; the state says so."""
_LEFT_OUT = frozenset({"index", "worldline-restore", "gc.pid", "fsmonitor--daemon", "fsmonitor--daemon.ipc"})

_Sig = tuple[int, int, int]


class TooLarge(Exception):
    """The history is above the limits."""


class GitCopier:
    """Copies git folders into the store; what did not change since the last copy is not read again."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, tuple[tuple[object, ...], bytes]] = {}
        self._blobs: dict[str, dict[str, tuple[_Sig, bytes]]] = {}

    def copy(self, root: GitRoot) -> bytes:
        """Id of the stored copy; b"" for one that is too large, or whose git folder lies elsewhere."""
        if root.pointer or root.gitdir != root.common or (root.work / ".git").is_symlink():
            return b""
        signature = self._signature(root)
        known = self._known.get(root.path)
        if known is not None and known[0] == signature:
            return known[1]
        self._files = 0
        self._bytes = 0
        seen: dict[str, tuple[_Sig, bytes]] = {}
        try:
            tree = self._folder(root.gitdir, "", self._blobs.get(root.path, {}), seen)
        except TooLarge:
            tree = b""
        self._blobs[root.path] = seen
        self._known[root.path] = (signature, tree)
        return tree

    @staticmethod
    def _signature(root: GitRoot) -> tuple[object, ...]:
        """Changes when a command of git changed something that is worth keeping."""
        folders = [root.gitdir / "objects", root.gitdir / "objects" / "pack", root.gitdir / "logs"]
        folders += [Path(place) for place, _, _ in os.walk(root.gitdir / "refs")]
        found: list[object] = [root.index_sig]
        for path in (
            *folders,
            *(root.gitdir / name for name in ("HEAD", "config", "packed-refs", "logs/HEAD")),
        ):
            try:
                found.append(path.stat().st_mtime_ns)
            except OSError:
                found.append(0)
        return (*found, *(root.resolve(ref) for ref in _branches(root)))

    def _folder(
        self,
        folder: Path,
        prefix: str,
        known: dict[str, tuple[_Sig, bytes]],
        seen: dict[str, tuple[_Sig, bytes]],
    ) -> bytes:
        rows = []
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        for entry in found:
            if entry.name.endswith((".lock", ".sample")) or entry.name.startswith("tmp_"):
                continue
            if not prefix and (entry.name in _LEFT_OUT or ".worldline" in entry.name):
                continue
            path = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                rows.append(
                    TreeEntry(entry.name, MODE_DIR, self._folder(Path(entry.path), path + "/", known, seen))
                )
            elif entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                self._files += 1
                self._bytes += status.st_size
                if self._files > MAX_FILES or self._bytes > MAX_BYTES:
                    raise TooLarge
                sig = (status.st_mtime_ns, status.st_size, status.st_ino)
                before = known.get(path)
                if before is not None and before[0] == sig:
                    seen[path] = before
                else:
                    seen[path] = (sig, self._store.put(BLOB, Path(entry.path).read_bytes()))
                mode = MODE_EXEC if status.st_mode & stat.S_IXUSR else MODE_FILE
                rows.append(TreeEntry(entry.name, mode, seen[path][1]))
        return self._store.put_tree(rows)


def _branches(root: GitRoot) -> list[str]:
    heads = root.gitdir / "refs" / "heads"
    return sorted(str(path.relative_to(root.gitdir)) for path in heads.rglob("*") if path.is_file())


def write_copy(store: Store, tree: bytes, folder: Path) -> None:
    """Write a stored git folder. `folder` must not exist yet; `git` ignores objects that are read-only or not alike."""
    folder.mkdir(mode=0o755)
    for entry in store.tree(tree):
        path = folder / entry.name
        if entry.mode == MODE_DIR:
            write_copy(store, entry.oid, path)
            continue
        path.write_bytes(store.read(entry.oid))
        if entry.mode == MODE_EXEC:
            path.chmod(0o755)
        elif folder.parent.name == "objects" or folder.name == "pack":
            path.chmod(0o444)
