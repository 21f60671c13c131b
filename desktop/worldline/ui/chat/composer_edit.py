"""The field one writes in: grows with its text, sends on Enter, completes `@file`, takes images and files."""

from __future__ import annotations

import base64
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice, QMimeData, QPoint, QSize, QStringListModel, Qt, QUrl, Signal
from PySide6.QtGui import QDropEvent, QFocusEvent, QImage, QKeyEvent, QTextCursor
from PySide6.QtWidgets import QAbstractItemView, QListView, QPlainTextEdit, QWidget

MAX_LINES = 12
MAX_IMAGE = 1568
"""Longest side of an image that is sent: larger ones are scaled down by the service anyway."""
IMAGE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp"})


class CompletionList(QListView):
    """Paths for the word behind an @. It never takes the focus: typing goes on in the field."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowFlags(Qt.WindowType.ToolTip)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
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
        self.resize(420, rows * self.sizeHintForRow(0) + 4)
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
    height_changed = Signal()
    escaped = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setPlaceholderText(self.tr("Message… @ names a file"))
        self.setAccessibleName(self.tr("Message to the agent"))
        self.setTabChangesFocus(True)
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setStyleSheet("QPlainTextEdit { border: none; background: transparent; padding: 2px 4px; }")
        self.viewport().setAutoFillBackground(False)
        self.history: list[str] = []
        self._at = 0
        self._draft = ""
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

    def _word(self) -> str | None:
        cursor = self.textCursor()
        before = cursor.block().text()[: cursor.positionInBlock()]
        at = before.rfind("@")
        if at < 0 or (at > 0 and not before[at - 1].isspace()):
            return None
        word = before[at + 1 :]
        return None if any(char.isspace() for char in word) else word

    def offer(self, prefix: str, paths: list[str]) -> None:
        """Answers `completion_wanted`; an answer to what is no longer there is dropped."""
        if self._word() != prefix or not self.hasFocus():
            return
        self._list.offer(paths, self.viewport().mapToGlobal(self.cursorRect().topLeft()))

    def _complete(self, path: str) -> None:
        word = self._word()
        self._list.hide()
        if word is None or not path:
            return
        cursor = self.textCursor()
        cursor.movePosition(QTextCursor.MoveOperation.Left, QTextCursor.MoveMode.KeepAnchor, len(word))
        cursor.insertText(path + ("" if path.endswith("/") else " "))

    # -- keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
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
        if key == Qt.Key.Key_Up and cursor.blockNumber() == 0 and not mods and self._walk(-1):
            return
        if (
            key == Qt.Key.Key_Down
            and cursor.blockNumber() == self.blockCount() - 1
            and not mods
            and self._walk(1)
        ):
            return
        super().keyPressEvent(event)

    def focusNextPrevChild(self, next: bool) -> bool:
        # With the list open Tab takes the path; without it Tab goes on to the next control.
        return False if self._list.isVisible() else super().focusNextPrevChild(next)

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
        self.setPlainText(text)
        self.moveCursor(QTextCursor.MoveOperation.End)

    # -- images and files

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return source.hasImage() or source.hasUrls() or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        if source.hasImage():
            image = source.imageData()
            self.add_image(image if isinstance(image, QImage) else QImage(image))
        elif source.hasUrls():
            self._take(source.urls())
        else:
            self.insertPlainText(source.text())

    def dropEvent(self, event: QDropEvent) -> None:
        self.insertFromMimeData(event.mimeData())
        event.acceptProposedAction()

    def _take(self, urls: list[QUrl]) -> None:
        for url in urls:
            path = Path(url.toLocalFile())
            if path.suffix.lower() in IMAGE_SUFFIXES and not (image := QImage(str(path))).isNull():
                self.add_image(image)
            else:
                self.insertPlainText(f"@{path} " if url.isLocalFile() else url.toString() + " ")

    def add_image(self, image: QImage) -> None:
        if max(image.width(), image.height()) > MAX_IMAGE:
            image = image.scaled(
                MAX_IMAGE,
                MAX_IMAGE,
                Qt.AspectRatioMode.KeepAspectRatio,
                Qt.TransformationMode.SmoothTransformation,
            )
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        image.save(buffer, "PNG")  # type: ignore[call-overload]
        self.image_added.emit("image/png", base64.b64encode(buffer.data().data()).decode())

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._list.hide()
        super().focusOutEvent(event)
