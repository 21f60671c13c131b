"""The composer by keyboard and clipboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest

from worldline.ui.chat.composer import Composer


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


def test_pasted_images_become_chips_and_are_sent(composer: Composer) -> None:
    messages = sent(composer)
    image = QImage(3000, 1000, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.red)
    data = QMimeData()
    data.setImageData(image)
    composer.edit.insertFromMimeData(data)
    QTest.keyClick(composer.edit, Qt.Key.Key_Return)
    assert messages[0]["images"][0]["media_type"] == "image/png"
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
    chip = composer._chips.itemAt(0).widget()
    chip.close_button.click()  # type: ignore[union-attr]
    assert edits == [(7, None)]


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
    composer.set_mode("ask")
    composer.mode.set_value("work")
    composer.set_mode("ask")
    assert composer.mode.value == "work"
    composer.set_mode("plan")
    assert composer.mode.value == "plan"
