"""A file's diff as rows on screen: unified or side by side, with word-level spans made only for what is shown."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import OrderedDict
from difflib import SequenceMatcher
from pathlib import PurePosixPath

from worldline.protocol.model import DiffRow, FileDiff

Span = tuple[int, int]
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_MAX_RUN = 2000
"""Changed lines on end in which a partner is looked for: larger rewrites have none worth marking."""
_MAX_WORD_LINE = 2000
"""Lines longer than this get no word-level marks: minified files would cost seconds for marks nobody can read."""


class DiffModel:
    """Rows of one `FileDiff`. `count(side_by_side)` rows on screen; `left`/`right` map a row to a line of the diff
    (index into `rows`, -1 = filler). Opening costs one pass over the rows and no text work."""

    def __init__(self, diff: FileDiff) -> None:
        self.diff = diff
        self.rows: list[DiffRow] = diff.rows
        self._hunks: array[int] | None = None
        self._left: array[int] = array("i")
        self._right: array[int] = array("i")
        self._screen: array[int] = array("i")
        """Row on screen of each line that has been paired."""
        self._paired = 0
        """Lines that have been paired; the rest follows in slices, so that a large file is on screen at once."""
        self._changes: list[int] | None = None
        self._words: OrderedDict[int, list[Span]] = OrderedDict()

    @property
    def hunks(self) -> array[int]:
        """Index of the first row of each hunk (its header). Made when first asked for: painting does not need it."""
        if self._hunks is None:
            self._hunks = array("i", [at for at, row in enumerate(self.rows) if row.kind == "@"])
            if self.rows and not self._hunks:
                self._hunks.append(0)
        return self._hunks

    @property
    def widest_number(self) -> int:
        # The last rows may say of each side that no newline ends it, and have no number.
        return max([99, *(max(row.old, row.new) for row in self.rows[-4:])])

    def hunk_of(self, row: int) -> int:
        """Index of the hunk that a row belongs to; -1 without hunks."""
        return bisect_right(self.hunks, row) - 1

    def ends_without_newline(self, row: int) -> bool:
        """Whether this line is the last of its file and has no line end."""
        return row + 1 < len(self.rows) and self.rows[row + 1].kind == "\\"

    def changes(self) -> list[int]:
        """First row of every run of changed lines, for next and previous."""
        if self._changes is None:
            found, inside = [], False
            for at, row in enumerate(self.rows):
                changed = row.kind in "+-"
                if changed and not inside:
                    found.append(at)
                inside = changed
            self._changes = found
        return self._changes

    @property
    def all_paired(self) -> bool:
        return self._paired >= len(self.rows)

    @property
    def paired_rows(self) -> int:
        """Rows on screen that are paired."""
        return len(self._left)

    def pair(self, screen_rows: int) -> None:
        """Pair lines until there are so many rows on screen. Removed and added lines of one place share rows."""
        rows, total = self.rows, len(self.rows)
        left, right, screen, at = self._left, self._right, self._screen, self._paired
        while at < total and len(left) < screen_rows:
            kind = rows[at].kind
            if kind in "-+":
                top = len(left)
                removed, added, end = self._run(at, total)
                count = max(len(removed), len(added))
                left.extend(removed)
                left.extend([-1] * (count - len(removed)))
                right.extend(added)
                right.extend([-1] * (count - len(added)))
                places = [top] * (end - at)
                for side in (removed, added):
                    for number, line in enumerate(side):
                        places[line - at] = top + number
                screen.extend(places)
                at = end
                continue
            screen.append(len(left))
            left.append(at)
            right.append(at)
            at += 1
        self._paired = at

    def pairs(self) -> tuple[array[int], array[int]]:
        """Left and right line of every row side by side."""
        self.pair(2 * len(self.rows) + 1)
        return self._left, self._right

    def side(self, screen: int, side: int) -> int:
        """The line that a row on screen shows on the left (1) or the right (2); -1 = filler."""
        self.pair(screen + 1)
        lines = self._left if side == 1 else self._right
        return lines[screen] if 0 <= screen < len(lines) else -1

    def _run(self, at: int, limit: int) -> tuple[list[int], list[int], int]:
        removed: list[int] = []
        added: list[int] = []
        while at < min(len(self.rows), limit) and self.rows[at].kind in "-+\\":
            kind = self.rows[at].kind
            if kind == "-" and added:
                break
            if kind == "-":
                removed.append(at)
            elif kind == "+":
                added.append(at)
            at += 1
        return removed, added, at

    def count(self, side_by_side: bool) -> int:
        """Rows on screen. Side by side it is an upper bound until all lines are paired."""
        if not side_by_side:
            return len(self.rows)
        return len(self._left) + len(self.rows) - self._paired

    def screen_row(self, row: int, side_by_side: bool) -> int:
        """Where a line of the diff is on screen."""
        if not side_by_side:
            return row
        while self._paired <= row and not self.all_paired:
            self.pair(len(self._left) + 2000)
        return self._screen[row] if 0 <= row < len(self._screen) else 0

    def partner(self, row: int) -> int:
        """The line that a changed line is compared with word by word; -1 = none. Looks only at the lines around it,
        so that painting one screen never walks through the file."""
        rows = self.rows
        if rows[row].kind not in "-+":
            return -1
        start = row
        while start > 0 and rows[start - 1].kind in "-+\\":
            start -= 1
            if row - start > _MAX_RUN:
                return -1
        while start <= row:
            removed, added, end = self._run(start, row + _MAX_RUN)
            if end > row:
                mine, other = (removed, added) if rows[row].kind == "-" else (added, removed)
                place = mine.index(row) if row in mine else -1
                return other[place] if 0 <= place < len(other) else -1
            start = max(end, start + 1)
        return -1

    def words(self, row: int) -> list[Span]:
        """Spans of a changed line that differ from its partner."""
        known = self._words.get(row)
        if known is not None:
            self._words.move_to_end(row)
            return known
        other = self.partner(row)
        spans: list[Span] = []
        if other >= 0:
            mine, theirs = word_spans(self.rows[row].text, self.rows[other].text)
            spans = mine
            self._words[other] = theirs
        self._words[row] = spans
        while len(self._words) > 4000:
            self._words.popitem(last=False)
        return spans


def word_spans(a: str, b: str) -> tuple[list[Span], list[Span]]:
    """Spans that differ in each of two lines. Nothing is marked when the lines have little in common: then the
    colour of the whole line says it better."""
    if len(a) > _MAX_WORD_LINE or len(b) > _MAX_WORD_LINE:
        return [], []
    left, right = _WORD.findall(a), _WORD.findall(b)
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    if matcher.quick_ratio() < 0.35:
        return [], []
    left_at, right_at = _offsets(left), _offsets(right)
    mine: list[Span] = []
    theirs: list[Span] = []
    same = 0
    for op, a0, a1, b0, b1 in matcher.get_opcodes():
        if op == "equal":
            same += sum(len(word) for word in left[a0:a1] if not word.isspace())
            continue
        if a1 > a0:
            mine.append((left_at[a0], left_at[a1]))
        if b1 > b0:
            theirs.append((right_at[b0], right_at[b1]))
    return (mine, theirs) if same >= 3 or not (mine and theirs) else ([], [])


def _offsets(words: list[str]) -> list[int]:
    out, at = [0], 0
    for word in words:
        at += len(word)
        out.append(at)
    return out


_LANGUAGES = {
    "py": "python", "pyi": "python", "js": "javascript", "mjs": "javascript", "jsx": "javascript", "ts": "typescript",
    "tsx": "typescript", "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "hpp": "cpp", "rs": "rust", "go": "go",
    "java": "java", "kt": "kotlin", "rb": "ruby", "php": "php", "sh": "bash", "bash": "bash", "zsh": "bash",
    "json": "json", "yaml": "yaml", "yml": "yaml", "toml": "toml", "ini": "ini", "cfg": "ini", "md": "markdown",
    "html": "html", "xml": "xml", "svg": "xml", "css": "css", "scss": "css", "sql": "sql", "lua": "lua",
    "swift": "swift", "cs": "csharp", "r": "r", "tex": "tex",
}  # fmt: skip


def language_of(path: str) -> str:
    """Name of the language of a file by its name; "" when it is not known."""
    name = PurePosixPath(path).name.lower()
    if name in ("makefile", "dockerfile"):
        return name
    return _LANGUAGES.get(name.rpartition(".")[2], "")
