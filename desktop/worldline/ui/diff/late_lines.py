"""Line counts of comparisons with very many files: asked for while their list is shown already."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from worldline.protocol.commands import Changes
from worldline.ui.diff.arriving import PART
from worldline.ui.session_state import SessionState
from worldline.ui.slices import in_slices
from worldline.viewmodel.diff_files import take_lines


class LateLines:
    """`done` is called with the changes once they have their numbers."""

    def __init__(self, state: SessionState, done: Callable[[Changes], None]) -> None:
        self._state = state
        self._done = done
        self._asked: set[tuple[str, str]] = set()

    def ask(self, pair: tuple[str, str], changes: Changes) -> None:
        if changes.counted or pair in self._asked:
            return
        self._asked.add(pair)

        def answered(result: dict[str, Any]) -> None:
            self._asked.discard(pair)
            files, lines = changes.files, result["files"]
            added = removed = 0

            def take(first: int) -> None:
                nonlocal added, removed
                more = take_lines(files[first : first + PART], lines)
                added, removed = added + more[0], removed + more[1]

            def end() -> None:
                changes.added, changes.removed, changes.counted = added, removed, True
                self._done(changes)

            in_slices(self._state, [*(partial(take, first) for first in range(0, len(files), PART)), end])

        # Refused when another comparison was asked for: it is asked again when this one is looked at again.
        params = {"a": pair[0], "b": pair[1]}
        self._state.request("line_counts", params, answered, lambda _error: self._asked.discard(pair))
