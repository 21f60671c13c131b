"""Dialogs that open from the chat. They are imported when they are asked for."""

from __future__ import annotations

import base64
import codecs
from typing import Any

from PySide6.QtCore import QCoreApplication, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from worldline.ui.session_state import SessionState
from worldline.viewmodel.words import refusal

FIRST_BYTES = 1_000_000


def whole_output(state: SessionState, window: QWidget, blob: str) -> None:
    """The output of which the chat shows a part."""
    from worldline.ui.dialogs.base import while_open
    from worldline.ui.dialogs.text_viewer import TextViewer

    viewer = TextViewer(QCoreApplication.translate("ChatPane", "Whole output"), window)
    # A character may be cut in two at the end of a part.
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def answered(result: dict[str, Any]) -> None:
        data = base64.b64decode(result["data"])
        viewer.append(decoder.decode(data), int(result["total"]), len(data))

    def refused(error: dict[str, Any]) -> None:
        viewer.show_problem(refusal(error))

    def ask(offset: int) -> None:
        params = {"hash": blob, "offset": offset, "limit": FIRST_BYTES}
        state.request("blob", params, while_open(viewer, answered), while_open(viewer, refused))

    viewer.more = ask
    viewer.show()
    ask(0)


def approvals(state: SessionState, approval_id: str = "") -> None:
    from worldline.ui.dialogs.desk import desk_of

    desk_of(state).show_waiting(approval_id)


def model_view(state: SessionState, window: QWidget, uid: str) -> None:
    from worldline.ui.dialogs.model_view import open_model_view

    open_model_view(state, uid, window)


def diagnostics(state: SessionState, window: QWidget) -> None:
    from worldline.ui.dialogs.diagnostics import open_diagnostics

    open_diagnostics(state, window)


def link(address: str) -> None:
    """Only pages: a message must not open files or start programs."""
    url = QUrl(address)
    if url.scheme() in ("http", "https"):
        QDesktopServices.openUrl(url)
