"""What all rows of the chat share."""

from __future__ import annotations

from abc import abstractmethod

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QColor, QContextMenuEvent, QEnterEvent, QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from worldline.ui.icons import keep
from worldline.ui.labels import ElidedLabel as ElidedLabel
from worldline.ui.labels import WrapLabel
from worldline.ui.plain import as_tip
from worldline.ui.theme import RADIUS, caption, theme
from worldline.viewmodel.chat_rows import ChatRow


class RowSignals(QObject):
    """What rows ask for. One object a chat view; rows emit intent, the pane acts."""

    go_to = Signal(str)
    reveal = Signal(str)
    edit_prompt = Signal(str, str)
    offer = Signal(str, str)
    """Run, offer."""
    show_diff = Signal(str, str)
    """Node, path: look at it in the changes pane."""
    whole_output = Signal(str)
    """Blob of an output that is shown in part."""
    approve = Signal(object)
    """`AnswerApproval` as a dict."""
    show_approval = Signal(str)
    answer = Signal(object)
    """`AnswerQuestion` as a dict."""
    height_changed = Signal(str)
    """The row with this key has another height now."""
    grown = Signal(str)
    """The same, but not because of something the person did: the view goes on to follow the end."""
    menu = Signal(str, object)
    """Row and place: what else can be done with this message."""
    model_view = Signal(str)
    explain = Signal(str)
    link = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.open: dict[str, bool] = {}
        """What the person folded or unfolded, by row key: rows out of sight are deleted and come back as they were."""
        self.countered: set[str] = set()
        """Nodes whose effects were all countered."""


class RowWidget(QWidget):
    """A row. `show_row` may be called many times with the same row and must be cheap when little has changed.

    Qt's classes have a metaclass of their own, so it is the type checker that refuses one without `show_row`."""

    def __init__(self, row: ChatRow, signals: RowSignals, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.row = row
        self.signals = signals
        self.shown_revision = -1
        self.setAttribute(Qt.WidgetAttribute.WA_NoMousePropagation, False)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if self.row.uid:
            self.signals.menu.emit(self.row.uid, event.globalPos())

    def enterEvent(self, event: QEnterEvent) -> None:
        self._wake()

    def leaveEvent(self, event: QEvent) -> None:
        self._wake()

    def _wake(self) -> None:
        for button in self.findChildren(QuietButton):
            button.update()

    reusable = False
    """Whether the widget can show another row of its kind: making one costs several times as much."""

    def reuse(self, row: ChatRow) -> None:
        """Show another row as if newly made."""
        self.show_row(row)

    @abstractmethod
    def show_row(self, row: ChatRow) -> None:
        """Show what the row says now."""

    def recolour(self) -> None:
        """The theme has other colours now. What is painted or follows the theme by itself needs nothing."""
        self.show_row(self.row)

    def set_sight(self, top: int, bottom: int) -> int | None:
        """Which part of the row is in sight. None when its height stays; else by how much what lies above the sight has
        grown. Rows that are small as a whole have nothing to do."""
        return None

    def height_for(self, width: int) -> int:
        """Real height at a width. The layout is asked directly: the size hint of a hidden widget is stale."""
        layout = self.layout()
        assert layout is not None
        # The layout remembers the hints of its widgets, and does not hear of what was hidden inside a card.
        for at in range(layout.count()):
            item = layout.itemAt(at)
            widget = item.widget() if item is not None else None
            if widget is not None:
                if (inner := widget.layout()) is not None:
                    inner.invalidate()
                widget.updateGeometry()
        layout.invalidate()
        if layout.hasHeightForWidth():
            return layout.heightForWidth(width)
        return layout.sizeHint().height()

    def changed_height(self) -> None:
        self.signals.height_changed.emit(self.row.key)

    def hold(self, card: Card) -> None:
        """The row is this card, with room above and below."""
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 8, 0, 8)
        layout.addWidget(card)


class Card(QFrame):
    """A quiet ground with round corners, painted instead of styled: style sheets on many widgets are slow."""

    def __init__(self, parent: QWidget | None = None, *, ground: str = "panel", edge: str = "line") -> None:
        super().__init__(parent)
        self._ground = ground
        self._edge = edge

    def set_edge(self, token: str) -> None:
        if token != self._edge:
            self._edge = token
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = theme().tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(tokens.color(self._edge)) if self._edge else Qt.PenStyle.NoPen)
        painter.setBrush(tokens.color(self._ground))
        painter.drawRoundedRect(self.rect().toRectF().adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)


class ColorLabel(WrapLabel):
    """A label in the colour of a token; follows the theme."""

    def __init__(
        self, text: str = "", token: str = "muted", parent: QWidget | None = None, *, bold: bool = False
    ) -> None:
        super().__init__(text, parent)
        self._token = token
        self.setFont(theme().font_ui(-1 if token == "muted" else 0, bold=bold))
        self._recolour()
        theme().changed.connect(self._recolour)

    def set(self, text: str, token: str | None = None) -> None:
        self.setText(text)
        if token is not None and token != self._token:
            self._token = token
            self._recolour()

    def _recolour(self) -> None:
        palette = self.palette()
        palette.setColor(self.foregroundRole(), theme().tokens.color(self._token))
        self.setPalette(palette)


class LineLabel(ColorLabel):
    """One line that ends in … (or has it in the middle) where there is no room; the whole of it on hover."""

    least = 24
    """Pixels that it keeps, if it needs them."""
    _most = 2000
    """Characters on hover."""

    def __init__(self, text: str = "", token: str = "muted", parent: QWidget | None = None) -> None:
        self.mode = Qt.TextElideMode.ElideRight
        self._tip = ""
        super().__init__(text, token, parent)

    def set_tip(self, text: str) -> None:
        """What is said on hover in place of the text."""
        self._tip = text

    def minimumSizeHint(self) -> QSize:
        whole = super().minimumSizeHint()
        return QSize(min(self.least, whole.width()), whole.height())

    @property
    def shown(self) -> str:
        """The part of the text that there is room for."""
        return self.fontMetrics().elidedText(self.text(), self.mode, self.width())

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip:
            # Made when it is asked for: what is cut depends on the width.
            whole = self._tip or (self.text() if self.shown != self.text() else "")
            self.setToolTip(as_tip(whole[: self._most]))
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter, self.shown)


class QuietButton(QToolButton):
    """Drawn only while the pointer is over its row or it has the focus: always there for keyboard and screen reader,
    never noise for the eye."""

    def paintEvent(self, event: QPaintEvent) -> None:
        row = self.parentWidget()
        while row is not None and not isinstance(row, RowWidget):
            row = row.parentWidget()
        if row is None or row.underMouse() or self.hasFocus():
            super().paintEvent(event)


def tool_button(
    parent: QWidget, name: str, icon_name: str, token: str = "muted", *, quiet: bool = False
) -> QToolButton:
    """A small icon button that says its name on hover and to a screen reader."""
    button = QuietButton(parent) if quiet else QToolButton(parent)
    keep(button, icon_name, token)
    button.setToolTip(as_tip(name))
    button.setAccessibleName(name)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button


class RowHead(QWidget):
    """Who speaks, and what can be done with the message: shown on hover and when a button has the focus."""

    def __init__(self, title: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.title = QLabel(title, self)
        caption(self.title)
        self.note = ColorLabel("", "muted", self)
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(4)
        self._layout.addWidget(self.title)
        self._layout.addWidget(self.note)
        self._layout.addStretch(1)

    def add(self, name: str, icon_name: str) -> QToolButton:
        button = tool_button(self, name, icon_name, quiet=True)
        self._layout.addWidget(button)
        return button


def copy_text(text: str) -> None:
    QGuiApplication.clipboard().setText(text)
