"""Private keys in a text, whole or cut off, also while the text comes in.

A key that has its end is masked up to there. Of one that has none (a file cut by a limit, a line of code that only names the
beginning) the lines that look like a key are, and what else stands there is not: it would be gone for ever. That is kept up
for as many characters as no real key has, whatever stands between: a key must not get out in pieces.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MOST = 131_072
"""Characters of the longest key that is reckoned with; one of RSA with 16,384 bits has 13,000, one of PGP with many parts
some 50,000."""
HELD = 4096
"""Of a line that does not end so many are waited for."""

_AT_ONCE = 16_384

_HEADER = re.compile(r"-----BEGIN [A-Z0-9 ]{0,60}?PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d:")
_END = re.compile(r"-----END [A-Z0-9 ]{0,60}?PRIVATE KEY(?: BLOCK)?-----|Private-MAC: [0-9a-f]+")
_OPENS = re.compile(r"(?:-----BEGIN [A-Z0-9 ]{0,80}-{0,5}|PuTTY-User-Key-File-\d?)\Z")
_HEADS = ("-----BEGIN ", "PuTTY-User-Key-File-")
_BREAK = re.compile(r"\r?\n|(?:\\r)?\\n")
"""Between lines; keys in JSON and in variables have theirs written out."""
_DECORATION = re.compile(r"(?:[\s>|*#\"',`+-]|\^I)*(?:\d{1,7}(?:[:|\t→ ]|\^I)+)?[\s\"',]*")
"""Also what `cat -A` makes of tabs; and below, of the ends of lines."""
_AFTER = "\"',;\\ \t)`$"
_FIELD = re.compile(
    r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|Key-ID|Encryption|Public-Lines|Private-Lines|Private-Hash"
    r"|Key-Derivation|Argon2-\w+|X-[\w-]+): .*|ssh-[\w-]+|ecdsa-[\w-]+"
)
_CHUNK = re.compile(r"[A-Za-z0-9+/=]+")
_CHUNKS = re.compile(r"[A-Za-z0-9+/=]+(?: +[A-Za-z0-9+/=]+)*")
_WORD = re.compile(r"[A-Z]?[a-z]{0,14}|[A-Z]{2,11}|\d{1,6}")
"""What no line of a key is, but for its last one now and then."""
_PART = re.compile(r"[A-Za-z0-9+/=]{16,}")

Segment = tuple[bool, str]
"""(whether it is of a key, text)."""


def spans(text: str) -> list[tuple[int, int]]:
    """Where keys are in a whole text, in order."""
    found: list[tuple[int, int]] = []
    at = 0
    while (head := _HEADER.search(text, at)) is not None:
        again = _HEADER.search(text, head.end(), head.end() + MOST)
        end = _END.search(text, head.end(), again.start() if again is not None else head.end() + MOST)
        if end is not None:
            found.append((head.start(), end.end()))
            at = end.end()
            continue
        # Up to the next one, which may have an end.
        stop = again.start() if again is not None else min(len(text), head.end() + MOST)
        lines = KeyFilter()
        place = head.start()
        for is_key, part in [*lines.feed(text[place:stop]), *lines.finish()]:
            if is_key and part:
                if found and found[-1][1] == place:
                    found[-1] = (found[-1][0], place + len(part))
                else:
                    found.append((place, place + len(part)))
            place += len(part)
        at = stop
    return found


@dataclass(slots=True)
class KeyFilter:
    """Of one running text: tells what is of a key. All that was fed comes out again in order, the end of it later."""

    _held: str = ""
    _left: int = 0
    """Characters in which lines of a key are looked for; 0 = no key has begun."""
    _after_key: bool = False
    """The line before was of the key."""
    _blank: str = ""
    """What stood since then and says nothing by itself."""
    _inside: bool = False
    """In the middle of a line of the key that was too long to be waited for."""
    _out: list[Segment] = field(default_factory=list)

    def feed(self, piece: str) -> list[Segment]:
        for at in range(0, len(piece), _AT_ONCE):  # each line cuts off from what is held
            self._held += piece[at : at + _AT_ONCE]
            while self._held and (self._step_in_key() if self._left else self._step()):
                pass
        return self._taken()

    def finish(self) -> list[Segment]:
        """The rest, at the end of the text."""
        while self._held:
            if self._left:
                text, self._held = self._held, ""
                self._line(text, "")
            elif not self._step():
                break
        self._out.append((False, self._blank + self._held))
        self._held = self._blank = ""
        return self._taken()

    def pass_over(self, text: str) -> None:
        """Text went by that is shown to nobody; a key may have begun or gone on in it."""
        self.feed(text)
        in_line = bool(self._held)
        self._held = self._blank = ""
        self._inside = bool(self._left) and in_line
        self._taken()

    def _taken(self) -> list[Segment]:
        out, self._out = self._out, []
        return [segment for segment in out if segment[1]]

    def _step(self) -> bool:
        """Outside of a key. False: more is needed."""
        head = _HEADER.search(self._held)
        if head is None:
            keep = _may_open(self._held)
            self._out.append((False, self._held[:keep]))
            self._held = self._held[keep:]
            return False
        self._out += [(False, self._held[: head.start()]), (True, head[0])]
        self._held = self._held[head.end() :]
        self._left, self._after_key, self._blank = MOST, True, ""
        return True

    def _step_in_key(self) -> bool:
        if self._inside:
            rest = re.match(r"[A-Za-z0-9+/= ]*", self._held)
            end = min(self._left, rest.end() if rest is not None else 0)
            self._out.append((True, self._held[:end]))
            self._left -= end
            self._held = self._held[end:]
            self._inside = not self._held and self._left > 0
            return True
        line = _BREAK.search(self._held)
        head = _HEADER.search(self._held, 0, line.start() if line is not None else len(self._held))
        if head is not None:
            if head.start():
                self._line(self._held[: head.start()], "")
            self._out.append((False, self._blank))
            self._held, self._left, self._blank = self._held[head.start() :], 0, ""
            return True
        if line is not None:
            text, self._held = self._held[: line.start()], self._held[line.end() :]
            self._line(text, line[0])
            return True
        if len(self._held) <= HELD:
            return False
        text, self._held = self._held, ""
        self._inside = self._is_key(text)
        self._line(text, "")
        self._inside = self._inside and self._left > 0
        return True

    def _is_key(self, line: str) -> bool:
        inner = _bare(line)
        words = inner.split() if _CHUNKS.fullmatch(inner) else []
        odd = sum(not _WORD.fullmatch(word) for word in words)
        return bool(words) and (2 * odd >= len(words) or (len(words) == 1 and self._after_key))

    def _line(self, line: str, end_of_line: str) -> None:
        self._left -= len(line) + len(end_of_line)
        closed = _END.search(line)
        if closed is not None:
            self._out += [(True, self._blank + line[: closed.end()])]
            # What follows is outside again, and looked at from its beginning.
            self._held = line[closed.end() :] + end_of_line + self._held
            self._left, self._blank = 0, ""
            return
        inner = _bare(line)
        if not inner or (self._after_key and _FIELD.fullmatch(inner)):
            self._blank += line + end_of_line
        elif self._is_key(line):
            self._out.append((True, self._blank + line))
            # One word alone may be its last line; a second one is not.
            self._after_key = _WORD.fullmatch(inner) is None
            self._blank = end_of_line
        else:
            self._other(line)
            self._out.append((False, end_of_line))
            self._after_key, self._blank = False, ""
        if self._left <= 0:
            self._out.append((False, self._blank))
            self._left, self._blank = 0, ""

    def _other(self, line: str) -> None:
        """A line that is none of a key, and may hold a part of one: at its beginning, right after the key, or long ones."""
        lead = _lead(line)
        first = _CHUNK.match(line, lead) if self._after_key else None
        at = 0
        if first is not None and not _WORD.fullmatch(first[0]):
            self._out.append((True, self._blank + line[: first.end()]))
            at = first.end()
        else:
            self._out.append((False, self._blank))
        for part in _PART.finditer(line, at):
            if _mixed(part[0]):
                self._out += [(False, line[at : part.start()]), (True, part[0])]
                at = part.end()
        self._out.append((False, line[at:]))


def _lead(line: str) -> int:
    found = _DECORATION.match(line)
    return found.end() if found is not None else 0


def _bare(line: str) -> str:
    """A line without what tools put round it: quotes, numbers, signs of a difference."""
    return line[_lead(line) :].rstrip(_AFTER).removesuffix("^M")


def _mixed(part: str) -> bool:
    return (
        any(c.islower() for c in part)
        and any(c.isupper() for c in part)
        and any(c in "0123456789+" for c in part)
    )


def _may_open(text: str) -> int:
    """From where on `text` may be the beginning of a key's first line."""
    opens = _OPENS.search(text)
    if opens is not None:
        return opens.start()
    longest = 0
    for head in _HEADS:
        for size in range(1, min(len(head), len(text)) + 1):
            if text.endswith(head[:size]):
                longest = max(longest, size)
    return len(text) - longest
