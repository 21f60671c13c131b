"""What of the tree is shown as a row of its own: linear runs fold into one, filters leave rows out.

An item is one place in the picture. Items are a monotone choice of rows, so a fold or a filter never changes lanes,
and the map between rows and items is a bisection. Rows that arrive while the person looks on are never folded by
themselves: the picture must not jump.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from itertools import compress
from sys import byteorder

from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.viewmodel.tree_model import BAD, KIND_CODE, MARKS, OUTCOME_CODE, TreeModel

SHORTEST = 3
"""A run of fewer steps is shown as it is."""
_STEPS = frozenset(
    KIND_CODE[kind]
    for kind in (
        NodeKind.ASSISTANT,
        NodeKind.TOOL,
        NodeKind.IMPORTED_ASSISTANT,
        NodeKind.IMPORTED_TOOL,
        NodeKind.IMPORTED_EVENT,
        NodeKind.CONTEXT_EDIT,
    )
)
_PROMPTS = frozenset({KIND_CODE[NodeKind.USER], KIND_CODE[NodeKind.IMPORTED_USER]})
_QUIET = frozenset({OUTCOME_CODE[Outcome.NONE], OUTCOME_CODE[Outcome.OK]})
_LOUD = int(MARKS & ~NodeFlag.HIDDEN)

_RUN = re.compile(rb"[\x01\x02]\x01{%d,}" % (SHORTEST - 1))


def _table(codes: Iterable[int]) -> bytes:
    wanted = set(codes)
    return bytes(int(code in wanted) for code in range(256))


_IS_STEP, _IS_PROMPT, _IS_QUIET = _table(_STEPS), _table(_PROMPTS), _table(_QUIET)
_IS_BAD = _table(BAD)
_IS_FILES = bytes(byte & int(NodeFlag.FILES_CHANGED) for byte in range(256))
_EFFECTS = int(NodeFlag.EFFECT | NodeFlag.IRREVERSIBLE)
_NOT = _table([0])


def _both(a: bytes, b: bytes) -> bytes:
    """Bytewise and, through one large integer."""
    return (int.from_bytes(a, "little") & int.from_bytes(b, "little")).to_bytes(len(a), "little")


def _sum(a: bytes, b: bytes) -> bytes:
    """Bytewise sum of small numbers: no byte carries into the next."""
    return (int.from_bytes(a, "little") + int.from_bytes(b, "little")).to_bytes(len(a), "little")


FILTERS = ("all", "prompts", "failures", "files", "effects", "labelled")


class TreeItems:
    """Items over a `TreeModel`. `folding` and `filter` are set through `show`; `follow` takes in new rows."""

    def __init__(self, model: TreeModel) -> None:
        self._model = model
        self._first = array("I")
        """First row of each item."""
        self._groups: dict[int, int] = {}
        """First row of a folded run → its last row."""
        self._seen = 0
        self.folding = True
        self.filter = "all"
        self.text = ""
        self.open_runs: set[int] = set()
        """Rows (any of a run) that the person has unfolded."""

    def __len__(self) -> int:
        return len(self._first)

    # Map -------------------------------------------------------------------------------------------------------
    def row(self, item: int) -> int:
        return self._first[item]

    def last_row(self, item: int) -> int:
        """Last row of a folded run; the row itself for a single node."""
        first = self._first[item]
        return self._groups.get(first, first)

    def is_folded(self, item: int) -> bool:
        return self._first[item] in self._groups

    def item(self, row: int) -> int:
        """The item that shows `row`, or the one above when it is left out; -1 when nothing is above."""
        return bisect_right(self._first, row) - 1

    # Choosing --------------------------------------------------------------------------------------------------
    def show(
        self, *, filter_name: str = "all", text: str = "", folding: bool = True, keep: Iterable[int] = ()
    ) -> None:
        """Build anew. `keep` are rows that stay items of their own (cursor, selected)."""
        self.filter, self.text, self.folding = filter_name, text, folding
        self._groups.clear()
        if filter_name != "all" or text:
            self._first = array("I", self._matches())
            for row in keep:
                at = bisect_left(self._first, row)
                if at == len(self._first) or self._first[at] != row:
                    self._first.insert(at, row)
        elif folding:
            self._fold(set(keep))
        else:
            self._first = array("I", range(len(self._model)))
        self._seen = len(self._model)

    def follow(self) -> None:
        """Take in the rows that came since; they are shown, folded by nobody."""
        rows = range(self._seen, len(self._model))
        if self.filter == "all" and not self.text:
            self._first.extend(rows)
        else:
            test = self._test()
            self._first.extend(row for row in rows if test(row))
        self._seen = len(self._model)

    def open_run(self, row: int) -> bool:
        """Unfold the run that holds `row`; False when it was in none. Costs the length of the run and a memmove."""
        item = self.item(row)
        if item < 0 or not self.is_folded(item):
            return False
        first = self._first[item]
        last = self._groups.pop(first)
        self._first[item : item + 1] = array("I", range(first, last + 1))
        self.open_runs.add(first)
        return True

    def close_run(self, row: int) -> bool:
        """Fold the run around `row` again; False when it is too short."""
        first, last = self._run_around(row)
        if last - first + 1 < SHORTEST or self.filter != "all" or self.text:
            return False
        start, end = bisect_left(self._first, first), bisect_right(self._first, last)
        self._first[start:end] = array("I", [first])
        self._groups[first] = last
        self.open_runs -= set(range(first, last + 1))
        return True

    def _run_around(self, row: int) -> tuple[int, int]:
        parent = self._model.parent
        first = last = row
        if not self._foldable(row):
            return row, row - 1
        while first > 0 and parent[first] == first - 1 and self._foldable(first - 1):
            first -= 1
        while last + 1 < len(self._model) and parent[last + 1] == last and self._foldable(last + 1):
            last += 1
        return first, last

    def _foldable(self, row: int) -> bool:
        model = self._model
        if model.flags[row] & NodeFlag.HIDDEN:
            return model.children[row] == 1
        return (
            model.kind[row] in _STEPS
            and model.children[row] == 1
            and model.outcome[row] in _QUIET
            and not model.flags[row] & _LOUD
            and row not in model.labels
            # The answer before the next prompt is what a run was for; it stays to be read.
            and not (
                row + 1 < len(model) and model.parent[row + 1] == row and model.kind[row + 1] in _PROMPTS
            )
        )

    def _fold(self, keep: set[int]) -> None:
        """The same rule as `_foldable`, for all rows at once and in C: a million rows take milliseconds."""
        model = self._model
        count = len(model)
        kind = model.kind.tobytes()
        mask = _both(kind.translate(_IS_STEP), model.outcome.tobytes().translate(_IS_QUIET))
        prompts = _both(kind.translate(_IS_PROMPT), bytes(model.follows))
        mask = _both(mask, (prompts[1:] + b"\0").translate(_NOT))
        special = bytearray(_both(mask, bytes(model.single)))
        for row, flags in model.marked.items():
            if flags & NodeFlag.HIDDEN:
                special[row] = model.single[row]
            elif flags & _LOUD:
                special[row] = 0
        for row in (*keep, *model.labels):
            if 0 <= row < count:
                special[row] = 0
        # 2 = can be folded, but begins a run of its own: its parent is not the row above.
        begins = _both(bytes(special), bytes(model.follows).translate(_NOT))
        codes = _sum(bytes(special), begins)
        first_of = array("I")
        done = 0
        for match in _RUN.finditer(codes):
            start, end = match.span()
            if start in self.open_runs:
                continue
            first_of.extend(range(done, start + 1))
            self._groups[start] = end - 1
            done = end
        first_of.extend(range(done, count))
        self._first = first_of

    def counts(self) -> dict[str, int]:
        """How many rows each filter shows; milliseconds at a million rows."""
        model = self._model
        failed = model.outcome.tobytes().translate(_IS_BAD).count(1)
        failed += sum(
            bool(bits & NodeFlag.CHECKS_FAILED) and not _IS_BAD[model.outcome[row]]
            for row, bits in model.marked.items()
        )
        return {
            "all": len(model),
            "prompts": model.kind.tobytes().translate(_IS_PROMPT).count(1),
            "failures": failed,
            "files": self._with_files().bit_count(),
            "effects": sum(bool(bits & _EFFECTS) for bits in model.marked.values()),
            "labelled": len(model.labels),
        }

    # Filters ---------------------------------------------------------------------------------------------------
    def _matches(self) -> list[int]:
        """The same rule as `_test`, for all rows at once."""
        model = self._model
        if not self.text:
            return self._chosen()
        found = model.rows_with_text(self.text)
        return found if self.filter == "all" else sorted(set(self._chosen()).intersection(found))

    def _chosen(self) -> list[int]:
        """The rows of the filter, ascending; in C where all rows are looked at."""
        model = self._model
        rows = range(len(model))
        if self.filter == "labelled":
            return sorted(model.labels)
        if self.filter == "effects":
            return sorted(row for row in model.marked if model.flags[row] & _EFFECTS)
        if self.filter == "prompts":
            prompts = bytearray(model.kind.tobytes().translate(_IS_PROMPT))
            for row in model.marked:
                prompts[row] &= not model.flags[row] & NodeFlag.HIDDEN
            return list(compress(rows, prompts))
        if self.filter == "files":
            return list(compress(rows, self._with_files().to_bytes(len(model), "little")))
        if self.filter == "failures":
            bad = bytearray(model.outcome.tobytes().translate(_IS_BAD))
            for row in model.marked:
                bad[row] |= bool(model.flags[row] & NodeFlag.CHECKS_FAILED)
            return list(compress(rows, bad))
        return list(rows)

    def _with_files(self) -> int:
        """A byte for each row in one large integer: not 0 where files were changed."""
        # The lowest byte of each flag word holds the bit of changed files.
        words = array("I", self._model.flags)
        if byteorder == "big":
            words.byteswap()
        flagged = words.tobytes()[::4].translate(_IS_FILES)
        changed = bytes(map(bool, self._model.files))
        return int.from_bytes(flagged, "little") | int.from_bytes(changed, "little")

    def _test(self) -> Callable[[int], bool]:
        model = self._model
        flags, kind, outcome, labels = model.flags, model.kind, model.outcome, model.labels
        tests: dict[str, Callable[[int], bool]] = {
            "all": lambda row: True,
            "prompts": lambda row: kind[row] in _PROMPTS and not flags[row] & NodeFlag.HIDDEN,
            "failures": lambda row: outcome[row] in BAD or bool(flags[row] & NodeFlag.CHECKS_FAILED),
            "files": lambda row: bool(flags[row] & NodeFlag.FILES_CHANGED) or model.files[row] > 0,
            "effects": lambda row: bool(flags[row] & (NodeFlag.EFFECT | NodeFlag.IRREVERSIBLE)),
            "labelled": lambda row: row in labels,
        }
        chosen = tests[self.filter]
        if not self.text:
            return chosen
        needle = self.text.casefold()
        return lambda row: (
            chosen(row)
            and (needle in model.preview(row).casefold() or needle in labels_text(model, row).casefold())
        )


def labels_text(model: TreeModel, row: int) -> str:
    label = model.labels.get(row)
    return f"{label.label} {label.note}" if label is not None else ""
