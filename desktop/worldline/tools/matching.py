"""Find the place that an edit means, and change only what the edit changes there.

Three levels, the first that fits counts: the exact text; the same text but for characters that look the same (line
ends, curly quotes, dashes, no-break spaces, blanks at line ends); the same lines with another indentation. From the
second level on, the difference between `old` and `new` is applied to what the file really holds, so that its own
quotes, line ends and tabs stay everywhere else.
"""

from __future__ import annotations

import difflib
import unicodedata
from dataclasses import dataclass

from rapidfuzz import fuzz, process

_SAME = str.maketrans(
    {
        "‘": "'", "’": "'", "‚": "'", "‛": "'", "′": "'", "“": '"', "”": '"', "„": '"', "‟": '"', "″": '"',
        "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "−": "-", "\u00a0": " ", "\u202f": " ", "\u2009": " ",
        "\u3000": " ", "…": "…",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Match:
    start: int
    end: int
    replacement: str
    level: int
    """1 exact, 2 look-alikes, 3 indentation."""


@dataclass(frozen=True, slots=True)
class _Normal:
    """A text reduced to what counts, with the place of each character in the original (one more for the end)."""

    text: str
    places: list[int]


def _normal(text: str) -> _Normal:
    out: list[str] = []
    places: list[int] = []
    position = 0
    for line in text.splitlines(keepends=True):
        body = line.rstrip("\r\n") if line.endswith(("\n", "\r")) else line
        kept = body.rstrip(" \t\u00a0")
        index = 0
        while index < len(kept):
            stop = index + 1
            while stop < len(kept) and unicodedata.combining(kept[stop]):
                stop += 1
            for char in unicodedata.normalize("NFC", kept[index:stop]).translate(_SAME):
                out.append(char)
                places.append(position + index)
            index = stop
        if len(line) > len(body):
            out.append("\n")
            places.append(position + len(kept))
        position += len(line)
    places.append(len(text))
    return _Normal("".join(out), places)


def _occurrences(text: str, part: str) -> list[int]:
    found: list[int] = []
    at = text.find(part)
    while at >= 0:
        found.append(at)
        at = text.find(part, at + max(1, len(part)))
    return found


def with_newlines(text: str, newline: str) -> str:
    text = text.replace("\r\n", "\n")
    return text.replace("\n", newline) if newline != "\n" else text


def find(text: str, old: str, new: str, newline: str) -> list[Match]:
    """All places that `old` means, on the first level that has any."""
    exact = _occurrences(text, old)
    if exact:
        value = with_newlines(new, newline) if "\r\n" not in new else new
        return [Match(at, at + len(old), value, 1) for at in exact]
    return _look_alikes(text, old, new, newline) or _other_indent(text, old, new, newline)


def _look_alikes(text: str, old: str, new: str, newline: str) -> list[Match]:
    whole, part, target = _normal(text), _normal(old), _normal(new)
    if not part.text.strip():
        return []
    matches = []
    for at in _occurrences(whole.text, part.text):
        start = whole.places[at]
        end = whole.places[at + len(part.text)]
        if end > start and part.text[-1] != "\n" and at + len(part.text) < len(whole.text):
            end = _end_of(text, whole, at + len(part.text))
        replacement = _carry_over(text, whole, at, part, new, target, newline, end)
        matches.append(Match(start, end, replacement, 2))
    return matches


def _end_of(text: str, whole: _Normal, index: int) -> int:
    """Where the character before `index` ends in the original: before blanks at the line's end, not after."""
    return whole.places[index] if index < len(whole.text) else len(text.rstrip(" \t"))


def _carry_over(
    text: str, whole: _Normal, at: int, part: _Normal, new: str, target: _Normal, newline: str, end: int
) -> str:
    """`new`, with the file's own characters wherever it says the same as `old`."""
    out: list[str] = []
    for same, i1, i2, j1, j2 in _blocks(part.text, target.text):
        if same:
            stop = end if i2 == len(part.text) else whole.places[at + i2]
            out.append(text[whole.places[at + i1] : stop])
        elif j2 > j1:
            stop = len(new) if j2 == len(target.text) else target.places[j2]
            out.append(with_newlines(new[target.places[j1] : stop], newline))
    return "".join(out)


def _blocks(old: str, new: str) -> list[tuple[bool, int, int, int, int]]:
    """The difference of two texts as (same?, i1, i2, j1, j2); huge middles are taken as one replacement."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    i2, j2 = len(old) - tail, len(new) - tail
    blocks = [(True, 0, head, 0, head)] if head else []
    if (i2 - head) * (j2 - head) > 4_000_000:
        blocks.append((False, head, i2, head, j2))
    else:
        matcher = difflib.SequenceMatcher(None, old[head:i2], new[head:j2], autojunk=False)
        blocks += [
            (tag == "equal", a + head, b + head, c + head, d + head)
            for tag, a, b, c, d in matcher.get_opcodes()
        ]
    if tail:
        blocks.append((True, i2, len(old), j2, len(new)))
    return blocks


def _split(line: str) -> tuple[str, str]:
    body = line.lstrip(" \t")
    return line[: len(line) - len(body)], body


def _other_indent(text: str, old: str, new: str, newline: str) -> list[Match]:
    if old.endswith("\n") != new.endswith("\n") or old.startswith("\n") != new.startswith("\n"):
        return []
    lines = text.splitlines(keepends=True)
    wanted = old.replace("\r\n", "\n").strip("\n").split("\n")
    bodies = [_normal(_split(line)[1]).text for line in wanted]
    if not any(bodies) or len(lines) * len(wanted) > 20_000_000:
        return []
    have = [_normal(_split(line.rstrip("\r\n"))[1]).text for line in lines]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    matches: list[Match] = []
    for index in range(len(lines) - len(wanted) + 1):
        if have[index : index + len(wanted)] != bodies:
            continue
        found = [line.rstrip("\r\n") for line in lines[index : index + len(wanted)]]
        replacement = _reindent(wanted, found, new.replace("\r\n", "\n").strip("\n").split("\n"))
        if replacement is None:
            continue
        end = starts[index + len(wanted)] - (len(lines[index + len(wanted) - 1]) - len(found[-1]))
        matches.append(Match(starts[index], end, newline.join(replacement), 3))
    return matches


def _reindent(old: list[str], found: list[str], new: list[str]) -> list[str] | None:
    """`new` with the indentation of the file; None if the two indentations do not go together."""
    pairs: dict[str, str] = {}
    for mine, theirs in zip(old, found, strict=True):
        if not mine.strip():
            continue
        left, right = _split(mine)[0], _split(theirs)[0]
        if pairs.setdefault(left, right) != right:
            return None
    unit = _tab_width(pairs)
    shift: set[str] = set()
    if all(theirs.endswith(mine) for mine, theirs in pairs.items()):
        shift = {theirs.removesuffix(mine) for mine, theirs in pairs.items()}
    same = {(_split(a)[1].rstrip(), _split(a)[0]): b for a, b in zip(old, found, strict=True)}
    result: list[str] = []
    for line in new:
        indent, body = _split(line)
        kept = same.get((body.rstrip(), indent))
        if not body:
            result.append("")
        elif kept is not None:
            result.append(kept)
        elif indent in pairs:
            result.append(pairs[indent] + body)
        elif unit and set(indent) <= {" "} and len(indent) % unit == 0:
            result.append("\t" * (len(indent) // unit) + body)
        elif len(shift) == 1:
            result.append(next(iter(shift)) + indent + body)
        else:
            return None
    return result


def _tab_width(pairs: dict[str, str]) -> int:
    """How many spaces of `old` stand for one tab of the file, if all lines agree on it; else 0."""
    widths: set[float] = set()
    for mine, theirs in pairs.items():
        if set(mine) - {" "} or set(theirs) - {"\t"} or bool(mine) != bool(theirs):
            return 0
        if mine:
            widths.add(len(mine) / len(theirs))
    if len(widths) != 1:
        return 0
    width = widths.pop()
    # One line of two spaces could as well be a different depth; four and eight are what a tab is taken for.
    return int(width) if width in (4, 8) or (width in (2, 3) and len(pairs) > 2) else 0


def visible(line: str) -> str:
    """A line with its blanks as signs: tab →, leading and trailing space ·, carriage return ␍, no-break space ⍽."""
    body = line.rstrip("\n")
    carriage = body.endswith("\r")
    body = body.rstrip("\r")
    kept = body.strip(" \t")
    start = body.find(kept) if kept else len(body)
    signs = str.maketrans({" ": "·", "\t": "→"})
    shown = (
        body[:start].translate(signs) + kept.replace("\t", "→") + body[start + len(kept) :].translate(signs)
    )
    return shown.replace("\u00a0", "⍽") + ("␍" if carriage else "")


def nearest(text: str, old: str, context: int = 2) -> str:
    """The lines of `text` that are most like `old`, numbered, with visible blanks; "" if nothing is like it."""
    lines = text.splitlines(keepends=True)[:50_000]
    wanted = [line for line in old.splitlines() if line.strip()]
    if not wanted or not lines:
        return ""
    key = max(wanted, key=lambda line: len(line.strip()))
    offset = old.splitlines().index(key)
    stripped = ["".join(line.split()) for line in lines]
    best = process.extract("".join(key.split()), stripped, scorer=fuzz.ratio, limit=3, score_cutoff=45)
    if not best:
        return ""
    height = min(len(old.splitlines()), 12)

    def score(index: int) -> float:
        start = max(0, index - offset)
        return fuzz.ratio(old, "".join(lines[start : start + height]))

    index = max((item[2] for item in best), key=score)
    start = max(0, index - offset)
    shown = range(
        max(0, start - (0 if height > 1 else context)), min(len(lines), start + max(height, context + 1))
    )
    return "\n".join(f"{number + 1:>6}  {visible(lines[number])[:200]}" for number in shown)


def odd_characters(text: str) -> str:
    """Names of characters outside ASCII, when there are a few: they often are why a text does not match."""
    found = dict.fromkeys(char for char in text if ord(char) > 126)
    if not 0 < len(found) <= 6:
        return ""
    return ", ".join(f"U+{ord(char):04X} {unicodedata.name(char, 'unnamed')}" for char in found)
