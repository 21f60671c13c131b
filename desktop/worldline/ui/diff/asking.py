"""The difference of one file, asked for in pages: neither the engine nor the window stands still for a huge one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtWidgets import QWidget

from worldline.protocol.model import DiffRow, FileDiff
from worldline.ui.dialogs.base import while_open
from worldline.ui.session_state import SessionState
from worldline.ui.slices import in_slices

PAGE = 10_000
"""Rows in one answer: 20 ms for whoever writes or reads it."""
PART = 1_000
"""Rows that are taken over in one step: 5 ms."""


def ask_file_diff(
    state: SessionState,
    owner: QWidget,
    params: dict[str, Any],
    done: Callable[[FileDiff], None],
    refused: Callable[[dict[str, Any]], None] | None = None,
    wanted: Callable[[], bool] = lambda: True,
) -> None:
    """Call `done` once with all rows, or `refused`; neither of them when `owner` goes before. What is not `wanted` any
    more after a page is given up with `refused({})`."""
    rows: list[DiffRow] = []
    heads: list[FileDiff] = []

    def ask() -> None:
        page = {**params, "first_row": len(rows), "page": PAGE}
        state.request("file_diff", page, while_open(owner, answered), while_open(owner, stopped))

    def stopped(error: dict[str, Any]) -> None:
        if refused is not None:
            refused(error)

    def answered(result: dict[str, Any]) -> None:
        raw = result.get("rows") or []
        heads.append(FileDiff.model_validate({**result, "rows": []}))
        in_slices(owner, [*(partial(take, raw, at) for at in range(0, len(raw), PART)), turn_over])

    def take(raw: list[Any], at: int) -> None:
        rows.extend(map(DiffRow.model_validate, raw[at : at + PART]))

    def turn_over() -> None:
        if not heads[-1].more:
            done(heads[0].model_copy(update={"rows": rows, "more": False}))
        elif wanted():
            ask()
        else:
            stopped({})

    ask()
