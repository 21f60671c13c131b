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


GALLERY: dict[str, Factory] = {"chat": chat, "empty-chat": empty_chat}
