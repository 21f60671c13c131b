"""Turns that a fork copied from its parent, so that they are counted once when both are imported together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from worldline.core.jsontext import digest
from worldline.session.importers.tree import ImportedTree, SourceNode


class Copies:
    """What was imported so far in one go. `mark` each tree before it is written."""

    def __init__(self) -> None:
        self._marks: dict[str, list[bytes]] = {}
        """Id and path of a session → digests of its nodes, in file order."""
        self._paid: dict[str, str] = {}
        """Replies whose usage is counted → session that counts it."""

    def mark(self, tree: ImportedTree) -> int:
        """Note which nodes of `tree` are copies; returns how many of them are."""
        nodes = sorted((n for n in tree.nodes if not n.side), key=lambda n: n.order)
        marks = [digest(_identity(tree, node)) for node in nodes]
        parent = self._marks.get(_key(tree.parent_session)) or []
        own = _key(tree.source)
        if tree.parent_session and _key(tree.parent_session) not in (own, tree.session_id):
            for node, mark, theirs in zip(nodes, marks, parent, strict=False):
                if mark != theirs:
                    break
                node.copied_from = node.copied_from or tree.parent_session
        for name in (tree.session_id, own):
            if name:
                self._marks[name] = marks
        for node in tree.nodes:
            self._count_once(tree, node)
        return sum(1 for n in tree.nodes if n.copied_from)

    def _count_once(self, tree: ImportedTree, node: SourceNode) -> None:
        if node.copied_from:
            node.detail["copied_from"] = node.copied_from
        if node.usage is None:
            return
        key = "/".join(str(part) for part in node.detail.get("usage_key") or ())
        if not key.strip("/"):
            if node.copied_from and self._marks.get(_key(node.copied_from)):
                node.detail["counted_in"] = node.copied_from
                node.usage = None
            return
        first = self._paid.setdefault(key, tree.source)
        if first != tree.source:
            node.detail["counted_in"] = first
            node.usage = None


def _key(session: str) -> str:
    """pi names a parent by its path, which may be another one here: the name of the file tells it."""
    return Path(session).name.removesuffix(".jsonl") if "/" in session or "\\" in session else session


def _identity(tree: ImportedTree, node: SourceNode) -> Any:
    # A replay in Codex has new times and no ids: there it is what was said.
    if tree.format == "codex":
        return [node.kind.value, node.message, node.call, node.result]
    return node.id
