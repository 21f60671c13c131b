"""The tree in memory: flat arrays indexed by `seq`, no object per node.

A parent's `seq` is always smaller than its child's. That is checked when rows are read (a row that breaks it stands as a root),
so every walk towards the root ends, whatever is in the file. Nothing here is recursive.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from worldline.core.header_reader import KINDS, OUTCOMES, HeaderColumns
from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeFlag, NodeKind, Outcome

_KIND_CODE = {kind: code for code, kind in enumerate(KINDS)}
_OUTCOME_CODE = {outcome: code for code, outcome in enumerate(OUTCOMES)}


class SessionTree:
    """Nodes are named by `seq` (1 … len). 0 means "no node" everywhere."""

    def __init__(self, columns: HeaderColumns | None = None) -> None:
        self.columns = HeaderColumns() if columns is None else columns
        # Child links are made when first asked for: opening a session and walking up do not need them.
        self._first: array[int] | None = None
        self._last: array[int] = array("i")
        self._next: array[int] = array("i")

    def __len__(self) -> int:
        return len(self.columns)

    def __contains__(self, seq: int) -> bool:
        return 0 < seq <= len(self.columns)

    # -- one node ---------------------------------------------------------------------------------------------------

    def parent(self, seq: int) -> int:
        """0 for a root."""
        return self.columns.parent[self._known(seq)]

    def kind(self, seq: int) -> NodeKind:
        return KINDS[self.columns.kind[self._known(seq)]]

    def outcome(self, seq: int) -> Outcome:
        return OUTCOMES[self.columns.outcome[self._known(seq)]]

    def flags(self, seq: int) -> NodeFlag:
        return NodeFlag(self.columns.flags[self._known(seq)])

    def flagged(self, flag: NodeFlag, most: int) -> list[int]:
        """The last nodes that have this flag, ascending."""
        found, wanted, flags = [], int(flag), self.columns.flags
        for seq in range(len(flags) - 1, 0, -1):
            if flags[seq] & wanted:
                found.append(seq)
                if len(found) == most:
                    break
        return found[::-1]

    def created(self, seq: int) -> int:
        return self.columns.created[self._known(seq)]

    def _known(self, seq: int) -> int:
        # Without this a negative or zero index would silently give another node.
        if seq not in self:
            raise IndexError(f"no node {seq}")
        return seq

    # -- walks ------------------------------------------------------------------------------------------------------

    def ancestors(self, seq: int) -> Iterator[int]:
        """`seq` itself, its parent, … the root."""
        parents = self.columns.parent
        self._known(seq)
        while seq:
            yield seq
            seq = parents[seq]

    def path(self, seq: int) -> list[int]:
        """Root → `seq`, both included."""
        up = list(self.ancestors(seq))
        up.reverse()
        return up

    def depth(self, seq: int) -> int:
        """Edges to the root."""
        return sum(1 for _ in self.ancestors(seq)) - 1

    def lca(self, a: int, b: int) -> int:
        """Lowest common ancestor; 0 when the two hang on different roots."""
        parents = self.columns.parent
        self._known(a)
        self._known(b)
        # A parent is always smaller: lowering the larger of the two meets at the lowest common one.
        while a != b:
            if a > b:
                a = parents[a]
            else:
                b = parents[b]
        return a

    def is_ancestor(self, a: int, b: int) -> bool:
        """Whether `a` lies on the path of `b` (a node lies on its own)."""
        self._known(a)
        parents = self.columns.parent
        while b > a:
            b = parents[b]
        return a == b

    def children(self, seq: int) -> list[int]:
        """Oldest first; `children(0)` are the roots."""
        first, following = self._links()
        if seq:
            self._known(seq)
        found = []
        child = first[seq]
        while child:
            found.append(child)
            child = following[child]
        return found

    def child_count(self, seq: int) -> int:
        return len(self.children(seq))

    def roots(self) -> list[int]:
        return self.children(0)

    def leaves(self, under: int = 0) -> list[int]:
        """Nodes without children, oldest first; below `under` if given (itself, when it is a leaf)."""
        first, _ = self._links()
        if not under:
            return [seq for seq in range(1, len(first)) if not first[seq]]
        return sorted(seq for seq in self.subtree(under) if not first[seq])

    def forks(self) -> list[int]:
        """Nodes with more than one child, oldest first."""
        first, following = self._links()
        return [seq for seq in range(1, len(first)) if first[seq] and following[first[seq]]]

    def subtree(self, seq: int) -> list[int]:
        """`seq` and everything below it, in preorder."""
        first, following = self._links()
        found = [self._known(seq)]
        stack = [first[seq]]
        while stack:
            child = stack.pop()
            while child:
                found.append(child)
                if first[child]:
                    stack.append(following[child])
                    child = first[child]
                else:
                    child = following[child]
        return found

    def newest_leaf(self, seq: int) -> int:
        """Follow the newest child down to a leaf; into a sub-agent's line only from within one."""
        self._links()
        self._known(seq)
        flags = self.columns.flags
        inside = flags[seq] & NodeFlag.SIDE_BRANCH
        while child := self._last[seq]:
            if flags[child] & NodeFlag.SIDE_BRANCH and not inside:
                main = [c for c in self.children(seq) if not flags[c] & NodeFlag.SIDE_BRANCH]
                if not main:
                    break
                child = main[-1]
            seq = child
        return seq

    def has_fork_at(self, parent: int) -> bool:
        """Whether a new child of `parent` would be a fork (or a second root)."""
        self._links()
        return bool(self._last[parent])

    # -- changes ----------------------------------------------------------------------------------------------------

    def append(self, header: NodeHeader) -> None:
        """Add the next node. Raises ValueError when it is not the next or its parent is not there."""
        columns = self.columns
        if header.seq != len(columns) + 1:
            raise ValueError(f"node {header.seq} does not follow {len(columns)}")
        if not 0 <= header.parent < header.seq:
            raise ValueError(f"node {header.seq} cannot hang on {header.parent}")
        columns.parent.append(header.parent)
        columns.kind.append(_KIND_CODE[header.kind])
        columns.outcome.append(_OUTCOME_CODE[header.outcome])
        columns.flags.append(int(header.flags))
        columns.created.append(header.created)
        if self._first is not None:
            self._grow(self._first)

    def update(self, header: NodeHeader) -> None:
        """Take over what an end brought: outcome and flags."""
        self._known(header.seq)
        self.columns.outcome[header.seq] = _OUTCOME_CODE[header.outcome]
        self.columns.flags[header.seq] = int(header.flags)

    def truncate(self, length: int) -> None:
        """Take back appended nodes (a transaction that was not saved)."""
        columns = self.columns
        for column in (columns.parent, columns.kind, columns.outcome, columns.flags, columns.created):
            del column[length + 1 :]
        self._first = None

    def extended(self) -> None:
        """Say that `columns` grew by itself (rows read from a file that another process writes)."""
        if self._first is not None:
            self._grow(self._first)

    def _links(self) -> tuple[array[int], array[int]]:
        if self._first is None:
            self._first, self._last, self._next = array("i", [0]), array("i", [0]), array("i", [0])
            self._grow(self._first)
        return self._first, self._next

    def _grow(self, first: array[int]) -> None:
        parents, last, following = self.columns.parent, self._last, self._next
        start, end = len(first), len(parents)
        if end == start + 1:
            for column in (first, last, following):
                column.append(0)
        else:
            room = array("i", bytes(4 * (end - start)))
            for column in (first, last, following):
                column.extend(room)
        for seq in range(start, end):
            parent = parents[seq]
            before = last[parent]
            if before:
                following[before] = seq
            else:
                first[parent] = seq
            last[parent] = seq
