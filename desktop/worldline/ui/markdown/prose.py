"""Rich text that is read, selected and copied, without a scroll area of its own."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, QUrl, Signal
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QColor,
    QFontMetrics,
    QGuiApplication,
    QImage,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QResizeEvent,
    QTextCursor,
    QTextDocument,
    QTextOption,
    QWheelEvent,
)
from PySide6.QtWidgets import QScrollBar, QSizePolicy, QWidget

from worldline.ui.plain import as_tip
from worldline.ui.theme import theme
from worldline.viewmodel.visible import settled

INDENT = 22
"""Pixels of one step of a list; Qt's own 40 waste a narrow chat."""
NUMBER_GAP = 7
"""Pixels between a number and its text, and the edge."""
QUOTE = 12
"""Pixels by which a quote is further in than what quotes it; the bar beside it stands there."""
BAR = 3


def _look() -> tuple[object, ...]:
    return (theme().tokens, theme().larger)


@lru_cache(maxsize=4)
def _css(look: tuple[object, ...]) -> str:
    """Style of all message text, from the tokens."""
    t = theme().tokens
    mono = theme().font_code().family()
    size = theme().font_ui().pixelSize()
    return (
        f"p {{ margin: 0 0 8px 0; line-height: 140%; }} li {{ margin: 2px 0; line-height: 135%; }}"
        f"ul, ol {{ margin: 6px 0 10px 0; }} li ul, li ol {{ margin: 0; }} table {{ margin: 4px 0 10px 0; }}"
        f"h1 {{ font-size: {size + 4}px; font-weight: 600; margin: 10px 0 6px 0; }}"
        f"h2 {{ font-size: {size + 2}px; font-weight: 600; margin: 10px 0 6px 0; }}"
        f"h3, h4, h5, h6 {{ font-size: {size}px; font-weight: 600; margin: 8px 0 4px 0; }}"
        f"code {{ font-family: '{mono}'; font-size: {size - 1}px; background-color: {t.hover}; }}"
        f"a {{ color: {t.accent}; text-decoration: none; }}"
        f"blockquote {{ color: {t.muted}; margin-left: {QUOTE}px; }}"
        f"th {{ font-weight: 600; text-align: left; padding: 4px 12px 4px 0; }} td {{ padding: 4px 12px 4px 0; }}"
        f"hr {{ background-color: {t.line}; }}"
    )


class _Sealed(QTextDocument):
    """Text alone. Qt's own documents read every file that a picture in them names, in the window's thread; they try the
    file also when they are given nothing, so that they are given a picture of nothing."""

    def loadResource(self, kind: int, name: QUrl | str) -> QImage:
        nothing = QImage(1, 1, QImage.Format.Format_ARGB32)
        nothing.fill(Qt.GlobalColor.transparent)
        return nothing


class Prose(QWidget):
    """Shows HTML of the rich-text subset. Its height follows its width; a table wider than that scrolls sideways."""

    link_activated = Signal(str)

    def __init__(self, parent: QWidget | None = None, *, wide: bool = False, muted: bool = False) -> None:
        super().__init__(parent)
        self._wide = wide
        self._muted = muted
        self._html = ""
        self._fixed = 0
        self._look: tuple[object, ...] = ()
        """Colours and size of text that the document was made with."""
        self._heights: dict[int, int] = {}
        self._document = _Sealed(self)
        self._document.setDocumentMargin(0)
        self._document.setIndentWidth(INDENT)
        self._document.setUndoRedoEnabled(False)
        self._set_wrap()
        self._cursor = QTextCursor(self._document)
        self._bar: QScrollBar | None = None
        """Tables only: a bar for every paragraph would be half of all widgets."""
        if wide:
            self._bar = QScrollBar(Qt.Orientation.Horizontal, self)
            self._bar.valueChanged.connect(self.update)
            self._bar.hide()
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setCursor(Qt.CursorShape.IBeamCursor)
        self.setMouseTracking(True)

    def set_html(self, html: str, fixed: int = 0) -> None:
        """`fixed`: lay it out in so many pixels, whatever the width of the widget (parts of a large table)."""
        html = settled(html)
        if html == self._html and fixed == self._fixed:
            return
        self._html = html
        if fixed != self._fixed:
            self._fixed = fixed
            self._set_wrap()
        self._load()

    def _set_wrap(self) -> None:
        option = QTextOption()
        option.setWrapMode(
            QTextOption.WrapMode.NoWrap
            if self._wide and not self._fixed
            else QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere
        )
        self._document.setDefaultTextOption(option)

    def _load(self) -> None:
        self._look = _look()
        self._document.setDefaultStyleSheet(_css(self._look))
        self._document.setDefaultFont(theme().font_ui())
        self._document.setHtml(self._html)
        self._document.setIndentWidth(self._indent())
        self._heights.clear()
        self.setAccessibleName(self._document.toPlainText()[:2000])
        self._cursor = QTextCursor(self._document)
        if self.width() > 0:
            self._fit()
        self.updateGeometry()
        self.update()

    def _indent(self) -> int:
        """As wide as the widest number of a list: Qt writes it to the left of the text, and over the edge."""
        if "<ol" not in self._html:
            return INDENT
        metrics, widest = QFontMetrics(self._document.defaultFont()), INDENT
        block = self._document.begin()
        while block.isValid():
            if (numbered := block.textList()) is not None:
                widest = max(widest, metrics.horizontalAdvance(numbered.itemText(block)) + NUMBER_GAP)
            block = block.next()
        return widest

    def html(self) -> str:
        return self._html

    def text(self) -> str:
        return self._document.toPlainText()

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        # Layouts ask again and again; laying out a table for every question would stop a stream.
        known = self._heights.get(width)
        if known is None:
            if len(self._heights) > 4:
                self._heights.clear()
            known = self._heights[width] = self._height(width)
        return known

    def _height(self, width: int) -> int:
        if self._bar is not None:
            wanted = self._fixed or -1
            if self._document.textWidth() != wanted:
                self._document.setTextWidth(wanted)
            bar = self._bar.sizeHint().height() if self._document.idealWidth() > width else 0
            return round(self._document.size().height()) + bar
        if self._document.textWidth() != width:
            self._document.setTextWidth(width)
        return round(self._document.size().height())

    def sizeHint(self) -> QSize:
        width = self.width() or 400
        return QSize(width, self.heightForWidth(width))

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fit()

    def _fit(self) -> None:
        if self._bar is None:
            if self._document.textWidth() != self.width():
                self._document.setTextWidth(self.width())
            return
        surplus = max(0, round(self._document.idealWidth() - self.width()))
        self._bar.setVisible(surplus > 0)
        self._bar.setRange(0, surplus)
        self._bar.setPageStep(self.width())
        height = self._bar.sizeHint().height()
        self._bar.setGeometry(0, self.height() - height, self.width(), height)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._bar is None:
            # Layouts ask for heights at other widths too, and the document keeps the last one.
            self._fit()
        painter = QPainter(self)
        painter.translate(-self._shift(), 0)
        context = QAbstractTextDocumentLayout.PaintContext()
        tokens = theme().tokens
        context.palette = QPalette(self.palette())
        context.palette.setColor(
            QPalette.ColorRole.Text, QColor(tokens.muted if self._muted else tokens.text)
        )
        context.clip = QRectF(event.rect()).translated(self._shift(), 0)
        if self._cursor.hasSelection():
            selection = QAbstractTextDocumentLayout.Selection()
            selection.cursor = self._cursor
            char = selection.format
            ground = QColor(tokens.accent)
            ground.setAlpha(70)
            char.setBackground(ground)
            selection.format = char
            context.selections = [selection]
        self._document.documentLayout().draw(painter, context)
        if "<blockquote" in self._html:
            self._draw_bars(painter)

    def bars(self) -> list[QRectF]:
        """Where the bars beside quotes are, in the document: one for each level of each paragraph."""
        layout, found = self._document.documentLayout(), []
        block = self._document.begin()
        while block.isValid():
            following, area = block.next(), layout.blockBoundingRect(block)
            # Nothing but a quote has a margin there.
            level = round(block.blockFormat().leftMargin() / QUOTE)
            below = round(following.blockFormat().leftMargin() / QUOTE) if following.isValid() else 0
            # Of a quote in a list: as far in as its text.
            left = block.blockFormat().indent() * self._document.indentWidth()
            for at in range(level):
                # Through to the next paragraph of the same quote.
                end = layout.blockBoundingRect(following).top() if at < below else area.bottom()
                found.append(QRectF(left + at * QUOTE, area.top(), BAR, end - area.top()))
            block = following
        return found

    def _draw_bars(self, painter: QPainter) -> None:
        colour = QColor(theme().tokens.muted)
        colour.setAlpha(110)
        for bar in self.bars():
            painter.fillRect(bar, colour)

    def _shift(self) -> int:
        return self._bar.value() if self._bar is not None else 0

    def _hit(self, pos: QPointF) -> int:
        place = QPointF(pos.x() + self._shift(), pos.y())
        return self._document.documentLayout().hitTest(place, Qt.HitTestAccuracy.FuzzyHit)

    def _anchor(self, pos: QPointF) -> str:
        return self._document.documentLayout().anchorAt(QPointF(pos.x() + self._shift(), pos.y()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._cursor.setPosition(max(0, self._hit(event.position())))
            self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._cursor.setPosition(max(0, self._hit(event.position())), QTextCursor.MoveMode.KeepAnchor)
            self.update()
            return
        link = self._anchor(event.position())
        self.setCursor(Qt.CursorShape.PointingHandCursor if link else Qt.CursorShape.IBeamCursor)
        # The words of a link may name another address than it has.
        self.setToolTip(as_tip(link))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        link = self._anchor(event.position())
        if link and not self._cursor.hasSelection():
            self.link_activated.emit(link)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._cursor.setPosition(max(0, self._hit(event.position())))
        self._cursor.select(QTextCursor.SelectionType.WordUnderCursor)
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            text = self._cursor.selection().toPlainText() if self._cursor.hasSelection() else self.text()
            QGuiApplication.clipboard().setText(text)
        elif event.matches(QKeySequence.StandardKey.SelectAll):
            self._cursor.select(QTextCursor.SelectionType.Document)
            self.update()
        else:
            super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        sideways = event.angleDelta().x()
        if sideways and self._bar is not None and self._bar.maximum():
            self._bar.setValue(self._bar.value() - sideways // 2)
            event.accept()
        else:
            event.ignore()

    def changeEvent(self, event: QEvent) -> None:
        # A change of the style comes as several events, and most of them change nothing of the text.
        if event.type() == QEvent.Type.PaletteChange and self._html and self._look != _look():
            self._load()
        super().changeEvent(event)
