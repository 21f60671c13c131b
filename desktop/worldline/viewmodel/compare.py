"""Two to four attempts side by side: their facts, their steps aligned, the files they touched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeKind
from worldline.protocol.commands import Attempt, Compare
from worldline.protocol.model import FileChange
from worldline.viewmodel.tree_text import ended_tool_words
from worldline.viewmodel.unmarked import unmarked
from worldline.viewmodel.visible import settled

LETTERS = "ABCD"
MAX_PAIRS = 50_000
"""Of steps with the same words, in two attempts: what is held against each other."""


@dataclass(frozen=True, slots=True)
class Step:
    uid: str
    kind: NodeKind
    text: str
    outcome: str


@dataclass(frozen=True, slots=True)
class StepRow:
    """One row of the aligned steps: a step of each attempt, or None where the others have one more."""

    steps: tuple[Step | None, ...]

    @property
    def same(self) -> bool:
        first = self.steps[0]
        return first is not None and all(
            step is not None and step.text == first.text and step.outcome == first.outcome
            for step in self.steps
        )


@dataclass(frozen=True, slots=True)
class FileRow:
    path: str
    changes: tuple[FileChange | None, ...]


def title_of(text: str, limit: int = 0) -> str:
    """The goal of attempts, or the title of one, in one line without marks; cut at `limit` characters, 0 = not."""
    words = settled(unmarked(" ".join(text.split())))
    return words if not limit or len(words) <= limit else words[: limit - 1].rstrip() + "…"


def checks_words(attempt: Attempt) -> list[tuple[str, bool | None, int | None, int | None]]:
    """(name, whether it passed, tests passed, tests failed) of each check; None where it is not known."""
    out: list[tuple[str, bool | None, int | None, int | None]] = []
    for check in attempt.checks:
        code, passed, failed = check.get("exit_code"), check.get("passed"), check.get("failed")
        out.append(
            (
                str(check.get("tool") or (str(check.get("command") or "").split() or [""])[0]),
                code == 0 if isinstance(code, int) else None,
                passed if isinstance(passed, int) else None,
                failed if isinstance(failed, int) else None,
            )
        )
    return out


def file_rows(compare: Compare) -> list[FileRow]:
    """Files × attempts. Files that more attempts touched come first: they are where the attempts can be compared."""
    paths: dict[str, list[FileChange | None]] = {}
    for column, attempt in enumerate(compare.attempts):
        for change in attempt.files:
            paths.setdefault(change.path, [None] * len(compare.attempts))[column] = change
    rows = [FileRow(path, tuple(changes)) for path, changes in paths.items()]
    rows.sort(key=lambda row: (-sum(change is not None for change in row.changes), row.path))
    return rows


def steps_of(attempt: Attempt, headers: Mapping[str, NodeHeader]) -> list[Step]:
    """The steps of an attempt that a person would name: prompts, tool calls, replies with words."""
    steps = []
    for uid in attempt.path:
        header = headers.get(uid)
        if header is None or header.kind in (NodeKind.ROOT, NodeKind.JUMP):
            continue
        text = header.preview
        if header.kind in (NodeKind.ASSISTANT, NodeKind.IMPORTED_ASSISTANT):
            text = unmarked(text)
        elif header.kind is NodeKind.TOOL:
            text = ended_tool_words(header.tool, text.strip(), header.outcome)
        steps.append(Step(uid, header.kind, text, header.outcome.value))
    return steps


def align(columns: Sequence[Sequence[Step]]) -> list[StepRow]:
    """Rows in which equal steps of all attempts meet. The attempts are merged one after another into the first:
    what they share stands on one line, what only one did stands alone."""
    if not columns:
        return []
    rows: list[list[Step | None]] = [[step] for step in columns[0]]
    for width, column in enumerate(columns[1:], start=1):
        merged: list[list[Step | None]] = []
        for op, a0, a1, b0, b1 in _opcodes([_key(row) for row in rows], [step.text for step in column]):
            if op == "equal":
                merged += [[*row, step] for row, step in zip(rows[a0:a1], column[b0:b1], strict=True)]
                continue
            # What differs stands side by side: the rows where they part are the point of the view.
            for at in range(max(a1 - a0, b1 - b0)):
                row = rows[a0 + at] if a0 + at < a1 else [None] * width
                merged.append([*row, column[b0 + at] if b0 + at < b1 else None])
        rows = merged
    return [StepRow(tuple(row)) for row in rows]


def _opcodes(a: list[str], b: list[str]) -> list[tuple[str, int, int, int, int]]:
    """How `a` becomes `b`. Words that are the same in thousands of steps are no place to meet at: each would be held
    against each other one. They meet where rarer ones beside them do."""
    limit, head, tail = min(len(a), len(b)), 0, 0
    while head < limit and a[head] == b[head]:
        head += 1
    while tail < limit - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    a_end, b_end = len(a) - tail, len(b) - tail
    in_a, in_b = Counter(a[head:a_end]), Counter(b[head:b_end])
    junk: set[str] = set()
    pairs = 0
    for text in sorted(in_b, key=lambda text: in_a[text] * in_b[text]):
        pairs += in_a[text] * in_b[text]
        if pairs > MAX_PAIRS:
            junk.add(text)
    matcher = SequenceMatcher(junk.__contains__, a[head:a_end], b[head:b_end], autojunk=False)
    codes: list[tuple[str, int, int, int, int]] = [("equal", 0, head, 0, head)]
    codes += [
        (op, a0 + head, a1 + head, b0 + head, b1 + head) for op, a0, a1, b0, b1 in matcher.get_opcodes()
    ]
    codes.append(("equal", a_end, len(a), b_end, len(b)))
    return codes


def _key(row: Sequence[Step | None]) -> str:
    return next((step.text for step in row if step is not None), "")


def parting(rows: Sequence[StepRow]) -> int:
    """Index of the first row at which the attempts are no longer the same."""
    return next((at for at, row in enumerate(rows) if not row.same), len(rows))
