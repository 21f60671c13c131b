"""Markdown split into pieces that are drawn apart: prose, code, tables. Finished pieces of a stream stay as they are."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

from worldline.viewmodel.markdown_parts import Opened, is_list, list_parts, paragraph_cuts, table_parts

_LONG = 10_000
"""Characters from which on a paragraph is cut."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a message. `prose` and `table` carry HTML of the rich-text subset, `code` its plain text."""

    kind: Literal["prose", "code", "table"]
    text: str
    language: str = ""
    source: str = ""
    width: int = 0
    """Part of a large table: it is laid out in this many pixels. 0 = as wide as it needs."""


@dataclass(frozen=True, slots=True)
class _Found:
    piece: Piece
    at: int
    """Offset in the text at which the piece begins."""
    opened: Opened | None = None
    """What must be known to go on from this piece."""


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    # Raw HTML of a model is text to be shown, never markup to be obeyed.
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    parser.add_render_rule("image", _image)
    return parser


def _image(_renderer: Any, tokens: Sequence[Token], at: int, _options: Any, _env: Any) -> str:
    """A picture is named and not shown: the address is the model's choice, and a text that is only read must neither
    open files of this computer (a device would never end) nor tell a server that it was read."""
    address = str(tokens[at].attrs.get("src", ""))
    name, place = html.escape(tokens[at].content or address), html.escape(address)
    if address.startswith(("https://", "http://")):
        return f'<a href="{place}">▣ {name}</a>'
    return f"▣ {name}" if name == place else f"▣ {name} ({place})"


def pieces(text: str) -> list[Piece]:
    """All pieces of a whole message."""
    return [found.piece for found in _split(text)]


def _split(text: str, opened: Opened | None = None) -> list[_Found]:
    """The pieces of a text. `opened`: it goes on with this table or list."""
    head = opened.head if opened is not None else ""
    tokens = _parser().parse(head + text)
    _tick(tokens)
    # Only line feeds end a line for the parser; str.splitlines knows others.
    lines = (head + text).split("\n")
    lines = [f"{line}\n" for line in lines[:-1]] + lines[-1:]
    offsets = [at - len(head) for at in accumulate(map(len, lines), initial=0)]
    out: list[_Found] = []
    start = 0
    while start < len(tokens):
        end = _block_end(tokens, start)
        goes_on = opened if start == 0 else None
        out += _block(tokens[start : end + 1], lines, offsets, goes_on)
        start = end + 1
    return out


_BOXES = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}


def _tick(tokens: Sequence[Token]) -> None:
    """Boxes of a list of things to do, which are no markdown of the standard."""
    for item, inside, words in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if item.type != "list_item_open" or inside.type != "paragraph_open" or not words.children:
            continue
        first = words.children[0]
        if first.type == "text" and first.content[:4] in _BOXES:
            first.content = _BOXES[first.content[:4]] + first.content[4:]


def _block(
    block: Sequence[Token], lines: Sequence[str], offsets: Sequence[int], opened: Opened | None
) -> list[_Found]:
    first, last = block[0].map or [0, 0]
    kind = block[0].type
    if kind in ("fence", "code_block"):
        source = "".join(lines[first:last])
        language = block[0].info.strip().split(" ")[0]
        return [
            _Found(Piece("code", block[0].content.rstrip("\n"), language, source), max(0, offsets[first]))
        ]
    if kind == "paragraph_open":
        source = "".join(lines[first:last])
        if len(source) > _LONG:
            return _paragraphs(source, offsets[first])
    if kind == "table_open":
        parts = table_parts(block, lines, opened)
    elif is_list(block[0]):
        parts = list_parts(block, opened is not None)
    else:
        return [_Found(_piece("prose", block, "".join(lines[first:last])), max(0, offsets[first]))]
    found = []
    for number, part in enumerate(parts):
        end = parts[number + 1].line if number + 1 < len(parts) else last
        source = "".join(lines[part.line : end])
        width = sum(part.opened.widths) if part.opened is not None else 0
        piece = _piece("table" if kind == "table_open" else "prose", part.tokens, source, width)
        found.append(_Found(piece, max(0, offsets[part.line]), part.opened if number or opened else None))
    return found


def _piece(kind: Literal["prose", "table"], tokens: Sequence[Token], source: str, width: int = 0) -> Piece:
    parser = _parser()
    return Piece(kind, parser.renderer.render(tokens, parser.options, {}), "", source, width)


def _paragraphs(source: str, at: int) -> list[_Found]:
    """A huge paragraph, cut at words: emphasis that reaches over a cut is lost, which nobody sees in such a text."""
    found = []
    cuts = [0, *paragraph_cuts(source), len(source)]
    for start, end in pairwise(cuts):
        text = source[start:end]
        tokens = _parser().parse(text)
        if end < len(source) and tokens and tokens[0].type == "paragraph_open":
            tokens[0].attrSet("style", "margin-bottom:0px")
        found.append(_Found(_piece("prose", tokens, text), max(0, at + start)))
    return found


def _block_end(tokens: list[Token], start: int) -> int:
    depth = 0
    for at in range(start, len(tokens)):
        depth += tokens[at].nesting
        if depth == 0:
            return at
    return len(tokens) - 1


class MarkdownStream:
    """A growing message. Only its last piece is parsed again when text comes in: everything before it is frozen."""

    def __init__(self) -> None:
        self.frozen: list[Piece] = []
        self.open: list[Piece] = []
        self._head = ""
        """The text of the frozen pieces."""
        self._opened: Opened | None = None

    def set_text(self, text: str) -> int:
        """The whole text as it is now; returns how many pieces are the same as before. A text that does not
        continue the last one starts anew."""
        if not text.startswith(self._head):
            self.frozen.clear()
            self._head = ""
            self._opened = None
        same = len(self.frozen)
        start = len(self._head)
        found = _split(text[start:], self._opened)
        if len(found) > 1:
            self.frozen += [one.piece for one in found[:-1]]
            self._head = text[: start + found[-1].at]
            self._opened = found[-1].opened
        self.open = [found[-1].piece] if found else []
        return same

    @property
    def pieces(self) -> list[Piece]:
        return self.frozen + self.open


def plain_html(text: str) -> str:
    """Text as it is, for people's own words: line breaks and spaces kept, no markup."""
    return html.escape(text).replace("\n", "<br>").replace("  ", " &nbsp;")
