"""Large pictures, texts and lists: none of them holds the window while it opens."""

from __future__ import annotations

import base64
import gc
import threading
import time
from typing import Any

import pytest
from PySide6.QtCore import QBuffer, QCoreApplication, QEvent, QIODevice, Qt, QTimer
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QApplication

from tests_support import PATIENCE_S, measured
from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeKind
from worldline.protocol.model import Diagnostic, FileChange
from worldline.ui.chat.pane import FAR, WINDOW, ChatPane
from worldline.ui.dialogs.diagnostics import DiagnosticsPane
from worldline.ui.dialogs.text_viewer import TextViewer
from worldline.ui.diff import file_list
from worldline.ui.diff.file_list import FileList
from worldline.ui.diff.image_diff import ImageDiff
from worldline.ui.pictures import LARGEST, decode, decode_beside, size_of
from worldline.ui.session_state import SessionState
from worldline.ui.sliced_text import LONG_LINE, SlicedText
from worldline.viewmodel.diff_files import by_path

from .answering import Engine, engine

__all__ = ["engine"]


class Longest:
    """The longest time that this thread worked between two turns of the loop."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._last = time.thread_time()
        self._timer = QTimer(interval=2)
        self._timer.timeout.connect(self._beat)
        self._timer.start()

    def _beat(self) -> None:
        now = time.thread_time()
        self.seconds = max(self.seconds, now - self._last)
        self._last = now

    def stop(self) -> float:
        self._timer.stop()
        return self.seconds


def png(width: int, height: int) -> str:
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.darkCyan)
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return base64.b64encode(buffer.data().data()).decode()


def wait_for_pictures() -> None:
    for thread in threading.enumerate():
        if thread.name == "pictures":
            thread.join(PATIENCE_S)


def test_a_picture_of_many_pixels_is_decoded_beside_the_window(qtbot: Any) -> None:
    data = png(6000, 3000)
    widget = ImageDiff()
    widget.resize(500, 400)
    qtbot.addWidget(widget)
    widget.show()
    QApplication.processEvents()
    beat = Longest()
    widget.set_images(data, data)
    # Its size is said at once; the picture comes.
    assert widget._facts.text() == "6000 × 3000 → 6000 × 3000"
    assert widget._canvas._pictures[0].isNull()
    qtbot.waitUntil(lambda: not widget._canvas._pictures[1].isNull(), timeout=20_000)
    assert widget._canvas._pictures[0].width() == LARGEST
    measured("seconds of the longest turn", beat.stop(), 0.2)
    # One that is wanted no more is dropped; one that comes after its widget is gone is nobody's.
    small = png(20, 10)
    widget.set_images(data, data)
    widget.set_images(small, "")
    wait_for_pictures()
    QApplication.processEvents()
    assert widget._canvas._pictures[0].width() == 20
    gone = ImageDiff()
    gone.set_images(data, data)
    gone.deleteLater()
    QCoreApplication.sendPostedEvents(gone, QEvent.Type.DeferredDelete)
    del gone
    gc.collect()
    wait_for_pictures()
    QApplication.processEvents()


def test_pictures_read_on_both_sides_at_once_never_wait_for_one_another(qtbot: Any) -> None:
    data, small = png(300, 200), png(20, 10)
    for _ in range(300):
        thread = threading.Thread(target=decode_beside, args=(data,), daemon=True)
        thread.start()
        while thread.is_alive():
            assert size_of(small).width() == 20 and decode(small).height() == 10
        thread.join(PATIENCE_S)


def test_what_is_no_picture_is_none() -> None:
    nonsense = base64.b64encode(b"not a picture").decode()
    assert decode(nonsense).isNull() and decode_beside(nonsense).isNull()
    assert not size_of(nonsense).isValid() and not size_of("").isValid()


@pytest.mark.parametrize(
    "text", ["words of output\n" * 60_000, "x" * 900_000, "中文" * 300_000, "a\n\n" + "b" * 9_000 + "\n"]
)
def test_a_text_of_megabytes_goes_in_over_some_frames_and_is_copied_whole(qtbot: Any, text: str) -> None:
    viewer = TextViewer("output")
    qtbot.addWidget(viewer)
    viewer.show()
    beat = Longest()
    viewer.append(text, len(text.encode()))
    qtbot.waitUntil(lambda: viewer.text.all_shown, timeout=20_000)
    measured("seconds of the longest turn", beat.stop(), 0.25)
    assert viewer.text.toPlainText().replace("\n", "") == text.replace("\n", "")
    assert max(map(len, viewer.text.toPlainText().split("\n"))) <= LONG_LINE
    next(b for b in viewer.findChildren(type(viewer._more)) if b.text() == "Copy all").click()
    assert QGuiApplication.clipboard().text() == text


def test_the_rest_of_a_long_output_can_be_asked_for(qtbot: Any) -> None:
    viewer = TextViewer("output")
    qtbot.addWidget(viewer)
    viewer.show()
    asked: list[int] = []
    viewer.more = asked.append
    viewer.append("a" * 1000, 2500, 1000)
    assert viewer._more.isVisible() and viewer._note.text()
    viewer._more.click()
    assert asked == [1000] and not viewer._more.isEnabled()
    viewer.append("b" * 1000, 2500, 1000)
    viewer._more.click()
    viewer.append("c" * 500, 2500, 500)
    assert asked == [1000, 2000] and not viewer._more.isVisible() and not viewer._note.text()
    assert viewer.text.whole == "a" * 1000 + "b" * 1000 + "c" * 500


def test_searching_waits_for_nothing(qtbot: Any) -> None:
    text = SlicedText()
    qtbot.addWidget(text)
    text.set_pieces(iter(("x\n" * 400_000 + "needle\n",)))
    assert not text.all_shown
    text.finish()
    assert text.all_shown and text.find("needle")


def test_ten_thousand_changed_files_are_listed_over_some_frames(qtbot: Any) -> None:
    changes = by_path(
        FileChange(path=f"dir{n % 50}/sub{n % 7}/file{n}.py", status="M", author="user")
        for n in range(10_000)
    )
    files = FileList()
    files.resize(300, 400)
    qtbot.addWidget(files)
    files.show()
    for as_tree in (False, True):
        files.set_as_tree(as_tree)
        beat = Longest()
        files.set_changes(changes)
        assert files.path and len(files._items) < 1_000
        qtbot.waitUntil(lambda: files.waits)
        assert len(files._items) == 10_000
        measured("seconds of the longest turn", beat.stop(), 0.3)
        item = files._items["dir3/sub1/file953.py"]
        assert ("Changed by you" in item.toolTip(0) and item.parent() is None) or as_tree
        assert not as_tree or item.parent().isExpanded()
    # What was chosen stays chosen, wherever it is.
    files.setCurrentItem(files._items["dir9/sub5/file9959.py"])
    files.set_changes(list(changes))
    assert files.path == "dir9/sub5/file9959.py"
    files.set_changes(changes[:3])
    files.setCurrentItem(files._items[changes[1].path])
    assert files.path == changes[1].path and len(files._items) == 3


def test_many_changed_files_have_rows_as_far_as_one_looks(
    qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows_at_once, count = 600, 1_500
    monkeypatch.setattr(file_list, "ROWS", rows_at_once)
    changes = by_path(FileChange(path=f"dir{n % 50:02d}/file{n}.py", status="M") for n in range(count))
    files = FileList()
    files.resize(300, 400)
    qtbot.addWidget(files)
    files.show()
    last = max(change.path for change in changes)
    for as_tree in (False, True):
        files.set_as_tree(as_tree)
        files.set_changes(changes)
        qtbot.waitUntil(lambda: files.waits)
        assert files._rows == rows_at_once and last not in files._items
        for rows in (2 * rows_at_once, count + (50 if as_tree else 0)):
            files.scrollToBottom()
            qtbot.waitUntil(lambda rows=rows: files._rows == rows)
        assert last in files._items and len(files._items) == count
        # What was chosen far below stays chosen, though its row comes only when one looks there.
        files.setCurrentItem(files._items[last])
        files.set_changes(list(changes))
        assert files.path == last and last not in files._items
        chosen = files.change()
        assert chosen is not None and chosen.path == last
        files.set_changes(changes[:2])


def test_a_search_waits_for_the_text_and_the_window_for_neither(qtbot: Any) -> None:
    viewer = TextViewer("Output")
    qtbot.addWidget(viewer)
    viewer.append("x\n" * 300_000 + "needle\n")
    viewer._find.setText("needle")
    for _ in range(3):
        viewer._find.returnPressed.emit()
    # Nothing was put in at once for it.
    assert not viewer.text.all_shown and not viewer.text.textCursor().hasSelection()
    qtbot.waitUntil(lambda: viewer.text.textCursor().selectedText() == "needle", timeout=60_000)
    assert viewer.text.all_shown


def test_many_diagnostics_are_listed_over_some_frames(qtbot: Any) -> None:
    pane = DiagnosticsPane()
    qtbot.addWidget(pane)
    items = [Diagnostic(id=n, kind="retry", at=n, detail=f"detail {n}") for n in range(2_000)]
    pane.set_items(items)
    assert pane.table.rowCount() == 2_000 and pane.table.item(1_999, 2) is None
    # Another filter before the first list is complete: only the second goes on.
    pane.search.setText("detail 19")
    qtbot.waitUntil(lambda: pane.table.item(pane.table.rowCount() - 1, 2) is not None, timeout=30_000)
    shown = [pane.table.item(row, 2).text() for row in range(pane.table.rowCount())]  # type: ignore[union-attr]
    assert shown == [f"detail {n}" for n in range(2_000) if "detail 19" in f"detail {n}"]
    # Whoever reads further up is not taken to the end.
    pane.resize(500, 300)
    pane.show()
    pane.table.verticalScrollBar().setValue(0)
    pane.add(Diagnostic(id=9_999, kind="retry", at=1, detail="detail 19 again"))
    assert pane.table.verticalScrollBar().value() == 0


def test_what_is_chosen_far_down_a_list_stays_chosen_while_its_row_is_made(qtbot: Any) -> None:
    changes = [FileChange(path=f"file{n:05}.py", status="M") for n in range(10_000)]
    files = FileList()
    qtbot.addWidget(files)
    files.set_changes(changes)
    files._add_some()
    qtbot.waitUntil(lambda: files.waits)
    files.setCurrentItem(files._items["file09999.py"])
    chosen: list[str] = []
    files.chosen.connect(chosen.append)
    files.set_changes(changes)
    assert len(files._items) < 1_000 and files.path == "file09999.py" and chosen == ["file09999.py"]
    qtbot.waitUntil(lambda: files.currentItem() is not None)
    assert files.path == "file09999.py" and chosen == ["file09999.py"]
    change = files.change()
    assert change is not None and change.path == "file09999.py"
    # The person chooses another one before that row is there.
    files.set_changes(changes)
    files.setCurrentItem(files._items["file00003.py"])
    qtbot.waitUntil(lambda: files.waits)
    assert files.path == "file00003.py"


def test_attempts_with_thousands_of_files_are_compared_without_writing_all_of_them_first(qtbot: Any) -> None:
    from worldline.ui import gallery_data
    from worldline.ui.compare.view import CompareView

    compared = gallery_data.compare()
    change = compared.attempts[0].files[0]
    for attempt in compared.attempts:
        attempt.files = [change.model_copy(update={"path": f"many/{at:05}.js"}) for at in range(9000)]
    view = CompareView(compared, {})
    qtbot.addWidget(view)
    assert view.files.rowCount() == 9000 and view.files.item(0, 0) is not None
    assert view.files.item(8999, 0) is None
    assert view.files.item(0, 0).text() == "00000.js · many"
    wanted: list[str] = []
    view.diff_wanted.connect(lambda _a, _b, path: wanted.append(path))
    view.files.setCurrentCell(8999, 0)
    assert view.path() == wanted[-1] == "many/08999.js"
    qtbot.waitUntil(lambda: view.files.item(8999, 3) is not None, timeout=15_000)


def test_a_message_far_above_is_shown_without_all_that_lies_between(engine: Engine, qtbot: Any) -> None:
    state = SessionState(engine)  # type: ignore[arg-type]
    count = FAR + 3_000
    state.tree.extend(
        NodeHeader(seq, f"{seq:016x}", seq - 1, NodeKind.ASSISTANT, 0, f"step {seq}")
        for seq in range(1, count + 1)
    )
    state.cursor, state.is_loaded, state.info = state.tree.uid(count - 1), True, {"path": "/tmp/a.worldline"}
    pane = ChatPane(state)
    qtbot.addWidget(pane)
    pane.resize(600, 500)
    pane.show()
    near, far = state.tree.uid(count - 2 * WINDOW), state.tree.uid(10)
    state.reveal_asked.emit(near)
    assert pane.chat.row(near) is not None and len(pane.chat.path) < 3 * WINDOW and not state.selection
    state.reveal_asked.emit(far)
    assert pane.chat.row(far) is not None and len(pane.chat.path) < WINDOW and state.selection == far
