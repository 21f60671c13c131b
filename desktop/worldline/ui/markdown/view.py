"""A message in markdown: prose, code blocks with a copy button, tables, stacked."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from worldline.ui.icons import icon
from worldline.ui.markdown.prose import Prose
from worldline.ui.syntax.code_view import CodeView
from worldline.ui.theme import caption
from worldline.viewmodel.chat_markdown import MarkdownStream, Piece

SHOWN_LINES = 60
PAGE = 40
"""Pieces that share one remembered height."""


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
        above = self.parentWidget()
        while above is not None:
            if isinstance(above, _Page):
                above.forget()
            elif hasattr(above, "changed_height"):
                above.changed_height()
                return
            above = above.parentWidget()

    def _copy_all(self) -> None:
        QGuiApplication.clipboard().setText(self._text)
        self._copy.setIcon(icon("saved", "ok"))
        self._copy.setToolTip(self.tr("Copied"))


class _Page(QWidget):
    """Some pieces on end. It remembers its height, so that a long message is not measured from its beginning for
    every word that comes in."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._heights: dict[int, int] = {}
        self.pieces = QVBoxLayout(self)
        self.pieces.setContentsMargins(0, 0, 0, 0)
        self.pieces.setSpacing(2)
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def forget(self) -> None:
        self._heights.clear()
        self.pieces.invalidate()
        self.updateGeometry()

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        known = self._heights.get(width)
        if known is None:
            if len(self._heights) > 4:
                self._heights.clear()
            self.pieces.invalidate()
            known = self.pieces.heightForWidth(width) if self.pieces.hasHeightForWidth() else -1
            if known < 0:
                known = self.pieces.sizeHint().height()
            self._heights[width] = known
        return known

    def sizeHint(self) -> QSize:
        width = self.width() or 400
        return QSize(width, self.heightForWidth(width))


class MarkdownView(QWidget):
    """Shows a text; called again with a longer one it touches only the pieces that are new or still open."""

    link_activated = Signal(str)

    def __init__(self, parent: QWidget | None = None, *, muted: bool = False) -> None:
        super().__init__(parent)
        self._muted = muted
        self._stream = MarkdownStream()
        self._text = ""
        self._shown: list[tuple[Piece, QWidget]] = []
        self._pages: list[_Page] = []
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
                    self._page(at).forget()
                    self._shown[at] = (piece, widget)
                    continue
                self._drop(at)
            page = self._page(at)
            widget = self._make(piece, page)
            page.pieces.insertWidget(at % PAGE, widget)
            page.forget()
            self._shown.insert(at, (piece, widget))
        while len(self._shown) > len(pieces):
            self._drop(len(self._shown) - 1)

    def piece_widgets(self) -> list[QWidget]:
        return [widget for _, widget in self._shown]

    def _page(self, at: int) -> _Page:
        while len(self._pages) <= at // PAGE:
            page = _Page(self)
            self._pages.append(page)
            self._layout.addWidget(page)
        return self._pages[at // PAGE]

    def _make(self, piece: Piece, page: _Page) -> QWidget:
        widget: QWidget
        if piece.kind == "code":
            widget = CodeBlock(page)
        else:
            prose = Prose(page, wide=piece.kind == "table", muted=self._muted)
            prose.link_activated.connect(self.link_activated)
            widget = prose
        _fill(widget, piece)
        return widget

    def _drop(self, at: int) -> None:
        _, widget = self._shown.pop(at)
        page = self._pages[at // PAGE]
        page.pieces.removeWidget(widget)
        page.forget()
        widget.hide()
        widget.deleteLater()
        if not page.pieces.count() and page is self._pages[-1]:
            self._pages.pop()
            self._layout.removeWidget(page)
            page.hide()
            page.deleteLater()


def _fill(widget: QWidget, piece: Piece) -> None:
    if isinstance(widget, CodeBlock):
        widget.set_piece(piece)
    elif isinstance(widget, Prose):
        widget.set_html(piece.text)
