"""The scrolling chat: only what is in sight is made, streaming touches the tail, output stays bounded."""

from __future__ import annotations

import threading
import time
import tracemalloc
from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton

from tests_support import measured
from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeFlag, NodeKind, Outcome
from worldline.protocol.events import Delta
from worldline.protocol.model import Body, RunInfo
from worldline.ui import gallery_data as sample
from worldline.ui.chat.divider_rows import DividerRow, StopRow, divider_words
from worldline.ui.chat.message_rows import ReplyRow
from worldline.ui.chat.row_base import RowSignals
from worldline.ui.chat.tool_card import ToolCard
from worldline.ui.chat.view import ChatView
from worldline.ui.gallery import GALLERY
from worldline.ui.markdown.view import MarkdownView
from worldline.ui.theme import theme
from worldline.viewmodel import engine_words
from worldline.viewmodel.chat import ChatModel
from worldline.viewmodel.chat_rows import ChatRow, DividerKind, RowKind, divider_kind

from .looking import parts_on_screen, row_on_screen


def long_path(count: int) -> list[NodeHeader]:
    kinds = (NodeKind.USER, NodeKind.ASSISTANT, NodeKind.TOOL)
    return [
        NodeHeader(seq=at, uid=f"{at:016x}", parent=at - 1, kind=kinds[at % 3], created=at, preview=f"row {at}", size=at % 900,
                   outcome=Outcome.OK, tool="bash" if at % 3 == 2 else "")
        for at in range(1, count + 1)
    ]  # fmt: skip


def chat_view(qtbot: Any, *, hold: bool = False) -> ChatView:
    widget = ChatView(ChatModel())
    widget.resize(600, 500)
    qtbot.addWidget(widget)
    if hold:
        widget.hold()
    widget.show()
    return widget


@pytest.fixture
def view(qtbot: Any) -> ChatView:
    return chat_view(qtbot)


def running_tool(view: ChatView) -> NodeHeader:
    """A tool that runs, at the end of a short path that is shown."""
    tool = NodeHeader(seq=5, uid=f"{5:016x}", parent=4, kind=NodeKind.TOOL, created=5, preview="seq", tool="bash",
                      outcome=Outcome.RUNNING)  # fmt: skip
    view.model.set_path([*long_path(4), tool])
    return tool


@pytest.fixture
def held(qtbot: Any) -> ChatView:
    """As in a window that appears."""
    return chat_view(qtbot, hold=True)


def test_what_a_window_begins_with_is_made_row_by_row_and_seen_at_once(held: ChatView) -> None:
    view = held
    view.model.set_path(long_path(4_000))
    assert view.builds == 0 and view.empty.isHidden(), "nothing is made at once, and nobody is asked to begin"
    asked: list[list[str]] = []
    view.bodies_needed.connect(asked.append)
    steps = 0
    for step in view.appearing():
        before = view.builds
        assert not any(widget.isVisible() for widget in view.widgets()), "a part of it was seen"
        step()
        assert view.builds - before <= 1
        steps += 1
    assert steps == view.builds + 1 > 6
    seen = [widget for widget in view.widgets() if widget.isVisible()]
    assert len(seen) == view.builds and view.following
    assert row_on_screen(view, f"{4_000:016x}") in seen
    assert len(asked) == 1


def test_rows_that_come_while_the_first_ones_are_made_are_shown_with_them(held: ChatView) -> None:
    view = held
    view.model.set_path(long_path(40))
    steps = view.appearing()
    next(steps)()
    view.model.set_path(long_path(41))
    view.model.set_path(long_path(12))
    for step in steps:
        step()
    last = row_on_screen(view, f"{12:016x}")
    assert last is not None and last.isVisible()
    assert row_on_screen(view, f"{40:016x}") is None


class Beat(QObject):
    """The longest pause between two turns of the event loop, in processor time of this thread: a busy machine is
    not our fault, a blocked loop is."""

    def __init__(self) -> None:
        super().__init__()
        self.worst = 0.0
        self._last = time.thread_time()
        self._timer = QTimer(self, interval=5)
        self._timer.timeout.connect(self._tick)
        self._timer.start()

    def _tick(self) -> None:
        now = time.thread_time()
        self.worst = max(self.worst, now - self._last)
        self._last = now


def test_ten_thousand_rows_make_a_screenful_of_widgets(view: ChatView) -> None:
    view.model.set_path(long_path(10_000))
    assert 3 <= len(view.widgets()) <= 40
    bar = view.verticalScrollBar()
    for value in range(bar.maximum(), 0, -bar.maximum() // 30):
        bar.setValue(value)
    assert len(view.widgets()) <= 60
    assert view.builds < 900


def test_bodies_are_asked_for_once_and_only_for_what_is_seen(view: ChatView) -> None:
    asked: list[str] = []
    view.bodies_needed.connect(asked.extend)
    view.model.set_path(long_path(2_000))
    assert 0 < len(asked) < 60 and len(asked) == len(set(asked))
    view.model.set_bodies([Body(uid=asked[0], kind="user", message={"role": "user", "content": "a\n" * 30})])
    view.bodies_arrived(asked[:1])
    view.flush()
    assert asked.count(asked[0]) == 1


def test_the_result_of_a_step_that_has_ended_is_asked_for_at_once(view: ChatView) -> None:
    """Its card keeps its height, and nothing else happens: nobody scrolls, no other row comes."""
    tool = running_tool(view)
    view.model.set_bodies(
        [Body(uid=tool.uid, kind="tool", call={"name": "bash", "input": {"command": "ls"}})]
    )
    view.bodies_arrived([tool.uid])
    view.flush()
    asked: list[str] = []
    view.bodies_needed.connect(asked.extend)
    view.model.node_changed(replace(tool, outcome=Outcome.OK, finished=6))
    view.bodies_arrived([tool.uid])
    view.flush()
    assert asked == [tool.uid]


def test_it_opens_at_the_end_follows_new_text_and_stays_when_the_person_scrolled_up(view: ChatView) -> None:
    view.model.set_path(long_path(300))
    bar = view.verticalScrollBar()
    assert bar.value() == bar.maximum() and view.following
    view.model.deltas([Delta(run="r", turn=1, block=0, kind="text", text="line\n\n" * 40)])
    view.flush()
    assert bar.value() == bar.maximum()
    bar.setValue(bar.maximum() // 2)
    top = view._anchor()
    view.model.deltas([Delta(run="r", turn=1, block=0, kind="text", text="line\n\n" * 40)])
    view.flush()
    assert view._anchor() == top and not view.following
    QTest.keyClick(view, Qt.Key.Key_End)
    assert view.following


def test_what_is_read_stays_in_place_while_rows_above_get_their_real_height(view: ChatView) -> None:
    view.model.set_path(long_path(400))
    view.verticalScrollBar().setValue(view.verticalScrollBar().maximum() // 2)
    key, _ = view._anchor()
    before = row_on_screen(view, key)
    assert before is not None
    y = before.y()
    above = [row.uid for row in view.model.rows[: view.model.index_of(key)]][-30:]
    view.model.set_bodies(
        [
            Body(uid=uid, kind="assistant", message={"role": "assistant", "content": "x\n\n" * 20})
            for uid in above
        ]
    )
    view.flush()
    after = row_on_screen(view, key)
    assert after is not None and abs(after.y() - y) <= 1


def test_500_deltas_a_second_touch_only_the_tail(view: ChatView) -> None:
    view.model.set_path(long_path(50))
    builds = view.builds
    beat = Beat()
    words = "Some words that come in one after another, with `code` and *more*.\n\n"
    sent = 0
    pieces: list[int] = []
    for _ in range(100):
        batch = [
            Delta(run="r", turn=1, block=0, kind="text", text=words[(sent + n) % len(words)])
            for n in range(8)
        ]
        sent += len(batch)
        view.model.deltas(batch)
        QTest.qWait(16)
        row = row_on_screen(view, "live:r:1")
        if isinstance(row, ReplyRow):
            pieces.append(len(parts_on_screen(row._view)))
    view.flush()
    assert view.builds - builds <= 60, "streaming must not make rows again"
    row = row_on_screen(view, "live:r:1")
    assert isinstance(row, ReplyRow)
    first = parts_on_screen(row._view)[0]
    view.model.deltas([Delta(run="r", turn=1, block=0, kind="text", text="\n\nanother paragraph")])
    view.flush()
    assert parts_on_screen(row._view)[0] is first
    measured("seconds of the longest turn", beat.worst, 0.2)


def test_a_markdown_stream_with_tables_keeps_the_loop_alive(view: ChatView) -> None:
    """gui-005: 60,000 characters in 3,000 chunks, 20 tables."""
    view.model.set_path(long_path(5))
    table = (
        "| "
        + " | ".join(f"column {n}" for n in range(14))
        + " |\n"
        + "|---" * 14
        + "|\n"
        + ("| cell " * 14 + "|\n") * 6
    )
    text = "".join(
        f"Part {n}\n\n```py\nfor x in range({n}):\n    print(x)\n```\n\n{table}\n\n" + "words " * 190 + "\n\n"
        for n in range(20)
    )
    step = max(1, len(text) // 3000)
    beat = Beat()
    for number, at in enumerate(range(0, len(text), step)):
        view.model.deltas([Delta(run="r", turn=1, block=0, kind="text", text=text[at : at + step])])
        if number % 8 == 0:
            QApplication.processEvents()
            QTest.qWait(1)
    view.flush()
    row = row_on_screen(view, "live:r:1")
    assert isinstance(row, ReplyRow) and row._view.text() == text
    measured("seconds of the longest turn", beat.worst, 0.1)


def test_200_000_lines_of_output_stay_bounded(view: ChatView) -> None:
    """gui-001: a tail, a live loop, bounded memory, and a stop button that answers."""
    tool = running_tool(view)
    stop = QPushButton("Stop")
    clicked: list[float] = []
    stop.clicked.connect(lambda: clicked.append(time.perf_counter()))
    beat = Beat()
    tracemalloc.start()
    for start in range(0, 200_000, 500):
        view.model.tool_output(tool.uid, "".join(f"{n}\n" for n in range(start, start + 500)))
        if start % 10_000 == 0:
            QTest.qWait(1)
        if start == 100_000:
            pressed = time.perf_counter()
            QTest.mouseClick(stop, Qt.MouseButton.LeftButton)
    grown = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    view.flush()
    assert clicked
    measured("seconds until the button answered", clicked[0] - pressed, 0.2)
    assert grown < 150_000_000
    measured("seconds of the longest turn", beat.worst, 0.2)
    card = row_on_screen(view, tool.uid)
    assert isinstance(card, ToolCard) and card._code is not None
    assert card._code.lines()[-1].text == "199999" and len(card._code.lines()) <= 2000


class Source(QObject):
    said = Signal(str, int)


def test_messages_of_four_threads_are_each_shown_once_and_in_order(view: ChatView) -> None:
    """gui-007: queued signals into one slot, no shared last value."""
    tool = running_tool(view)
    source = Source()
    shown: list[tuple[str, int]] = []

    def take(name: str, number: int) -> None:
        shown.append((name, number))
        view.model.tool_output(tool.uid, f"{name}{number}\n")

    source.said.connect(take, Qt.ConnectionType.QueuedConnection)

    def speak(name: str) -> None:
        for number in range(1000):
            source.said.emit(name, number)

    threads = [threading.Thread(target=speak, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    QApplication.processEvents()
    view.flush()
    assert len(shown) == 4000 and len(set(shown)) == 4000
    for name in "abcd":
        assert [number for who, number in shown if who == name] == list(range(1000))
    output = view.model.row(tool.uid)
    assert output is not None and output.output is not None and output.output.total == 4000


def test_unfolding_a_card_shows_its_output_and_keeps_it_unfolded_after_scrolling_away(view: ChatView) -> None:
    view.model.set_path(long_path(200))
    card = next(widget for widget in view.widgets() if isinstance(widget, ToolCard))
    key = card.row.key
    body = Body(
        uid=key, kind="tool", call={"name": "bash", "input": {"command": "ls"}}, detail={"output": "one\ntwo"}
    )
    view.model.set_bodies([body])
    view.flush()
    height = card.height()
    QTest.mouseClick(card._toggle, Qt.MouseButton.LeftButton)
    assert card.height() > height
    view.verticalScrollBar().setValue(0)
    for value in range(0, view.verticalScrollBar().maximum(), 300):
        view.verticalScrollBar().setValue(value)
    view.show_key(key)
    again = row_on_screen(view, key)
    assert isinstance(again, ToolCard) and again.is_open


def test_approval_question_and_offers_speak_through_signals(view: ChatView, qtbot: Any) -> None:
    view.resize(600, 1600)
    view.model.set_path(sample.path())
    view.model.set_bodies(sample.bodies())
    view.model.run_changed(sample.run_stopped(), ["go_on", "backtrack"])
    view.model.approval_asked(sample.approval())
    view.model.question_asked(sample.question())
    view.follow()

    def button(text: str) -> QPushButton:
        return next(b for w in view.widgets() for b in w.findChildren(QPushButton) if b.text() == text)

    with qtbot.waitSignal(view.signals.offer) as offered:
        button("Go back and fork").click()
    assert offered.args == ["r2", "backtrack"]
    with qtbot.waitSignal(view.signals.approve) as approved:
        button("Deny").click()
    assert approved.args[0]["decision"] == "deny" and approved.args[0]["digest"] == sample.approval().digest
    row = row_on_screen(view, "question:q1")
    assert row is not None
    row._form._group.buttons()[1].click()  # type: ignore[attr-defined]
    with qtbot.waitSignal(view.signals.answer) as answered:
        button("Answer").click()
    assert answered.args[0] == {"id": "q1", "choices": ["Backslash"], "text": ""}


def test_replies_are_still_there_in_another_theme(qtbot: Any) -> None:
    view = GALLERY["chat"]()
    qtbot.addWidget(view)
    view.show()
    qtbot.waitExposed(view)
    QApplication.processEvents()  # what is shown is styled, and measured as it is then

    def heights() -> list[int]:
        shown = [part for part in view.findChildren(MarkdownView) if part.isVisible()]
        return [part.height() for part in sorted(shown, key=lambda part: part.mapTo(view, part.pos()).y())]

    before = heights()
    assert len(before) >= 3 and min(before) > 15
    try:
        theme().set_name("dark")
        QApplication.processEvents()
        assert heights() == before
    finally:
        theme().set_name("light")


@pytest.mark.parametrize(
    ("kind", "words"), [(NodeKind.EXTERNAL_CHANGE, "Files were changed"), (NodeKind.JUMP, "what changed")]
)
def test_of_what_a_command_in_the_background_may_have_changed_it_is_not_said_that_it_is_yours(
    kind: NodeKind, words: str
) -> None:
    detail = {"paths": ["a"], "commands": ["npm run dev"]}
    node = NodeHeader(1, "a" * 16, 0, kind, 0, "before the jump: 1 file changed", files=1)
    row = ChatRow("s", RowKind.DIVIDER, node, Body(uid="a" * 16, kind=kind.value, detail=detail))
    row.divider = divider_kind(kind)
    said = divider_words(row)[2]
    assert words in said and "while `npm run dev` ran in the background: by it or by you" in said
    assert "your edits" not in said and "from outside" not in said
    engine_words.use("zh_CN")
    try:
        assert "发生在 `npm run dev` 于后台运行期间，由它或由你所为" in divider_words(row)[2]
    finally:
        engine_words.use("en")


def test_what_was_not_captured_is_listed_with_its_reason(qtbot: Any) -> None:
    detail = {"not_captured": [{"path": "n/.git", "reason": "its history is not copied: it is larger than 2048 MB"},
                               {"path": "pipe_x", "reason": "is a named pipe"}]}  # fmt: skip
    start = NodeHeader(1, "a" * 16, 0, NodeKind.ROOT, 0, "")
    row = ChatRow("s", RowKind.DIVIDER, start, Body(uid="a" * 16, kind="root", detail=detail))
    row.divider = DividerKind.START
    divider = DividerRow(row, RowSignals())
    qtbot.addWidget(divider)
    assert "2" in divider._button.text() and divider._summary is None
    divider._button.click()
    assert divider._summary is not None
    assert (
        r"n/.git: its history is not copied" in divider._summary_text()
        and r"pipe\_x" in divider._summary_text()
    )
    tool = NodeHeader(
        2, "b" * 16, 1, NodeKind.TOOL, 0, "", outcome=Outcome.OK, flags=NodeFlag.PARTLY_CAPTURED, tool="bash"
    )
    body = Body(
        uid="b" * 16, kind="tool", call={"name": "bash", "input": {"command": "mkfifo pipe_x"}}, detail=detail
    )
    card = ToolCard(ChatRow("t", RowKind.TOOL, tool, body), RowSignals())
    qtbot.addWidget(card)
    assert "pipe_x: is a named pipe" in card._note_words() and "⚠ 2 not captured" in card._fact_words()
    found = NodeHeader(3, "c" * 16, 1, NodeKind.EXTERNAL_CHANGE, 0, "", flags=NodeFlag.PARTLY_CAPTURED)
    row = ChatRow("e", RowKind.DIVIDER, found, Body(uid="c" * 16, kind="external_change", detail=detail))
    row.divider = DividerKind.EXTERNAL_CHANGE
    divider = DividerRow(row, RowSignals())
    qtbot.addWidget(divider)
    assert divider._summary is not None and r"pipe\_x" in divider._summary_text()


def test_what_is_worth_knowing_of_captured_files_is_listed(qtbot: Any) -> None:
    clash = "case_collision: another name here differs only by case"
    detail = {"not_captured": [], "remarks": [{"path": "ONE", "reason": clash}]}
    start = NodeHeader(1, "a" * 16, 0, NodeKind.ROOT, 0, "")
    row = ChatRow("s", RowKind.DIVIDER, start, Body(uid="a" * 16, kind="root", detail=detail))
    row.divider = DividerKind.START
    divider = DividerRow(row, RowSignals())
    qtbot.addWidget(divider)
    assert divider._button.text() == "1 remark(s) on the files"
    divider._button.click()
    assert divider._summary_text() == "* ONE: another name here differs only by case"
    tool = NodeHeader(2, "b" * 16, 1, NodeKind.TOOL, 0, "", outcome=Outcome.OK, tool="bash")
    body = Body(uid="b" * 16, kind="tool", call={"name": "bash", "input": {"command": "x"}}, detail=detail)
    card = ToolCard(ChatRow("t", RowKind.TOOL, tool, body), RowSignals())
    qtbot.addWidget(card)
    assert "ONE: another name here differs only by case" in card._note_words()


def test_all_lines_of_a_card_can_be_had(qtbot: Any) -> None:
    """A file of a thousand lines that was read is no output that is kept apart: the card has all of it."""
    tool = NodeHeader(2, "b" * 16, 1, NodeKind.TOOL, 0, "", outcome=Outcome.OK, tool="read")
    body = Body(
        uid="b" * 16,
        kind="tool",
        call={"name": "read", "input": {"path": "a.py"}},
        detail={"output": "\n".join(map(str, range(1000)))},
    )
    signals = RowSignals()
    card = ToolCard(ChatRow("t", RowKind.TOOL, tool, body), signals)
    qtbot.addWidget(card)

    def lines() -> int:
        return len(card._code.lines()) if card._code is not None and not card._code.isHidden() else 0

    card._flip()
    assert lines() == 300 and card._more.text().startswith("700 more line")
    card._more.click()
    assert lines() == 1000 and card._more.isHidden()
    card._flip()
    card._flip()
    assert lines() == 300


def test_a_start_without_files_says_so_and_why(qtbot: Any) -> None:
    start = NodeHeader(1, "a" * 16, 0, NodeKind.ROOT, 0, "", flags=NodeFlag.NOT_CAPTURED)
    body = Body(uid="a" * 16, kind="root", detail={"not_captured_why": "No space left on device"})
    row = ChatRow("s", RowKind.DIVIDER, start, body)
    row.divider = DividerKind.START
    divider = DividerRow(row, RowSignals())
    qtbot.addWidget(divider)
    assert "could not be captured" in divider._label.text()
    divider._button.click()
    assert "No space left on device" in divider._summary_text()


def test_what_was_seen_of_a_broken_connection_is_not_put_into_the_mouth_of_the_service(qtbot: Any) -> None:
    def said(reason: str, words: str) -> str:
        run = RunInfo(uid="r", prompt="", started=0, ended=1, stop_reason=reason, api_said=words)
        row = StopRow(ChatRow("s", RowKind.STOP, run=run), RowSignals())
        qtbot.addWidget(row)
        return row._said.text()

    assert said("network_error", "no answer within 5 s") == "What happened: no answer within 5 s"
    assert said("overloaded", "Overloaded") == "The service said: Overloaded"


@pytest.mark.parametrize(
    ("preview", "said"),
    [
        ("before the jump: 2 files changed", "Saved before a jump: your edits are kept here"),
        ("took a.py from make both: 1 file changed", "Took a.py from make both: 1 file changed"),
        ("before a file was taken over: 1 file changed", "Before a file was taken over: 1 file changed"),
    ],
)
def test_what_was_saved_and_what_was_taken_are_told_apart(preview: str, said: str, qtbot: Any) -> None:
    node = NodeHeader(2, "b" * 16, 1, NodeKind.JUMP, 0, preview)
    row = ChatRow("j", RowKind.DIVIDER, node)
    row.divider = DividerKind.JUMP
    divider = DividerRow(row, RowSignals())
    qtbot.addWidget(divider)
    assert divider._label.text() == said
