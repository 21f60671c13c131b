"""Copies of what a state needs from the person's repository: HEAD's commit with its tree, commits made during the
session, and staged content. With them a `git gc --prune=now` there cannot break a state."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable

import pygit2

from worldline.workspace.objects import (
    BLOB,
    EMPTY_TREE,
    MODE_DIR,
    MODE_FILE,
    MODE_GITLINK,
    TREE,
    TreeEntry,
    parse_tree,
)
from worldline.workspace.repos import GitRoot
from worldline.workspace.store import Store

_MAX_COMMITS = 100
_FOLDER = b"40000 "


class Keeper:
    """Remembers what was copied, so that an unchanged HEAD and index cost nothing."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._done: dict[str, tuple[str, tuple[int, ...], bytes]] = {}
        self._commits: dict[str, dict[str, bytes]] = {}
        """For each repository: commit → id of its raw text as a blob."""
        self._trees: dict[str, bytes] = {}
        self._whole: set[bytes] = set()
        """Trees that were gone through, in a store that has gaps."""
        self._blobs: tuple[str, frozenset[bytes]] = ("", frozenset())

    def keep(self, root: GitRoot, head: str) -> bytes:
        """Id of a tree that holds the copies, b"" when nothing needs copying."""
        known = self._done.get(root.path)
        if known is not None and known[:2] == (head, root.index_sig):
            return known[2]
        repo = root.repo
        if repo is None:
            return b""
        rows: list[TreeEntry] = []
        commits = self._commits.setdefault(root.path, {})
        if head:
            self._copy_commits(repo, head, commits)
        for commit, blob in commits.items():
            rows.append(TreeEntry(f"c-{commit}", MODE_FILE, blob))
            rows.append(TreeEntry(f"t-{commit}", MODE_DIR, self._trees[commit]))
        staged = {e.oid for e in root.entries if e.mode not in (MODE_GITLINK, MODE_DIR)}
        for tree in sorted({e.oid for e in root.entries if e.mode == MODE_DIR}):
            rows.append(TreeEntry(f"d-{tree.hex()}", MODE_DIR, self._copy_tree(repo, tree)))
        for oid in sorted(staged - self._committed(head)):
            if self._copy_blob(repo, oid):
                rows.append(TreeEntry(f"b-{oid.hex()}", MODE_FILE, oid))
        kept = self.store.put_tree(rows) if rows else b""
        self._done[root.path] = (head, root.index_sig, kept)
        return kept

    def _committed(self, head: str) -> frozenset[bytes]:
        """Blobs of HEAD's tree: they are kept with it."""
        if not head:
            return frozenset()
        if self._blobs[0] != head:
            found: set[bytes] = set()

            def visit(tree: bytes) -> None:
                data = self.store.raw_tree(tree) if tree != EMPTY_TREE else b""
                at = 0
                while at < len(
                    data
                ):  # only the ids are of interest: `parse_tree` would cost five times as much
                    end = data.index(0, at)
                    oid = data[end + 1 : end + 21]
                    if data.startswith(_FOLDER, at):
                        visit(oid)
                    else:
                        found.add(oid)
                    at = end + 21

            visit(self._trees[head])
            self._blobs = (head, frozenset(found))
        return self._blobs[1]

    def _copy_commits(self, repo: pygit2.Repository, head: str, commits: dict[str, bytes]) -> None:
        if head in commits:
            return
        new = self._since(repo, head, commits) if commits else []
        self._copy_commit(repo, head, commits)
        for name in new:
            # A clone that fetches what it needs has HEAD's files, not those of all commits before it.
            with contextlib.suppress(KeyError, pygit2.GitError):
                self._copy_commit(repo, name, commits)

    @staticmethod
    def _since(repo: pygit2.Repository, head: str, known: Iterable[str]) -> list[str]:
        """The commits that lead to `head` and not to a known one, as far as they are there."""
        found: list[str] = []
        walk = repo.walk(pygit2.Oid(hex=head), pygit2.enums.SortMode.TOPOLOGICAL)
        with contextlib.suppress(KeyError, pygit2.GitError):
            for name in known:
                if pygit2.Oid(hex=name) in repo.odb:
                    walk.hide(pygit2.Oid(hex=name))
            found += (str(c.id) for c in itertools.islice(walk, _MAX_COMMITS))
        return found

    def _copy_commit(self, repo: pygit2.Repository, name: str, commits: dict[str, bytes]) -> None:
        commit = repo[pygit2.Oid(hex=name)].peel(pygit2.Commit)
        blob = self.store.put(BLOB, repo.read(commit.id)[1])
        self._trees[name] = self._copy_tree(repo, bytes(commit.tree_id.raw))
        commits[name] = blob

    def _copy_tree(self, repo: pygit2.Repository, tree: bytes) -> bytes:
        # A tree that is in the store is there with everything below it: children are always added before it.
        is_there = self.store.has(tree)
        if tree == EMPTY_TREE or tree in self._whole or (is_there and not self.store.has_gaps):
            return tree
        data = self.store.raw_tree(tree) if is_there else repo.read(pygit2.Oid(raw=tree))[1]
        for entry in parse_tree(data):
            if entry.mode == MODE_DIR:
                self._copy_tree(repo, entry.oid)
            elif entry.mode != MODE_GITLINK:
                self._copy_blob(repo, entry.oid)
        self.store.put_known(tree, TREE, data)
        if self.store.has_gaps:
            self._whole.add(tree)
        return tree

    def _copy_blob(self, repo: pygit2.Repository, oid: bytes) -> bool:
        """False when the blob is nowhere: a partial clone has not fetched it, or it is only intended to be added."""
        if self.store.has(oid):
            return True
        try:
            data = repo.read(pygit2.Oid(raw=oid))[1]
        except (KeyError, pygit2.GitError):
            return False
        self.store.put_known(oid, BLOB, data)
        return True
