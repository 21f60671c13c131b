"""Comparisons of very many files are taken over in slices: checking ten thousand at once would stop the window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from PySide6.QtCore import QObject

from worldline.protocol.commands import Changes
from worldline.protocol.model import FileChange
from worldline.ui.slices import in_slices
from worldline.viewmodel.diff_files import by_path, is_by_path

PART = 500
"""Files in one step: 3 ms."""


def take_changes(owner: QObject, raw: Mapping[str, Any], done: Callable[[Changes], None]) -> None:
    """Call `done` with the changes that the engine sent, by their paths: at once when they are few; never when `owner` goes before."""
    files = raw.get("files") or []
    if len(files) <= PART:
        few = Changes.model_validate(raw)
        few.files = by_path(few.files)
        done(few)
        return
    changes = Changes.model_validate({**raw, "files": []})
    taken: list[FileChange] = []
    ordered = True

    def take(first: int) -> None:
        nonlocal ordered
        before = taken[-1].path if taken else ""
        part = list(map(FileChange.model_validate, files[first : first + PART]))
        ordered = ordered and is_by_path([change.path for change in part], before)
        taken.extend(part)

    def end() -> None:
        # The engine sends them in order; another one costs what it costs.
        done(changes.model_copy(update={"files": taken if ordered else by_path(taken)}))

    in_slices(owner, [*(partial(take, first) for first in range(0, len(files), PART)), end])
