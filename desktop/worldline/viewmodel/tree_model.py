"""The rows of the session in flat arrays: about 60 bytes and the text of its preview for each node.

Row r is the node with `seq` r + 1, so appending never moves anything and a parent is always above its child.
Python objects for each node are not kept: a hundred thousand of them would make every garbage collection a stutter.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.core.row_reader import Details, Shape
from worldline.viewmodel import tree_paths
from worldline.viewmodel.tree_previews import PreviewColumn
from worldline.viewmodel.tree_uids import NO_ROW as NO_ROW
from worldline.viewmodel.tree_uids import Later, UidColumn

if TYPE_CHECKING:
    from worldline.core.headers import NodeHeader

KINDS: tuple[NodeKind, ...] = tuple(NodeKind)
KIND_CODE = {kind: code for code, kind in enumerate(KINDS)}
OUTCOMES: tuple[Outcome, ...] = tuple(Outcome)
OUTCOME_CODE = {outcome: code for code, outcome in enumerate(OUTCOMES)}
LIVE = frozenset({OUTCOME_CODE[Outcome.RUNNING], OUTCOME_CODE[Outcome.WAITING]})
BAD = frozenset(
    OUTCOME_CODE[o] for o in (Outcome.FAILED, Outcome.STOPPED, Outcome.DENIED, Outcome.INTERRUPTED)
)
_PROMPTS = frozenset({KIND_CODE[NodeKind.USER], KIND_CODE[NodeKind.IMPORTED_USER]})
MARKS = (
    NodeFlag.EFFECT
    | NodeFlag.IRREVERSIBLE
    | NodeFlag.CHECKS_FAILED
    | NodeFlag.NOT_CAPTURED
    | NodeFlag.CODE_RUNS_LATER
    | NodeFlag.HIDDEN
)
_MARK_BITS = int(MARKS)


@dataclass(slots=True, eq=False, repr=False)
class NodeLabel:
    label: str = ""
    note: str = ""
    bookmark: str = ""
    color: str = ""


class _Words:
    """Strings that repeat (tools, models, branches, runs), stored once and named by a number."""

    def __init__(self) -> None:
        self.words: list[str] = [""]
        self._numbers: dict[str, int] = {"": 0}

    def number(self, word: str) -> int:
        found = self._numbers.get(word)
        if found is None:
            found = self._numbers[word] = len(self.words)
            self.words.append(word)
        return found


class TreeModel:
    """Flat arrays over the headers of one session. Not thread-safe; lives in the GUI thread."""

    def __init__(self) -> None:
        self.parent = array("i")
        """Row of the parent, -1 for a root."""
        self.kind = array("B")
        self.outcome = array("B")
        self.flags = array("I")
        self.created = array("q")
        self.took = array("I")
        """Milliseconds from start to end, 0 while it has no end."""
        self.added = array("I")
        self.removed = array("I")
        self.files = array("I")
        self.children = array("I")
        """Number of children."""
        self.single = bytearray()
        """1 for rows with exactly one child."""
        self.follows = bytearray()
        """1 for rows whose parent is the row above."""
        self._tool = array("H")
        self._model = array("H")
        self._branch = array("I")
        self._run = array("I")
        self._tools, self._models, self._branches, self._runs = _Words(), _Words(), _Words(), _Words()
        self.uids = UidColumn()
        self._previews = PreviewColumn()
        self.labels: dict[int, NodeLabel] = {}
        self.marked: dict[int, int] = {}
        """Flags of the few rows that have any which keep them from being folded, or fold them away."""
        self.ends: dict[int, str] = {}
        """Rows at which a run ended otherwise than well → stop reason."""
        self.countered: set[str] = set()
        """Nodes whose effects were all countered."""
        self.changes = 0
        """Counts what has changed in rows that were there: sums over them are made anew then."""
        self.live: set[int] = set()
        """Rows that work or wait."""

    def __len__(self) -> int:
        return len(self.parent)

    # Filling ---------------------------------------------------------------------------------------------------
    def append(self, header: NodeHeader) -> int:
        """Add the next node; returns its row. ValueError when it is out of order."""
        row = len(self.parent)
        if header.seq != row + 1 or not 0 <= header.parent <= row:
            raise ValueError(f"node {header.seq} does not follow {row}")
        parent = header.parent - 1
        self.parent.append(parent)
        if parent >= 0:
            self.children[parent] += 1
            self.single[parent] = self.children[parent] == 1
        self.children.append(0)
        self.single.append(0)
        self.follows.append(parent == row - 1 >= 0)
        self.kind.append(KIND_CODE[header.kind])
        outcome = OUTCOME_CODE[header.outcome]
        self.outcome.append(outcome)
        if outcome in LIVE:
            self.live.add(row)
        self.flags.append(int(header.flags))
        if header.flags & MARKS:
            self.marked[row] = int(header.flags)
        self.created.append(header.created)
        self.took.append(min(header.duration_ms, 0xFFFFFFFF))
        self.added.append(header.added)
        self.removed.append(header.removed)
        self.files.append(header.files)
        self._tool.append(self._tools.number(header.tool))
        self._model.append(self._models.number(header.model))
        self._branch.append(self._branches.number(header.branch))
        self._run.append(self._runs.number(header.run))
        self.uids.append(header.uid)
        self._previews.append(row, header.preview)
        return row

    def extend(self, headers: Iterable[NodeHeader]) -> None:
        for header in headers:
            self.append(header)

    def take_shape(self, shape: Shape, uids: Later) -> None:
        """Fill an empty model with all rows at once; what is said about them follows by `take_details`. `uids` is called
        when the first id but the cursor's is asked for, and may wait; None = they cannot be read: then they are unknown
        until `update` brings them."""
        assert not len(self)
        count = len(shape)
        self.parent = shape.parents
        self.kind = array("B", shape.kinds)
        self.outcome = array("B", shape.outcomes)
        self.flags = array("I", [0]) * count
        for row, bits in shape.flags.items():
            self.flags[row] = bits
            if bits & _MARK_BITS:
                self.marked[row] = bits
        for name in ("took", "added", "removed", "files", "_branch", "_run"):
            setattr(self, name, array("I", [0]) * count)
        self.created = array("q", [0]) * count
        self._tool, self._model = array("H", [0]) * count, array("H", [0]) * count
        self.uids.fill_later(count, {shape.cursor - 1: shape.cursor_uid} if shape.cursor else {}, uids)
        self._count_children(shape)
        for code in LIVE:
            at = shape.outcomes.find(code)
            while at >= 0:
                self.live.add(at)
                at = shape.outcomes.find(code, at + 1)

    def _count_children(self, shape: Shape) -> None:
        """Every row has one child, the row below, but around the breaks."""
        count = len(shape)
        children = self.children = array("I", [1]) * count
        self.single, self.follows = bytearray(b"\1") * count, bytearray(b"\1") * count
        if count:
            children[-1] = 0
        for row in shape.breaks:
            self.follows[row] = 0
            if row:
                children[row - 1] -= 1
            if shape.parents[row] >= 0:
                children[shape.parents[row]] += 1
        for row in (
            count - 1,
            *(row - 1 for row in shape.breaks),
            *map(shape.parents.__getitem__, shape.breaks),
        ):
            if row >= 0:
                self.single[row] = children[row] == 1

    def take_details(self, details: Details) -> None:
        """What is said about rows that `take_shape` brought. Rows that an `update` has changed since keep that."""
        first, count = details.first, len(details)
        self.created[first : first + count] = details.created
        if any(self.took[first : first + count]):
            for row, took in enumerate(details.took, first):
                if took and not self.took[row]:
                    self.took[row] = took
        else:
            self.took[first : first + count] = details.took
        for column, words, names in (
            (self._tool, self._tools, details.tools),
            (self._model, self._models, details.models),
            (self._branch, self._branches, details.branches),
            (self._run, self._runs, details.runs),
        ):
            numbers = {name: words.number(name) for name in set(names)}
            column[first : first + count] = array(column.typecode, map(numbers.__getitem__, names))
        for row, (added, removed, files) in details.counts.items():
            self.added[row], self.removed[row], self.files[row] = added, removed, files
        self._previews.take(details)
        self.changes += 1

    def update(self, header: NodeHeader) -> int:
        """Take over how a known node ended; returns its row. Its place and text stay."""
        row = header.seq - 1
        self.changes += 1
        if self.uids.lost:
            self.uids.put(row, header.uid)
        self.outcome[row] = outcome = OUTCOME_CODE[header.outcome]
        if outcome in LIVE:
            self.live.add(row)
        else:
            self.live.discard(row)
        self.flags[row] = int(header.flags)
        if header.flags & MARKS:
            self.marked[row] = int(header.flags)
        self.took[row] = min(header.duration_ms, 0xFFFFFFFF)
        self.added[row], self.removed[row], self.files[row] = header.added, header.removed, header.files
        self._branch[row] = self._branches.number(header.branch)
        self._model[row] = self._models.number(header.model)
        self._previews.change(row, header.preview)
        return row

    def set_lines(self, row: int, added: int, removed: int) -> bool:
        """Lines that were counted later; False when they are known already."""
        if (self.added[row], self.removed[row]) == (added, removed):
            return False
        self.added[row], self.removed[row] = added, removed
        self.changes += 1
        return True

    def set_label(self, row: int, label: NodeLabel) -> None:
        if label.label or label.note or label.bookmark:
            self.labels[row] = label
        else:
            self.labels.pop(row, None)

    # Reading ---------------------------------------------------------------------------------------------------
    def uid(self, row: int) -> str:
        """ "" for an id that could not be read."""
        return self.uids.uid(row)

    def row(self, uid: str) -> int:
        """Row of a node, -1 when it is not there. A search over the packed ids: under a millisecond at a million."""
        return self.uids.row(uid)

    def preview(self, row: int) -> str:
        return self._previews.get(row)

    def rows_with_text(self, text: str) -> list[int]:
        """Rows whose preview, label or note has the text in it, without regard to case, ascending."""
        needle = text.casefold()
        found = self._previews.rows_with(needle)
        found.update(
            row for row, label in self.labels.items() if needle in f"{label.label} {label.note}".casefold()
        )
        return sorted(found)

    def why_found(self, row: int, text: str) -> str:
        """The words around the place where a search found `text` in the row; "" when it is in no text kept here."""
        needle = text.casefold()
        label = self.labels.get(row)
        kept = [self.preview(row)] + ([label.label, label.note] if label is not None else [])
        for words in kept:
            at = words.casefold().find(needle)
            if at >= 0:
                start = max(0, at - 24)
                return ("…" if start else "") + words[start : at + len(text) + 60]
        return ""

    def kind_of(self, row: int) -> NodeKind:
        return KINDS[self.kind[row]]

    def outcome_of(self, row: int) -> Outcome:
        return OUTCOMES[self.outcome[row]]

    def last_with(self, outcome: Outcome, most: int) -> list[int]:
        """The last rows that ended so, ascending: a search in C, whatever the number of rows."""
        codes, code = self.outcome.tobytes(), OUTCOME_CODE[outcome]
        found: list[int] = []
        at = codes.rfind(code)
        while at >= 0 and len(found) < most:
            found.append(at)
            at = codes.rfind(code, 0, at)
        return found[::-1]

    def flags_of(self, row: int) -> NodeFlag:
        return NodeFlag(self.flags[row])

    def tool(self, row: int) -> str:
        return self._tools.words[self._tool[row]]

    def model(self, row: int) -> str:
        return self._models.words[self._model[row]]

    def branch(self, row: int) -> str:
        return self._branches.words[self._branch[row]]

    def run(self, row: int) -> str:
        return self._runs.words[self._run[row]]

    def prompts_between(self, first: int, end: int) -> int:
        """How many of the rows from `first` to before `end` are prompts of the person."""
        kinds = self.kind[first:end].tobytes()
        rows = self.marked if len(self.marked) < end - first else range(first, end)
        notes = sum(
            1 for row in rows
            if first <= row < end and self.flags[row] & NodeFlag.HIDDEN and self.kind[row] in _PROMPTS
        )  # fmt: skip
        return sum(map(kinds.count, _PROMPTS)) - notes

    def path(self, row: int) -> list[int]:
        """Rows from the root to `row`."""
        return tree_paths.path(self, row)

    def children_of(self, row: int) -> list[int]:
        """Rows of the children in order of age."""
        wanted = self.children[row]
        result: list[int] = []
        at = row + 1
        while len(result) < wanted:
            # array.index runs in C; children are near their parent except at old forks.
            at = self.parent.index(row, at)
            result.append(at)
            at += 1
        return result

    def first_child(self, row: int) -> int:
        """The oldest child of a row that has one."""
        return self.parent.index(row, row + 1)

    def leaf_of(self, row: int) -> int:
        """The newest end under `row`."""
        return tree_paths.leaf_of(self, row)

    def bytes_used(self) -> int:
        """Memory of the arrays, for the benchmark."""
        arrays = (self.parent, self.kind, self.outcome, self.flags, self.created, self.took, self.added, self.removed,
                  self.files, self.children, self._tool, self._model, self._branch, self._run)  # fmt: skip
        return (
            sum(a.itemsize * len(a) for a in arrays)
            + len(self.uids.packed)
            + self._previews.bytes_used()
            + 2 * len(self.single)
        )
