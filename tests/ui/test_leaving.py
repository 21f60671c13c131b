"""What is asked before a branch is left, what the offers at the end of a run do, and the first start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QDialog, QPushButton, QWidget

from tests_support import PATIENCE_S
from worldline.core.kinds import NodeKind
from worldline.protocol.model import JumpPlan
from worldline.ui.chat.pane import ChatPane
from worldline.ui.dialogs.desk import Desk
from worldline.ui.dialogs.first_start import FirstStartDialog
from worldline.ui.dialogs.settings import SettingsDialog
from worldline.ui.dialogs.small import BranchSummaryDialog, LossyDialog
from worldline.ui.session_state import SessionState
from worldline.viewmodel.plan import left_behind, summarised_on_the_way

from . import full, sample


@pytest.fixture
def asked() -> list[tuple[str, dict[str, Any]]]:
    return []


@pytest.fixture
def state(tmp_path: Path, qtbot: Any, asked: list[tuple[str, dict[str, Any]]]) -> Iterator[SessionState]:
    session = full.open_state(tmp_path, qtbot)
    send = session.client.request

    def listen(method: str, params: Any = None, *more: Any) -> None:
        asked.append((method, dict(params or {})))
        send(method, params, *more)

    session.client.request = listen  # type: ignore[method-assign]
    yield session
    session.client.stop_and_wait(PATIENCE_S)


@pytest.fixture
def window(qtbot: Any) -> Iterator[QWidget]:
    """Held for the whole test: a dialog must not outlive the window that it belongs to."""
    made = QWidget()
    qtbot.addWidget(made)
    made.show()
    yield made


@pytest.fixture
def desk(state: SessionState, window: QWidget, qtbot: Any) -> Desk:
    desk = Desk(state, window)
    qtbot.waitUntil(lambda: bool(desk.leaving.settings), timeout=5000)
    return desk


def opened(kind: type[QDialog], parent: QWidget) -> Any:
    return next((one for one in parent.findChildren(kind) if one.isVisible()), None)


def jumps(asked: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    return [params for method, params in asked if method == "jump"]


def test_what_is_left_behind_is_counted_from_where_the_ways_part(state: SessionState) -> None:
    tree, here = state.tree, state.cursor_row()
    assert left_behind(tree, here, tree.row(sample.uid(13))) == 11
    assert left_behind(tree, tree.row(sample.uid(20)), here) == 0, "going on leaves nothing behind"
    assert not summarised_on_the_way(tree, here, tree.row(sample.uid(13)))


def test_without_a_wish_a_click_just_goes(desk: Desk, state: SessionState, asked: Any, qtbot: Any) -> None:
    with qtbot.waitSignal(state.jumped):
        state.go(sample.uid(13))
    assert [one["summary"] for one in jumps(asked)] == ["none"]


def test_the_person_is_asked_for_a_summary_and_their_answer_goes_with_the_jump(
    desk: Desk, state: SessionState, asked: Any, qtbot: Any
) -> None:
    desk.leaving.settings["branch_summary"] = "ask"
    state.go(sample.uid(13))
    dialog = opened(BranchSummaryDialog, desk.window)
    assert dialog is not None and jumps(asked) == []
    dialog._own.setText("why the tokenizer failed")
    dialog._group.buttons()[2].setChecked(True)
    with qtbot.waitSignal(state.jumped):
        next(b for b in dialog.findChildren(QPushButton) if b.property("role") == "primary").click()
    assert [one["summary"] for one in jumps(asked)] == ["why the tokenizer failed"]


def test_cancelled_nothing_is_asked_of_the_engine(desk: Desk, state: SessionState, asked: Any) -> None:
    desk.leaving.settings["branch_summary"] = "ask"
    state.go(sample.uid(13))
    opened(BranchSummaryDialog, desk.window).reject()
    assert jumps(asked) == [] and not state.jumping


def test_always_passes_a_summary_on_without_asking(
    desk: Desk, state: SessionState, asked: Any, qtbot: Any
) -> None:
    desk.leaving.settings["branch_summary"] = "always"
    with qtbot.waitSignal(state.jumped):
        state.go(sample.uid(13))
    assert [one["summary"] for one in jumps(asked)] == ["auto"]


def test_a_place_that_the_model_knows_as_a_summary_only_is_warned_of(
    desk: Desk, state: SessionState, asked: Any, qtbot: Any
) -> None:
    row = state.tree.row(sample.uid(13))
    state.tree.kind[row] = list(NodeKind).index(NodeKind.COMPACTION)
    assert state.tree.kind_of(row) is NodeKind.COMPACTION
    plan = {"id": "p", "node": sample.uid(14), "entries": [], "files_back": 0, "stays": 0, "not_captured": 0,
            "lossy": "The first 9 messages are known as a summary.", "needs_confirmation": False}  # fmt: skip
    send = state.request

    def answer(method: str, params: Any = None, done: Any = None, failed: Any = None) -> None:
        if method == "jump_plan":
            done(plan)
        else:
            send(method, params, done, failed)

    state.request = answer  # type: ignore[method-assign]
    state.go(sample.uid(14))
    dialog = opened(LossyDialog, desk.window)
    assert dialog is not None and jumps(asked) == []
    with qtbot.waitSignal(state.jumped):
        dialog._go()
    assert len(jumps(asked)) == 1


@pytest.mark.parametrize(
    ("offer", "command", "params"),
    [
        ("go_on", "go_on", {"turns": 10}),
        ("retry", "go_on", {"turns": 0}),
        ("backtrack", "backtrack", {}),
        ("compact", "compact", {"instructions": ""}),
        ("drop_results", "compact", {"instructions": "", "how": "drop_results"}),
    ],
)
def test_the_offers_of_a_run_do_what_they_say(
    state: SessionState, asked: Any, qtbot: Any, offer: str, command: str, params: dict[str, Any]
) -> None:
    pane = ChatPane(state)
    qtbot.addWidget(pane)
    refused: list[dict[str, Any]] = []
    state.failed.connect(refused.append)
    pane.view.signals.offer.emit("run1", offer)
    assert (command, params) in asked
    # This engine knows none of them: a refusal is never silent.
    qtbot.waitUntil(lambda: bool(refused), timeout=5000)


@pytest.mark.parametrize(
    ("offer", "page"), [("settings", "model"), ("login", "key"), ("bigger_model", "model")]
)
def test_offers_open_the_part_of_the_settings_they_name(
    state: SessionState, qtbot: Any, offer: str, page: str
) -> None:
    pane = ChatPane(state)
    qtbot.addWidget(pane)
    pane.view.signals.offer.emit("run1", offer)
    dialog = opened(SettingsDialog, pane)
    assert list(dialog.pages)[dialog.list.currentRow()] == page
    dialog.close()


def test_words_written_while_looking_elsewhere_go_there_first(
    state: SessionState, asked: Any, qtbot: Any
) -> None:
    pane = ChatPane(state)
    qtbot.addWidget(pane)
    pane.show()
    state.select(sample.uid(13))
    pane.composer.edit.set_text("try a tokenizer")
    with qtbot.waitSignal(state.run_ended, timeout=10_000):
        pane.composer.send.emit({"text": "try a tokenizer", "when": "now"})
    order = [method for method, _ in asked if method in ("jump", "prompt")]
    assert order == ["jump", "prompt"] and jumps(asked)[0]["node"] == sample.uid(13)


def test_words_are_not_sent_by_a_later_jump_when_the_first_was_given_up(
    state: SessionState, desk: Desk, asked: Any, qtbot: Any
) -> None:
    pane = ChatPane(state)
    qtbot.addWidget(pane)
    pane.show()
    there = sample.uid(13)
    state.select(there)
    pane.composer.edit.set_text("try a tokenizer")
    state.before_jump = lambda uid, request: True  # the person is asked first
    pane.composer.send.emit({"text": "try a tokenizer", "when": "now"})
    desk.show_plan(
        JumpPlan(
            id="p", node=there, entries=[], files_back=0, stays=0, not_captured=0, needs_confirmation=True
        ).model_dump(),
        {"node": there},
    )
    assert desk.plan_dialog is not None
    desk.plan_dialog.reject()
    state.before_jump = None
    with qtbot.waitSignal(state.jumped, timeout=10_000):
        state.go(there)
    qtbot.wait(50)
    assert [method for method, _ in asked if method in ("jump", "prompt")] == ["jump"]
    assert pane.composer.text() == "try a tokenizer", "it is still there to be sent"


def test_first_start_saves_a_server_through_the_engine(
    state: SessionState, window: QWidget, asked: Any, qtbot: Any
) -> None:
    from worldline.ui.dialogs.first_start import open_first_start

    dialog: FirstStartDialog = open_first_start(window, state)  # type: ignore[arg-type]
    dialog._ways.buttons()[2].setChecked(True)
    dialog._start()
    assert dialog.isVisible(), "an address is missing"
    dialog.base_url.setText("http://127.0.0.1:9")
    closed: list[int] = []
    dialog.finished.connect(closed.append)
    dialog._start()
    qtbot.waitUntil(lambda: bool(closed), timeout=5000)
    assert ("set_settings", {"values": {"base_url": "http://127.0.0.1:9"}}) in asked


def test_first_start_shows_why_a_key_cannot_be_saved(
    state: SessionState, window: QWidget, asked: Any, qtbot: Any
) -> None:
    from worldline.ui.dialogs.first_start import open_first_start

    dialog = open_first_start(window, state)  # type: ignore[arg-type]
    dialog._ways.buttons()[1].setChecked(True)
    dialog.secret.setText("sk-ant-x")
    dialog._start()
    assert ("set_credential", {"secret": "sk-ant-x"}) in asked
    qtbot.waitUntil(lambda: dialog._result.text().startswith("✗"), timeout=5000)
    assert dialog.isVisible()
    dialog.close()
