"""A state as it lies in the store, and what can be asked of it.

A state is a commit whose tree holds: `files` (the worktree as a git tree, untracked and nested files included, empty
folders as empty trees), `perms` (permissions other than the usual ones), `roots/<n>` (for each repository: staging
area, operation in progress, and copies of what HEAD needs), `omitted` and `meta` (JSON).
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from worldline.core.errors import WorkspaceError
from worldline.workspace import indexfile
from worldline.workspace.ignore import RULES_CAP, RuleSet, StateRules
from worldline.workspace.objects import BLOB, COMMIT, EMPTY_TREE, MODE_DIR, MODE_FILE, TreeEntry
from worldline.workspace.store import Store

VERSION = 1
_MEMO = 4
"""States kept as objects: a jump asks for the same few again and again."""


def _pack_json(value: Any) -> bytes:
    # ASCII: names that are not UTF-8 are lone surrogates here and must survive.
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode("ascii")


@dataclass(slots=True)
class RootState:
    """What a state knows of one repository in the workspace."""

    path: str
    head: str = ""
    ref: str = ""
    pointer: str = ""
    """Text of the `.git` file, "" when `.git` is a folder."""
    trouble: str = ""
    """Why only its files are in the state."""
    operation: str = ""
    exclude: str = ""
    uncopied: str = ""
    """Why there is no copy of its history."""
    index: bytes = b""
    """Id of the stored staging area, b"" = not stored."""
    progress: bytes = b""
    """Id of the stored files of an operation in progress, b"" = none."""
    kept: bytes = b""
    """Id of the copies of commits and staged blobs, b"" = none."""
    git: bytes = b""
    """Id of the copy of its whole git folder, b"" = none."""

    def meta(self) -> dict[str, str]:
        return {
            "path": self.path, "head": self.head, "ref": self.ref, "pointer": self.pointer,
            "trouble": self.trouble, "operation": self.operation, "exclude": self.exclude,
            **({"uncopied": self.uncopied} if self.uncopied else {}),
        }  # fmt: skip

    def same_git(self, other: RootState) -> bool:
        """Going from here to `other` changes nothing of the repository but files."""
        mine = (self.head, self.ref, self.index, self.progress)
        return mine == (other.head, other.ref, other.index, other.progress) and not (
            self.trouble or other.trouble
        )

    def tree(self, store: Store) -> bytes:
        rows = []
        if self.index:
            rows.append(TreeEntry("index", MODE_DIR, self.index))
        if self.progress:
            rows.append(TreeEntry("progress", MODE_FILE, self.progress))
        if self.kept:
            rows.append(TreeEntry("kept", MODE_DIR, self.kept))
        if self.git:
            rows.append(TreeEntry("git", MODE_DIR, self.git))
        return store.put_tree(rows)


@dataclass
class State:
    """One state. Read lazily: most questions need only a few of its parts."""

    store: Store
    id: str
    files: bytes
    meta: dict[str, Any]
    roots: list[RootState] = field(default_factory=list)
    perms_tree: bytes = b""
    omitted_blob: bytes = b""
    parents: tuple[str, ...] = ()
    created: int = 0
    label: str = ""

    @classmethod
    def load(cls, store: Store, state: str) -> State:
        """Raises `WorkspaceError` (kind `missing_state`) for a state the store does not hold. Shared, not to be changed."""
        known = store.memo.get(state)
        if isinstance(known, State):
            return known
        loaded = cls._load(store, state)
        if len(store.memo) >= _MEMO:
            store.memo.pop(next(iter(store.memo)))
        store.memo[state] = loaded
        return loaded

    @classmethod
    def _load(cls, store: Store, state: str) -> State:
        try:
            raw = store.read(bytes.fromhex(state))
        except (ValueError, WorkspaceError) as error:
            raise WorkspaceError(
                f"The files of state {state[:12]} are not in the store.",
                "They were pruned, or the store of this workspace was deleted.",
                kind="missing_state",
            ) from error
        head, _, message = raw.partition(b"\n\n")
        lines = [line.split(b" ", 1) for line in head.split(b"\n")]
        tree = next(value for key, value in lines if key == b"tree")
        parts = {e.name: e for e in store.tree(bytes.fromhex(tree.decode()))}
        meta = json.loads(store.read(parts["meta"].oid))
        roots = []
        if "roots" in parts:
            trees = {e.name: e.oid for e in store.tree(parts["roots"].oid)}
            for number, row in enumerate(meta["roots"]):
                inner = {e.name: e.oid for e in store.tree(trees[str(number)])}
                roots.append(
                    RootState(
                        **row,
                        index=inner.get("index", b""),
                        progress=inner.get("progress", b""),
                        kept=inner.get("kept", b""),
                        git=inner.get("git", b""),
                    )
                )
        committed = next(value for key, value in lines if key == b"committer").split(b" ")
        return cls(
            store, state, parts["files"].oid, meta, roots,
            parts["perms"].oid if "perms" in parts else b"",
            parts["omitted"].oid if "omitted" in parts else b"",
            tuple(value.decode() for key, value in lines if key == b"parent"),
            int(committed[-2]), message.decode("utf-8", "replace").strip(),
        )  # fmt: skip

    def save(self, parent: str | None) -> str:
        """Store it (the caller flushes) and return its id."""
        store = self.store
        rows = [
            TreeEntry("files", MODE_DIR, self.files),
            TreeEntry("meta", MODE_FILE, store.put(BLOB, _pack_json(self.meta))),
        ]
        if self.files == EMPTY_TREE:
            store.put_tree([])
        if self.perms_tree:
            rows.append(TreeEntry("perms", MODE_DIR, self.perms_tree))
        if self.omitted_blob:
            rows.append(TreeEntry("omitted", MODE_FILE, self.omitted_blob))
        if self.roots:
            trees = [TreeEntry(str(n), MODE_DIR, root.tree(store)) for n, root in enumerate(self.roots)]
            rows.append(TreeEntry("roots", MODE_DIR, store.put_tree(trees)))
        tree = store.put_tree(rows)
        now = int(time.time())
        who = f"Worldline <worldline@localhost> {now} +0000"
        text = f"tree {tree.hex()}\n" + (f"parent {parent}\n" if parent else "")
        text += f"author {who}\ncommitter {who}\n\n{self.label or 'state'}\n"
        self.id = store.put(COMMIT, text.encode("utf-8", "replace")).hex()
        return self.id

    def same_as(self, other: State) -> bool:
        return (
            self.files == other.files
            and self.perms_tree == other.perms_tree
            and self.omitted_blob == other.omitted_blob
            and self.meta == other.meta
            and [(r.index, r.progress) for r in self.roots] == [(r.index, r.progress) for r in other.roots]
        )

    # --- what is in it ----------------------------------------------------------------------------------------

    @property
    def main(self) -> RootState | None:
        """The repository of the workspace itself."""
        return next((root for root in self.roots if root.path == ""), None)

    @cached_property
    def omitted(self) -> dict[str, str]:
        return dict(json.loads(self.store.read(self.omitted_blob))) if self.omitted_blob else {}

    @cached_property
    def perms(self) -> dict[str, int]:
        """Unusual permissions by path."""
        return dict(_read_perms(self.store, self.perms_tree, "")) if self.perms_tree else {}

    def permission(self, path: str, executable: bool, folder: bool = False) -> int:
        known = self.perms.get(path)
        if known is not None:
            return known
        dir_perm = int(self.meta["dir_perm"])
        if folder:
            return dir_perm
        return int(self.meta["file_perm"]) | (0o111 & dir_perm if executable else 0)

    @cached_property
    def rules(self) -> StateRules:
        """The ignore rules as they were."""
        base = [RuleSet(text.encode("latin-1"), outer=outer) for outer, text in self.meta["rules"]]
        roots = frozenset(root.path + "/" for root in self.roots if root.path)

        def load(folder: str) -> bytes | None:
            entry = self.store.lookup(self.files, folder + ".gitignore")
            text = b""
            for root in self.roots:
                if root.path and root.path + "/" == folder:
                    text = root.exclude.encode("latin-1") + b"\n"
            is_file = entry is not None and entry.mode in (0o100644, 0o100755)
            if is_file and entry is not None and self.store.size_of(entry.oid) <= RULES_CAP:
                text += self.store.read(entry.oid)
            return text or None

        return StateRules(tuple(base), load, roots)

    @cached_property
    def tracked(self) -> set[str]:
        found: set[str] = set()
        for root in self.roots:
            prefix = root.path + "/" if root.path else ""
            found.update(prefix + entry.path for entry in read_index(self.store, root.index))
        return found

    def would_hold(self, path: str) -> bool:
        """Whether `path` would be in this state if it had existed then; False = its absence says nothing."""
        parts = path.split("/")
        if any("/".join(parts[:n]) in self.omitted for n in range(1, len(parts) + 1)):
            return False
        if not self.rules.ignored(path):
            return True
        return path in self.tracked


def repositories_to_go(now: State, wanted: State, last: State) -> list[RootState]:
    """Nested repositories that go when `wanted` does not have them and none of their files stays. Never one that the person
    made, that was not recorded before (in `last`), or of which there is no copy."""
    known = {root.path for root in last.roots}
    target = {root.path for root in wanted.roots}
    return [
        root
        for root in now.roots
        if root.path and root.path in known - target and (root.git or root.pointer) and not root.trouble
        and wanted.would_hold(root.path)
    ]  # fmt: skip


def _read_perms(store: Store, tree: bytes, prefix: str) -> Iterator[tuple[str, int]]:
    for entry in store.tree(tree):
        if entry.name == "p":
            for row in store.read(entry.oid).split(b"\0")[:-1]:
                mode, name = row.split(b" ", 1)
                yield prefix + os.fsdecode(name), int(mode, 8)
        else:
            for inner in store.tree(entry.oid):
                yield from _read_perms(store, inner.oid, f"{prefix}{inner.name}/")


def put_index(store: Store, entries: list[indexfile.Entry]) -> bytes:
    """Store a staging area: a blob per folder, spread over 256 trees, so that a change costs its folder."""
    fans: dict[str, list[TreeEntry]] = {}
    for folder, rows in indexfile.records(entries).items():
        raw = os.fsencode(folder)
        name = hashlib.sha1(raw, usedforsecurity=False).hexdigest()
        blob = store.put(BLOB, raw + b"\0" + rows)
        fans.setdefault(name[:2], []).append(TreeEntry(name, MODE_FILE, blob))
    return store.put_tree([TreeEntry(fan, MODE_DIR, store.put_tree(rows)) for fan, rows in fans.items()])


def read_index(store: Store, tree: bytes) -> list[indexfile.Entry]:
    groups: dict[str, bytes] = {}
    for fan in store.tree(tree) if tree else []:
        for entry in store.tree(fan.oid):
            folder, _, rows = store.read(entry.oid).partition(b"\0")
            groups[os.fsdecode(folder)] = rows
    return indexfile.from_records(groups)


def put_progress(store: Store, files: dict[str, bytes]) -> bytes:
    if not files:
        return b""
    return store.put(BLOB, _pack_json({n: base64.b64encode(d).decode("ascii") for n, d in files.items()}))


def read_progress(store: Store, blob: bytes) -> dict[str, bytes]:
    return {n: base64.b64decode(d) for n, d in json.loads(store.read(blob)).items()} if blob else {}


def put_omitted(store: Store, omitted: dict[str, str]) -> bytes:
    return store.put(BLOB, _pack_json(sorted(omitted.items()))) if omitted else b""
