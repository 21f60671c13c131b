"""The status bar: every segment can be clicked and explains itself; what needs the person becomes a sentence."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from worldline.ui.labels import WrapLabel
from worldline.ui.plain import as_tip
from worldline.ui.session_state import SessionState
from worldline.ui.theme import SPACE_L, SPACE_M, SPACE_S, SPACE_XS, STATUS_HEIGHT, caption, theme
from worldline.ui.tree.glyphs import glyph
from worldline.viewmodel import status as words
from worldline.viewmodel import status_pages

if TYPE_CHECKING:
    from PySide6.QtGui import QKeyEvent, QPaintEvent

SENTENCE = 420
"""Pixels that a sentence keeps in a narrow window; the rest of it is on hover and in what a click shows."""
_FIRST_TO_GO = ("cache", "saved", "cost", "sandbox")
"""Segments that make room in a narrow window, in this order."""


class SegmentButton(QToolButton):
    """One segment: text in its colour, a small meter when it has a share."""

    def __init__(self, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.name = name
        self.segment = words.Segment(name, "")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setObjectName(f"status-{name}")

    def take(self, segment: words.Segment) -> None:
        if segment == self.segment:
            return
        self.segment = segment
        self.setText(segment.text)
        # A sentence may be cut off; the words of the others are short.
        self.setToolTip(as_tip(segment.hint or segment.text))
        self.setAccessibleName(f"{segment.hint}: {segment.text}" if segment.hint else segment.text)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        wide = self.fontMetrics().horizontalAdvance(self.segment.text)
        extra = 34 if self.segment.share >= 0 else 0
        return QSize(wide + extra + 18, 24)

    def minimumSizeHint(self) -> QSize:
        whole = self.sizeHint()
        return QSize(min(SENTENCE, whole.width()), whole.height())

    def paintEvent(self, _event: QPaintEvent) -> None:
        t = theme().tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        if self.underMouse() or self.isDown():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(t.color("hover"))
            painter.drawRoundedRect(box, 5, 5)
        if self.hasFocus():
            painter.setPen(t.color("accent"))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box, 5, 5)
        left = 9.0
        if self.segment.share >= 0:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(t.color("line"))
            painter.drawRoundedRect(QRectF(left, self.height() / 2 - 2.5, 28, 5), 2.5, 2.5)
            painter.setBrush(t.color(self.segment.color if self.segment.color != "muted" else "accent"))
            filled = max(2.0, 28 * self.segment.share) if self.segment.share > 0 else 0.0
            painter.drawRoundedRect(QRectF(left, self.height() / 2 - 2.5, filled, 5), 2.5, 2.5)
            left += 34
        painter.setPen(t.color(self.segment.color))
        room = self.width() - left
        text = self.segment.text
        if self.width() < self.sizeHint().width():
            text = self.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, int(room) - 4)
        painter.drawText(QRectF(left, 0, room, self.height()), Qt.AlignmentFlag.AlignVCenter, text)


class Popover(QFrame):
    """What a segment explains. Closes at Escape or a click elsewhere; nothing in it is needed to go on."""

    def __init__(self, parent: QWidget, title: str, lines: list[tuple[str, str]], note: str) -> None:
        super().__init__(parent, Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self.setProperty("role", "float")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAccessibleName(title)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SPACE_L, SPACE_M, SPACE_L, SPACE_M)
        layout.setSpacing(SPACE_S)
        head = QLabel(title, self)
        head.setTextFormat(Qt.TextFormat.PlainText)
        head.setFont(theme().font_ui(1, bold=True))
        layout.addWidget(head)
        grid = QGridLayout()
        grid.setHorizontalSpacing(SPACE_L)
        grid.setVerticalSpacing(SPACE_XS)
        for number, (what, value) in enumerate(lines):
            name = QLabel(what, self)
            caption(name)
            said = WrapLabel(value, self)
            said.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            said.setWordWrap(len(value) > 50)
            grid.addWidget(name, number, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(said, number, 1)
        if lines:
            layout.addLayout(grid)
        if note:
            text = WrapLabel(note, self)
            text.setWordWrap(True)
            text.setMinimumWidth(280)
            caption(text)
            layout.addWidget(text)
        self.body = layout
        self.setMaximumWidth(420)

    def add_button(self, text: str, call: Any) -> None:
        button = QPushButton(text, self)
        button.clicked.connect(self.close)
        button.clicked.connect(lambda *_args: call())
        self.body.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)

    def open_above(self, anchor: QWidget) -> None:
        self.adjustSize()
        place = anchor.mapToGlobal(QPoint(0, 0)) - QPoint(0, self.height() + 4)
        edge = anchor.window().mapToGlobal(QPoint(anchor.window().width(), 0)).x() - self.width() - 8
        self.move(min(place.x(), edge), place.y())
        self.show()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close()
            return
        super().keyPressEvent(event)


class StatusBar(QFrame):
    show_waiting = Signal()
    """The person wants to see what waits (approval, question)."""
    show_effects = Signal()
    show_diagnostics = Signal()

    def __init__(self, state: SessionState, parent: QWidget) -> None:
        super().__init__(parent)
        self.state = state
        self.setObjectName("status-bar")
        self.setAccessibleName(self.tr("Status"))
        self.setFixedHeight(STATUS_HEIGHT)
        self._row = row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_S, 0, SPACE_S, 0)
        row.setSpacing(SPACE_XS)
        self.glyph = QLabel(self)
        self.glyph.setFixedSize(16, 16)
        row.addSpacing(SPACE_XS)
        row.addWidget(self.glyph)
        self.first = SegmentButton("state", self)
        self.first.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        row.addWidget(self.first)
        self._buttons_row = QHBoxLayout()
        self._buttons_row.setSpacing(SPACE_XS)
        row.addLayout(self._buttons_row)
        row.addStretch(1)
        self.buttons: dict[str, QPushButton] = {}
        self._shown_buttons: list[tuple[str, str]] = []
        self.parts: dict[str, SegmentButton] = {"state": self.first}
        for name in words.SEGMENTS[1:]:
            self.parts[name] = SegmentButton(name, self)
            row.addWidget(self.parts[name])
        for part in self.parts.values():
            part.clicked.connect(lambda _checked=False, part=part: self.explain(part.name))
        self.popover: Popover | None = None
        self._clock = QTimer(self)
        self._clock.setInterval(500)
        self._clock.timeout.connect(self.refresh)
        state.status_changed.connect(self.refresh)
        state.engine_state_changed.connect(self.refresh)
        state.engine_ready.connect(self.refresh)
        theme().changed.connect(self._restyle)
        self._restyle()

    def _restyle(self) -> None:
        for part in self.parts.values():
            part.setFont(theme().font_ui(-1))
        self.refresh()

    def refresh(self, *_args: Any) -> None:
        now = int(time.time() * 1000)
        state = self.state
        all_segments = words.segments(state.status, state.client.state, state.ready, now)
        for segment in all_segments:
            self.parts[segment.name].take(segment)
        first = all_segments[0]
        shapes = {"dot": "prompt", "running": "running", "pause": "waiting", "warn": "change", "retry": "running",
                  "swap": "summary"}  # fmt: skip
        self.glyph.setPixmap(
            glyph(shapes.get(first.icon, "event"), "ok" if first.icon == "dot" and first.color == "text" else first.color, 16,
                  self.devicePixelRatioF())
        )  # fmt: skip
        self._show_buttons(first.buttons)
        # Only a countdown needs a clock.
        if state.status.get("state") == "retrying" and not self._clock.isActive():
            self._clock.start()
        elif state.status.get("state") != "retrying":
            self._clock.stop()
        self._make_room()

    def _show_buttons(self, wanted: list[tuple[str, str]]) -> None:
        if wanted == self._shown_buttons:
            return
        self._shown_buttons = list(wanted)
        for button in self.buttons.values():
            self._buttons_row.removeWidget(button)
            button.hide()
            button.deleteLater()
        self.buttons.clear()
        for command, text in wanted:
            button = QPushButton(text, self)
            button.setProperty("role", "link")
            button.setFont(theme().font_ui(-1))
            button.clicked.connect(lambda _checked=False, command=command: self._do(command))
            self._buttons_row.addWidget(button)
            # At once, not with the next layout: the sentence takes its place in the same frame.
            button.show()
            self.buttons[command] = button

    def _do(self, command: str) -> None:
        if command in ("retry_now", "stop"):
            self.state.request(command)
        elif command == "restart":
            self.state.client.restart()
        elif command == "show":
            self.show_waiting.emit()
        elif command == "why_fallback":
            self.explain("model")
        elif command == "why":
            self.explain("state")

    def _make_room(self) -> None:
        for part in self.parts.values():
            part.show()
        for name in _FIRST_TO_GO:
            if self._row.minimumSize().width() <= self.width():
                break
            self.parts[name].hide()

    def resizeEvent(self, event: Any) -> None:
        super().resizeEvent(event)
        self._make_room()

    def explain(self, name: str) -> Popover:
        """Open the popover of a segment."""
        title, lines, note = status_pages.explain(name, self.state.status)
        if name == "state" and not note:
            note = self.parts["state"].segment.text
        popover = Popover(self, title, lines, note)
        if name == "effects":
            self._list_effects(popover)
        if name == "sandbox" and self.state.status.get("sandbox") != "complete":
            popover.add_button(self.tr("Settings…"), lambda: self._trigger("settings"))
        if name in ("state", "cache"):
            popover.add_button(self.tr("Diagnostics…"), self.show_diagnostics.emit)
        popover.open_above(self.parts[name])
        self.popover = popover
        popover.destroyed.connect(self._popover_gone)
        return popover

    def _trigger(self, name: str) -> None:
        actions = getattr(self.window(), "actions_list", None)
        if actions is not None and name in actions:
            actions[name].trigger()

    def _popover_gone(self) -> None:
        self.popover = None

    def _list_effects(self, popover: Popover) -> None:
        known = [
            effect
            for effect in self.state.effects.values()
            if effect["status"] in ("open", "running") and effect["kind"] != "net_fetch"
        ]
        for effect in known[-6:]:
            line = WrapLabel(f"⚠ {effect['summary']}", popover)
            line.setWordWrap(True)
            popover.body.addWidget(line)
        popover.add_button(self.tr("Show all…"), self.show_effects.emit)
