"""A difference that comes in pages."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QWidget

from worldline.protocol.model import FileDiff
from worldline.ui.diff.asking import PAGE, PART, ask_file_diff

ROWS = [{"kind": "+", "old": 0, "new": n, "text": f"line {n}", "author": ""} for n in range(2 * PAGE + 5)]


class Asked:
    """Answers like the engine, when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[tuple[dict[str, Any], Any, Any]] = []

    def request(self, method: str, params: dict[str, Any], answered: Any, refused: Any) -> None:
        assert method == "file_diff"
        self.waiting.append((params, answered, refused))

    def answer(self) -> None:
        params, answered, _ = self.waiting.pop(0)
        first, end = params["first_row"], params["first_row"] + params["page"]
        answered({"change": {"path": "f", "status": "M"}, "rows": ROWS[first:end], "more": end < len(ROWS)})


def test_all_pages_make_one_difference_with_turns_of_the_loop_between(qtbot: Any) -> None:
    state: Any = Asked()
    owner = QWidget()
    qtbot.addWidget(owner)
    got: list[FileDiff] = []
    ask_file_diff(state, owner, {"path": "f"}, got.append)
    for _ in range(3):
        qtbot.waitUntil(lambda: bool(state.waiting))
        assert not got
        state.answer()
    qtbot.waitUntil(lambda: bool(got))
    assert [row.new for row in got[0].rows] == list(range(len(ROWS))) and not got[0].more
    assert PART < PAGE and not state.waiting


def test_what_is_not_wanted_any_more_is_given_up(qtbot: Any) -> None:
    state: Any = Asked()
    owner = QWidget()
    qtbot.addWidget(owner)
    refused: list[dict[str, Any]] = []
    ask_file_diff(state, owner, {"path": "f"}, lambda _: None, refused.append, lambda: False)
    state.answer()
    qtbot.waitUntil(lambda: refused == [{}])
    assert not state.waiting
    # The window that asked has gone: nothing is done, and nothing fails.
    gone = QWidget()
    ask_file_diff(state, gone, {"path": "f"}, refused.append)
    gone.deleteLater()
    del gone
    qtbot.wait(1)
    state.answer()
    assert refused == [{}]
