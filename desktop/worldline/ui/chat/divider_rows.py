"""What stands between messages: forks, compactions, jumps, and how a run ended."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from worldline.core.background import while_ran
from worldline.core.kinds import NodeFlag
from worldline.core.stop import StopReason
from worldline.ui.chat import words
from worldline.ui.chat.row_base import Card, ColorLabel, LineLabel, RowSignals, RowWidget
from worldline.ui.markdown.view import MarkdownView
from worldline.ui.still import Still
from worldline.ui.theme import theme
from worldline.viewmodel import engine_words
from worldline.viewmodel.chat_rows import ChatRow, DividerKind, text_of
from worldline.viewmodel.gaps import all_lines
from worldline.viewmodel.visible import settled

translate = words.translate
_FOUND = (DividerKind.EXTERNAL_CHANGE, DividerKind.JUMP)
"""Nodes for what was found on disk: what they lack is rare, and said without being asked for."""


def divider_words(row: ChatRow) -> tuple[str, str, str]:
    """Glyph, colour and text of a divider."""
    header, body = row.header, row.body
    detail = body.detail if body is not None else {}
    preview = header.preview if header is not None else ""
    kind = row.divider
    if kind is DividerKind.START:
        text = translate("Divider", "Start of the session")
        if header is not None and header.flags & NodeFlag.NOT_CAPTURED:
            return "●", "warn", translate("Divider", "{} · the files could not be captured").format(text)
        return "●", "muted", text
    if kind is DividerKind.FORK:
        return "⎇", "muted", translate("Divider", "{} other ways lead on from here").format(row.count) if row.count > 1 else (
            translate("Divider", "Another way leads on from here"))  # fmt: skip
    if kind is DividerKind.FALLBACK:
        asked = words.model_name(str(detail.get("asked_model") or detail.get("requested_model") or ""))
        model = words.model_name(header.model if header is not None else "")
        if asked:
            return "⇄", "info", translate("Divider", "{asked} could not answer; {model} answers for now.").format(
                asked=asked, model=model)  # fmt: skip
        return "⇄", "info", translate("Divider", "{} answers in place of the model asked for.").format(model)
    if kind is DividerKind.COMPACTION:
        known = detail.get("messages")
        if isinstance(known, int):
            return "⇲", "muted", translate(
                "Divider", "From here the model knows the first {} messages only as a summary.").format(known)  # fmt: skip
        return (
            "⇲",
            "muted",
            translate("Divider", "From here the model knows what is above only as a summary."),
        )
    if kind is DividerKind.BRANCH_SUMMARY:
        return "⇲", "muted", translate("Divider", "Summary of the branch that was left")
    if kind is DividerKind.EXTERNAL_CHANGE:
        return "✎", "warn", _changed_words(detail, header.files if header is not None else 0)
    if kind is DividerKind.JUMP:
        return "⤴", "muted", _saved_words(detail, preview)
    if kind is DividerKind.CONTEXT_EDIT:
        return (
            "✂",
            "info",
            translate("Divider", "On this branch the model does not see a part of the history"),
        )
    return "·", "muted", preview or translate("Divider", "Event of the imported session")


def _changed_words(detail: dict[str, Any], files: int) -> str:
    if said := _while_ran(detail):
        text = translate("Divider", "Files were changed {while_ran}").format(while_ran=said)
    else:
        text = translate("Divider", "Files were changed from outside, not by the agent")
    return f"{text} · {files}" if files else text


def _saved_words(detail: dict[str, Any], preview: str) -> str:
    if preview and not preview.startswith("before the jump"):
        text = engine_words.say(settled(preview))
        return text[:1].upper() + text[1:]
    if said := _while_ran(detail):
        return translate("Divider", "Saved before a jump: what changed {while_ran}").format(while_ran=said)
    return translate("Divider", "Saved before a jump: your edits are kept here")


def _while_ran(detail: dict[str, Any]) -> str:
    """Who may have changed the files where that is not known; "" = it was the person."""
    commands = [str(one) for one in detail.get("commands") or ()]
    return engine_words.say(while_ran(commands)) if commands else ""


def literal(text: str) -> str:
    """A line of Markdown that says exactly this."""
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>#" else sign for sign in text)


class DividerRow(RowWidget):
    """A line across with a few words; a summary unfolds below it."""

    def __init__(self, row: ChatRow, signals: RowSignals, parent: QWidget | None = None) -> None:
        super().__init__(row, signals, parent)
        self._glyph = ColorLabel("", "muted", self)
        self._label = LineLabel("", "muted", self)
        self._button = QPushButton(self)
        self._button.setProperty("role", "link")
        self._button.clicked.connect(self._act)
        self._button.hide()
        self._summary: MarkdownView | None = None
        line = QHBoxLayout()
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(6)
        line.addStretch(1)
        line.addWidget(self._glyph)
        line.addWidget(self._label)
        line.addWidget(self._button)
        line.addStretch(1)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 8, 0, 8)
        self._layout.addLayout(line)
        self.show_row(row)

    def show_row(self, row: ChatRow) -> None:
        self.row = row
        glyph, token, text = divider_words(row)
        self._glyph.set(glyph, token)
        self._label.set(text, token)
        self.setAccessibleName(text)
        action = self._action_words()
        self._button.setText(action)
        self._button.setAccessibleName(f"{action}: {text}")
        self._button.setVisible(bool(action))
        shown = self.signals.open.get(row.key) or row.divider in _FOUND
        summary = self._summary_text() if shown else ""
        if summary and self._summary is None:
            self._summary = MarkdownView(self, muted=True)
            self._layout.addWidget(self._summary)
        if self._summary is not None:
            self._summary.setVisible(bool(summary))
            self._summary.set_text(summary)

    def _summary_text(self) -> str:
        body = self.row.body
        if body is None:
            return ""
        if self.row.divider is DividerKind.START or self.row.divider in _FOUND:
            lines = all_lines(body.detail)
            if why := str(body.detail.get("not_captured_why") or ""):
                lines.insert(0, engine_words.say(why))
            return "\n".join(f"* {literal(line)}" for line in lines)
        return str(body.detail.get("summary") or "") or text_of(body)

    def _action_words(self) -> str:
        kind = self.row.divider
        if kind is DividerKind.START:
            detail = self.row.body.detail if self.row.body is not None else {}
            gaps, remarks = detail.get("not_captured") or [], detail.get("remarks") or []
            if not (gaps or remarks or detail.get("not_captured_why")):
                return ""
            if self.signals.open.get(self.row.key):
                return self.tr("Hide")
            if detail.get("not_captured_why"):
                return self.tr("Why")
            if not gaps:
                return self.tr("%n remark(s) on the files", "", len(remarks))
            return self.tr("%n thing(s) not captured", "", len(gaps))
        if kind in (DividerKind.COMPACTION, DividerKind.BRANCH_SUMMARY):
            return self.tr("Hide") if self.signals.open.get(self.row.key) else self.tr("Show")
        if kind is DividerKind.FORK:
            return self.tr("Show in the tree")
        if kind in (DividerKind.EXTERNAL_CHANGE, DividerKind.JUMP):
            return self.tr("Show changes")
        if kind is DividerKind.FALLBACK:
            return self.tr("Why")
        if kind is DividerKind.CONTEXT_EDIT:
            return self.tr("As the model sees it")
        return ""

    def _act(self) -> None:
        kind = self.row.divider
        if kind in (DividerKind.START, DividerKind.COMPACTION, DividerKind.BRANCH_SUMMARY):
            self.signals.open[self.row.key] = not self.signals.open.get(self.row.key, False)
            self.show_row(self.row)
            self.changed_height()
        elif kind is DividerKind.FORK:
            self.signals.reveal.emit(self.row.uid)
        elif kind is DividerKind.FALLBACK:
            self.signals.explain.emit(self.row.uid)
        elif kind is DividerKind.CONTEXT_EDIT:
            self.signals.model_view.emit(self.row.uid)
        else:
            self.signals.show_diff.emit(self.row.uid, "")

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(QColor(theme().tokens.line))
        middle = 8 + self._label.sizeHint().height() // 2 + 2
        left, right = (
            self._glyph.x() - 10,
            (self._button if self._button.isVisible() else self._label).geometry().right() + 10,
        )
        if left > 0:
            painter.drawLine(0, middle, left, middle)
        if right < self.width():
            painter.drawLine(right, middle, self.width(), middle)


class StopRow(RowWidget):
    """How a run ended and what may be done next. Brakes and your own stop are calm, faults are marked."""

    def __init__(self, row: ChatRow, signals: RowSignals, parent: QWidget | None = None) -> None:
        super().__init__(row, signals, parent)
        card = Card(self, ground="panel", edge="line")
        self._card = card
        self._title = ColorLabel("", "text", card, bold=True)
        self._title.setWordWrap(True)
        self._detail = ColorLabel("", "text", card)
        self._detail.setWordWrap(True)
        self._said = ColorLabel("", "muted", card)
        self._said.setWordWrap(True)
        self._said.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(8)
        self._offers: list[str] = []
        self._still = Still(self, ())
        inner = QVBoxLayout(card)
        inner.setContentsMargins(12, 8, 12, 10)
        inner.setSpacing(4)
        for widget in (self._title, self._detail, self._said):
            inner.addWidget(widget)
        inner.addLayout(self._buttons)
        self.hold(card)
        self.show_row(row)

    def show_row(self, row: ChatRow) -> None:
        self.row = row
        run = row.run
        assert run is not None
        glyph, token, _ = words.outcome(StopReason.of(run.stop_reason).outcome.value)
        title = words.stop_title(run.stop_reason, run.detail)
        self._title.set(f"{glyph}  {title}", token)
        self._card.set_edge(token if token in ("bad", "warn") else "line")
        self._detail.setText(run.detail)
        self._detail.setVisible(bool(run.detail))
        # Of a connection that failed it is what was seen on this side of it.
        ours = run.stop_reason == StopReason.NETWORK_ERROR.value
        said = self.tr("What happened: {}") if ours else self.tr("The service said: {}")
        self._said.setText(said.format(run.api_said))
        self._said.setVisible(bool(run.api_said))
        self.setAccessibleName(f"{title}. {run.detail}")
        if row.offers != self._offers:
            self._offers = list(row.offers)
            while self._buttons.count():
                item = self._buttons.takeAt(0)
                if item is not None and (widget := item.widget()) is not None:
                    widget.deleteLater()
            made = []
            for name in row.offers:
                button = QPushButton(words.offer(name), self._card)
                button.clicked.connect(lambda _=False, name=name: self.signals.offer.emit(run.uid, name))
                self._buttons.addWidget(button)
                made.append(button)
            self._buttons.addStretch(1)
            self._still.guard(made)
