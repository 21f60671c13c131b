"""The composer by keyboard and clipboard."""

from __future__ import annotations

import base64
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QImage,
    QInputMethodEvent,
    QKeySequence,
)
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from tests_support import measured
from worldline.ui.chat.chips import Chip
from worldline.ui.chat.composer import Composer
from worldline.ui.chat.pasting import packed
from worldline.ui.dropping import DropFrame


@pytest.fixture
def composer(qtbot: Any) -> Composer:
    widget = Composer()
    qtbot.addWidget(widget)
    widget.show()
    widget.edit.setFocus()
    qtbot.waitUntil(widget.edit.hasFocus)
    return widget


def sent(composer: Composer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    composer.send.connect(found.append)
    return found


def test_enter_sends_shift_enter_starts_a_line_and_the_text_stays_until_the_engine_has_it(
    composer: Composer,
) -> None:
    messages = sent(composer)
    QTest.keyClicks(composer.edit, "first")
    QTest.keyClick(composer.edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(composer.edit, "second")
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    assert (
        messages[0]["text"] == "first\nsecond"
        and messages[0]["when"] == "now"
        and messages[0]["mode"] == "plan"
    )
    assert composer.text() == "first\nsecond"
    composer.sent("first\nsecond")
    assert composer.text() == ""


def test_nothing_is_sent_when_nothing_is_written(composer: Composer) -> None:
    messages = sent(composer)
    QTest.keyClicks(composer.edit, "  ")
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    assert messages == []


def test_while_a_run_goes_on_enter_queues_and_ctrl_enter_interrupts(composer: Composer) -> None:
    messages = sent(composer)
    composer.set_running(True)
    QTest.keyClicks(composer.edit, "more")
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    QTest.keyClick(composer.edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert [one["when"] for one in messages] == ["next_step", "interrupt"]
    stops: list[bool] = []
    composer.stop.connect(lambda: stops.append(True))
    composer._stop.click()
    assert stops == [True]


def test_up_walks_back_from_an_empty_field_and_never_replaces_what_is_written(composer: Composer) -> None:
    composer.edit.history = ["one", "two"]
    QTest.keyClick(composer.edit, Qt.Key.Key_Up)
    QTest.keyClick(composer.edit, Qt.Key.Key_Up)
    assert composer.text() == "one"
    QTest.keyClick(composer.edit, Qt.Key.Key_Down)
    assert composer.text() == "two"
    composer.edit.set_text("mine")
    QTest.keyClick(composer.edit, Qt.Key.Key_Up)
    assert composer.text() == "mine"


def test_text_of_a_jump_goes_in_and_the_draft_is_one_up_away(composer: Composer) -> None:
    composer.edit.set_text("half a thought")
    composer.set_text("the old prompt")
    assert composer.text() == "the old prompt" and composer.edit.history[-1] == "half a thought"


def test_at_completes_a_file_by_keyboard(composer: Composer, qtbot: Any) -> None:
    asked: list[str] = []
    composer.complete.connect(asked.append)
    QTest.keyClicks(composer.edit, "see @pars")
    assert asked[-1] == "pars"
    composer.offer("par", ["late.py"])
    assert not composer.edit._list.isVisible()
    composer.offer("pars", ["src/parser.py", "tests/parser.py"])
    qtbot.waitUntil(composer.edit._list.isVisible)
    QTest.keyClick(composer.edit, Qt.Key.Key_Down)
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    assert composer.text() == "see @tests/parser.py "
    QTest.keyClicks(composer.edit, "mail a@b")
    assert asked[-1] != "b"
    composer.edit._list.hide()


def test_pasted_images_become_chips_and_are_sent(composer: Composer, qtbot: Any) -> None:
    messages = sent(composer)
    image = QImage(3000, 1000, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.red)
    data = QMimeData()
    data.setImageData(image)
    composer.edit.insertFromMimeData(data)
    # It is made ready beside the window; what was to be sent with it follows then, once.
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    assert messages == [] and composer.edit.packer.pending == 1
    qtbot.waitUntil(lambda: len(messages) == 1, timeout=30_000)
    assert messages[0]["images"][0]["media_type"] == "image/png"
    assert composer._note.isHidden()
    composer._remove_image(0)
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    assert len(messages) == 1


def test_dropped_files_are_named(composer: Composer, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("x")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(file))])
    composer.edit.insertFromMimeData(data)
    assert composer.text() == f"@{file} "


def test_queued_messages_are_chips_that_can_be_taken_out(composer: Composer) -> None:
    edits: list[tuple[int, object]] = []
    composer.queue_edit.connect(lambda number, text: edits.append((number, text)))
    composer.set_queue([{"id": 7, "text": "and then this"}])
    chip = composer.chips.line.itemAt(0).widget()
    assert isinstance(chip, Chip)
    chip.close_button.click()
    assert edits == [(7, None)]
    assert composer.text() == "and then this", "what was written is not gone by a click"
    composer.set_queue([{"id": 8, "text": "another one"}])
    composer.chips.taken_out.emit(8)
    assert composer.text() == "and then this" and composer.edit.history[-1] == "another one"


def test_a_message_whose_run_broke_off_is_sent_by_its_own_button(composer: Composer) -> None:
    """It stood there with a cross, and nothing said how it would ever be sent."""
    sent: list[int] = []
    composer.queue_send.connect(sent.append)
    composer.set_running(True)
    composer.set_queue([{"id": 7, "text": "first"}, {"id": 8, "text": "second"}])

    def buttons() -> list[bool]:
        return [not chip.send_button.isHidden() for chip in composer.chips._chips]

    assert buttons() == [False, False], "after the run they are sent by themselves"
    composer.set_running(False)
    assert buttons() == [True, True]
    composer.chips._chips[1].send_button.click()
    assert sent == [8]


def test_chips_that_come_while_others_are_shown_are_seen_whole(composer: Composer, qtbot: Any) -> None:
    queue: list[dict[str, Any]] = []
    for number in range(3):
        queue.append({"id": number, "text": f"message {number}"})
        composer.set_queue(list(queue))
        qtbot.waitUntil(lambda: all(chip.isVisible() for chip in composer.chips.findChildren(Chip)))
        chips = [chip for chip in composer.chips.findChildren(Chip) if chip.isVisible()]
        assert len(chips) == number + 1
        assert composer.chips.viewport().height() >= max(chip.sizeHint().height() for chip in chips)


def test_a_button_of_a_queued_message_is_not_taken_from_under_the_pointer(composer: Composer) -> None:
    composer.set_running(True)
    composer.set_queue([{"id": 7, "text": "and then this"}])
    out: list[int] = []
    composer.queue_edit.connect(lambda number, _text: out.append(number))
    button = composer.chips.findChildren(Chip)[0].close_button
    button.setFocus()
    QTest.mousePress(button, Qt.MouseButton.LeftButton)
    composer.set_running(True)  # as each status says
    assert button.hasFocus()
    QTest.mouseRelease(button, Qt.MouseButton.LeftButton)
    assert out == [7]


def test_the_keyboard_stays_with_the_message_when_a_button_that_has_it_goes_off(
    composer: Composer, qtbot: Any
) -> None:
    composer.choices.set_models([{"id": "m", "name": "M"}], "m")
    composer.edit.set_text("hello")
    QTest.mouseClick(composer._go, Qt.MouseButton.LeftButton)
    composer.sent("hello")
    assert composer.edit.hasFocus()
    composer.set_running(True)
    composer._stop.setFocus()
    composer.set_context(70)
    assert composer._stop.hasFocus(), "nothing of what it does has changed"
    composer.set_running(False)
    assert composer.edit.hasFocus()


def test_the_field_grows_with_its_text_up_to_a_limit(composer: Composer) -> None:
    low = composer.edit.height()
    composer.edit.set_text("\n".join("line" for _ in range(8)))
    higher = composer.edit.height()
    composer.edit.set_text("\n".join("line" for _ in range(80)))
    assert low < higher < composer.edit.height() < 400


def test_a_read_only_session_says_why_and_sends_nothing(composer: Composer) -> None:
    messages = sent(composer)
    composer.edit.set_text("text")
    composer.set_read_only("Open in another window.")
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    assert messages == [] and composer.edit.placeholderText() == "Open in another window."
    composer.edit.set_text("text of a jump")
    assert not composer._go.isEnabled()
    composer.set_read_only("")
    assert composer._go.isEnabled()


def test_a_message_that_waited_for_a_run_that_broke_off_is_sent_by_the_same_button(
    composer: Composer,
) -> None:
    sent: list[int] = []
    composer.queue_send.connect(sent.append)
    composer.set_running(True)
    composer.set_queue([{"id": 7, "text": "and then this"}])
    assert not composer._go.isEnabled()
    composer.set_running(False)
    assert composer._go.isEnabled()
    composer._go.click()
    assert sent == [7]


def test_a_mode_that_was_chosen_stays_until_the_session_has_another(composer: Composer) -> None:
    composer.choices.set_mode("ask")
    composer.choices.mode.set_value("work")
    composer.choices.set_mode("ask")
    assert composer.choices.mode.value == "work"
    composer.choices.set_mode("plan")
    assert composer.choices.mode.value == "plan"


def compose(composer: Composer, text: str, commit: str = "") -> None:
    """What an input method sends: a word in the making, or the word it has become."""
    event = QInputMethodEvent(text, [])
    if commit:
        event.setCommitString(commit)
    QApplication.sendEvent(composer.edit, event)


def test_enter_takes_the_word_of_an_input_method_and_does_not_send(composer: Composer) -> None:
    messages = sent(composer)
    QTest.keyClicks(composer.edit, "a ")
    compose(composer, "zhongwen")
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Up, Qt.Key.Key_Escape, Qt.Key.Key_Tab):
        QTest.keyClick(composer.edit, key)
    QTest.keyClick(composer.edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert messages == [] and composer.text() == "a " and composer.edit.hasFocus()
    compose(composer, "", "中文")
    assert composer.text() == "a 中文" and messages == []
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    assert [one["text"] for one in messages] == ["a 中文"]


def test_at_completes_names_with_spaces_and_without_ascii(composer: Composer, qtbot: Any) -> None:
    asked: list[str] = []
    composer.complete.connect(asked.append)
    compose(composer, "", "看看@文")
    assert asked[-1] == "文"
    composer.offer("文", ["文档/说明 一.md"])
    qtbot.waitUntil(composer.edit._list.isVisible)
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    assert composer.text() == '看看@"文档/说明 一.md" '
    composer.edit.clear()
    QTest.keyClicks(composer.edit, "@my")
    composer.offer("my", ["my folder/"])
    QTest.keyClick(composer.edit, Qt.Key.Key_Tab)
    assert composer.text() == '@"my folder/' and asked[-1] == "my folder/"
    composer.offer("my folder/", ["my folder/a b.txt"])
    QTest.keyClick(composer.edit, Qt.Key.Key_Tab)
    assert composer.text() == '@"my folder/a b.txt" '
    # A completion is one step back.
    composer.edit.undo()
    assert composer.text() == '@"my folder/'


def test_text_wins_over_a_picture_of_itself_and_a_picture_without_text_is_one(composer: Composer) -> None:
    image = QImage(20, 20, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.blue)
    cells = QMimeData()
    cells.setText("a\tb\n1\t2\n")
    cells.setImageData(image)
    composer.edit.insertFromMimeData(cells)
    assert composer.text() == "a\tb\n1\t2\n" and composer._images == []
    shot = QMimeData()
    shot.setImageData(image)
    composer.edit.insertFromMimeData(shot)
    nothing = QMimeData()
    nothing.setImageData(QImage())
    composer.edit.insertFromMimeData(nothing)
    assert len(composer._images) == 1


def test_a_picture_too_large_for_the_service_is_packed_tighter() -> None:
    noise = QImage(os.urandom(1500 * 1500 * 4), 1500, 1500, QImage.Format.Format_RGB32)
    kind, data = packed(noise)
    assert kind == "image/jpeg" and len(data) < 5_000_000
    assert packed(QImage()) == ("", "")


def test_a_screenshot_is_sent_sharp_and_small() -> None:
    """It would be sent again with every request: 7 MB as it lies in memory, and a JPEG blurs what is written in it."""
    shot = QImage(1500, 1400, QImage.Format.Format_RGB32)
    shot.fill(Qt.GlobalColor.white)
    for y in range(0, 1400, 14):
        for x in range(0, 1500, 3):
            shot.setPixel(x, y, 0xFF000000 | (x * y))
    kind, data = packed(shot)
    assert kind == "image/png" and len(data) < 1_000_000


def drop(composer: Composer, *files: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(file)) for file in files])
    where = composer.edit.viewport().rect().center()
    actions, buttons, keys = (
        Qt.DropAction.CopyAction,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    viewport = composer.edit.viewport()
    enter = QDragEnterEvent(where, actions, data, buttons, keys)
    QApplication.sendEvent(viewport, enter)
    assert enter.isAccepted()
    let_go = QDropEvent(QPointF(where), actions, data, buttons, keys)
    QApplication.sendEvent(viewport, let_go)
    assert let_go.isAccepted()


def test_the_composer_says_what_would_come_of_what_is_dragged_over_it(
    composer: Composer, tmp_path: Path
) -> None:
    def over(**what: Any) -> str:
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(tmp_path / name)) for name in what.get("files", [])])
        if "text" in what:
            data.setText(what["text"])
        where, keys = composer.edit.viewport().rect().center(), Qt.KeyboardModifier.NoModifier
        event = QDragEnterEvent(where, Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, keys)
        QApplication.sendEvent(composer.edit.viewport(), event)
        return next((one.words for one in composer.findChildren(DropFrame) if one.isVisible()), "")

    assert over(files=["a.py"]) == over(files=["a.py", "b.png"]) == "Let go to name it in the message"
    assert over(files=["b.png", "c.JPG"]) == "Let go to attach it"
    assert over(text="some words") == "Let go to put the text here"
    QApplication.sendEvent(composer.edit.viewport(), QDragLeaveEvent())
    assert not any(one.isVisible() for one in composer.findChildren(DropFrame))
    over(files=["a.py"])
    drop(composer, tmp_path / "a.py")
    assert not any(one.isVisible() for one in composer.findChildren(DropFrame))
    composer.set_read_only("Open elsewhere.")
    assert over(files=["a.py"]) == ""


def test_a_file_of_the_persons_own_folder_is_named_as_in_the_copy_the_agent_has(
    composer: Composer, tmp_path: Path
) -> None:
    """They drop what they see; the agent may not even read there."""
    own, copy = tmp_path / "shop", tmp_path / "worktree"
    for folder in (own, copy):
        (folder / "src").mkdir(parents=True)
        (folder / "src" / "a.py").write_text("x")
    (own / "left behind").write_text("x")
    composer.edit.root, composer.edit.opened = str(copy), str(own)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(own / "src/a.py")), QUrl.fromLocalFile(str(own / "left behind"))])
    composer.edit.insertFromMimeData(data)
    assert composer.text() == f'@src/a.py @"{own}/left behind" '


def test_files_are_dropped_where_the_pointer_is_and_named_from_the_folder(
    composer: Composer, tmp_path: Path
) -> None:
    composer.edit.root = str(tmp_path)
    (tmp_path / "my dir").mkdir()
    inside, outside = tmp_path / "my dir" / "a b.txt", tmp_path.parent / "other.txt"
    picture = tmp_path / "p.png"
    image = QImage(9, 9, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.green)
    image.save(str(picture))
    composer.edit.set_text("see")
    drop(composer, inside, outside, picture)
    assert composer.text() == f'see @"my dir/a b.txt" @{outside} '
    assert len(composer._images) == 1
    composer.edit.undo()
    assert composer.text() == "see"


def test_megabytes_of_paste_are_kept_beside_the_field_and_sent_whole(composer: Composer) -> None:
    messages = sent(composer)
    QTest.keyClicks(composer.edit, "what is this")
    for text in ("some words of a paste\n" * 250_000, "x" * 5_000_000):
        data = QMimeData()
        data.setText(text)
        begun = time.thread_time()
        composer.edit.insertFromMimeData(data)
        QApplication.processEvents()
        QTest.keyClicks(composer.edit, "?")
        measured("seconds of a paste and a key", time.thread_time() - begun, 0.5)
        assert composer.text().startswith("what is this?") and len(composer.text()) < 20
        QTest.keyClick(composer.edit, Qt.Key.Key_Return)
        assert messages[-1]["text"] == f"{composer.text()}\n\n{text}"
        # Undo takes the paste away as long as nothing was written since.
        QTest.keyClick(composer.edit, Qt.Key.Key_Backspace)
        composer._remove_text(0)
        QTest.keyClick(composer.edit, Qt.Key.Key_Return)
        assert messages[-1]["text"] == composer.text().strip()
        composer.edit.insertFromMimeData(data)
        QTest.keySequence(composer.edit, QKeySequence.StandardKey.Undo)
        assert composer._texts == [] and composer.text()
    composer.edit.insertFromMimeData(data)
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    composer.sent(messages[-1]["text"])
    assert composer.text() == "" and composer._texts == [] and composer.edit.history[-1].startswith("what is")


def test_what_is_pasted_or_walked_to_can_be_undone(composer: Composer) -> None:
    QTest.keyClicks(composer.edit, "mine ")
    data = QMimeData()
    data.setText("pasted\nlines")
    composer.edit.insertFromMimeData(data)
    assert composer.text() == "mine pasted\nlines"
    composer.edit.undo()
    assert composer.text() == "mine "
    composer.set_text("the words of the node gone to")
    composer.edit.undo()
    assert composer.text() == "mine "


def test_up_in_a_wrapped_message_of_the_history_moves_the_cursor_first(composer: Composer) -> None:
    composer.resize(300, 200)
    QApplication.processEvents()
    composer.edit.history = ["one", "words that are wrapped " * 10]
    QTest.keyClick(composer.edit, Qt.Key.Key_Up)
    QTest.keyClick(composer.edit, Qt.Key.Key_Up)
    assert composer.text() == composer.edit.history[1]
    for _ in range(20):
        QTest.keyClick(composer.edit, Qt.Key.Key_Up)
    assert composer.text() == "one"


def test_pictures_keep_their_order_and_their_sides(composer: Composer, tmp_path: Path, qtbot: Any) -> None:
    names = ("large.png", "small.png")
    for name, size in zip(names, (2_000, 20), strict=True):
        image = QImage(size, size, QImage.Format.Format_RGB32)
        image.fill(Qt.GlobalColor.darkGreen)
        assert image.save(str(tmp_path / name))
    broken = tmp_path / "broken.png"
    broken.write_bytes((tmp_path / "large.png").read_bytes()[:60])
    fifo = tmp_path / "pipe.png"
    os.mkfifo(fifo)
    composer.edit.set_text("look")
    messages = sent(composer)
    drop(composer, *(tmp_path / name for name in names), broken)
    composer._send("now")
    qtbot.waitUntil(lambda: composer.edit.packer.pending == 0, timeout=30_000)
    # It was to go with all three.
    assert not messages and composer._note.text() == "broken.png cannot be read as a picture."
    composer.edit.clear()
    composer._images.clear()
    drop(composer, *(tmp_path / name for name in names), fifo)
    qtbot.waitUntil(lambda: composer.edit.packer.pending == 0, timeout=30_000)
    widths = [QImage.fromData(base64.b64decode(one["data"])).width() for one in composer._images]
    assert widths == [1568, 20]
    # A pipe is named like any other file, and never read.
    assert composer.text() == f"@{fifo} "


def test_pictures_that_cannot_be_made_ready_hold_up_no_message(
    composer: Composer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qtbot: Any
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    messages = sent(composer)
    composer.edit.set_text("look")
    for size in (2_000, 20):
        image = QImage(size, size, QImage.Format.Format_RGB32)
        image.fill(Qt.GlobalColor.darkGreen)
        composer.edit.packer.take(image)
        composer._send("now")
        qtbot.waitUntil(lambda: composer.edit.packer.pending == 0, timeout=30_000)
        assert composer._note.text() == "The picture cannot be made ready: No such file or directory"
        composer._send("now")
        assert len(messages) == (1 if size == 2_000 else 3) and not messages[-1]["images"]


def test_many_pictures_and_messages_leave_the_composer_as_wide_as_it_was(composer: Composer) -> None:
    for number in range(20):
        composer.add_image("image/png", f"{number:04}")
    composer.set_queue([{"id": number, "text": "a message that waits " * 4} for number in range(10)])
    composer.layout().activate()
    assert composer.minimumSizeHint().width() < 600
    assert composer.chips.line.count() == 31


def test_a_drop_is_never_taken_for_a_move(composer: Composer, tmp_path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path))])
    actions = Qt.DropAction.CopyAction | Qt.DropAction.MoveAction
    left, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    viewport = composer.edit.viewport()
    where = viewport.rect().center()
    enter = QDragEnterEvent(where, actions, data, left, keys)
    enter.setDropAction(Qt.DropAction.MoveAction)
    QApplication.sendEvent(viewport, enter)
    let_go = QDropEvent(QPointF(where), actions, data, left, keys)
    let_go.setDropAction(Qt.DropAction.MoveAction)
    QApplication.sendEvent(viewport, let_go)
    assert let_go.isAccepted() and let_go.dropAction() == Qt.DropAction.CopyAction
