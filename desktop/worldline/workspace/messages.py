"""How a process and its helpers talk, seen from a helper: requests come by standard input, answers go to standard output.

A helper does little work many times, and threads cannot share that under one interpreter lock, while processes can.
Nothing of the rest of the program is imported by what runs in one: it starts in 10 ms.
"""

from __future__ import annotations

import marshal
import os

TYPE_CHECKING = False
if TYPE_CHECKING:  # these would take as long as all else of starting a helper
    from collections.abc import Callable
    from typing import Any

HEAD = 4
"""Bytes of the length before each message, big-endian."""
FORMAT = 2
"""Of `marshal`; one that writes equal values as equal bytes, whoever else holds them."""


def packed(message: Any) -> bytes:
    data = marshal.dumps(message, FORMAT)
    return len(data).to_bytes(HEAD, "big") + data


def _read(size: int) -> bytes:
    parts = []
    while size:
        part = os.read(0, size)
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def serve(answer_to: Callable[[Any], Any]) -> None:
    """Answer requests until there are no more: whoever asks has ended, or wants no helper any longer."""
    while True:
        try:
            request = marshal.loads(_read(int.from_bytes(_read(HEAD), "big")))
        except EOFError:
            return
        answer = packed(answer_to(request))
        while answer:
            answer = answer[os.write(1, answer) :]
