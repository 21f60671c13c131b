"""A walk over the workspace that reads only what changed since the last one.

The last walk is kept as a tree of folders with the stat data of every file. A folder whose own stat data is unchanged
has the same names, so its files are only asked for theirs; content is read where that differs. What was modified so
shortly before it was read that a second change could carry the same time is read again the next time.
"""

from __future__ import annotations

import errno
import fnmatch
import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from worldline.workspace.ignore import RuleSet, Stack, is_ignored
from worldline.workspace.objects import (
    BLOB,
    object_id,
)
from worldline.workspace.store import Store

STAGING = ".worldline-restore-"
"""Folders of this name in the workspace's root are a restore at work; never captured."""
MAX_DEPTH = 300
CHOSEN_CAP = 1 << 20
"""Largest ignored file that is captured because its name was chosen."""
_RACY_NS = 20_000_000
_COARSE_NS = 2_000_000_000
_OPEN_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

IGNORED = "ignored"

FileSig = tuple[int, int, int, int, int, bytes]
"""mtime_ns, ctime_ns (-1: read again), size, inode, st_mode, blob id."""


class Dir:
    """What is known of one folder."""

    __slots__ = (
        "clash",
        "dirs",
        "files",
        "in_ignored",
        "included",
        "mode",
        "perms",
        "repo",
        "rules",
        "sig",
        "skipped",
        "tree",
    )

    def __init__(self) -> None:
        self.files: dict[str, FileSig] = {}
        self.dirs: dict[str, Dir] = {}
        self.skipped: dict[str, str] = {}
        """Names that are not captured, and why (`IGNORED` or words for people)."""
        self.sig: tuple[int, int, int, int] | None = None
        """None: list it again."""
        self.tree = b""
        """Id of its git tree; b"": to be made."""
        self.perms = b""
        """Id of the record of unusual permissions below it, b"" when there are none."""
        self.rules: RuleSet | None = None
        self.repo = False
        self.in_ignored = False
        self.included = False
        """Ignored, but asked for as a whole (`Context.include`)."""
        self.mode = 0
        self.clash: tuple[str, ...] = ()
        """Names that differ only by case from another one here."""


def is_fresh(mtime_ns: int, ctime_ns: int, now_ns: int) -> bool:
    """Changed so recently that another change could leave the same times."""
    coarse = mtime_ns % 1_000_000_000 == 0 and ctime_ns % 1_000_000_000 == 0
    return max(mtime_ns, ctime_ns) >= now_ns - (_COARSE_NS if coarse else _RACY_NS)


class Unstable(OSError):
    """A file changed each time it was read."""


def read_file(name: str, dir_fd: int, limit: int) -> tuple[bytes, os.stat_result] | None:
    """Content and stat data that belong together; None when it is larger than `limit`. Never follows a link and never
    waits on a pipe."""
    fd = os.open(name, _OPEN_FILE, dir_fd=dir_fd)
    try:
        for _ in range(4):
            before = os.fstat(fd)
            if not stat.S_ISREG(before.st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            if before.st_size > limit:
                return None
            data = os.pread(fd, before.st_size + 1, 0)
            while 0 < len(data) < before.st_size:
                more = os.pread(fd, before.st_size + 1 - len(data), len(data))
                if not more:
                    break
                data += more
            after = os.fstat(fd)
            same = (before.st_mtime_ns, before.st_ctime_ns) == (after.st_mtime_ns, after.st_ctime_ns)
            if same and len(data) == after.st_size:
                return data, after
        raise Unstable(errno.EBUSY, "it kept changing while it was read")
    finally:
        os.close(fd)


@dataclass(slots=True)
class Context:
    """What one walk needs to know beside the folders."""

    store: Store
    tracked: set[str] = field(default_factory=set)
    tracked_dirs: set[str] = field(default_factory=set)
    chosen: tuple[str, ...] = ()
    max_bytes: int = 50 << 20
    file_perm: int = 0o644
    dir_perm: int = 0o755
    include: RuleSet | None = None
    """Ignored files that are wanted all the same."""
    enter_root: Callable[[str], Stack] | None = None
    """Called for a folder that is a repository of its own; returns the rules that hold inside."""
    is_linked: Callable[[str], bool] | None = None
    """Whether that folder is another worktree of a repository above it."""
    watch: Callable[[str], None] | None = None
    """Told of each folder before it is looked at."""
    dirty: set[str] | None = None
    """Folders that changed (as prefixes); None: not known, look at all."""
    special: dict[str, Dir] = field(default_factory=dict)
    """Folders (as prefixes) with something to tell: left out, a repository, names that clash. May hold folders that are
    gone."""
    tick: Callable[[], None] | None = None
    device: int = 0
    base: Stack = ()

    def is_chosen(self, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.chosen)


class Walk:
    """One walk. `run` brings the tree of folders up to date and says whether anything changed."""

    def __init__(self, context: Context) -> None:
        self.c = context
        self._above: set[str] = set()
        """Folders above a changed one."""
        for prefix in context.dirty or ():
            while prefix:
                prefix = prefix[:-1].rpartition("/")[0]
                prefix = prefix + "/" if prefix else ""
                if prefix in self._above:
                    break
                self._above.add(prefix)

    def run(self, root_fd: int, top: Dir) -> bool:
        self.c.device = os.fstat(root_fd).st_dev
        return self._visit(root_fd, top, "", self.c.base, False, 0, check=self.c.dirty is None)

    def _visit(
        self, fd: int, node: Dir, prefix: str, stack: Stack, force: bool, depth: int, check: bool = True
    ) -> bool:
        """Bring a folder and all below up to date; True when its tree must be made anew. `check`: look at it even though
        no change was reported."""
        if self.c.tick is not None:
            self.c.tick()
        dirty = self.c.dirty
        listed = changed = False
        if force or check or dirty is None or not node.tree or prefix in dirty:
            if self.c.watch is not None:
                self.c.watch(prefix)
            status = os.fstat(fd)
            sig = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode)
            changed = node.mode != status.st_mode
            node.mode = status.st_mode
            listed = force or node.sig != sig or not self._quick(fd, node)
        if node.repo and prefix and self.c.enter_root is not None:
            stack = self.c.enter_root(prefix[:-1])
        if listed:
            now = time.time_ns()
            stack, force, differs = self._list(fd, node, prefix, stack, force)
            changed = differs or changed
            node.sig = None if is_fresh(sig[0], sig[1], now) else sig
        elif node.rules is not None:
            stack = (*stack, node.rules)
        everything = force or dirty is None
        for name, child in list(node.dirs.items()):
            inner = f"{prefix}{name}/"
            if everything or listed or not child.tree or inner in dirty or inner in self._above:  # type: ignore[operator]
                changed = (
                    self._child(fd, node, name, prefix, stack, force, depth, everything or listed) or changed
                )
        if changed or not node.tree:
            node.tree = b""
            return True
        return False

    def _child(
        self, fd: int, node: Dir, name: str, prefix: str, stack: Stack, force: bool, depth: int, check: bool
    ) -> bool:
        child = node.dirs[name]
        try:
            child_fd = os.open(name, _OPEN_DIR, dir_fd=fd)
        except (FileNotFoundError, NotADirectoryError):
            del node.dirs[name]
            node.sig = None
            return True
        except OSError as error:
            if error.errno == errno.ELOOP:
                del node.dirs[name]
                node.sig = None
                return True
            return self._skip_child(node, name, prefix, f"cannot be read ({error.strerror})")
        try:
            if os.fstat(child_fd).st_dev != self.c.device:
                return self._skip_child(node, name, prefix, "is another file system mounted here")
            if depth >= MAX_DEPTH:
                return self._skip_child(node, name, prefix, f"lies more than {MAX_DEPTH} folders deep")
            return self._visit(child_fd, child, f"{prefix}{name}/", stack, force, depth + 1, check)
        finally:
            os.close(child_fd)

    def _skip_child(self, node: Dir, name: str, prefix: str, reason: str) -> bool:
        self.c.special[prefix] = node
        del node.dirs[name]
        node.skipped[name] = reason
        node.sig = None
        return True

    def _quick(self, fd: int, node: Dir) -> bool:
        """Nothing in this folder changed, seen by stat data alone."""
        stat_of = os.stat
        try:
            for name, known in node.files.items():
                now = stat_of(name, dir_fd=fd, follow_symlinks=False)
                if (
                    now.st_ctime_ns != known[1]
                    or now.st_mtime_ns != known[0]
                    or now.st_size != known[2]
                    or now.st_ino != known[3]
                ):
                    return False
        except OSError:
            return False
        return not any(reason != IGNORED for reason in node.skipped.values())

    def _list(self, fd: int, node: Dir, prefix: str, stack: Stack, force: bool) -> tuple[Stack, bool, bool]:
        """Read the names anew. Returns the rules inside, whether all below must be listed too, and whether it changed."""
        with os.scandir(fd) as entries:
            found = [(e.name, e.is_dir(follow_symlinks=False)) for e in entries]
        names = {name for name, _ in found}
        old_rules = node.rules
        node.rules = self._rules(fd, prefix, ".gitignore" in names)
        if (old_rules is None) != (node.rules is None) or (
            old_rules is not None and node.rules is not None and old_rules.text != node.rules.text
        ):
            force = True
        if node.rules is not None:
            stack = (*stack, node.rules)
        files: dict[str, FileSig] = {}
        dirs: dict[str, Dir] = {}
        skipped: dict[str, str] = {}
        for name, is_dir in found:
            if name == ".git" or (not prefix and name.startswith(STAGING)):
                continue
            path = prefix + name
            ignored = node.in_ignored or is_ignored(stack, path, name, is_dir)
            if is_dir:
                if ignored and path not in self.c.tracked_dirs and self.c.include is None:
                    skipped[name] = IGNORED
                    continue
                child = node.dirs.get(name) or Dir()
                child.included = ignored and (node.included or self._is_included(path, name, True))
                if child.in_ignored != ignored:
                    child.in_ignored = ignored
                    child.sig = None
                if not self._enter(fd, name, path, child, skipped):
                    continue
                dirs[name] = child
                continue
            limit = self.c.max_bytes
            if ignored and path not in self.c.tracked:
                if not (node.included or self.c.is_chosen(name) or self._is_included(path, name, False)):
                    skipped[name] = IGNORED
                    continue
                limit = min(limit, CHOSEN_CAP)
            self._file(fd, name, limit, node.files.get(name), files, skipped)
        changed = self._differs(node, files, dirs, skipped)
        node.files, node.dirs, node.skipped = files, dirs, skipped
        node.clash = _clashes(names)
        if node.clash or any(reason != IGNORED for reason in skipped.values()):
            self.c.special[prefix] = node
        return stack, force, changed

    def _is_included(self, path: str, name: str, is_dir: bool) -> bool:
        return self.c.include is not None and self.c.include.match(path, name, is_dir) is True

    @staticmethod
    def _differs(node: Dir, files: dict[str, FileSig], dirs: dict[str, Dir], skipped: dict[str, str]) -> bool:
        if files.keys() != node.files.keys() or dirs.keys() != node.dirs.keys() or skipped != node.skipped:
            return True
        old = node.files
        return any(sig[5] != old[name][5] or sig[4] != old[name][4] for name, sig in files.items())

    def _enter(self, fd: int, name: str, path: str, child: Dir, skipped: dict[str, str]) -> bool:
        """Look whether a folder is a repository of its own; False when it is left out."""
        try:
            os.stat(name + "/.git", dir_fd=fd, follow_symlinks=False)
            repo = True
        except OSError:
            repo = False
        if repo and self.c.is_linked is not None and self.c.is_linked(path):
            skipped[name] = "is another worktree of this repository"
            return False
        if repo:
            self.c.special[path + "/"] = child
        if repo != child.repo:
            child.repo = repo
            child.sig = None
        return True

    def _rules(self, fd: int, prefix: str, there: bool) -> RuleSet | None:
        if not there:
            return None
        try:
            got = read_file(".gitignore", fd, 1 << 20)
        except OSError:  # a folder or link of that name is no rule file for git either
            return None
        return RuleSet(got[0], prefix) if got is not None else None

    def _file(
        self,
        fd: int,
        name: str,
        limit: int,
        known: FileSig | None,
        files: dict[str, FileSig],
        skipped: dict[str, str],
    ) -> None:
        try:
            now = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if known is not None and (now.st_mtime_ns, now.st_ctime_ns, now.st_size, now.st_ino) == known[:4]:
                files[name] = known
                return
            if stat.S_ISLNK(now.st_mode):
                data = os.fsencode(os.readlink(name, dir_fd=fd))
            elif stat.S_ISREG(now.st_mode):
                got = read_file(name, fd, limit)
                if got is None:
                    skipped[name] = f"is larger than {_size(limit)}"
                    return
                data, now = got
            else:
                skipped[name] = _SPECIAL.get(stat.S_IFMT(now.st_mode), "is a special file")
                return
        except FileNotFoundError:
            return
        except OSError as error:
            skipped[name] = f"cannot be read ({error.strerror or error})"
            return
        oid = object_id(BLOB, data)
        if known is None or known[5] != oid:
            self.c.store.put_known(oid, BLOB, data)
        fresh = is_fresh(now.st_mtime_ns, now.st_ctime_ns, time.time_ns())
        files[name] = (
            now.st_mtime_ns,
            -1 if fresh else now.st_ctime_ns,
            now.st_size,
            now.st_ino,
            now.st_mode,
            oid,
        )


_SPECIAL = {
    stat.S_IFIFO: "is a named pipe",
    stat.S_IFSOCK: "is a socket",
    stat.S_IFBLK: "is a device",
    stat.S_IFCHR: "is a device",
}


def _size(limit: int) -> str:
    return f"{limit >> 20} MB" if limit >= 1 << 20 else f"{limit} bytes"


def _clashes(names: set[str]) -> tuple[str, ...]:
    if len({name.casefold() for name in names}) == len(names):
        return ()
    seen: dict[str, list[str]] = {}
    for name in sorted(names):
        seen.setdefault(name.casefold(), []).append(name)
    return tuple(name for group in seen.values() if len(group) > 1 for name in group)
