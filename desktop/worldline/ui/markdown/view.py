"""A message in markdown: prose, code blocks with a copy button, tables, stacked."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QToolButton, QVBoxLayout, QWidget

from worldline.ui.icons import icon
from worldline.ui.markdown.prose import Prose
from worldline.ui.syntax.code_view import CodeView
from worldline.ui.theme import caption
from worldline.viewmodel.chat_markdown import MarkdownStream, Piece

SHOWN_LINES = 60


class CodeBlock(QWidget):
    """Code with its language and a copy button. Long code shows its first lines and a button for the rest."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = ""
        self._all = False
        self._language = QLabel(self)
        caption(self._language)
        self._copy = QToolButton(self)
        self._copy.setIcon(icon("copy", "muted"))
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
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 4)
        layout.setSpacing(0)
        layout.addLayout(head)
        layout.addWidget(self.code)
        layout.addWidget(self._more)

    def set_piece(self, piece: Piece) -> None:
        self._text = piece.text
        self._language.setText(piece.language or self.tr("text"))
        self.code.language = piece.language
        self._show()

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

    def _copy_all(self) -> None:
        QGuiApplication.clipboard().setText(self._text)
        self._copy.setIcon(icon("saved", "ok"))
        self._copy.setToolTip(self.tr("Copied"))


class MarkdownView(QWidget):
    """Shows a text; called again with a longer one it touches only the pieces that are new or still open."""

    link_activated = Signal(str)

    def __init__(self, parent: QWidget | None = None, *, muted: bool = False) -> None:
        super().__init__(parent)
        self._muted = muted
        self._stream = MarkdownStream()
        self._text = ""
        self._shown: list[tuple[Piece, QWidget]] = []
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(2)

    def text(self) -> str:
        return self._text

    def set_text(self, text: str) -> None:
        if text == self._text:
            return
        self._text = text
        same = self._stream.set_text(text)
        pieces = self._stream.pieces
        for at in range(same, len(pieces)):
            piece = pieces[at]
            if at < len(self._shown):
                old, widget = self._shown[at]
                if old == piece:
                    continue
                if old.kind == piece.kind:
                    _fill(widget, piece)
                    self._shown[at] = (piece, widget)
                    continue
                self._drop(at)
            widget = self._make(piece)
            self._layout.insertWidget(at, widget)
            self._shown.insert(at, (piece, widget))
        while len(self._shown) > len(pieces):
            self._drop(len(self._shown) - 1)

    def piece_widgets(self) -> list[QWidget]:
        return [widget for _, widget in self._shown]

    def _make(self, piece: Piece) -> QWidget:
        widget: QWidget
        if piece.kind == "code":
            widget = CodeBlock(self)
        else:
            prose = Prose(self, wide=piece.kind == "table", muted=self._muted)
            prose.link_activated.connect(self.link_activated)
            widget = prose
        _fill(widget, piece)
        return widget

    def _drop(self, at: int) -> None:
        _, widget = self._shown.pop(at)
        self._layout.removeWidget(widget)
        widget.deleteLater()


def _fill(widget: QWidget, piece: Piece) -> None:
    if isinstance(widget, CodeBlock):
        widget.set_piece(piece)
    elif isinstance(widget, Prose):
        widget.set_html(piece.text)
