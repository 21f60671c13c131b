"""Finding words in the lines of a diff."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from worldline.protocol.model import DiffRow

MOST = 5_000
"""Places that are looked for at most."""


class Hit(NamedTuple):
    row: int
    """Index of the line."""
    start: int
    end: int


def find(rows: Sequence[DiffRow], words: str) -> list[Hit]:
    """Where the words stand in the lines, from above to below. Large and small letters are the same, unless the words have
    a large one."""
    if not words.strip():
        return []
    pattern = re.compile(re.escape(words), 0 if any(map(str.isupper, words)) else re.IGNORECASE)
    found: list[Hit] = []
    for at, row in enumerate(rows):
        if row.kind in "@\\":
            continue
        for place in pattern.finditer(row.text):
            found.append(Hit(at, *place.span()))
            if len(found) == MOST:
                return found
    return found
