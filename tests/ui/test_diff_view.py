"""The painted diff: large files, scrolling by pixels, selection, keys."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from PySide6.QtCore import QBuffer, QIODevice, QPoint, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from worldline.protocol.model import DiffRow, FileChange, FileDiff
from worldline.ui import gallery_data as sample
from worldline.ui.diff.file_diff_panel import FileDiffPanel
from worldline.ui.diff.file_list import FileList
from worldline.ui.diff.image_diff import ImageDiff
from worldline.ui.diff.view import DiffView
from worldline.ui.syntax.highlighter import spans
from worldline.ui.syntax.lines import line_painter
from worldline.viewmodel.diff_files import by_path

from .mouse import move_to


def big(count: int) -> FileDiff:
    rows = [DiffRow.model_construct(kind="@", old=0, new=0, text="@@ -1 +1 @@", author="")]
    for at in range(count):
        kind = " " if at % 10 else "-+"[at // 10 % 2]
        rows.append(
            DiffRow.model_construct(
                kind=kind, old=at + 1, new=at + 1, text=f"    value_{at} = call({at})  # line", author=""
            )
        )
    return FileDiff(change=FileChange(path="big.py", status="M", added=count)).model_copy(
        update={"rows": rows}
    )


@pytest.fixture
def view(qtbot: Any) -> DiffView:
    widget = DiffView()
    widget.resize(700, 600)
    qtbot.addWidget(widget)
    widget.show()
    qtbot.waitExposed(widget)
    return widget


def test_100_000_lines_open_by_painting_one_screen(view: DiffView) -> None:
    diff = big(100_000)
    view.painted_rows = 0
    view.set_diff(diff)
    view.grab()
    assert view.painted_rows < 200


def test_a_wheel_step_paints_only_the_strip_that_came_into_sight(view: DiffView) -> None:
    view.set_diff(big(10_000))
    QApplication.processEvents()
    view.repaint()
    QApplication.processEvents()
    view.painted_rows = 0
    view.verticalScrollBar().setValue(3 * line_painter().height)
    QApplication.processEvents()
    assert 0 < view.painted_rows <= 12


def test_next_and_previous_change_and_both_layouts_keep_the_place(view: DiffView) -> None:
    view.set_diff(big(5_000))
    bar = view.verticalScrollBar()
    QTest.keyClick(view, Qt.Key.Key_N)
    first = bar.value()
    QTest.keyClick(view, Qt.Key.Key_N)
    assert bar.value() > first > 0
    QTest.keyClick(view, Qt.Key.Key_P)
    assert bar.value() <= first + line_painter().height
    bar.setValue(1000 * line_painter().height)
    top = bar.value() // line_painter().height
    view.set_side_by_side(True)
    assert abs(view.verticalScrollBar().value() // line_painter().height - top) <= 500
    view.set_side_by_side(False)


def test_text_is_selected_and_copied_from_one_side(view: DiffView) -> None:
    view.set_diff(sample.parser_diff())
    height = line_painter().height
    y = 8 + 4 * height + 4
    QTest.mousePress(view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(view._gutter() + 1, y))
    move_to(view.viewport(), QPoint(690, y + height), held=Qt.MouseButton.LeftButton)
    QTest.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert (
        QGuiApplication.clipboard().text().startswith('    return text.split(",")\n    return split_quoted')
    )


def test_the_panel_says_why_there_are_no_lines(qtbot: Any) -> None:
    panel = FileDiffPanel()
    qtbot.addWidget(panel)
    panel.show_diff(
        FileDiff(change=FileChange(path="a.bin", status="M", binary=True, old_size=10, new_size=2000))
    )
    assert "Binary file" in panel._note.text()
    panel.show_diff(FileDiff(change=FileChange(path="sub", status="S")))
    assert "submodule" in panel._note.text()
    panel.show_diff(FileDiff(change=FileChange(path="x", status="T", old_mode=0o100644, new_mode=0o100755)))
    assert "100644 → 100755" in panel._note.text()


def test_pictures_are_compared_as_pictures(qtbot: Any) -> None:
    import base64

    from PySide6.QtCore import QBuffer, QIODevice
    from PySide6.QtGui import QImage

    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image = QImage(40, 30, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.blue)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    data = base64.b64encode(buffer.data().data()).decode()
    panel = FileDiffPanel()
    qtbot.addWidget(panel)
    panel.show()
    panel.show_diff(
        FileDiff(change=FileChange(path="a.png", status="M", binary=True), old_image=data, new_image=data)
    )
    assert panel._stack.currentWidget() is panel.image and "40 × 30" in panel.image._facts.text()
    panel.grab()


def test_the_list_keeps_the_chosen_file_and_shows_a_tree(qtbot: Any) -> None:
    files = FileList()
    qtbot.addWidget(files)
    files.set_changes(by_path(sample.changes()))
    files.setCurrentItem(files._items["tests/conftest.py"])
    files.set_as_tree(True)
    assert files.path == "tests/conftest.py"
    change = files.change()
    assert change is not None and change.runs_later
    item = files._items["tests/conftest.py"]
    assert "Runs later" in item.toolTip(0)


def test_code_is_coloured_in_one_pass_and_minified_lines_stay_plain() -> None:
    roles = {
        text: role
        for line in ["def f(x):  # no 'string'"]
        for a, n, role in spans(line, "python")
        for text in [line[a : a + n]]
    }
    assert roles == {"def": "keyword", "f": "name", "# no 'string'": "comment"}
    assert spans("x" * 3000, "python") == () and spans("plain words", "") == ()
    assert spans("let a = 1; // c", "js")[-1][2] == "comment"


def test_marks_colours_and_selection_stand_right_behind_characters_that_take_two_places(
    view: DiffView,
) -> None:
    painter = line_painter()
    text = 'x = "😀😀" # 😃 end'
    layout = painter.layout(text, "python", ((5, 6, "#112233"), (11, 12, "#445566")))
    shown = {
        (part.start, part.length): part.format.background().color().name()
        for part in layout.formats()
        if part.format.background().style() is not Qt.BrushStyle.NoBrush
    }
    # The first emoji is at 5 and takes two places; the last is at 11, behind two that do.
    assert shown == {(5, 2): "#112233", (13, 2): "#445566"}
    comment = [part for part in layout.formats() if part.start == 11]
    assert comment and comment[0].length == len("# 😃 end") + 1
    end = layout.lineAt(0).cursorToX(15)
    assert painter.column(text, end[0] if isinstance(end, tuple) else end, "python") == 12
    assert painter.column(text, 1e6, "python") == len(text)


def test_a_line_that_is_cut_says_so(view: DiffView) -> None:
    layout = line_painter().layout("y" * 30_000)
    assert layout.text().endswith("… +10,000")


def rows(*lines: str) -> FileDiff:
    made = [DiffRow(kind="@", old=1, new=1, text="@@ -1,2 +1,2 @@")]
    for line in lines:
        made.append(DiffRow.model_validate({"kind": line[0], "old": 1, "new": 1, "text": line[1:]}))
    return FileDiff(
        change=FileChange(path="f.txt", status="M", old_mode=0o100644, new_mode=0o100755), rows=made
    )


def test_side_by_side_says_which_side_has_no_newline(view: DiffView) -> None:
    diff = rows("-b", "\\No newline at end of file", "+b")
    view.set_side_by_side(True)
    view.set_diff(diff)
    assert [view.model.ends_without_newline(at) for at in range(4)] == [False, True, False, False]
    with_mark = view.viewport().grab().toImage()
    view.set_diff(rows("-b", "+b"))
    without = view.viewport().grab().toImage()
    half = without.width() // 2
    assert with_mark.copy(0, 0, half, 60) != without.copy(0, 0, half, 60)
    assert with_mark.copy(half, 0, half, 60) == without.copy(half, 0, half, 60)


def test_the_panel_says_what_lines_do_not_show(qtbot: Any) -> None:
    panel = FileDiffPanel()
    qtbot.addWidget(panel)
    panel.show()
    diff = rows("-b", "+c").model_copy(update={"note": "Line ends are CRLF."})
    panel.show_diff(diff)
    assert panel._facts.isVisible() and "CRLF" in panel._facts.text() and "100755" in panel._facts.text()
    panel.show_diff(diff.model_copy(update={"rows": [], "note": "Binary: 1 → 2 bytes."}))
    assert not panel._facts.isVisible() and panel._note.text() == "Binary: 1 → 2 bytes."
    # With whitespace left out these are not the hunks of the file.
    assert panel.view.whole_hunks
    panel._space.setChecked(True)
    assert not panel.view.whole_hunks


def test_a_picture_is_scaled_once_and_not_for_every_move_of_the_slider(qtbot: Any) -> None:
    def data(width: int, color: Qt.GlobalColor) -> str:
        image = QImage(width, width, QImage.Format.Format_ARGB32)
        image.fill(color)
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        image.save(buffer, "PNG")  # type: ignore[call-overload]
        return base64.b64encode(buffer.data().data()).decode()

    widget = ImageDiff()
    widget.resize(600, 500)
    qtbot.addWidget(widget)
    widget.show()
    widget.set_images(data(2000, Qt.GlobalColor.red), data(8, Qt.GlobalColor.blue), ("1 kB", "2 kB"))
    assert widget._facts.text() == "2000 × 2000 · 1 kB → 8 × 8 · 2 kB"
    canvas = widget._canvas
    qtbot.waitUntil(lambda: not canvas._pictures[0].isNull(), timeout=20_000)
    canvas.grab()
    scaled = canvas._scaled
    assert scaled is not None and scaled[0].width() <= 600 and scaled[1].width() == 32
    widget._slider.setValue(80)
    canvas.grab()
    assert canvas._scaled is scaled
    widget.set_images("", data(8, Qt.GlobalColor.blue))
    assert not widget._slider.isVisible() and not widget._ends[0].isVisible()
