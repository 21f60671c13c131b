"""Output for a terminal: what a model, a file or a session says must not steer it.

An escape sequence in a reply or in a title can clear the screen, rewrite what was shown above, or fill the clipboard; a
direction mark makes a name look like another one. On a terminal they are spelled out, as `\\u001b`, which is what they are in
JSON too. Into a pipe or a file everything goes as it is: a patch must apply, and programs read the rest.
"""

from __future__ import annotations

import re
import sys
from typing import Any, TextIO, cast

_STEERS = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|\r(?!\n)"
)


def spelled(text: str) -> str:
    """With everything spelled out that a terminal would obey. Line ends and tabs stay."""
    return _STEERS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class Terminal:
    """A text stream that is a terminal, written to in harmless letters; everything else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(spelled(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guard() -> None:
    """From now on, for both streams of this process, where they are terminals."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, Terminal) and stream.isatty():
            setattr(sys, name, cast(TextIO, Terminal(stream)))
