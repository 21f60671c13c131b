"""Ignore rules of git, read from any source: the disk or the trees of a state.

A restore must judge by the rules of the states it compares, never by what lies on disk in the middle of it; that is
why the rules are ours and take their text from a callback. Paths are relative, `/`-separated, `os.fsdecode`d.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass

_POSIX = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": r" \t", "cntrl": r"\x00-\x1f\x7f", "digit": "0-9",
    "graph": r"\x21-\x7e", "lower": "a-z", "print": r"\x20-\x7e", "punct": r"!-/:-@\[-`{-~", "space": r" \t\n\r\f\v",
    "upper": "A-Z", "xdigit": "0-9A-Fa-f",
}  # fmt: skip


@dataclass(slots=True, frozen=True)
class _Rule:
    negated: bool
    folders_only: bool
    by_name: bool
    """No slash inside: matches the last part of the path at any depth."""
    regex: re.Pattern[str]


def _bracket(pattern: str, start: int) -> tuple[str, int] | None:
    """The regex of `[…]` that opens at `start`, and where it ends; None when it never closes."""
    i = start + 1
    negated = i < len(pattern) and pattern[i] in "!^"
    if negated:
        i += 1
    out = ""
    first = True
    while i < len(pattern) and (pattern[i] != "]" or first):
        first = False
        char = pattern[i]
        if char == "[" and pattern.startswith("[:", i) and (end := pattern.find(":]", i)) > 0:
            out += _POSIX.get(pattern[i + 2 : end], "")
            i = end + 2
            continue
        if char == "\\" and i + 1 < len(pattern):
            i += 1
            char = pattern[i]
        elif char == "-" and out and i + 1 < len(pattern) and pattern[i + 1] != "]":
            out += "-"
            i += 1
            continue
        out += re.escape(char)
        i += 1
    if i >= len(pattern) or not out:
        return None
    return (f"(?!/)[{'^' if negated else ''}{out}]", i + 1)


_WILDCARD = re.compile(r"[*?\[\\]")
_LONGEST = 16 << 10
"""Letters of a rule. Longer ones are none: a file that is something else, or made to keep somebody waiting."""
RULES_CAP = 1 << 20
"""Bytes of a file of rules; a larger one is none."""


def translate(pattern: str) -> str | None:
    """A glob of git as a regular expression; None for one that can match nothing.

    A star takes the nearest place where what follows it fits, and keeps to it: another one would leave less for the rest.
    Tried one after the other, a few stars in a row would take longer than anybody waits.
    """
    tail = ""
    parts: list[list[list[str]]] = [[[]]]
    """Between `**/`, each cut at its stars, letter by letter."""
    i = 0
    size = len(pattern)
    wildcard = _WILDCARD.search(pattern)
    first = wildcard.start() if wildcard is not None and "/" in pattern else -1
    while i < size:
        char = pattern[i]
        if char == "*":
            end = i
            while end < size and pattern[end] == "*":
                end += 1
            # Git compares what stands before the first wildcard by itself, so that the rest begins there.
            at_start = i == 0 or pattern[i - 1] == "/" or i == first
            if end - i >= 2 and at_start and end < size and pattern[end] == "/":
                parts.append([[]])
                end += 1
            elif end - i >= 2 and at_start and end == size:
                tail = ".*" if i == 0 or pattern[i - 1] != "/" else ".+"
            else:
                parts[-1].append([])
            i = end
            continue
        if char == "?":
            parts[-1][-1].append("[^/]")
        elif char == "[":
            bracket = _bracket(pattern, i)
            if bracket is None:
                return None
            parts[-1][-1].append(bracket[0])
            i = bracket[1]
            continue
        elif char == "\\":
            if i + 1 >= size:
                return None
            i += 1
            parts[-1][-1].append(re.escape(pattern[i]))
        else:
            parts[-1][-1].append(re.escape(char))
        i += 1
    out = _segments(parts[0], last=len(parts) == 1 and not tail)
    for number, part in enumerate(parts[1:], 2):
        last = number == len(parts)
        inner = _segments(part, last=last and not tail)
        out += f"(?:.*/)?{inner}" if last else f"(?>(?:.*?/)??{inner})"
    return out + tail


def _segments(pieces: list[list[str]], *, last: bool) -> str:
    """Pieces with a star between each two. `last`: the pattern ends with them."""
    out = pieces[0]
    for number, letters in enumerate(pieces[1:], 2):
        piece = "".join(letters)
        ends = last and number == len(pieces)
        out.append(f"[^/]*{piece}" if ends else f"(?>[^/]*?{piece})")
    return "".join(out)


def _parse_line(line: str) -> tuple[_Rule, str] | None:
    if line.startswith("#"):
        return None
    stripped = line.rstrip(" ")
    if stripped != line and stripped.endswith("\\") and (len(stripped) - len(stripped.rstrip("\\"))) % 2:
        stripped += " "
    line = stripped
    negated = line.startswith("!")
    if negated:
        line = line[1:]
    folders_only = line.endswith("/")
    if folders_only:
        line = line[:-1]
    if not line:
        return None
    if len(line) > _LONGEST:
        return None
    by_name = "/" not in line
    source = translate(line.removeprefix("/"))
    if source is None:
        return None
    try:
        regex = re.compile(source + r"\Z", re.DOTALL)
    except re.error:  # a reversed range like [z-a]: git's matcher finds nothing either
        return None
    return _Rule(negated, folders_only, by_name, regex), source


class RuleSet:
    """The rules of one file. `base` is the folder they are relative to: "" or "a/b/". `outer` is where the workspace
    lies below that folder's origin, for rules that come from above the workspace."""

    __slots__ = ("_any_name", "_any_path", "_outer", "_rules", "base", "text")

    def __init__(self, text: bytes, base: str = "", outer: str = "") -> None:
        self.base = base
        self.text = text
        self._outer = outer
        self._rules: list[_Rule] = []
        names: list[str] = []
        paths: list[str] = []
        if text.startswith(b"\xef\xbb\xbf"):
            text = text[3:]
        for raw in text.split(b"\n"):
            # A letter for each byte: git knows no others, so that `?` is not a letter of two bytes.
            parsed = _parse_line(raw.removesuffix(b"\r").decode("latin-1"))
            if parsed is not None:
                self._rules.append(parsed[0])
                (names if parsed[0].by_name else paths).append(f"(?:{parsed[1]})")
        # Most paths match nothing: one alternation of all rules says so in a single step.
        self._any_name = re.compile(f"(?:{'|'.join(names)})\\Z", re.DOTALL) if names else None
        self._any_path = re.compile(f"(?:{'|'.join(paths)})\\Z", re.DOTALL) if paths else None

    def __bool__(self) -> bool:
        return bool(self._rules)

    def match(self, path: str, name: str, is_dir: bool) -> bool | None:
        """True ignored, False named by a `!` rule, None not mentioned."""
        if not self._rules:
            return None
        relative = self._outer + path[len(self.base) :]
        if not relative.isascii():
            relative, name = _bytewise(relative), _bytewise(name)
        by_name = self._any_name is not None and self._any_name.match(name) is not None
        by_path = self._any_path is not None and self._any_path.match(relative) is not None
        if not by_name and not by_path:
            return None
        for rule in reversed(self._rules):
            if rule.folders_only and not is_dir:
                continue
            if rule.regex.match(name if rule.by_name else relative):
                return not rule.negated
        return None


def _bytewise(name: str) -> str:
    return os.fsencode(name).decode("latin-1")


Stack = tuple[RuleSet, ...]
"""Rule sets that apply in a folder, weakest first."""


def is_ignored(stack: Stack, path: str, name: str, is_dir: bool) -> bool:
    """Whether the stack ignores `path`, given that none of its parent folders is ignored."""
    for rules in reversed(stack):
        verdict = rules.match(path, name, is_dir)
        if verdict is not None:
            return verdict
    return False


class StateRules:
    """Answers for whole paths, with rule files read through `load` (folder "" or "a/b/" → text or None)."""

    def __init__(self, base: Stack, load: Callable[[str], bytes | None], roots: frozenset[str] = frozenset()):
        self._base = base
        self._load = load
        self._roots = roots
        """Folders (with a `/` at the end) that are repositories of their own: outer rules end there."""
        self._stacks: dict[str, tuple[Stack, bool]] = {}

    def _folder(self, folder: str) -> tuple[Stack, bool]:
        known = self._stacks.get(folder)
        if known is not None:
            return known
        if not folder:
            stack, ignored = self._base, False
        else:
            parent, _, name = folder[:-1].rpartition("/")
            stack, ignored = self._folder(parent + "/" if parent else "")
            ignored = ignored or is_ignored(stack, folder[:-1], name, True)
            if folder in self._roots:
                stack, ignored = self._base[:1], False  # it is in the state, so it was looked into
        text = self._load(folder)
        if text:
            stack = (*stack, RuleSet(text, folder))
        self._stacks[folder] = (stack, ignored)
        return stack, ignored

    def ignored(self, path: str, is_dir: bool = False) -> bool:
        parent, _, name = path.rpartition("/")
        stack, ignored = self._folder(parent + "/" if parent else "")
        return ignored or is_ignored(stack, path, name, is_dir)
