"""Markdown split into pieces that are drawn apart: prose, code, tables. Finished pieces of a stream stay as they are."""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a message. `prose` and `table` carry HTML of the rich-text subset, `code` its plain text."""

    kind: Literal["prose", "code", "table"]
    text: str
    language: str = ""
    source: str = ""


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    # Raw HTML of a model is text to be shown, never markup to be obeyed.
    return MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])


def pieces(text: str) -> list[Piece]:
    """All pieces of a whole message."""
    return [piece for piece, _ in _split(text)]


def _split(text: str) -> list[tuple[Piece, int]]:
    """Pieces with the line at which each begins."""
    parser = _parser()
    tokens = parser.parse(text)
    lines = text.splitlines(keepends=True)
    out: list[tuple[Piece, int]] = []
    start = 0
    while start < len(tokens):
        end = _block_end(tokens, start)
        block = tokens[start : end + 1]
        first, last = block[0].map or [0, 0]
        source = "".join(lines[first:last])
        if block[0].type in ("fence", "code_block"):
            piece = Piece("code", block[0].content.rstrip("\n"), block[0].info.strip().split(" ")[0], source)
        else:
            kind: Literal["prose", "table"] = "table" if block[0].type == "table_open" else "prose"
            piece = Piece(kind, parser.renderer.render(block, parser.options, {}), "", source)
        out.append((piece, first))
        start = end + 1
    return out


def _block_end(tokens: list[Token], start: int) -> int:
    depth = 0
    for at in range(start, len(tokens)):
        depth += tokens[at].nesting
        if depth == 0:
            return at
    return len(tokens) - 1


class MarkdownStream:
    """A growing message. Only the last block is parsed again when text comes in: everything before it is frozen."""

    def __init__(self) -> None:
        self.frozen: list[Piece] = []
        self.open: list[Piece] = []
        self._text = ""
        self._from = 0

    def set_text(self, text: str) -> int:
        """The whole text as it is now; returns how many pieces are the same as before. A text that does not
        continue the last one starts anew."""
        if not text.startswith(self._text[: self._from]) or len(text) < self._from:
            self.frozen.clear()
            self._from = 0
        same = len(self.frozen)
        self._text = text
        split = _split(text[self._from :])
        if len(split) > 1:
            line = split[-1][1]
            tail = text[self._from :].splitlines(keepends=True)
            self.frozen += [piece for piece, _ in split[:-1]]
            self._from += sum(len(part) for part in tail[:line])
        self.open = [split[-1][0]] if split else []
        return same

    @property
    def pieces(self) -> list[Piece]:
        return self.frozen + self.open


def plain_html(text: str) -> str:
    """Text as it is, for people's own words: line breaks and spaces kept, no markup."""
    return html.escape(text).replace("\n", "<br>").replace("  ", " &nbsp;")
