"""How a dialog comes back when its window is made anew, with what was written and chosen in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QCheckBox, QDialog, QLineEdit, QPlainTextEdit, QRadioButton, QWidget

if TYPE_CHECKING:
    from worldline.ui.main_window import MainWindow
    from worldline.ui.session_state import SessionState

How = Callable[["MainWindow", "SessionState"], object]

LATE_MS = 60_000
"""A dialog that has not come back by then does not: what was written in it is let go."""


@runtime_checkable
class Carrying(Protocol):
    """A dialog of which more is to be known than what stands in its fields."""

    def handed_over(self) -> Any: ...

    def take_over(self, written: Any) -> None: ...


@dataclass(slots=True)
class Written:
    """In fields by their number, for a dialog that is built in the same way."""

    lines: dict[int, str] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    marks: list[bool] = field(default_factory=list)
    """Of radio buttons and check boxes."""
    own: Any = None


@dataclass(frozen=True, slots=True)
class OpenDialog:
    """A dialog that is open now: how it is opened again, and what is written in it."""

    how: How
    kind: type[QDialog]
    about: str
    written: Written


class Again(QObject):
    """A child of a dialog: how it is opened in the window that takes the place of its own."""

    def __init__(self, dialog: QDialog, how: How, about: str = "") -> None:
        """`about`: which node, call or question it is about; what was written is for the same one only."""
        super().__init__(dialog)
        self.how = how
        self.about = about
        if (written := _carried_for(dialog, about)) is not None:
            write_again(dialog, written)


class Carried(QObject):
    """A child of a window that has just been made anew: what was written in dialogs that come back now or a little later,
    when the engine has answered."""

    def __init__(self, window: QWidget, dialogs: list[OpenDialog]) -> None:
        super().__init__(window)
        # Not how they are opened: that may hold on to the dialog before, and so to its window.
        self.written = [(one.kind, one.about, one.written) for one in dialogs]
        QTimer.singleShot(LATE_MS, self, self.written.clear)


def _carried_for(dialog: QDialog, about: str) -> Written | None:
    above: QObject | None = dialog.parent()
    while above is not None:
        for carried in above.findChildren(Carried, options=Qt.FindChildOption.FindDirectChildrenOnly):
            for one in carried.written:
                if one[:2] == (type(dialog), about):
                    carried.written.remove(one)
                    return one[2]
        above = above.parent()
    return None


def open_dialogs(window: QWidget) -> list[OpenDialog]:
    """The dialogs of a window that are open now."""
    direct = Qt.FindChildOption.FindDirectChildrenOnly
    return [
        OpenDialog(again.how, type(dialog), again.about, written_in(dialog))
        for dialog in window.findChildren(QDialog)
        if dialog.isVisible()
        for again in dialog.findChildren(Again, options=direct)
    ]


def _lines(dialog: QWidget) -> list[QLineEdit]:
    """Without those that Qt makes inside of other fields."""
    return [line for line in dialog.findChildren(QLineEdit) if not line.objectName().startswith("qt_")]


def _marks(dialog: QWidget) -> list[QRadioButton | QCheckBox]:
    return [*dialog.findChildren(QRadioButton), *dialog.findChildren(QCheckBox)]


def written_in(dialog: QDialog) -> Written:
    """What the person has typed (not what was put there), and what is marked."""
    return Written(
        {at: line.text() for at, line in enumerate(_lines(dialog)) if line.isModified()},
        {at: edit.toPlainText() for at, edit in enumerate(dialog.findChildren(QPlainTextEdit))
         if edit.document().isModified() and not edit.isReadOnly()},
        [mark.isChecked() for mark in _marks(dialog)],
        dialog.handed_over() if isinstance(dialog, Carrying) else None,
    )  # fmt: skip


def write_again(dialog: QDialog, written: Written) -> None:
    """Write it into a dialog of the same kind that has just been made."""
    marks = _marks(dialog)
    if len(marks) == len(written.marks):
        for mark, on in zip(marks, written.marks, strict=True):
            mark.setChecked(on)
    lines, edits = _lines(dialog), dialog.findChildren(QPlainTextEdit)
    for at, text in written.lines.items():
        if at < len(lines):
            _keep_in_line(lines[at], text)
    for at, text in written.texts.items():
        if at < len(edits):
            _keep_in_edit(edits[at], text)
    if isinstance(dialog, Carrying):
        dialog.take_over(written.own)


def _keep_in_line(line: QLineEdit, text: str) -> None:
    """Also when an answer of the engine puts its own words there: once, right after the dialog has come."""

    def put() -> None:
        line.setText(text)
        line.setModified(True)

    def replaced() -> None:
        # Typing leaves it modified; what a program puts there does not.
        line.textChanged.disconnect(once)
        if not line.isModified():
            put()

    put()
    once = line.textChanged.connect(replaced)


def _keep_in_edit(edit: QPlainTextEdit, text: str) -> None:
    def put() -> None:
        edit.setPlainText(text)
        edit.document().setModified(True)

    def replaced() -> None:
        edit.textChanged.disconnect(once)
        if not edit.document().isModified():
            put()

    put()
    once = edit.textChanged.connect(replaced)
