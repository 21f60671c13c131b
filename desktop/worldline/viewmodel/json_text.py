"""JSON to be read, in pieces: a request of megabytes is written while it is shown. No Qt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from json.encoder import encode_basestring

PIECE = 16_000
"""Characters of a piece, about: a few milliseconds of work."""
_STEP = 2


def pieces(value: object) -> Iterator[str]:
    """`json.dumps(value, ensure_ascii=False, indent=2)` of something that JSON was read into, piece by piece. None is much
    longer than `PIECE`, also where one text in it is."""
    held: list[str] = []
    size = 0
    for token in _tokens(value, "\n"):
        held.append(token)
        size += len(token)
        if size >= PIECE:
            yield "".join(held)
            held.clear()
            size = 0
    if held:
        yield "".join(held)


def _tokens(value: object, line: str) -> Iterator[str]:
    """`line`: the line break, with the indent of what holds this."""
    if isinstance(value, str):
        yield from _string(value)
    elif isinstance(value, dict) and value:
        inner = line + " " * _STEP
        before = "{" + inner
        for key, one in value.items():
            yield f"{before}{encode_basestring(str(key))}: "
            yield from _tokens(one, inner)
            before = "," + inner
        yield line + "}"
    elif isinstance(value, list | tuple) and value:
        inner = line + " " * _STEP
        before = "[" + inner
        for one in value:
            yield before
            yield from _tokens(one, inner)
            before = "," + inner
        yield line + "]"
    else:
        yield json.dumps(value)


def _string(text: str) -> Iterator[str]:
    if len(text) <= PIECE:
        yield encode_basestring(text)
        return
    yield '"'
    for at in range(0, len(text), PIECE):
        yield encode_basestring(text[at : at + PIECE])[1:-1]
    yield '"'
