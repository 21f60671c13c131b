"""Composer: the message, what goes with it, and what can be done while the agent works."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from worldline.ui import dropping
from worldline.ui.chat import words
from worldline.ui.chat.chips import ChipStrip
from worldline.ui.chat.choices import MessageChoices
from worldline.ui.chat.composer_edit import ComposerEdit
from worldline.ui.chat.pasting import is_large
from worldline.ui.chat.row_base import Card, ColorLabel, tool_button
from worldline.ui.icons import keep
from worldline.ui.plain import as_tip
from worldline.ui.still import Still
from worldline.ui.theme import TEXT_WIDTH
from worldline.viewmodel.drafts import Draft

CHARS_PER_TOKEN = 3.6
"""Rough, and only for the line below the field; the engine counts exactly."""
_ROOMY = 620
"""Pixels of width from which everything fits beside the buttons of a run."""


class Composer(QWidget):
    """Emits what the person wants; keeps text and images until the engine has taken them."""

    send = Signal(dict)
    """Params of `prompt`."""
    stop = Signal()
    queue_edit = Signal(int, object)
    """Id, new text or None = take it out."""
    queue_send = Signal(int)
    complete = Signal(str)
    mode_changed = Signal(str)
    draft_changed = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.running = False
        self._queue: list[dict[str, Any]] = []
        self._away = ""
        """Why nothing can be sent at the moment."""
        self._images: list[dict[str, str]] = []
        self._texts: list[str] = []
        """Large texts that were pasted; they go behind what is written."""
        self._wished = ""
        """Sending was asked for while a picture was being made ready: it follows."""
        self._missed = ""
        """What is said of a picture that could not be made ready, once all are done."""
        self._context_tokens = 0
        self._price: float | None = None
        card = Card(self)
        self._card = card
        self.chips = ChipStrip(card)
        self.chips.taken_out.connect(self._take_out)
        self.chips.sent.connect(self.queue_send)
        self.chips.text_removed.connect(self._remove_text)
        self.chips.image_removed.connect(self._remove_image)
        self.edit = ComposerEdit(card)
        self.edit.submitted.connect(lambda: self._send("next_step" if self.running else "now"))
        self.edit.interrupt_wanted.connect(lambda: self._send("interrupt" if self.running else "now"))
        self.edit.completion_wanted.connect(self.complete)
        self.edit.image_added.connect(self.add_image)
        self.edit.packer.changed.connect(self._on_packing)
        self.edit.packer.failed.connect(self._on_missed)
        self.edit.dragged_over.connect(self._on_dragged_over)
        self.edit.large_added.connect(self.add_text)
        self.edit.large_undone.connect(lambda: self._remove_text(len(self._texts) - 1))
        self.edit.textChanged.connect(self._on_text)
        self.choices = MessageChoices(card)
        self.choices.mode.chosen.connect(self.mode_changed)
        self.choices.offers_changed.connect(self._fit)
        self._attach = tool_button(card, self.tr("Name a file (@)"), "at")
        self._attach.clicked.connect(self._at)
        self._estimate = ColorLabel("", "muted", card)
        self._interrupt = QPushButton(self.tr("Interrupt"), card)
        self._interrupt.setToolTip(self.tr("Stop the running step and send this now (Ctrl+Enter)"))
        self._interrupt.clicked.connect(lambda: self._send("interrupt"))
        self._stop = QPushButton(self.tr("Stop"), card)
        keep(self._stop, "stop", "text")
        self._stop.setToolTip(self.tr("Stop the run. Everything produced so far is kept."))
        self._stop.clicked.connect(self.stop)
        self._go = QPushButton(card)
        self._go.setProperty("role", "primary")
        self._go.clicked.connect(self.edit.submitted)
        tools = QHBoxLayout()
        tools.setSpacing(4)
        for widget in (self._attach, *self.choices.choosers):
            tools.addWidget(widget)
        tools.addSpacing(6)
        tools.addWidget(self._estimate, 1)
        for button in (self._interrupt, self._stop, self._go):
            button.setAutoDefault(False)
            tools.addWidget(button)
        # A line below that goes lets them down to where its own buttons were.
        Still(self, (self._interrupt, self._stop, self._go), new=False)
        inner = QVBoxLayout(card)
        inner.setContentsMargins(8, 6, 8, 8)
        inner.setSpacing(6)
        inner.addWidget(self.chips)
        self._note = ColorLabel("", "warn", card)
        self._note.setWordWrap(True)
        self._note.hide()
        inner.addWidget(self.edit)
        inner.addWidget(self._note)
        inner.addLayout(tools)
        # As wide as the text of the chat, and in the middle with it.
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 4, 12, 12)
        card.setMaximumWidth(TEXT_WIDTH)
        layout.addStretch(1)
        layout.addWidget(card, 1000)
        layout.addStretch(1)
        self.set_running(False)

    # -- what the pane tells

    def set_running(self, running: bool) -> None:
        changed, self.running = running != self.running, running
        self._go.setText(self.tr("Queue") if running else self.tr("Send"))
        self._explain_go()
        if not running:
            self._keep_keyboard(self._interrupt, self._stop)
        self._interrupt.setVisible(running)
        self._stop.setVisible(running)
        self._fit()
        # Said with each status: new chips would take the one from under the pointer and the keyboard.
        if self._queue and changed:
            self._show_chips()
        self._on_text()

    def set_away(self, why: str) -> None:
        """Nobody is there to send to, and why: one can go on writing. "" = somebody is."""
        if self._note.text() == self._away:
            self.say("")
        self._away = why
        self._explain_go()
        self._on_text()

    def _explain_go(self) -> None:
        usual = (
            self.tr("Sent after the step that is running (Enter)")
            if self.running
            else self.tr("Send (Enter)")
        )
        self._go.setToolTip(as_tip(self._away or usual))

    def _fit(self) -> None:
        """While a run goes on its buttons come first; what concerns the next run waits where there is no room."""
        room = not self.running or self.width() >= _ROOMY
        self._estimate.setVisible(room)
        self.choices.show_where_there_is(room)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def say(self, text: str) -> None:
        """A line below the field, "" = none."""
        self._note.setText(text)
        self._note.setVisible(bool(text))

    def set_read_only(self, why: str) -> None:
        self.edit.setReadOnly(bool(why))
        self.edit.setPlaceholderText(why or self.edit.tr("Message… @ names a file"))
        for widget in (*self.choices.choosers, self._attach):
            widget.setEnabled(not why)
        self._on_text()

    def set_context(self, tokens: int) -> None:
        self._context_tokens = tokens
        self._on_text()

    def set_queue(self, items: list[dict[str, Any]]) -> None:
        self._queue = items
        self._show_chips()

    def _take_out(self, number: int) -> None:
        """Its words are not lost: they come back into the field, or with Up where something else is being written."""
        text = next((str(one.get("text", "")) for one in self._queue if int(one["id"]) == number), "")
        self.queue_edit.emit(number, None)
        if self.message():
            self.edit.remember(text)
        elif text:
            self.set_text(text)

    def offer(self, prefix: str, paths: list[str]) -> None:
        self.edit.offer(prefix, paths)

    # -- text and images

    def text(self) -> str:
        return self.edit.toPlainText()

    def message(self) -> str:
        """All that would be sent as text."""
        return "\n\n".join(part for part in (self.text().strip(), *self._texts) if part.strip())

    def set_text(self, text: str) -> None:
        """Put a text into the field; what was being written is kept and can be had again with Up."""
        draft = self.text().strip()
        if draft and draft != text:
            self.edit.remember(draft)
        if is_large(text):
            self._texts = [text]
            self._show_chips()
            text = ""
        self.edit.set_text(text)
        self.edit.setFocus()

    def draft(self) -> Draft:
        """What is being written, to be kept for the next window."""
        return Draft(self.text(), list(self._texts), list(self._images))

    def restore(self, draft: Draft) -> None:
        """Take up an earlier draft. What has been written meanwhile stays; the words of the draft come back with Up."""
        if self.text().strip():
            self.edit.remember(draft.text.strip())
        elif draft.text:
            self.edit.set_text(draft.text)
        self._texts = [*draft.texts, *self._texts]
        self._images = [*draft.images, *self._images]
        self._show_chips()

    def replace(self, draft: Draft) -> None:
        """Show this draft and nothing else."""
        self.edit.set_text(draft.text)
        self._texts, self._images = list(draft.texts), list(draft.images)
        self._show_chips()

    def add_text(self, text: str) -> None:
        """Keep a large text beside the field."""
        self._texts.append(text)
        self._show_chips()

    def _remove_text(self, at: int) -> None:
        if 0 <= at < len(self._texts):
            del self._texts[at]
            self._show_chips()

    def add_image(self, media_type: str, data: str) -> None:
        self._images.append({"media_type": media_type, "data": data})
        self._show_chips()

    def _on_dragged_over(self, words: str) -> None:
        if words:
            dropping.begin(self._card, words)
        else:
            dropping.end(self._card)

    def _on_packing(self) -> None:
        if pending := self.edit.packer.pending:
            self.say(self.tr("Making %n picture(s) ready…", "", pending))
            return
        when, missed, self._wished, self._missed = self._wished, self._missed, "", ""
        self.say(missed)
        # Whoever pressed Enter meant it with the picture that is missing now.
        if when and not missed:
            self._send(when)

    def _on_missed(self, name: str, why: str) -> None:
        self._missed = (
            self.tr("The picture cannot be made ready: {why}").format(why=why)
            if why
            else self.tr("{name} cannot be read as a picture.").format(name=name)
        )

    def _remove_image(self, at: int) -> None:
        del self._images[at]
        self._show_chips()

    def _show_chips(self) -> None:
        self.chips.show_all(self._queue, self._texts, self._images, waiting=self.running)
        self._on_text()

    def _at(self) -> None:
        cursor = self.edit.textCursor()
        before = cursor.block().text()[: cursor.positionInBlock()]
        self.edit.insertPlainText("@" if not before or before[-1].isspace() else " @")
        self.edit.setFocus()

    def _send(self, when: str) -> None:
        text = self.message()
        if self.edit.isReadOnly():
            return
        if self._away:
            self.say(self._away)
            return
        if self.edit.packer.pending:
            self._wished = when
            return
        if not text and not self._images:
            if self._queue and not self.running:
                self.queue_send.emit(int(self._queue[0]["id"]))
            return
        params: dict[str, Any] = {
            "text": text,
            "images": list(self._images),
            **self.choices.params(),
            "when": when,
        }
        self.send.emit(params)

    def sent(self, text: str, images: Sequence[dict[str, str]] = ()) -> None:
        """The engine has the message: only now it leaves the field. What was added meanwhile stays for the next."""
        written = self.text().strip()
        whole = self.message() == text
        self.edit.remember(written if whole and self._texts else "" if is_large(text) else text)
        if whole:
            self.edit.clear()
            self._texts.clear()
        elif not self._texts:
            self.edit.drop_start(text)
        for image in images:
            if image in self._images:
                self._images.remove(image)
        self._show_chips()

    def _keep_keyboard(self, *buttons: QPushButton) -> None:
        """Before buttons go or are switched off: the keyboard of one would go to whatever comes next in the window."""
        if any(button.hasFocus() for button in buttons):
            self.edit.setFocus()

    def _on_text(self) -> None:
        text = self.text()
        self.draft_changed.emit(text)
        enough = bool(text.strip() or self._texts or self._images)
        # Nothing is written and nothing runs: what waited for a run that broke off can be sent.
        can = not self._away and not self.edit.isReadOnly()
        can_go = can and (enough or bool(self._queue and not self.running))
        if not can_go:
            self._keep_keyboard(self._go)
        if not enough:
            self._keep_keyboard(self._interrupt)
        self._go.setEnabled(can_go)
        self._interrupt.setEnabled(enough)
        chars = len(text) + sum(map(len, self._texts))
        if not chars and not self._context_tokens:
            self._estimate.setText("")
            return
        tokens = self._context_tokens + round(chars / CHARS_PER_TOKEN) + 1500 * len(self._images)
        self._estimate.setText(self.tr("≈ {} tokens").format(words.count(tokens)))
        self._estimate.setToolTip(
            self.tr("Estimate of what is sent: the conversation so far and this message.")
        )
