"""The repositories of a workspace, as far as walks have come upon them, and what they say of all files: which are tracked,
and which rules hold outside of the folders themselves."""

from __future__ import annotations

from collections.abc import Container, Mapping
from pathlib import Path

from worldline.workspace.folders import Context, Dir
from worldline.workspace.ignore import RuleSet, Stack
from worldline.workspace.outer_rules import global_rules
from worldline.workspace.repos import GitRoot

Sig = tuple[int, ...]


class KnownRepos:
    """Keeps the context of the walks right: what is tracked, the rules to begin with, and what is asked of it for a folder
    that is a repository of its own."""

    def __init__(self, work: Path, context: Context) -> None:
        self.work, self.context = work, context
        self.roots: dict[str, GitRoot] = {}
        """By path, "" = the one of the workspace itself or around it."""
        self.rules_text: list[list[str]] = []
        """Where we lie below each of the rules that hold everywhere, and their text."""
        self._tracked_of: dict[str, tuple[Path, Sig]] = {}
        """The staging areas that `context.tracked` was made of."""
        self._tracked_by: dict[str, set[str]] = {}
        """What is tracked, by repository; those around others come first."""
        context.enter_root, context.is_linked = self._enter, self._is_linked

    def remember(self, top: Dir, rules_text: list[list[str]], index_sigs: Mapping[str, Sig]) -> None:
        """Take up what an earlier process knew when it had walked `top`."""
        self.rules_text = rules_text
        known = True
        for path, sig in index_sigs.items():
            root = GitRoot.find(self.work / path, path) or (None if path else GitRoot.find_outer(self.work))
            if root is None:
                known = False
                continue
            root.refresh_index()
            self.roots[path] = root
            known = known and root.index_sig == tuple(sig)
        if not known:  # what is tracked decides what is ignored
            _invalidate_all(top)

    def index_sigs(self) -> dict[str, Sig]:
        return {path: root.index_sig for path, root in self.roots.items()}

    def forget(self) -> None:
        self.roots = {}

    def forget_all_but(self, found: Container[str]) -> None:
        """The others inside are gone."""
        for path in [p for p in self.roots if p and p not in found]:
            del self.roots[path]

    def refresh(self, top: Dir) -> bool:
        """Look at them again. In `top` is noted where what is ignored may have changed; returns whether every folder must be
        looked at for it."""
        everything = False
        main = self.roots.get("") or self._main_root()
        if main is not None:
            self.roots[""] = main
        for path, root in list(self.roots.items()):
            again = self._again(root)
            if again is not root:
                del self.roots[path]
                everything = _invalidate(top, root.tracked()) or everything
                if again is not None:
                    self.roots[path] = again
                    again.refresh_index()
                    everything = _invalidate(top, again.tracked()) or everything
                continue
            delta = root.refresh_index()
            if delta is not None:
                everything = _invalidate(top, delta[0] | delta[1]) or everything
        main = self.roots.get("")
        rules = [["", global_rules(main).decode("latin-1")]]
        if main is not None:
            rules += [[outer, text.decode("latin-1")] for outer, text in main.outside_rules()]
        if rules != self.rules_text:
            self.rules_text = rules
            _invalidate_all(top)
            everything = True
            self.context.base = ()
        if not self.context.base:  # a rule that was used once is ready to be used again
            self.context.base = tuple(RuleSet(t.encode("latin-1"), outer=o) for o, t in rules)
        self._gather_tracked()
        return everything

    @staticmethod
    def _again(root: GitRoot) -> GitRoot | None:
        """What is there now: `root` itself where it is the same repository, with nothing strange in it that was not."""
        glance = root.glance()
        if root.outer or (glance is not None and glance == root.goes_by):
            return root
        again = GitRoot.find(root.work, root.path)
        if again is None or (again.gitdir, again.found_trouble) != (root.gitdir, root.found_trouble):
            return again
        root.goes_by = glance  # of before it was looked at: what changed meanwhile differs from it
        return root

    def _main_root(self) -> GitRoot | None:
        root = GitRoot.find(self.work, "") or GitRoot.find_outer(self.work)
        if root is not None:
            root.refresh_index()
        return root

    def _gather_tracked(self) -> None:
        sources = {path: (root.gitdir, root.index_sig) for path, root in self.roots.items()}
        if sources == self._tracked_of:
            return
        self._tracked_of = sources
        self.context.links = set().union(*(root.links() for root in self.roots.values()))
        tracked_by = {path: root.tracked() for path, root in sorted(self.roots.items())}
        if tracked_by == self._tracked_by:
            return
        self._tracked_by = tracked_by
        self.context.tracked = set().union(*tracked_by.values())
        folders: set[str] = set()
        for inside, tracked in tracked_by.items():
            for path in tracked:
                folder = path.rpartition("/")[0]
                # Not the repository's own folder, nor those above: whether that is ignored is for the one around it to say,
                # and a walk that knows of no repository yet asks nobody else.
                while folder != inside and folder not in folders:
                    folders.add(folder)
                    folder = folder.rpartition("/")[0]
        self.context.tracked_dirs = folders

    def _enter(self, path: str) -> Stack:
        root = self.roots.get(path)
        if root is None:
            root = GitRoot.find(self.work / path, path)
            if root is None:
                return self.context.base[:1]
            root.refresh_index()
            self.roots[path] = root
            self._gather_tracked()
        return (*self.context.base[:1], root.exclude_rules())

    def _is_linked(self, path: str) -> bool:
        root = GitRoot.find(self.work / path, path)
        if root is None or root.common == root.gitdir:
            return False
        return any(root.common == known.common for known in self.roots.values())


def _invalidate(top: Dir, paths: set[str]) -> bool:
    """What is ignored may have changed along these paths. False: there are none."""
    for path in paths:
        node: Dir | None = top
        for part in path.split("/"):
            if node is None:
                break
            node.sig = None
            node.stale = True
            node = node.dirs.get(part)
    return bool(paths)


def _invalidate_all(node: Dir) -> None:
    node.sig = None
    node.stale = True
    for child in node.dirs.values():
        _invalidate_all(child)
