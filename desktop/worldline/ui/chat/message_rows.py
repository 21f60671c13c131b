"""Prompts and replies."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QImage, QPixmap, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from worldline.core.kinds import NodeFlag
from worldline.ui.chat import words
from worldline.ui.chat.row_base import (
    Card,
    ColorLabel,
    LineLabel,
    RowHead,
    RowSignals,
    RowWidget,
    copy_text,
)
from worldline.ui.icons import keep
from worldline.ui.markdown.prose import Prose
from worldline.ui.markdown.view import MarkdownView
from worldline.ui.pictures import Decoder, size_of
from worldline.ui.theme import theme
from worldline.viewmodel.chat_markdown import plain_html
from worldline.viewmodel.chat_rows import ChatRow, RowKind, images_of, notes_of, said_of, text_of, words_in

LONG_PROMPT = 4000
WHOLE_PROMPT = 40_000
"""Characters of a prompt that are shown at most: a pasted log of megabytes would stop the window."""
FIRST_SIGHT = 1200
"""Pixels of a message that are laid out before it is known which part is in sight."""


class UserRow(RowWidget):
    """What the person said, on a ground of its own. A long text shows its beginning and a button for the rest."""

    reusable = True

    def __init__(self, row: ChatRow, signals: RowSignals, parent: QWidget | None = None) -> None:
        super().__init__(row, signals, parent)
        self._text: str = ""
        card = Card(self, ground="hover", edge="")
        self._head = RowHead(self.tr("You"), card)
        edit = self._head.add(self.tr("Edit and send again (makes a fork)"), "edit")
        edit.clicked.connect(self._edit)
        copy = self._head.add(self.tr("Copy message"), "copy")
        copy.clicked.connect(lambda: copy_text(self._text))
        reveal = self._head.add(self.tr("Show in the tree"), "tree")
        reveal.clicked.connect(lambda: self.signals.reveal.emit(self.row.uid))
        self._prose = Prose(card)
        self._more = QPushButton(card)
        self._more.setProperty("role", "link")
        self._more.clicked.connect(lambda: self._open(""))
        self._told = QPushButton(self.tr("What the model was told with it"), card)
        self._told.setProperty("role", "link")
        self._told.setStyleSheet("padding-left: 0;")
        self._told.clicked.connect(lambda: self._open("told"))
        self._notes = ColorLabel("", "muted", card)
        self._notes.setWordWrap(True)
        self._images = QHBoxLayout()
        self._images.setSpacing(8)
        self._shown_images: list[str] = []
        inner = QVBoxLayout(card)
        inner.setContentsMargins(12, 6, 8, 10)
        inner.setSpacing(2)
        inner.addWidget(self._head)
        inner.addWidget(self._prose)
        inner.addWidget(self._more, 0, Qt.AlignmentFlag.AlignLeft)
        inner.addLayout(self._images)
        inner.addWidget(self._told, 0, Qt.AlignmentFlag.AlignLeft)
        inner.addWidget(self._notes)
        self.hold(card)
        self.show_row(row)

    def show_row(self, row: ChatRow) -> None:
        self.row = row
        notes = notes_of(row.body)
        self._told.setVisible(bool(notes))
        self._notes.setText("\n".join(notes))
        self._notes.setVisible(bool(notes) and bool(self.signals.open.get(f"{row.key}/told")))
        self._text = said_of(row.body) or (row.header.preview if row.header is not None else "")
        shown = self._text
        opened = bool(self.signals.open.get(row.key))
        long = len(shown) > LONG_PROMPT
        if long and not opened:
            shown = shown[:LONG_PROMPT] + "…"
        elif len(shown) > WHOLE_PROMPT:
            shown = shown[:WHOLE_PROMPT] + "…"
        self._more.setVisible(long)
        if long:
            self._more.setText(self._more_words(opened))
        self._prose.set_html(plain_html(shown))
        self._head.note.setText(words.clock(row.header.created) if row.header is not None else "")
        self.setAccessibleName(self.tr("You said: {}").format(self._text[:300]))
        self._show_images(images_of(row.body))

    def _more_words(self, opened: bool) -> str:
        if opened and len(self._text) > WHOLE_PROMPT:
            return self.tr("Show less (the rest is copied with “Copy message”)")
        return (
            self.tr("Show less")
            if opened
            else self.tr("Show all of it · {}").format(words.size(len(self._text)))
        )

    def _open(self, part: str) -> None:
        """Open or close the whole text, or the notes."""
        key = f"{self.row.key}/{part}" if part else self.row.key
        self.signals.open[key] = not self.signals.open.get(key, False)
        self.show_row(self.row)
        self.changed_height()

    def _show_images(self, images: list[str]) -> None:
        if images == self._shown_images:
            return
        self._shown_images = images
        while (item := self._images.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        for data in images:
            picture = _thumbnail(data, self)
            self._images.addWidget(picture)
            # In a row that is seen a widget counts as hidden until the next turn: the row is measured before that.
            picture.show()
        if images:
            self._images.addStretch(1)

    def _edit(self) -> None:
        self.signals.edit_prompt.emit(self.row.uid, self._text)


def _thumbnail(data: str, parent: QWidget) -> QLabel:
    label = QLabel(parent)
    label.setFixedSize(_bounded(size_of(data)))
    decoder = Decoder(label)

    def show(images: list[QImage]) -> None:
        smooth = Qt.TransformationMode.SmoothTransformation
        if not images[0].isNull():
            ratio = label.devicePixelRatioF()
            pixmap = QPixmap.fromImage(images[0].scaled(label.size() * ratio, mode=smooth))
            pixmap.setDevicePixelRatio(ratio)
            label.setPixmap(pixmap)

    decoder.done.connect(show)
    decoder.start([data])
    label.setAccessibleName(label.tr("Image"))
    return label


def _bounded(size: QSize) -> QSize:
    if not size.isValid():
        return QSize(140, 100)
    bound = QSize(220, 140)
    small = size.boundedTo(bound) == size
    return size if small else size.scaled(bound, Qt.AspectRatioMode.KeepAspectRatio).expandedTo(QSize(1, 1))


class Thinking(QWidget):
    """The model's thinking, folded to one line until asked for."""

    def __init__(self, row: ChatRow, signals: RowSignals, parent: RowWidget) -> None:
        super().__init__(parent)
        self._owner = parent
        self._signals = signals
        self._key = f"{row.key}:thinking"
        self._toggle = QPushButton(self)
        self._toggle.setProperty("role", "link")
        keep(self._toggle, "chevron-right")
        self._toggle.clicked.connect(self._flip)
        self._view: MarkdownView | None = None
        self._text = ""
        head = QHBoxLayout()
        head.setContentsMargins(0, 0, 0, 0)
        head.addWidget(self._toggle)
        head.addStretch(1)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 4)
        self._layout.setSpacing(2)
        self._layout.addLayout(head)

    def reuse(self, row: ChatRow) -> None:
        self._key = f"{row.key}:thinking"
        if self._view is not None:
            self._view.reset(FIRST_SIGHT)

    def set_text(self, text: str, going_on: bool) -> None:
        self._text = text
        opened = self._signals.open.get(self._key, False)
        label = self.tr("Thinking…") if going_on else self.tr("Thought, %n word(s)", "", words_in(text))
        self._toggle.setText(label)
        keep(self._toggle, "chevron-down" if opened else "chevron-right")
        folding = self.tr("unfolded") if opened else self.tr("folded")
        self._toggle.setAccessibleName(f"{label}, {folding}")
        if opened and self._view is None:
            self._view = MarkdownView(self, muted=True)
            self._view.set_sight(0, FIRST_SIGHT)
            self._view.grown.connect(self._owner.changed_height)
            self._layout.addWidget(self._view)
        if self._view is not None:
            self._view.setVisible(opened)
            if opened:
                self._view.set_text(text)

    def set_sight(self, top: int, bottom: int) -> int | None:
        if self._view is None or self._view.isHidden():
            return None
        return self._view.set_sight(top - self._view.y(), bottom - self._view.y())

    def _flip(self) -> None:
        self._signals.open[self._key] = not self._signals.open.get(self._key, False)
        self.set_text(self._text, False)
        self._owner.changed_height()


class ReplyRow(RowWidget):
    """A reply, stored or coming in. While it comes in only its open tail is set again."""

    reusable = True

    def __init__(self, row: ChatRow, signals: RowSignals, parent: QWidget | None = None) -> None:
        super().__init__(row, signals, parent)
        self._head = RowHead(self.tr("Agent"), self)
        self._copy = self._head.add(self.tr("Copy reply"), "copy")
        self._copy.clicked.connect(lambda: copy_text(self._text()))
        self._reveal = self._head.add(self.tr("Show in the tree"), "tree")
        self._reveal.clicked.connect(lambda: self.signals.reveal.emit(self.row.uid))
        self._fork = self._head.add(self.tr("Go here and fork"), "branch")
        self._fork.clicked.connect(lambda: self.signals.go_to.emit(self.row.uid))
        self._thinking: Thinking | None = None
        self._view = MarkdownView(self)
        self._view.set_sight(0, FIRST_SIGHT)
        self._view.link_activated.connect(signals.link)
        self._view.grown.connect(self._grown)
        self._cut = ColorLabel("", "warn", self)
        self._cut.setWordWrap(True)
        self._cut.hide()
        self._calls = LineLabel("", "muted", self)
        self._calls.hide()
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 6, 0, 6)
        self._layout.setSpacing(2)
        for widget in (self._head, self._view, self._cut, self._calls):
            self._layout.addWidget(widget)
        self.show_row(row)

    def reuse(self, row: ChatRow) -> None:
        self._view.reset(FIRST_SIGHT)
        if self._thinking is not None:
            self._thinking.reuse(row)
        self.show_row(row)

    def show_row(self, row: ChatRow) -> None:
        self.row = row
        live = row.kind is RowKind.LIVE
        if live:
            thinking = "\n\n".join(block.text for block in row.blocks if block.kind == "thinking")
            text = self._text()
            going_on = not text
        else:
            thinking, text, going_on = text_of(row.body, "thinking"), self._text(), False
        if thinking:
            if self._thinking is None:
                self._thinking = Thinking(row, self.signals, self)
                self._layout.insertWidget(1, self._thinking)
            self._thinking.set_text(thinking, going_on)
        if self._thinking is not None:
            self._thinking.setVisible(bool(thinking))
        self._view.set_text(text)
        self._view.setVisible(bool(text))
        self._reveal.setVisible(not live)
        self._fork.setVisible(not live)
        self._show_calls(row if live else None)
        header = row.header
        model = header.model if header is not None else ""
        self._head.note.setText(f"· {words.model_name(model)}" if model else "")
        cut = header is not None and bool(header.flags & NodeFlag.INCOMPLETE)
        self._cut.setVisible(cut)
        if cut:
            self._cut.setText(self.tr("This reply was cut off. What arrived was kept."))
        self.setAccessibleName(self.tr("Agent said: {}").format(text[:300]))

    @property
    def text(self) -> str:
        """The words that are shown."""
        return self._view.text()

    def set_sight(self, top: int, bottom: int) -> int | None:
        shifts = [self._view.set_sight(top - self._view.y(), bottom - self._view.y())]
        if self._thinking is not None and not self._thinking.isHidden():
            above = self._thinking.y()
            shifts.append(self._thinking.set_sight(top - above, bottom - above))
        known = [shift for shift in shifts if shift is not None]
        return sum(known) if known else None

    def _grown(self) -> None:
        self.signals.grown.emit(self.row.key)

    def _show_calls(self, row: ChatRow | None) -> None:
        calls = [block for block in row.blocks if block.kind == "tool_input"] if row is not None else []
        self._calls.setVisible(bool(calls))
        if calls:
            last = calls[-1]
            self._calls.setText(
                self.tr("◔ writes a call of {} · {} characters").format(last.tool or "…", len(last.text))
            )

    def _text(self) -> str:
        row = self.row
        if row.kind is RowKind.LIVE:
            return "\n\n".join(block.text for block in row.blocks if block.kind == "text" and block.text)
        if row.body is not None:
            return text_of(row.body)
        return row.header.preview if row.header is not None else ""


class EmptyChat(QWidget):
    """What one sees before the first prompt: what this is and three ways to begin."""

    def __init__(self, signals: RowSignals, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 48, 24, 24)
        layout.setSpacing(10)
        layout.addStretch(2)
        self.title = ColorLabel(self.tr("What should be done?"), "text", self)
        self.title.setFont(theme().font_ui(7, bold=True))
        self.title.setWordWrap(True)
        layout.addWidget(self.title)
        self.why = ColorLabel("", "muted", self)
        self.why.setFont(theme().font_ui())
        self.why.setWordWrap(True)
        self.why.hide()
        layout.addWidget(self.why)
        self._ways: list[QWidget] = []
        for text in (
            self.tr(
                "Write it below. Every step becomes a node of the tree on the left, with the files as they were."
            ),
            self.tr(
                "Click any node to go back there: files and conversation go back together, and nothing is lost."
            ),
            self.tr("@ names a file · paste or drop images and files · Shift+Enter starts a new line"),
        ):
            label = ColorLabel(text, "muted", self)
            label.setFont(theme().font_ui())
            label.setWordWrap(True)
            layout.addWidget(label)
            self._ways.append(label)
        layout.addSpacing(8)
        for text in (
            self.tr("Explain how this project is built"),
            self.tr("Find and fix a failing test"),
            self.tr("Review my uncommitted changes"),
        ):
            button = QPushButton(text, self)
            button.setToolTip(self.tr("Puts these words into the message; nothing is sent yet"))
            button.clicked.connect(lambda _=False, words=text: signals.edit_prompt.emit("", words))
            button.setProperty("role", "link")
            keep(button, "go", "accent")
            layout.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
            self._ways.append(button)
        layout.addStretch(3)

    def say_refused(self, why: str) -> None:
        """Why there is no session to write in; "" = there is one."""
        self.title.setText(self.tr("This cannot be opened.") if why else self.tr("What should be done?"))
        self.why.setText(why)
        self.why.setVisible(bool(why))
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Only as much as there is room for: it is as high as the view, and its lines would lie on one another."""
        layout = self.layout()
        assert layout is not None
        for way in self._ways:
            way.setVisible(not self.why.text())
        for way in reversed(self._ways):
            if layout.totalHeightForWidth(self.width()) <= self.height():
                break
            way.hide()
            layout.invalidate()
