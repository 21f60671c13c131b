"""A block of code in a message: its language, a copy button, the first lines and a button for the rest."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QToolButton, QVBoxLayout, QWidget

from worldline.ui.icons import keep
from worldline.ui.syntax.code_view import CodeView
from worldline.ui.theme import caption
from worldline.viewmodel.chat_markdown import Piece

SHOWN_LINES = 60


class CodeBlock(QWidget):
    """Long code shows its first lines; `unfolded` is emitted when the rest is asked for."""

    unfolded = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = ""
        self._all = False
        self._language = QLabel(self)
        caption(self._language)
        self._copy = QToolButton(self)
        keep(self._copy, "copy")
        self._copy.setToolTip(self.tr("Copy code"))
        self._copy.setAccessibleName(self.tr("Copy code"))
        self._copy.clicked.connect(self._copy_all)
        self.code = CodeView(self)
        self._more = QPushButton(self)
        self._more.setProperty("role", "link")
        self._more.clicked.connect(self._show_all)
        self._more.hide()
        head = QHBoxLayout()
        head.setContentsMargins(0, 0, 0, 0)
        head.addWidget(self._language, 1)
        head.addWidget(self._copy)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 4)
        self._layout.setSpacing(0)
        self._layout.addLayout(head)
        self._layout.addWidget(self.code)
        self._layout.addWidget(self._more)

    def set_piece(self, piece: Piece, *, whole: bool = False) -> None:
        """Show this code; whether it was unfolded before belongs to the piece."""
        self._all = whole
        if piece.text != self._text:
            self._text = piece.text
            keep(self._copy, "copy")
            self._copy.setToolTip(self.tr("Copy code"))
        self._language.setText(piece.language or self.tr("text"))
        self.code.language = piece.language
        self._show()

    def height_at(self, width: int) -> int:
        """Height at a width. Whether a scroll bar is needed shows only at that width, so it takes it on."""
        if self.width() != width:
            self.resize(width, max(1, self.height()))
        self._layout.invalidate()
        self._layout.activate()
        self._layout.invalidate()
        return self._layout.sizeHint().height()

    def _show(self) -> None:
        lines = self._text.count("\n") + 1
        folded = lines > SHOWN_LINES and not self._all
        self.code.set_text(
            "\n".join(self._text.split("\n", SHOWN_LINES)[:SHOWN_LINES]) if folded else self._text
        )
        self._more.setVisible(folded)
        if folded:
            self._more.setText(self.tr("Show all {} lines").format(lines))

    def _show_all(self) -> None:
        self._all = True
        self._show()
        self.unfolded.emit()

    def _copy_all(self) -> None:
        QGuiApplication.clipboard().setText(self._text)
        keep(self._copy, "saved", "ok")
        self._copy.setToolTip(self.tr("Copied"))
