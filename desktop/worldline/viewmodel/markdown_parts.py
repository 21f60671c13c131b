"""Huge blocks of markdown in parts: a table of 2,000 rows, a list of 3,000 items, a paragraph of 300 KB.

Each part is laid out on its own, so that only the parts in sight cost anything, and while text streams in only the last
part is parsed again.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from markdown_it.token import Token

ROWS = 40
"""Rows of a table in one part."""
ITEMS = 40
"""Items of a list in one part."""
CHARS = 6_000
"""Characters of a paragraph in one part, about."""
CHAR_PX = 8
MAX_COLUMN_PX = 480
_LISTS = ("bullet_list_open", "ordered_list_open")
_LOOK = 2_000


@dataclass(frozen=True, slots=True)
class Opened:
    """A table or list whose beginning is frozen."""

    head: str = ""
    """Table: what must stand before the rest so that it is a table."""
    widths: tuple[int, ...] = ()
    """Table: widths of its columns in pixels, so that all parts stand in line."""


@dataclass(frozen=True, slots=True)
class Part:
    """Tokens to be rendered, and the line of the source at which they begin."""

    tokens: Sequence[Token]
    line: int
    opened: Opened | None = None
    """What must be known to go on from this part."""


def table_parts(block: Sequence[Token], lines: Sequence[str], known: Opened | None) -> list[Part]:
    """A table in parts with columns of fixed width; one part with columns as wide as they need when it is small.
    `known`: the table goes on from parts that are frozen; then its head is not shown again."""
    rows = _groups(block, "tr", 2)
    head, body = rows[0], rows[1:]
    if known is None and len(body) <= ROWS:
        return [Part(block, _line(block[0]))]
    if known is None:
        first = _line(block[0])
        known = Opened("".join(lines[first : first + 2]), _widths([head, *body[:ROWS]]))
        shown_head: list[Token] = [_of(block, "thead_open"), *head, _of(block, "thead_close")]
    else:
        shown_head = []
    total = sum(known.widths)
    parts = []
    for at in range(0, len(body), ROWS):
        some = body[at : at + ROWS]
        opened = _with(block[0], width=str(total))
        tokens = [opened, *(shown_head if at == 0 else []), _of(block, "tbody_open")]
        for number, row in enumerate(some):
            tokens += _sized(row, known.widths) if number == 0 else row
        tokens += [_of(block, "tbody_close"), block[-1]]
        if at == 0 and shown_head:
            place = tokens.index(head[0])
            tokens[place : place + len(head)] = _sized(head, known.widths)
        parts.append(
            Part(tokens, _line(some[0][0]) if not (at == 0 and shown_head) else _line(block[0]), known)
        )
    return parts


def list_parts(block: Sequence[Token], goes_on: bool) -> list[Part]:
    """A list in parts of some items, without a gap between them. `goes_on`: its first parts are frozen already."""
    items = _groups(block, "list_item", 1)
    if len(items) <= ITEMS and not goes_on:
        return [Part(block, _line(block[0]))]
    parts = []
    for at in range(0, len(items), ITEMS):
        some = items[at : at + ITEMS]
        style = ("margin-top:0px;" if at or goes_on else "") + (
            "margin-bottom:0px" if at + ITEMS < len(items) else ""
        )
        number = some[0][0].info if at and some[0][0].info.isdecimal() else ""
        opened = _with(block[0], start=number, style=style)
        tokens = [opened, *(token for item in some for token in item), block[-1]]
        parts.append(Part(tokens, _line(some[0][0]) if at else _line(block[0]), Opened()))
    return parts


def paragraph_cuts(source: str) -> list[int]:
    """Offsets at which a paragraph is cut: before a word that cannot be taken for the beginning of another block."""
    cuts: list[int] = []
    at = CHARS
    while at + CHARS // 2 < len(source):
        found = _cut(source, at)
        if found < 0:
            break
        cuts.append(found)
        at = found + CHARS
    return cuts


def _cut(source: str, at: int) -> int:
    end = min(len(source), at + _LOOK)
    for place in range(at, end):
        if source[place - 1].isspace() and source[place].isalpha():
            return place
    # One endless word: anywhere.
    return next((place for place in range(at, end) if source[place].isalpha()), -1)


def is_list(token: Token) -> bool:
    return token.type in _LISTS


def _line(token: Token) -> int:
    return (token.map or [0, 0])[0]


def _of(block: Sequence[Token], kind: str) -> Token:
    return next(token for token in block if token.type == kind)


def _with(token: Token, **attributes: str) -> Token:
    """A copy with more attributes: a part must not change its siblings."""
    copied = token.copy(attrs=dict(token.attrs))
    for name, value in attributes.items():
        if value:
            copied.attrSet(name, value)
    return copied


def _groups(block: Sequence[Token], name: str, level: int) -> list[list[Token]]:
    """The runs of tokens from `name`_open to `name`_close on this level."""
    found: list[list[Token]] = []
    inside: list[Token] | None = None
    for token in block:
        if token.level == level and token.type == f"{name}_open":
            inside = []
        if inside is not None:
            inside.append(token)
        if token.level == level and token.type == f"{name}_close" and inside is not None:
            found.append(inside)
            inside = None
    return found


def _cells(row: Sequence[Token]) -> list[Token]:
    return [token for token in row if token.type in ("th_open", "td_open")]


def _sized(row: Sequence[Token], widths: Sequence[int]) -> list[Token]:
    left = list(widths)
    return [
        _with(token, width=str(left.pop(0))) if token.type in ("th_open", "td_open") and left else token
        for token in row
    ]


def _widths(rows: Sequence[Sequence[Token]]) -> tuple[int, ...]:
    columns = len(_cells(rows[0]))
    widest = [3] * columns
    for row in rows:
        for at, token in enumerate(token for token in row if token.type == "inline"):
            if at < columns:
                widest[at] = max(widest[at], _columns(token.content))
    return tuple(min(MAX_COLUMN_PX, chars * CHAR_PX + 16) for chars in widest)


def _columns(text: str) -> int:
    """Width in characters; East Asian ones count twice."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
