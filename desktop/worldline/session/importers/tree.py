"""The common shape that every importer produces, and the rules that make any record set a sane tree."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.core.usage import Usage
from worldline.session.importers.lines import Gap, LineReport


@dataclass(slots=True)
class SourceNode:
    """A node of another agent's session."""

    id: str
    parent: str | None
    kind: NodeKind
    order: int
    """Place in the file or files; a parent may stand behind its child."""
    created: int = 0
    finished: int = 0
    """When the result of a tool came; 0 = that is not known apart."""
    message: dict[str, Any] | None = None
    call: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    """tool_result message of a tool node."""
    preview: str = ""
    outcome: Outcome = Outcome.NONE
    flags: NodeFlag = NodeFlag.IMPORTED
    tool: str = ""
    model: str = ""
    usage: Usage | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    side: bool = False
    """Of a sub-agent: never the active leaf."""
    copied_from: str = ""
    """Id of the session that this node is a copy from, where a fork took it over."""
    attachment: Path | None = None
    """A file beside the session with what did not fit into it."""


@dataclass(slots=True)
class ImportedTree:
    format: str
    source: str
    nodes: list[SourceNode] = field(default_factory=list)
    leaf: str = ""
    title: str = ""
    cwd: str = ""
    base_commit: str = ""
    session_id: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    lines: LineReport = field(default_factory=LineReport)
    compactions: int = 0
    orphan_calls: int = 0
    orphan_results: int = 0
    unknown_types: dict[str, int] = field(default_factory=dict)
    parent_session: str = ""
    """Id or path of the session that this one was forked from."""
    workspace: str = "unknown"
    """What is known of the files at its nodes: unknown or approximate. Never more: the sources do not say."""
    side_files: int = 0
    """Files of sub-agents that were read with it."""

    def warn(self, text: str) -> None:
        if len(self.lines.warnings) < 200:
            self.lines.warnings.append(text)

    def gap(self, line: int, offset: int, reason: str) -> None:
        self.lines.gaps.append(Gap(line, offset, reason))

    def count_unknown(self, kind: str) -> None:
        self.unknown_types[kind] = self.unknown_types.get(kind, 0) + 1

    @property
    def branches(self) -> int:
        """Leaves that are no sub-agent's; at least 1 where there is any node."""
        parents = {n.parent for n in self.nodes if not n.side}
        return sum(1 for n in self.nodes if not n.side and n.id not in parents)


def milliseconds(value: Any) -> int:
    """A source's time (ISO text, seconds or milliseconds) as milliseconds since the epoch; 0 where there is none."""
    if isinstance(value, bool):
        return 0
    if isinstance(value, (int, float)):
        return int(value if value > 1e11 else value * 1000) if 0 < value < 1e15 else 0
    if isinstance(value, str):
        try:
            return max(0, int(datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp() * 1000))
        except (ValueError, OverflowError, OSError):
            return 0
    return 0


def first_words(content: Any, limit: int = 200) -> str:
    """The first line or so of a message, for the tree."""
    return " ".join(text_of(content)[: limit * 4].split())[:limit]


def text_of(content: Any) -> str:
    """The plain text of a content (text, list of blocks, or nothing)."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts: list[str] = []
    for block in content:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, dict):
            text = block.get("text")
            if isinstance(text, str):
                parts.append(text)
    return "\n".join(parts)


def break_cycles(tree: ImportedTree) -> None:
    """Cut self-parents and cycles at the record that closes them (compared by file order). O(n), no recursion."""
    parent_of = {n.id: n.parent for n in tree.nodes}
    by_id = {n.id: n for n in tree.nodes}
    state: dict[str, int] = {}  # 1 = on the walk, 2 = known to reach a root
    for node in tree.nodes:
        trail: list[str] = []
        current: str | None = node.id
        while current is not None and current in parent_of and state.get(current) is None:
            state[current] = 1
            trail.append(current)
            current = parent_of[current]
        if current is not None and state.get(current) == 1:
            cycle = trail[trail.index(current) :]
            closing = max(cycle, key=lambda uid: by_id[uid].order)
            parent_of[closing] = None
            by_id[closing].parent = None
            by_id[closing].flags |= NodeFlag.GUESSED_PARENT
            tree.warn(f"record {closing}: its parents form a circle, cut here")
        for uid in trail:
            state[uid] = 2


def parents_first(tree: ImportedTree) -> list[SourceNode]:
    """The nodes in an order in which every parent comes before its children, else in file order."""
    children: dict[str | None, list[SourceNode]] = {}
    known = {n.id for n in tree.nodes}
    for node in tree.nodes:
        children.setdefault(node.parent if node.parent in known else None, []).append(node)
    ready = sorted(children.get(None, []), key=lambda n: n.order)
    # File order among all nodes whose parent is written already keeps branches interleaved as they happened.

    heap = [(n.order, i, n) for i, n in enumerate(ready)]
    heapq.heapify(heap)
    serial = len(heap)
    result: list[SourceNode] = []
    while heap:
        _, _, node = heapq.heappop(heap)
        result.append(node)
        for child in children.get(node.id, ()):
            heapq.heappush(heap, (child.order, serial, child))
            serial += 1
    return result
