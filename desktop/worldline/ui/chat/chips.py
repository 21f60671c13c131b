"""What goes with a message, above the field: queued messages, large pasted texts and pictures, each with its button."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QWidget

from worldline.ui.chat import words
from worldline.ui.chat.row_base import Card, ColorLabel, tool_button
from worldline.ui.plain import as_tip
from worldline.ui.theme import theme

_QUEUED, _SHOWN = 40, 600
"""Characters of a queued message on its chip, and of a pasted text in its tip."""


class Chip(Card):
    """A queued message or an attached image, with a button that takes it away."""

    def __init__(self, text: str, removed_name: str, parent: QWidget, sent_name: str = "") -> None:
        """`sent_name`: what the button does that sends it, "" = there is none."""
        super().__init__(parent, ground="hover", edge="")
        label = ColorLabel(text, "text", self)
        label.setFont(theme().font_ui(-1))
        self.send_button = tool_button(self, sent_name, "send")
        self.send_button.setVisible(bool(sent_name))
        self.close_button = tool_button(self, removed_name, "close")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 0, 0, 0)
        layout.setSpacing(2)
        for widget in (label, self.send_button, self.close_button):
            layout.addWidget(widget)


class ChipStrip(QScrollArea):
    """A line of chips that scrolls: twenty pictures must not make the window as wide as they are together. Hidden while
    there is none."""

    taken_out = Signal(int)
    """A queued message, by its id."""
    sent = Signal(int)
    """The same: not later, but now."""
    text_removed = Signal(int)
    """A pasted text, by its place."""
    image_removed = Signal(int)
    """An image, by its place."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setStyleSheet("QScrollArea, #chips { background: transparent; }")
        inside = QWidget()
        inside.setObjectName("chips")
        self.line = QHBoxLayout(inside)
        self.line.setContentsMargins(0, 0, 0, 0)
        self.line.setSpacing(6)
        self.setWidget(inside)
        self._chips: list[Chip] = []
        self.hide()

    def show_all(
        self,
        queue: Sequence[dict[str, Any]],
        texts: Sequence[str],
        images: Sequence[dict[str, str]],
        *,
        waiting: bool,
    ) -> None:
        """Show these in place of what was shown. `waiting`: the queued ones wait for a run that goes on; else the run
        broke off, and nobody sends them but the person."""
        self._clear()
        send = "" if waiting else self.tr("Send this now")
        for queued in queue:
            text = str(queued.get("text", ""))
            short = text[:_QUEUED] + "…" if len(text) > _QUEUED else text
            number = int(queued["id"])
            chip = self._add(f"↳ {short}", text, self.tr("Take out of the queue: the words come back into the field"),
                             partial(self.taken_out.emit, number), send)  # fmt: skip
            chip.send_button.clicked.connect(lambda _=False, number=number: self.sent.emit(number))
        for at, text in enumerate(texts):
            facts = self.tr("%n line(s)", "", text.count("\n") + 1) + f" · {words.size(len(text.encode()))}"
            tip = text[:_SHOWN] + ("…" if len(text) > _SHOWN else "")
            self._add(self.tr("Pasted text · {}").format(facts), tip, self.tr("Remove the text"),
                      partial(self.text_removed.emit, at))  # fmt: skip
        for at, image in enumerate(images):
            size = words.size(len(image["data"]) * 3 // 4)
            self._add(self.tr("Image {} · {}").format(at + 1, size), "", self.tr("Remove the image"),
                      partial(self.image_removed.emit, at))  # fmt: skip
        any_there = bool(self._chips)
        if any_there:
            # From the chips: to the layout of a strip that is shown, one that has just come counts as hidden.
            bar = self.horizontalScrollBar().sizeHint().height()
            self.setFixedHeight(max(chip.sizeHint().height() for chip in self._chips) + bar)
            self.line.addStretch(1)
        self.setVisible(any_there)

    def _add(
        self, text: str, tip: str, removed_name: str, remove: Callable[[], object], sent_name: str = ""
    ) -> Chip:
        chip = Chip(text, removed_name, self, sent_name)
        chip.setToolTip(as_tip(tip))
        chip.close_button.clicked.connect(lambda _=False: remove())
        self.line.addWidget(chip)
        self._chips.append(chip)
        return chip

    def _clear(self) -> None:
        self._chips.clear()
        while self.line.count():
            item = self.line.takeAt(0)
            if item is not None and (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
