"""The catalogue of the engine's sentences in one language: templates, and how a text is cut into sentences.

Apart from `engine_words`, because a window in English never needs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_PLACE = re.compile(r"\{(~?)(\w+)\}")
_BOUNDARY = re.compile(r"(?<=[.!?…])\s+")
_MOST_SENTENCES = 24
_DEEPEST = 4
"""Sentences within sentences; the engine makes two or three. What claims more is no text of ours."""


@dataclass(slots=True)
class Template:
    """`inner`: places that hold sentences. `words`: the longest fixed part, looked for before the pattern is tried."""

    source: str
    target: str
    inner: tuple[str, ...]
    words: str
    fixed: int
    patterns: dict[bool, re.Pattern[str]] = field(default_factory=dict)

    def match(self, text: str, strict: bool) -> re.Match[str] | None:
        """`strict`: no place may hold the end of one sentence and the beginning of the next."""
        if self.words not in text:
            return None
        pattern = self.patterns.get(strict)
        if pattern is None:
            pattern = self.patterns[strict] = re.compile(_regex(self.source, strict), re.DOTALL)
        return pattern.fullmatch(text)


Piece = tuple[str, str, bool]
"""Translation, English, whether it is known; one of the texts is empty."""


class Catalogue:
    """The templates of one language, in buckets by their first word."""

    def __init__(self, pairs: Mapping[str, str]) -> None:
        self._exact: dict[str, str] = {}
        self._buckets: dict[str, list[Template]] = {}
        for source, target in pairs.items():
            if _PLACE.search(source):
                template = _template(source, target)
                self._buckets.setdefault(_first_word(source), []).append(template)
            else:
                self._exact[source] = target
        for bucket in self._buckets.values():
            # The template with the most fixed text says most about the sentence.
            bucket.sort(key=lambda template: -template.fixed)

    def __len__(self) -> int:
        return len(self._exact) + sum(map(len, self._buckets.values()))

    def whole(self, text: str, strict: bool = False, depth: int = 0) -> str | None:
        """The translation when one template fits all of the text."""
        known = self._exact.get(text)
        if known is not None:
            return known
        # Reasons, which are no sentences. First: a place of the first one's template would take the rest for a name.
        if not text[:1].isupper() and (beside := self._beside(text, depth)):
            return beside
        for template in self._candidates(text):
            found = template.match(text, strict)
            if found is None:
                continue
            values = found.groupdict()
            said = {name: self._inside(values[name], depth + 1) for name in template.inner}
            if any(c.isalpha() for c in template.words) or any(said[n] != values[n] for n in said):
                return _filled(template.target, {**values, **said})
        return None

    def _candidates(self, text: str) -> Iterator[Template]:
        word = text.split(" ", 1)[0]
        yield from self._buckets.get(word, ())
        yield from self._buckets.get("", ())

    def _inside(self, text: str, depth: int) -> str:
        if depth > _DEEPEST:
            return text
        return self._beside(text, depth) or self.text(text, depth)

    def _beside(self, text: str, depth: int) -> str:
        """Reasons that stand beside each other: `A; B`. "" = not all of them are known."""
        parts = text.split("; ")
        if len(parts) > 1 and all(self.fits(part, depth) for part in parts):
            return "；".join(self.text(part, depth) for part in parts)
        return ""

    def text(self, text: str, depth: int = 0) -> str:
        """The text in this language as far as it is known. English stands apart by a space, Chinese needs none."""
        result, was_known = "", True
        for said, english, known in self._pieces(text, depth):
            space = "" if not result or (known and was_known) else " "
            result += space + (said if known else english)
            was_known = known
        return result

    def fits(self, text: str, depth: int = 0) -> bool:
        """Whether all of the text is known."""
        return all(known for _, _, known in self._pieces(text, depth))

    def _pieces(self, text: str, depth: int) -> list[Piece]:
        """The text in pieces. A sentence that is known by itself is never taken for the name in another one."""
        sentences = _BOUNDARY.split(text)
        if len(sentences) > _MOST_SENTENCES:
            return [("", text, False)]
        if len(sentences) > 1:
            strict = self._split(sentences, depth, strict=True)
            if all(known for _, _, known in strict):
                return strict
        return self._split(sentences, depth, strict=False)

    def _split(self, sentences: list[str], depth: int, *, strict: bool) -> list[Piece]:
        """At each place the longest run of sentences that one template fits."""
        pieces: list[Piece] = []
        at = 0
        while at < len(sentences):
            for end in range(len(sentences), at, -1):
                said = self.whole(" ".join(sentences[at:end]), strict, depth)
                if said is not None:
                    pieces.append((said, "", True))
                    at = end
                    break
            else:
                pieces.append(("", sentences[at], False))
                at += 1
        return pieces


def _filled(target: str, values: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda place: values[place[2]], target)


def _template(source: str, target: str) -> Template:
    parts = _PLACE.split(source)[::3]
    inner = tuple(name for mark, name in _PLACE.findall(source) if mark)
    return Template(source, target, inner, max(parts, key=len), sum(map(len, parts)))


def _regex(source: str, strict: bool) -> str:
    result, at, seen = "", 0, set[str]()
    for place in _PLACE.finditer(source):
        name = place[2]
        result += re.escape(source[at : place.start()])
        # A sentence that begins with a place must not swallow the sentences before it.
        part = r"(?:(?![.!?:] \w).)+?" if not result else r"(?:(?![.!?] [A-Z]).)+?" if strict else ".+?"
        result += f"(?P={name})" if name in seen else f"(?P<{name}>{part})"
        seen.add(name)
        at = place.end()
    return result + re.escape(source[at:])


def _first_word(source: str) -> str:
    """The first word when it is fixed and stands alone; "" when the template may begin with anything."""
    word, space, _ = source.partition(" ")
    return word if space and "{" not in word else ""
