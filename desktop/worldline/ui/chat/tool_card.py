"""A tool call as a card: what was done to what, how it ended, what it printed or changed."""

from __future__ import annotations

import sys

from PySide6.QtCore import Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from worldline.core.kinds import NodeFlag, Outcome
from worldline.protocol.model import DiffRow, FileChange, FileDiff
from worldline.ui.chat import words
from worldline.ui.chat.row_base import (
    Card,
    ColorLabel,
    LineLabel,
    RowSignals,
    RowWidget,
    copy_text,
    tool_button,
)
from worldline.ui.hiding import show_if
from worldline.ui.icons import keep
from worldline.ui.plain import as_tip
from worldline.ui.syntax.code_view import CodeLine, CodeView
from worldline.ui.theme import theme
from worldline.viewmodel.chat_rows import ChatRow, ToolCall, ToolResult, tool_call, tool_result
from worldline.viewmodel.diff import DiffModel, language_of
from worldline.viewmodel.gaps import gap_lines, remark_lines
from worldline.viewmodel.repeated import note as repeated_note
from worldline.viewmodel.visible import visible

CLOSED_LINES = 5
OPEN_LINES = 300
RESULT_LINES = 24
DIFF_ROWS = 14
SUBJECT = 1000
LEAST = 48
"""Pixels that are left to what a call is about, however much there is to be said of it."""
_FILES = frozenset({"read", "write", "edit", "list"})


class ToolCard(RowWidget):
    """Folded it is one line and the last lines of output while it works; unfolded it shows everything there is."""

    def __init__(self, row: ChatRow, signals: RowSignals, parent: QWidget | None = None) -> None:
        super().__init__(row, signals, parent)
        self._call: ToolCall = ToolCall("", "", "", {}, [])
        self._result: ToolResult = ToolResult("", "", None, None)
        self._card = Card(self)
        self._toggle = tool_button(self._card, self.tr("Unfold"), "chevron-right")
        self._toggle.clicked.connect(self._flip)
        self._sign = ColorLabel("", "muted", self._card)
        self._verb = ColorLabel("", "text", self._card, bold=True)
        self._subject = LineLabel("", "text", self._card)
        self._subject.setFont(theme().font_code())
        self._subject.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._subject.setMinimumWidth(LEAST)
        self._facts = LineLabel("", "muted", self._card)
        self._outcome = ColorLabel("", "ok", self._card, bold=True)
        self._copy = tool_button(self._card, self.tr("Copy command or path"), "copy", quiet=True)
        self._copy.clicked.connect(lambda: copy_text(self._call.subject))
        self._reveal = tool_button(self._card, self.tr("Show in the tree"), "tree", quiet=True)
        self._reveal.clicked.connect(lambda: signals.reveal.emit(self.row.uid))
        head = QHBoxLayout()
        head.setContentsMargins(0, 0, 0, 0)
        head.setSpacing(6)
        for widget in (self._toggle, self._sign, self._verb):
            head.addWidget(widget)
        head.addWidget(self._subject, 1)
        # Drawn only under the pointer; the facts keep the edge, where one looks down the column.
        for widget in (self._copy, self._reveal, self._facts, self._outcome):
            head.addWidget(widget)
        head.addSpacing(4)
        self._notes = ColorLabel("", "warn", self._card)
        self._notes.setWordWrap(True)
        self._code: CodeView | None = None
        self._more = QPushButton(self._card)
        self._more.setProperty("role", "link")
        self._more.clicked.connect(self._show_more)
        self._inner = QVBoxLayout(self._card)
        self._inner.setContentsMargins(6, 3, 6, 3)
        self._inner.setSpacing(2)
        self._inner.addLayout(head)
        self._inner.addWidget(self._notes)
        self._inner.addWidget(self._more, 0, Qt.AlignmentFlag.AlignLeft)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 2, 0, 2)
        layout.addWidget(self._card)
        self.show_row(row)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        # The whole head unfolds: a chevron of 16 px is too small a target.
        if event.button() == Qt.MouseButton.LeftButton and event.position().y() < 34:
            self._flip()

    @property
    def is_open(self) -> bool:
        chosen = self.signals.open.get(self.row.key)
        if chosen is not None:
            return chosen
        header = self.row.header
        if self._call.verb == "ask":
            return True  # a question without its answer says nothing
        return header is not None and header.outcome in (Outcome.FAILED, Outcome.RUNNING, Outcome.WAITING)

    def _flip(self) -> None:
        self.signals.open[self.row.key] = not self.is_open
        self.signals.open.pop(self._whole, None)
        self.show_row(self.row)
        self.changed_height()

    @property
    def _whole(self) -> str:
        """The key under which it is kept that all there is was asked for."""
        return f"{self.row.key}/whole"

    def _limit(self, few: int) -> int:
        """How many lines are shown: a few where nobody asked, many once it was unfolded by hand, then all."""
        if self.signals.open.get(self._whole):
            return sys.maxsize
        return OPEN_LINES if self.signals.open.get(self.row.key) else few

    reusable = True

    def show_row(self, row: ChatRow) -> None:
        self.row = row
        header = row.header
        assert header is not None
        self._call = tool_call(header, row.body)
        self._result = tool_result(row.body)
        opened = self.is_open
        keep(self._toggle, "chevron-down" if opened else "chevron-right")
        self._toggle.setAccessibleName(self.tr("Fold") if opened else self.tr("Unfold"))
        name = words.TOOL_ICONS.get(self._call.verb, "run")
        keep(self._sign, name)
        self._verb.setText(words.verb(self._call.verb))
        # One line of a card: a command of megabytes is not laid out for it.
        subject = visible(self._call.subject[:SUBJECT]).replace("\n", " ⏎ ")
        self._subject.setText(subject)
        self._subject.set_tip(self._call.subject)
        # The name of a file is at the end of its path, that of a command at its beginning.
        self._subject.mode = (
            Qt.TextElideMode.ElideMiddle if self._call.verb in _FILES else Qt.TextElideMode.ElideRight
        )
        glyph, token, word = words.outcome(header.outcome.value)
        self._outcome.set(glyph, token)
        self._outcome.setToolTip(as_tip(word))
        self._facts.setText("  ".join(self._fact_words()))
        notes = self._note_words()
        plain = self._result.error is None and self._result.repeated is None
        self._notes.setVisible(bool(notes) and (opened or not plain))
        self._notes.setText("\n".join(notes))
        self._card.set_edge("bad" if header.outcome is Outcome.FAILED else "line")
        self._show_body(opened)
        spoken = (self._verb.text(), self._call.subject[:200], word, self._facts.text())
        self.setAccessibleName(", ".join(part for part in spoken if part))

    def _fact_words(self) -> list[str]:
        header = self.row.header
        assert header is not None
        facts = []
        if header.added or header.removed:
            facts.append(words.changed(header.added, header.removed))
        if header.files > 1:
            facts.append(self.tr("%n file(s)", "", header.files))
        if self._result.exit_code:
            facts.append(self.tr("exit {}").format(self._result.exit_code))
        if header.flags & NodeFlag.IRREVERSIBLE:
            countered = self.row.uid in self.signals.countered
            facts.append("↶ " + self.tr("was countered") if countered else "⚠ " + self.tr("cannot be undone"))
        if header.flags & NodeFlag.CODE_RUNS_LATER:
            facts.append("● " + self.tr("runs code later"))
        if header.flags & NodeFlag.PARTLY_CAPTURED and self.row.body is not None:
            left = len(self.row.body.detail.get("not_captured") or [])
            facts.append("⚠ " + self.tr("%n not captured", "", left))
        if header.flags & NodeFlag.SECRET_MASKED:
            facts.append("🔒︎ " + self.tr("secret masked"))
        if header.duration_ms >= 50:
            facts.append(words.duration(header.duration_ms))
        return facts

    def _note_words(self) -> list[str]:
        notes = []
        error = self._result.error
        # A command that ended otherwise says so by its exit code and its output; advice on it is the model's.
        if error is not None and not (error.get("type") == "nonzero_exit" and self._result.exit_code):
            notes.append(words.refusal(str(error.get("message") or "")))
            if self.signals.open.get(self.row.key):
                # What else the model was told, to go on from there: for whoever asks for it.
                told = " ".join(words.refusal(str(error[key])) for key in ("hint", "next") if error.get(key))
                if told:
                    notes.append(self.tr("The agent was told: {}").format(told))
        if self._result.repeated is not None:
            notes.append("↻ " + repeated_note(self._result.repeated))
        for repair in self._call.repairs:
            notes.append("✚ " + self.tr("Arguments repaired: {}").format(repair))
        header = self.row.header
        if header is not None and header.outcome is Outcome.INTERRUPTED:
            notes.append(
                self.tr("Interrupted: it was started and not finished. What it did by then is not known.")
            )
        if header is not None and header.flags & NodeFlag.NOT_CAPTURED:
            notes.append(self.tr("This step's files could not be captured."))
        if header is not None and header.flags & NodeFlag.PARTLY_CAPTURED and self.row.body is not None:
            notes.append(self.tr("Not captured, so going back does not bring it back:"))
            notes += gap_lines(self.row.body.detail)
        if self.row.body is not None:
            notes += remark_lines(self.row.body.detail)
        return notes

    def _show_body(self, opened: bool) -> None:
        lines, more = self._body_lines(opened)
        if not lines:
            if self._code is not None:
                self._code.hide()
        else:
            if self._code is None:
                self._code = CodeView(self._card)
                self._inner.insertWidget(2, self._code)
            self._code.language = self._language()
            self._code.set_lines(lines)
            self._code.setVisible(True)
        self._more.setText(more)
        show_if(bool(more), self._more, self.parentWidget() or self)

    def _language(self) -> str:
        path = self._call.arguments.get("path") or self._call.arguments.get("file_path")
        return (
            language_of(path)
            if isinstance(path, str) and self._call.verb in ("edit", "write", "read")
            else ""
        )

    def _body_lines(self, opened: bool) -> tuple[list[CodeLine], str]:
        diff = self._diff()
        header = self.row.header
        assert header is not None
        if diff is not None:
            limit = self._limit(DIFF_ROWS)
            if self.signals.open.get(self.row.key) is False:
                return [], ""
            lines = diff_lines(diff, limit)
            hidden = len(diff.rows) - limit
            # Of a large one the step keeps the beginning.
            whole = max(len(diff.rows), header.added + header.removed)
            return lines, self.tr("Show all {} lines in Changes").format(whole) if hidden > 0 else ""
        running = header.outcome in (Outcome.RUNNING, Outcome.WAITING)
        if self.row.output is not None and (running or not self._result.text):
            tail = self.row.output.lines(self._limit(CLOSED_LINES * 2))
            # What is not kept while it works on cannot be asked for: the result has it.
            hidden = self.row.output.kept - len(tail)
            return [CodeLine(line) for line in tail], self.tr(
                "%n line(s) before", "", hidden
            ) if hidden else ""
        if not opened:
            return [], ""
        text = self._result.text.rstrip("\n")
        if not text:
            return [], ""
        all_lines = text.split("\n")
        limit = self._limit(RESULT_LINES)
        shown = all_lines[-limit:] if self._call.verb == "run" else all_lines[:limit]
        hidden = len(all_lines) - len(shown)
        if self._result.blob:
            return [CodeLine(line) for line in shown], self.tr("Show the whole output")
        return [CodeLine(line) for line in shown], self.tr("%n more line(s)", "", hidden) if hidden else ""

    def _diff(self) -> FileDiff | None:
        raw = self.row.body.detail.get("diff") if self.row.body is not None else None
        if isinstance(raw, dict) and raw.get("rows"):
            return FileDiff.model_validate(raw)
        if isinstance(raw, str) and raw:
            return FileDiff(change=_change(self._call), rows=_rows_of(raw))
        if self._call.verb == "edit":
            old, new = self._call.arguments.get("old_string"), self._call.arguments.get("new_string")
            if isinstance(old, str) and isinstance(new, str):
                rows = [DiffRow(kind="-", text=line) for line in old.split("\n")]
                rows += [DiffRow(kind="+", text=line) for line in new.split("\n")]
                return FileDiff(change=_change(self._call), rows=rows)
        return None

    def _show_more(self) -> None:
        if self._diff() is not None:
            self.signals.show_diff.emit(self.row.uid, self._call.subject)
        elif self._result.blob:
            self.signals.whole_output.emit(self._result.blob)
        else:
            opened = bool(self.signals.open.get(self.row.key))
            self.signals.open[self._whole if opened else self.row.key] = True
            self.show_row(self.row)
            self.changed_height()


def _change(call: ToolCall) -> FileChange:
    return FileChange(path=call.subject, status="M")


def _rows_of(patch: str) -> list[DiffRow]:
    rows: list[DiffRow] = []
    old = new = 0
    for line in patch.split("\n"):
        sign = line[:1]
        if line.startswith("@@"):
            parts = line.split(" ")
            old = _number(parts[1]) if len(parts) > 2 else 1
            new = _number(parts[2]) if len(parts) > 2 else 1
            rows.append(DiffRow(kind="@", text=line))
        elif line.startswith(("---", "+++", "diff ", "index ")) and not rows:
            continue
        elif sign == "+":
            rows.append(DiffRow(kind="+", new=new, text=line[1:]))
            new += 1
        elif sign == "-":
            rows.append(DiffRow(kind="-", old=old, text=line[1:]))
            old += 1
        elif sign == " " and rows:
            rows.append(DiffRow(kind=" ", old=old, new=new, text=line[1:]))
            old, new = old + 1, new + 1
    return rows


def _number(part: str) -> int:
    digits = part[1:].split(",")[0]
    return int(digits) if digits.isdigit() else 1


def diff_lines(diff: FileDiff, limit: int) -> list[CodeLine]:
    """A small diff as lines of a code block, words marked."""
    model = DiffModel(diff)
    grounds = {"+": ("add", "add_word"), "-": ("remove", "remove_word")}
    lines = []
    for at, row in enumerate(model.rows[:limit]):
        if row.kind == "@":
            if at:
                lines.append(CodeLine("⋯", gutter="", sign=""))
            continue
        ground, word = grounds.get(row.kind, ("", ""))
        marks = tuple((start, end, word) for start, end in model.words(at)) if ground else ()
        number = row.new or row.old
        lines.append(
            CodeLine(
                row.text, ground, str(number) if number else "", row.kind if row.kind in "+-" else "", marks
            )
        )
    width = max((len(line.gutter) for line in lines), default=0)
    return [
        CodeLine(line.text, line.ground, line.gutter.rjust(width), line.sign or " ", line.marks)
        for line in lines
    ]
