"""A walk over the workspace that reads only what changed since the last one.

The last walk is kept as a tree of folders with the stat data of every file. A folder whose own stat data is unchanged
has the same names, so its files are only asked for theirs; content is read where that differs. What was modified so
shortly before it was read that a second change could carry the same time is read again the next time.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from worldline.workspace.filesig import FileSig, clashes, is_fresh, read_file
from worldline.workspace.folders import CHOSEN_CAP, IGNORED, RULING, Context, Dir, differing, is_staging
from worldline.workspace.ignore import RULES_CAP, RuleSet, Stack, is_ignored
from worldline.workspace.looker import OPEN_DIR
from worldline.workspace.looking import Looker, known_folders
from worldline.workspace.other_names import OtherNames
from worldline.workspace.reading import Found, miss, take_file
from worldline.workspace.watch import Dirty

MAX_DEPTH = 300
_ONLY_WATCHED = (-1, -1)
"""In place of a folder's times: its names are known from what the kernel told. Without that, list it again."""


class Walk:
    """One walk. `run` brings the tree of folders up to date and says whether anything changed."""

    def __init__(self, context: Context, looker: Looker | None = None) -> None:
        self.c = context
        self._looker = looker
        self._same: set[str] = set()
        """Folders (as prefixes) in which nothing happened, as far as that is known beforehand."""
        self._small = min(context.max_bytes, CHOSEN_CAP)
        """What is allowed for any file that was captured before."""
        self._other = OtherNames()
        self._towards: dict[str, set[str]] = {}
        """By folder (as prefix): names of folders in it that changed, or in which something did further down."""
        self._go_by(context.dirty)

    def _go_by(self, dirty: Dirty | None) -> None:
        self.c.dirty = dirty
        self._towards = {}
        for prefix in dirty or ():
            while prefix:
                parent, _, name = prefix[:-1].rpartition("/")
                prefix = parent + "/" if parent else ""
                names = self._towards.setdefault(prefix, set())
                if name in names:
                    break
                names.add(name)

    def run(self, root_fd: int, top: Dir) -> bool:
        status = os.fstat(root_fd)
        self.c.device = status.st_dev
        if self.c.dirty is None and self._looker is not None and top.tree:
            self._same = self._looker.unchanged(
                root_fd, status.st_dev, known_folders(top), self.c.tick, self.c.watch
            )
        changed = self._visit(root_fd, status, top, "", self.c.base, False, 0, check=self.c.dirty is None)
        while self.c.dirty is not None and (more := self._other.names(top)):
            self._go_by(more)
            changed = self._visit(root_fd, status, top, "", self.c.base, False, 0, check=False) or changed
        return changed

    def _visit(
        self, fd: int, status: os.stat_result, node: Dir, prefix: str, stack: Stack, force: bool, depth: int, check: bool,
    ) -> bool:  # fmt: skip
        """Bring a folder (open as `fd`, which has `status`) and all below up to date; True when its tree must be made
        anew. `check`: look at it even though no change was reported."""
        dirty = self.c.dirty
        listed = changed = False
        if force or check or dirty is None or not node.tree or prefix in dirty:
            if self.c.watch is not None:
                self.c.watch(prefix)
            sig = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode)
            changed = node.mode != status.st_mode
            node.mode, node.ino = status.st_mode, status.st_ino
            edited: bool | None = None
            if not (force or check or dirty is None) and (names := dirty.get(prefix)) is not None:
                edited = self._named(fd, node, prefix, names)
                if edited is not None and node.sig != sig:
                    node.sig = (*_ONLY_WATCHED, *sig[2:])
            if edited is None and not force and node.sig == sig:
                edited = False if prefix in self._same else self._look(fd, node, prefix)
            listed = edited is None
            changed = bool(edited) or changed
        became = listed and bool(prefix) and self._turned(fd, node, prefix)
        if node.repo and prefix and self.c.enter_root is not None:
            stack = self.c.enter_root(prefix[:-1])
        if listed:
            now = time.time_ns()
            stack, force, differs = self._list(fd, node, prefix, stack, force or became)
            changed = differs or changed or became
            node.sig = None if is_fresh(sig[0], sig[1], now) else sig
        elif node.rules is not None:
            stack = (*stack, node.rules)
        everything = force or dirty is None
        towards = self._towards.get(prefix, set())
        for name in list(node.dirs) if everything or listed else [*(towards | node.restless)]:
            child = node.dirs.get(name)
            if child is None:
                continue
            # A folder that was here before reports its own changes; one that was put in its place has another inode.
            unsure = everything or not child.tree or child.sig is None
            if unsure or name in towards:
                changed = (
                    self._child(fd, node, name, f"{prefix}{name}/", stack, force, depth, unsure) or changed
                )
                if child.sig is None:
                    node.restless.add(name)
                else:
                    node.restless.discard(name)
        if changed or not node.tree:
            node.tree = b""
            return True
        return False

    def _child(
        self, fd: int, node: Dir, name: str, inner: str, stack: Stack, force: bool, depth: int, check: bool
    ) -> bool:
        child = node.dirs[name]
        if inner in self._same and not force and self._is_plain(child):
            return False
        if self.c.tick is not None:
            self.c.tick()
        try:
            child_fd = os.open(name, OPEN_DIR, dir_fd=fd)
        except (FileNotFoundError, NotADirectoryError):
            self._lose_child(node, name)
            return True
        except OSError as error:
            if error.errno == errno.ELOOP:
                self._lose_child(node, name)
                return True
            return self._skip_child(node, name, inner, f"cannot be read ({error.strerror})")
        try:
            status = os.fstat(child_fd)
            if status.st_dev != self.c.device:
                return self._skip_child(node, name, inner, "is another file system mounted here")
            if depth >= MAX_DEPTH:
                return self._skip_child(node, name, inner, f"lies more than {MAX_DEPTH} folders deep")
            return self._visit(child_fd, status, child, inner, stack, force, depth + 1, check)
        finally:
            os.close(child_fd)

    @staticmethod
    def _is_plain(node: Dir) -> bool:
        """Whether nothing but its names and files can be another than it was; most folders. One that has another inode
        than the folder above knew has no `sig` any more."""
        return bool(node.tree) and node.sig is not None and not node.dirs and not node.repo

    def _skip_child(self, node: Dir, name: str, inner: str, reason: str) -> bool:
        self.c.special[inner[: -len(name) - 1]] = node
        self._lose_child(node, name)
        node.skipped[name] = reason
        return True

    @staticmethod
    def _lose_child(node: Dir, name: str) -> None:
        del node.dirs[name]
        node.sig = node.edited = None

    def _look(self, fd: int, node: Dir, prefix: str) -> bool | None:
        """Whether a file in a folder with the same names changed: content is read where stat data differs. None: that
        is not enough, list it."""
        if node.skipped and any(reason != IGNORED for reason in node.skipped.values()):
            return None
        if ".gitignore" in node.skipped and self._is_ruled_anew(fd, node, prefix):
            return None
        stat_of = os.stat
        limit = self._small
        read: Found | None = None
        try:
            for name, known in node.files.items():
                now = stat_of(name, dir_fd=fd, follow_symlinks=False)
                if (
                    now.st_ctime_ns != known[1]
                    or now.st_mtime_ns != known[0]
                    or now.st_size != known[2]
                    or now.st_ino != known[3]
                ):
                    if name == ".gitignore" or now.st_size > limit:
                        return None
                    if read is None:
                        read = Found(fd, {}, {}, {})
                    take_file(read, name, limit, known, now, self.c)
                    if name not in read.files:
                        return None
        except OSError:
            return None
        return read is not None and self._update(node, prefix, read)

    def _is_ruled_anew(self, fd: int, node: Dir, prefix: str) -> bool:
        """Whether the rules of a folder are others, where the file that has them is ignored itself (by `*`, as a rule)."""
        now, known = self._rules(fd, prefix, True), node.rules
        return (now.text if now is not None else None) != (known.text if known is not None else None)

    def _update(self, node: Dir, prefix: str, found: Found) -> bool:
        """Take over what was read of files that were known; whether that changes the tree."""
        self._other.meet(node, found)
        node.linked = (node.linked - found.files.keys()) | found.linked.keys()
        if node.linked:
            self.c.special[prefix] = node
        return node.update(found.files)

    def _named(self, fd: int, node: Dir, prefix: str, names: set[str]) -> bool | None:
        """Like `_look`, for a folder in which something happened to these files only. None also for new files."""
        if not node.is_simple:
            return None
        limit = self._small
        read = Found(fd, {}, {}, {})
        gone: list[str] = []
        for name in names:
            known = node.files.get(name)
            try:
                now = os.stat(name, dir_fd=fd, follow_symlinks=False)
            except FileNotFoundError:
                if name in node.skipped or name in RULING:
                    return None
                if known is not None:
                    gone.append(name)
                continue  # else it came and went
            except OSError:
                return None
            if name in node.skipped and not stat.S_ISDIR(now.st_mode) and name not in RULING:
                self._other.meet_status(now)
                continue
            if known is None or name in RULING or now.st_size > limit:
                return None
            if (now.st_mtime_ns, now.st_ctime_ns, now.st_size, now.st_ino) != known[:4]:
                take_file(read, name, limit, known, now, self.c)
                if name not in read.files:
                    return None
        changed = self._update(node, prefix, read)
        node.linked.difference_update(gone)
        for name in gone:
            del node.files[name]
            node.edited = None
        return changed or bool(gone)

    def _names(self, fd: int) -> list[tuple[str, bool, int]]:
        """What is in a folder: name, whether it is a folder, inode."""
        with os.scandir(fd) as entries:
            return [(e.name, e.is_dir(follow_symlinks=False), e.inode()) for e in entries]

    def _list(self, fd: int, node: Dir, prefix: str, stack: Stack, force: bool) -> tuple[Stack, bool, bool]:
        """Read the names anew. Returns the rules inside, whether all below must be listed too, and whether it changed."""
        found = self._names(fd)
        names = {row[0] for row in found}
        old_rules = node.rules
        node.rules = self._rules(fd, prefix, ".gitignore" in names)
        if (old_rules is None) != (node.rules is None) or (
            old_rules is not None and node.rules is not None and old_rules.text != node.rules.text
        ):
            force = True
        if node.rules is not None:
            stack = (*stack, node.rules)
        here = Found(fd, {}, {}, {})
        files, skipped = here.files, here.skipped
        dirs: dict[str, Dir] = {}
        turned = False
        known = {} if force or node.stale else node.files
        for name, is_dir, inode in found:
            if name in known and not is_dir:  # captured before under the same rules
                self._file(here, name, self._small, known[name])
                if name in files:
                    continue
                skipped.pop(name, None)
            if name == ".git" or (is_dir and not prefix and self._is_put_aside(name, skipped)):
                continue
            path = prefix + name
            is_tracked = not is_dir and path in self.c.tracked  # then it matters not what the rules say
            ignored = not is_tracked and (node.in_ignored or is_ignored(stack, path, name, is_dir))
            ignored = ignored and not (is_dir and path in self.c.links)
            if is_dir:
                if ignored and path not in self.c.tracked_dirs and self.c.include is None:
                    skipped[name] = IGNORED
                    continue
                child = node.dirs.get(name) or Dir()
                child.included = ignored and (node.included or self._is_included(path, name, True))
                if child.in_ignored != ignored or child.ino != inode:
                    child.in_ignored = ignored
                    child.sig = None
                    child.stale = True
                was_repo = child.repo
                if not self._enter(fd, name, path, child, skipped):
                    continue
                turned = turned or child.repo != was_repo
                dirs[name] = child
                continue
            limit = self.c.max_bytes
            if ignored:
                if not (node.included or self.c.is_chosen(name) or self._is_included(path, name, False)):
                    skipped[name] = IGNORED
                    self._other.meet_ignored(fd, prefix, name, self.c.dirty)
                    continue
                limit = min(limit, CHOSEN_CAP)
            self._file(here, name, limit, node.files.get(name))
        # Also with the same names and files: which repositories there are is asked anew only where something changed.
        changed = turned or self._differs(node, files, dirs, skipped)
        self._other.meet(node, here)
        node.edited = None if changed else node.edited
        node.files, node.dirs, node.skipped, node.linked = files, dirs, skipped, set(here.linked)
        node.stale = False
        node.clash = clashes(names)
        if node.clash or node.linked or any(reason != IGNORED for reason in skipped.values()):
            self.c.special[prefix] = node
        return stack, force, changed

    @staticmethod
    def _is_put_aside(name: str, skipped: dict[str, str]) -> bool:
        if not is_staging(name):
            return False
        skipped[name] = "is what a jump has put aside"
        return True

    def _turned(self, fd: int, node: Dir, prefix: str) -> bool:
        """Whether the folder became a repository of its own, or ceased to be one, since its parent was listed."""
        if self.c.enter_root is None or self._has_git(fd) == node.repo:
            return False
        if not node.repo and self.c.is_linked is not None and self.c.is_linked(prefix[:-1]):
            return False
        node.repo = not node.repo
        self.c.special[prefix] = node
        return True

    @staticmethod
    def _has_git(fd: int, folder: str = "") -> bool:
        try:
            os.stat(folder + ".git", dir_fd=fd, follow_symlinks=False)
        except OSError:
            return False
        return True

    def _is_included(self, path: str, name: str, is_dir: bool) -> bool:
        return self.c.include is not None and self.c.include.match(path, name, is_dir) is True

    @staticmethod
    def _differs(node: Dir, files: dict[str, FileSig], dirs: dict[str, Dir], skipped: dict[str, str]) -> bool:
        if files.keys() != node.files.keys() or dirs.keys() != node.dirs.keys() or skipped != node.skipped:
            return True
        return bool(differing(files, node.files))

    def _enter(self, fd: int, name: str, path: str, child: Dir, skipped: dict[str, str]) -> bool:
        """Look whether a folder is a repository of its own; False when it is left out."""
        repo = self._has_git(fd, name + "/")
        if repo and self.c.is_linked is not None and self.c.is_linked(path):
            skipped[name] = "is another worktree of this repository"
            return False
        if repo:
            self.c.special[path + "/"] = child
        if repo != child.repo:
            child.repo = repo
            child.sig = None
            child.stale = True
        return True

    def _rules(self, fd: int, prefix: str, there: bool) -> RuleSet | None:
        if not there:
            return None
        try:
            got = read_file(".gitignore", fd, RULES_CAP)
        except OSError:  # a folder or link of that name is no rule file for git either
            return None
        return RuleSet(got[0], prefix) if got is not None else None

    def _file(self, here: Found, name: str, limit: int, known: FileSig | None) -> None:
        try:
            now = os.stat(name, dir_fd=here.fd, follow_symlinks=False)
            if known is not None and (now.st_mtime_ns, now.st_ctime_ns, now.st_size, now.st_ino) == known[:4]:
                if now.st_nlink > 1:
                    here.linked[name] = now.st_ino
                here.files[name] = known
                return
        except OSError as error:
            miss(here, name, error)
            return
        take_file(here, name, limit, known, now, self.c)
