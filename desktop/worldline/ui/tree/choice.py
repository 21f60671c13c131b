"""The nodes that the person has chosen for Compare."""

from __future__ import annotations

from collections.abc import Callable

from worldline.ui.session_state import SessionState
from worldline.ui.tree.painter import Scene
from worldline.viewmodel.tree_model import NO_ROW

MOST = 4
"""As many as Compare has columns."""


class Choice:
    """Shown by the scene, told to the session. `changed` is called when the scene is to be painted again."""

    def __init__(self, state: SessionState, scene: Scene, changed: Callable[[], object]) -> None:
        self._state = state
        self._scene = scene
        self._changed = changed
        self._last = NO_ROW
        """Where a range begins."""

    def toggle(self, row: int) -> None:
        """Add a node, or take it out; four at most, the oldest gives way."""
        row = self._end(row)
        chosen = list(self._scene.chosen)
        if not chosen and self._scene.current >= 0 and self._scene.current != row:
            chosen.append(self._scene.current)
        if row in chosen:
            chosen.remove(row)
        else:
            chosen.append(row)
            del chosen[:-MOST]
        self._last = row
        self._set(chosen)

    def pair(self, row: int) -> None:
        """The node that was chosen or stood on before, and this one."""
        row = self._end(row)
        start = self._last if self._last >= 0 else self._end(self._scene.focus_row())
        self._set([one for one in dict.fromkeys((start, row)) if one >= 0])

    def _end(self, row: int) -> int:
        """Steps that are folded stand for what they have come to, not for how they began."""
        items = self._scene.items
        return items.last_row(items.item(row)) if row >= 0 and items.is_folded(items.item(row)) else row

    def clear(self) -> None:
        self._set([])

    def _set(self, rows: list[int]) -> None:
        self._scene.chosen = rows
        self._state.choose([self._state.tree.uid(row) for row in rows])
        self._changed()
