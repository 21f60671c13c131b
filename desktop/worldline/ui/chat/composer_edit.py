"""The field one writes in: grows with its text, sends on Enter, completes `@file`, takes images and files."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, QPoint, QSize, QStringListModel, Qt, Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QFocusEvent,
    QInputMethodEvent,
    QKeyEvent,
    QKeySequence,
    QTextCursor,
)
from PySide6.QtWidgets import QAbstractItemView, QListView, QPlainTextEdit, QWidget

from worldline.ui.chat.packing import Packer
from worldline.ui.chat.pasting import are_pictures, sort_out
from worldline.viewmodel.mentions import completed, open_mention

MAX_LINES = 12


_OF_THE_INPUT_METHOD = frozenset(
    {
        Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Left,
        Qt.Key.Key_Right, Qt.Key.Key_Tab, Qt.Key.Key_Backspace, Qt.Key.Key_Space,
    }
)  # fmt: skip


class CompletionList(QListView):
    """Paths for the word behind an @. It never takes the focus: typing goes on in the field."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowFlags(Qt.WindowType.ToolTip)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setProperty("role", "float")
        self.setUniformItemSizes(True)
        self._model = QStringListModel(self)
        self.setModel(self._model)
        self.setAccessibleName(self.tr("Files to name"))
        self.clicked.connect(lambda index: self.chosen.emit(str(index.data())))

    def offer(self, paths: list[str], at: QPoint) -> None:
        self._model.setStringList(paths)
        if not paths:
            self.hide()
            return
        self.setCurrentIndex(self._model.index(0))
        rows = min(8, len(paths))
        self.resize(420, rows * self.sizeHintForRow(0) + 10)
        self.move(at - QPoint(0, self.height() + 4))
        self.show()

    def step(self, by: int) -> None:
        row = (self.currentIndex().row() + by) % max(1, self._model.rowCount())
        self.setCurrentIndex(self._model.index(row))

    def current(self) -> str:
        return str(self.currentIndex().data() or "")


class ComposerEdit(QPlainTextEdit):
    """Emits intent only. Up and Down at the first and last line walk through what was sent before."""

    submitted = Signal()
    interrupt_wanted = Signal()
    completion_wanted = Signal(str)
    image_added = Signal(str, str)
    """Media type, base64."""
    large_added = Signal(str)
    """A text too large for the field was pasted; it is kept beside it."""
    large_undone = Signal()
    """Undo, and the last thing done was such a paste."""
    height_changed = Signal()
    escaped = Signal()
    dragged_over = Signal(str)
    """Something that the field takes is being dragged over it, and what would come of it; "" = not any more."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setPlaceholderText(self.tr("Message… @ names a file"))
        self.setAccessibleName(self.tr("Message to the agent"))
        self.setTabChangesFocus(True)
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setStyleSheet("QPlainTextEdit { border: none; background: transparent; padding: 2px 4px; }")
        self.viewport().setAutoFillBackground(False)
        self.root = self.opened = ""
        """The folder of the agent, and the person's that it may be a copy of: files inside are named from there on."""
        self._composing = False
        """An input method is putting a word together: its keys are its own."""
        self._large_at = -1
        """Revision of the text at which a large text was pasted last."""
        self.history: list[str] = []
        self._at = 0
        self._draft = ""
        self.packer = Packer(self)
        self.packer.done.connect(self.image_added)
        self._list = CompletionList(self)
        self._list.chosen.connect(self._complete)
        self.textChanged.connect(self._on_text)
        self.setAcceptDrops(True)
        self.setFixedHeight(self.sizeHint().height())

    # -- size

    def sizeHint(self) -> QSize:
        line = self.fontMetrics().lineSpacing()
        lines = max(2, min(MAX_LINES, round(self.document().size().height())))
        return QSize(300, lines * line + 16)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self.sizeHint().height())

    def _on_text(self) -> None:
        # A text field asks its layout for room only when it is told to.
        self.setFixedHeight(self.sizeHint().height())
        self.height_changed.emit()
        word = self._word()
        if word is None:
            self._list.hide()
        else:
            self.completion_wanted.emit(word)

    # -- @file

    def _before(self) -> str:
        cursor = self.textCursor()
        return cursor.block().text()[: cursor.positionInBlock()]

    def _word(self) -> str | None:
        mention = open_mention(self._before())
        return mention.word if mention is not None else None

    def offer(self, prefix: str, paths: list[str]) -> None:
        """Answers `completion_wanted`; an answer to what is no longer there is dropped."""
        if self._word() != prefix or not self.hasFocus():
            return
        self._list.offer(paths, self.viewport().mapToGlobal(self.cursorRect().topLeft()))

    def _complete(self, path: str) -> None:
        mention = open_mention(self._before())
        self._list.hide()
        if mention is None or not path:
            return
        cursor = self.textCursor()
        cursor.movePosition(QTextCursor.MoveOperation.Left, QTextCursor.MoveMode.KeepAnchor, mention.length)
        cursor.insertText(completed(path))

    # -- keys

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._composing = bool(event.preeditString())
        super().inputMethodEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._composing and event.key() in _OF_THE_INPUT_METHOD:
            # Some input methods hand these on although they act on them: Enter takes the word, it does not send.
            event.accept()
            return
        if event.matches(QKeySequence.StandardKey.Undo) and self._large_at == self.document().revision():
            self._large_at = -1
            self.large_undone.emit()
            return
        if self._list.isVisible() and self._list_key(event):
            return
        key, mods = event.key(), event.modifiers()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if mods & (Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.AltModifier):
                self.insertPlainText("\n")
            elif mods & Qt.KeyboardModifier.ControlModifier:
                self.interrupt_wanted.emit()
            else:
                self.submitted.emit()
            return
        if key == Qt.Key.Key_Escape:
            self.escaped.emit()
            return
        cursor = self.textCursor()
        if key == Qt.Key.Key_Up and not mods and self._is_at_edge(cursor, first=True) and self._walk(-1):
            return
        if key == Qt.Key.Key_Down and not mods and self._is_at_edge(cursor, first=False) and self._walk(1):
            return
        super().keyPressEvent(event)

    def _is_at_edge(self, cursor: QTextCursor, *, first: bool) -> bool:
        """Whether the cursor is in the first or last line on screen: one wrapped paragraph has many."""
        if cursor.blockNumber() != (0 if first else self.blockCount() - 1):
            return False
        layout = cursor.block().layout()
        line = layout.lineForTextPosition(cursor.positionInBlock())
        return not line.isValid() or line.lineNumber() == (0 if first else layout.lineCount() - 1)

    def focusNextPrevChild(self, next: bool) -> bool:
        # With the list open Tab takes the path; without it Tab goes on to the next control.
        return False if self._list.isVisible() or self._composing else super().focusNextPrevChild(next)

    def _list_key(self, event: QKeyEvent) -> bool:
        key = event.key()
        if key == Qt.Key.Key_Down:
            self._list.step(1)
        elif key == Qt.Key.Key_Up:
            self._list.step(-1)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Tab):
            self._complete(self._list.current())
        elif key == Qt.Key.Key_Escape:
            self._list.hide()
        else:
            return False
        return True

    def _walk(self, by: int) -> bool:
        """Step through the history. Up begins only from an empty field or an unchanged old message, so a cursor
        key never replaces what is being written."""
        shown = self.toPlainText()
        walking = self._at < len(self.history) and shown == self.history[self._at]
        if not walking:
            if by > 0 or shown.strip():
                return False
            self._draft, self._at = shown, len(self.history)
        target = self._at + by
        if not 0 <= target <= len(self.history):
            return False
        self._at = target
        self.set_text(self.history[target] if target < len(self.history) else self._draft)
        return True

    def remember(self, text: str) -> None:
        if text and (not self.history or self.history[-1] != text):
            self.history.append(text)
        self._at = len(self.history)

    def set_text(self, text: str) -> None:
        """Put another text in place of what is there, as one step that can be undone."""
        cursor = self.textCursor()
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(text)
        self.setTextCursor(cursor)
        self.moveCursor(QTextCursor.MoveOperation.End)

    def drop_start(self, text: str) -> None:
        """What was sent goes; what was typed behind it in the meantime stays."""
        written = self.toPlainText()
        start = len(written) - len(written.lstrip())
        if text and written[start:].startswith(text):
            cursor = QTextCursor(self.document())
            gone = start + len(text)
            # Qt counts in units of 16 bits.
            cursor.setPosition(
                len(written[:gone].encode("utf-16-le", "surrogatepass")) // 2, QTextCursor.MoveMode.KeepAnchor
            )
            cursor.removeSelectedText()

    # -- images and files

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return source.hasImage() or source.hasUrls() or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Paste and drop both end here; for a drop the cursor is where it was let go."""
        pasted = sort_out(source, self.root, self.opened)
        for image in pasted.images:
            self.packer.take(image)
        if pasted.large:
            self._large_at = self.document().revision()
            self.large_added.emit(pasted.large)
        elif pasted.text:
            cursor = self.textCursor()
            before = cursor.block().text()[: cursor.positionInBlock()]
            names = pasted.text.startswith("@") and source.hasUrls()
            gap = " " if names and before and not before[-1].isspace() else ""
            self.insertPlainText(gap + pasted.text)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        super().dragEnterEvent(event)
        if event.isAccepted():
            self.dragged_over.emit(self._would_do(event.mimeData()))

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        super().dragLeaveEvent(event)
        self.dragged_over.emit("")

    def _would_do(self, source: QMimeData) -> str:
        if are_pictures(source):
            return self.tr("Let go to attach it")
        if source.urls():
            return self.tr("Let go to name it in the message")
        return self.tr("Let go to put the text here")

    def dropEvent(self, event: QDropEvent) -> None:
        self.dragged_over.emit("")
        super().dropEvent(event)
        if event.isAccepted() and event.source() is None:
            # From another program: it must not think that its files were moved away.
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._list.hide()
        super().focusOutEvent(event)
