"""Every view and dialog with sample data, by name: for pictures, tests and looking at one thing alone."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from worldline.ui import gallery_data as sample

Factory = Callable[[], QWidget]


def chat() -> QWidget:
    from worldline.ui.chat.view import ChatView
    from worldline.viewmodel.chat import ChatModel

    model = ChatModel()
    view = ChatView(model)
    model.set_path(sample.path(), forks={f"{2:016x}": 2})
    model.set_bodies(sample.bodies())
    model.set_runs([sample.run_stopped()])
    model.run_changed(sample.run_stopped(), ["go_on", "backtrack", "settings"])
    model.approval_asked(sample.approval())
    model.question_asked(sample.question())
    view.resize(560, 2600)
    return view


def empty_chat() -> QWidget:
    from worldline.ui.chat.view import ChatView
    from worldline.viewmodel.chat import ChatModel

    model = ChatModel()
    view = ChatView(model)
    model.set_path(sample.path()[:1])
    view.resize(620, 560)
    return view


def composer() -> QWidget:
    from worldline.ui.chat.composer import Composer

    widget = Composer()
    widget.set_models([{"id": "claude-sonnet-5-5", "name": "Sonnet 5.5", "efforts": ["low", "medium", "high"]}], "")
    widget.set_context(41_000)
    widget.set_running(True)
    widget.set_queue([{"id": 1, "text": "and update the notes", "when": "next_step"}])
    widget.edit.set_text("Then make the error say the column.\nSee @src/shop/parser.py")
    widget.resize(640, widget.sizeHint().height())
    return widget


def diff() -> QWidget:
    from worldline.ui.diff.file_diff_panel import FileDiffPanel

    panel = FileDiffPanel()
    panel._split.setChecked(False)
    panel.show_diff(sample.parser_diff())
    panel.resize(560, 460)
    return panel


def diff_side_by_side() -> QWidget:
    from worldline.ui.diff.file_diff_panel import FileDiffPanel

    panel = FileDiffPanel()
    panel.view.set_side_by_side(True)
    panel.show_diff(sample.parser_diff())
    panel.resize(980, 460)
    return panel


def files() -> QWidget:
    from worldline.ui.diff.file_list import FileList

    view = FileList()
    view.set_changes(sample.changes())
    view.resize(420, 240)
    return view


GALLERY: dict[str, Factory] = {
    "chat": chat,
    "empty-chat": empty_chat,
    "composer": composer,
    "diff": diff,
    "diff-side-by-side": diff_side_by_side,
    "files": files,
}
