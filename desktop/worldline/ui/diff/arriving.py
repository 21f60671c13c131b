"""Comparisons of very many files are taken over in slices: checking ten thousand at once would stop the window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from PySide6.QtCore import QObject

from worldline.protocol.commands import Changes
from worldline.protocol.model import FileChange
from worldline.ui.slices import in_slices

PART = 500
"""Files in one step: 3 ms."""


def take_changes(owner: QObject, raw: Mapping[str, Any], done: Callable[[Changes], None]) -> None:
    """Call `done` with the changes that the engine sent: at once when they are few; never when `owner` goes before."""
    files = raw.get("files") or []
    if len(files) <= PART:
        done(Changes.model_validate(raw))
        return
    changes = Changes.model_validate({**raw, "files": []})
    taken: list[FileChange] = []

    def take(first: int) -> None:
        taken.extend(map(FileChange.model_validate, files[first : first + PART]))

    def end() -> None:
        done(changes.model_copy(update={"files": taken}))

    in_slices(owner, [*(partial(take, first) for first in range(0, len(files), PART)), end])
