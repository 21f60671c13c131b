"""Two to four attempts in columns: their facts, steps, files and diffs, and buttons for what to do with one."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QPushButton,
    QSplitter,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from worldline.core.headers import NodeHeader
from worldline.core.stop import StopReason
from worldline.protocol.commands import Attempt, Compare
from worldline.protocol.model import FileChange, FileDiff
from worldline.ui.chat import words
from worldline.ui.chat.row_base import Card, ColorLabel, copy_text
from worldline.ui.diff.file_diff_panel import FileDiffPanel
from worldline.ui.inks import ink
from worldline.ui.plain import as_tip
from worldline.ui.slices import in_slices
from worldline.ui.tables import quiet
from worldline.ui.theme import theme
from worldline.viewmodel.compare import (
    LETTERS,
    FileRow,
    StepRow,
    align,
    checks_words,
    file_rows,
    parting,
    steps_of,
    title_of,
)
from worldline.viewmodel.visible import settled

ROLE = Qt.ItemDataRole.UserRole
FIRST_ROWS, ALL_ROWS = 20_000, 2_000_000


class CompareView(QWidget):
    """Emits what the person wants to do with an attempt; asks for diffs with `diff_wanted(a, b, path)`."""

    continue_wanted = Signal(str)
    take_wanted = Signal(str, str)
    home_wanted = Signal(str)
    failed_wanted = Signal(str, str)
    """Leaf, note."""
    diff_wanted = Signal(str, str, str)
    step_wanted = Signal(str)

    def __init__(
        self, compare: Compare, headers: dict[str, NodeHeader], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.compare = compare
        self._read_only = False
        self._chosen = self._best()
        self._notes: list[ColorLabel] = []
        """What is noted of each attempt."""
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(12)
        layout.addLayout(self._facts())
        split = QSplitter(Qt.Orientation.Horizontal, self)
        split.setHandleWidth(12)
        self._found = file_rows(compare)
        self.steps = self._steps_table(headers)
        self.files = self._files_table()
        self.panel = FileDiffPanel(self, on_disk=False)
        self.panel.options_changed.connect(self.ask_diff)
        self.panel.more_wanted.connect(self._show_all)
        self.panel.action.connect(lambda _name: copy_text(self.path()))
        self._limit = FIRST_ROWS
        right = Card(self)
        column = QVBoxLayout(right)
        column.setContentsMargins(1, 1, 1, 1)
        column.setSpacing(0)
        pair = QHBoxLayout()
        pair.setContentsMargins(11, 7, 8, 0)
        pair.setSpacing(8)
        difference = ColorLabel(self.tr("Difference"), "muted", right)
        difference.setFont(theme().font_ui())
        pair.addWidget(difference)
        self._a, self._b = QComboBox(right), QComboBox(right)
        for at, box in enumerate((self._a, self._b)):
            for number, _ in enumerate(compare.attempts):
                box.addItem(LETTERS[number], number)
            box.setCurrentIndex(at)
            box.setAccessibleName(self.tr("Left side") if at == 0 else self.tr("Right side"))
            box.currentIndexChanged.connect(self._other_diff)
            pair.addWidget(box)
            if at == 0:
                pair.addWidget(ColorLabel("↔", "muted", right))
        pair.addStretch(1)
        column.addLayout(pair)
        column.addWidget(self.panel, 1)
        # Steps need the width for their words, files the height; the diff stands beside both.
        left = QSplitter(Qt.Orientation.Vertical, self)
        left.setHandleWidth(12)
        # The gap between the framed parts is the handle.
        for one in (split, left):
            one.setStyleSheet("QSplitter::handle { background: transparent; }")
        left.addWidget(self.steps)
        left.addWidget(self.files)
        left.setSizes([300, 190])
        split.addWidget(left)
        split.addWidget(right)
        split.setSizes([600, 560])
        layout.addWidget(split, 1)
        self._says = ColorLabel("", "ok", self)
        self._says.setWordWrap(True)
        self._says.hide()
        # Above the buttons: below, its coming would lift them from under the pointer.
        layout.addWidget(self._says)
        self.bar = self._actions()
        layout.addLayout(self.bar)
        self.files.currentCellChanged.connect(lambda *_: self._other_diff())
        if self.files.rowCount():
            self.files.setCurrentCell(0, 0)
        else:
            self.panel.show_note(self.tr("None of them has changed a file."))
        self._choose(self._chosen)

    def _best(self) -> int:
        """The attempt the buttons speak of first: the one that completed, with the most checks passed."""

        def rank(attempt: Attempt) -> tuple[bool, int]:
            passed = sum(count or 0 for _, _, count, _ in checks_words(attempt))
            return (attempt.outcome == "ok", passed)

        attempts = self.compare.attempts
        return max(range(len(attempts)), key=lambda at: rank(attempts[at]))

    # -- facts

    def _facts(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(20)
        grid.setVerticalSpacing(5)
        names = [
            "", self.tr("ended"), self.tr("checks"), self.tr("changed"), self.tr("cost · time · steps"),
            self.tr("cannot be undone"), self.tr("retries · fallbacks"), self.tr("note"),
        ]  # fmt: skip
        for row, name in enumerate(names):
            label = ColorLabel(name, "muted", self)
            label.setFont(theme().font_ui())
            grid.addWidget(label, row, 0)
        for column, attempt in enumerate(self.compare.attempts):
            grid.addLayout(self._head(column, attempt), 0, column + 1)
            for row, (text, token) in enumerate(self._column(attempt), 1):
                label = ColorLabel(text, token, self)
                label.setFont(theme().font_ui())
                label.setWordWrap(True)
                label.setAccessibleName(f"{LETTERS[column]}, {names[row]}: {text}")
                if row == len(names) - 1:
                    self._notes.append(label)
                grid.addWidget(label, row, column + 1, Qt.AlignmentFlag.AlignTop)
            grid.setColumnStretch(column + 1, 1)
        return grid

    def _head(self, column: int, attempt: Attempt) -> QHBoxLayout:
        """`A  attempt 1 ■`: the title in plain ink, only the glyph says by colour how it ended."""
        glyph, token, word = words.outcome(attempt.outcome)
        title = title_of(attempt.title)
        if not attempt.path:
            # The node where they part was chosen itself: nothing was tried there, and nothing failed.
            glyph, token, word, title = "", "muted", "", title or self.tr("Where they part")
        line = QHBoxLayout()
        line.setSpacing(8)
        for text, color in ((glyph, token), (LETTERS[column], "muted"), (title, "text")):
            label = ColorLabel(text, color, self, bold=True)
            label.setFont(theme().font_ui(1, bold=True))
            label.setVisible(bool(text))
            label.setWordWrap(text == title)
            label.setAccessibleName(f"{LETTERS[column]}: {word}" if text == glyph else text)
            line.addWidget(label, int(text == title), Qt.AlignmentFlag.AlignTop)
        return line

    def _effects(self, attempt: Attempt) -> tuple[list[str], bool]:
        """What no jump takes back, a line each, and whether anything of it is still so."""
        lasting = [effect for effect in attempt.effects if effect.reversibility != "undoable"]
        back = {"countered": self.tr("countered"), "undone": self.tr("undone")}
        lines = [
            f"↶ {effect.summary} · {back[effect.status]}" if effect.status in back else f"⚠ {effect.summary}"
            for effect in lasting
        ]
        return lines, any(effect.status not in back for effect in lasting)

    def _column(self, attempt: Attempt) -> list[tuple[str, str]]:
        if not attempt.path:
            return [("—", "muted")] * 6 + [(attempt.note or "—", "text" if attempt.note else "muted")]
        outcome = StopReason.of(attempt.stop_reason).outcome.value
        checks, checks_token = [], "muted"
        for name, ok, passed, failed in checks_words(attempt):
            numbers = f" {passed}/{passed + (failed or 0)}" if passed is not None else ""
            sign = "" if ok is None else " ✓" if ok else " ✗"
            checks.append(f"{name}{numbers}{sign}")
            checks_token = "bad" if ok is False else "ok" if ok and checks_token != "bad" else checks_token
        seconds = round(attempt.seconds)
        effects, open_ones = self._effects(attempt)
        return [
            (words.stop_title(attempt.stop_reason), words.outcome(outcome)[1])
            if attempt.stop_reason
            else (self.tr("no end of a run"), "muted"),
            (", ".join(checks) or "—", checks_token),
            (
                self.tr("%n file(s)", "", len(attempt.files)) + f"  +{attempt.added} −{attempt.removed}",
                "text",
            ),
            (
                f"{words.cost(attempt.usage.cost)} · {seconds // 60}:{seconds % 60:02d} · {attempt.steps}",
                "text",
            ),
            ("\n".join(effects) or "—", "warn" if open_ones else "muted"),
            (
                f"{attempt.retries} · {attempt.fallbacks}",
                "text" if attempt.retries or attempt.fallbacks else "muted",
            ),
            (attempt.note or "—", "text" if attempt.note else "muted"),
        ]

    # -- tables

    def _table(self, columns: list[str], name: str) -> QTableWidget:
        table = quiet(QTableWidget(0, len(columns), self), row_height=26)
        table.setHorizontalHeaderLabels(columns)
        table.setAccessibleName(name)
        return table

    def _steps_table(self, headers: dict[str, NodeHeader]) -> QTableWidget:
        count = len(self.compare.attempts)
        table = self._table(list(LETTERS[:count]), self.tr("Steps, aligned until they part"))
        table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        rows = align([steps_of(attempt, headers) for attempt in self.compare.attempts])
        part = parting(rows)
        table.setRowCount(len(rows))

        def fill(at: int, row: StepRow) -> None:
            for column, step in enumerate(row.steps):
                if step is None:
                    continue
                glyph, token, word = words.outcome(step.outcome)
                item = QTableWidgetItem(f"{glyph} {step.text}".strip())
                item.setData(ROLE, step.uid)
                item.setToolTip(as_tip(f"{step.text}\n{word}".strip()))
                ink(item, "muted" if at < part else token if token in ("bad", "warn") else "text")
                table.setItem(at, column, item)

        in_slices(table, (partial(fill, at, row) for at, row in enumerate(rows)))
        table.itemActivated.connect(lambda item: self.step_wanted.emit(str(item.data(ROLE))))
        return table

    def _files_table(self) -> QTableWidget:
        count = len(self.compare.attempts)
        table = self._table([self.tr("File"), *LETTERS[:count]], self.tr("Files of each attempt"))
        table.setSelectionBehavior(QTableWidget.SelectionBehavior.SelectRows)
        table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        table.setRowCount(len(self._found))

        def fill(at: int, row: FileRow) -> None:
            folder, _, last = row.path.rpartition("/")
            # The folder too: many files are called the same.
            name = QTableWidgetItem(f"{settled(last)} · {settled(folder)}" if folder else last)
            name.setToolTip(as_tip(row.path))
            table.setItem(at, 0, name)
            for column, change in enumerate(row.changes):
                text = _cell(change) if change is not None else "·"
                cell = QTableWidgetItem(text)
                cell.setTextAlignment(Qt.AlignmentFlag.AlignCenter)
                ink(cell, "text" if change is not None else "muted")
                table.setItem(at, column + 1, cell)

        in_slices(table, (partial(fill, at, row) for at, row in enumerate(self._found)))
        for column in range(1, count + 1):
            head = table.horizontalHeaderItem(column)
            if head is not None:
                head.setTextAlignment(Qt.AlignmentFlag.AlignCenter)
            table.horizontalHeader().setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)
            table.setColumnWidth(column, 108)
        return table

    def path(self) -> str:
        # Not from the table: rows far below are written a little later.
        at = self.files.currentRow()
        return self._found[at].path if 0 <= at < len(self._found) else ""

    def ask_diff(self) -> None:
        a, b = self.compare.attempts[self._a.currentIndex()], self.compare.attempts[self._b.currentIndex()]
        if a.leaf == b.leaf:
            self.panel.show_note(self.tr("Both sides are the same attempt."))
        if self.path():
            self.diff_wanted.emit(a.leaf, b.leaf, self.path())

    def options(self) -> dict[str, object]:
        """How the difference is to be made."""
        return {
            "context": self.panel.context,
            "ignore_space": self.panel.ignore_space,
            "max_rows": self._limit,
        }

    def _other_diff(self) -> None:
        self._limit = FIRST_ROWS
        self.ask_diff()

    def _show_all(self) -> None:
        self._limit = ALL_ROWS
        self.ask_diff()

    def set_read_only(self, why: str) -> None:
        """Nothing can be done with an attempt but look at it."""
        for button, _text in self._buttons:
            button.setEnabled(False)
            button.setToolTip(as_tip(why))
        self.note.setEnabled(False)
        self._read_only = True

    def show_diff(self, diff: FileDiff) -> None:
        self.panel.show_diff(diff)

    def say(self, text: str, token: str = "ok") -> None:
        """What has just been done, or why not."""
        self._says.set(text, token)
        self._says.show()

    def noted(self, leaf: str, note: str) -> None:
        """The note of an attempt is this now; the field is for that of the next."""
        for attempt, label in zip(self.compare.attempts, self._notes, strict=True):
            if attempt.leaf == leaf:
                label.set(note, "text")
                place = label.accessibleName().partition(": ")[0]
                label.setAccessibleName(f"{place}: {note}")
        if self.note.text().strip() == note:
            self.note.clear()

    def say_done(self, text: str) -> None:
        self.say(text)

    # -- actions

    def _actions(self) -> QHBoxLayout:
        line = QHBoxLayout()
        line.setSpacing(8)
        self._which = QComboBox(self)
        self._which.setAccessibleName(self.tr("Attempt"))
        for number, attempt in enumerate(self.compare.attempts):
            self._which.addItem(f"{LETTERS[number]}  {title_of(attempt.title, 22)}", number)
        self._which.currentIndexChanged.connect(self._choose)
        line.addWidget(self._which)
        self.note = QLineEdit(self)
        self.note.setPlaceholderText(self.tr("Note: why did it fail?"))
        self.note.setAccessibleName(self.tr("Note"))
        self._buttons: list[tuple[QPushButton, str]] = []
        for text, call in (
            (self.tr("Continue {}"), lambda: self.continue_wanted.emit(self.leaf())),
            (self.tr("Take file from {}"), lambda: self.take_wanted.emit(self.leaf(), self.path())),
            (self.tr("Bring {} to my branch…"), lambda: self.home_wanted.emit(self.leaf())),
            (
                self.tr("Mark {} as failed"),
                lambda: self.failed_wanted.emit(self.leaf(), self.note.text().strip()),
            ),
        ):
            button = QPushButton(self)
            button.setAutoDefault(False)
            button.clicked.connect(lambda _=False, call=call: call())
            self._buttons.append((button, text))
            line.addWidget(button)
        line.addWidget(self.note, 1)
        return line

    def leaf(self) -> str:
        return self.compare.attempts[self._chosen].leaf

    def _choose(self, at: int) -> None:
        self._chosen = at
        self._which.setCurrentIndex(at)
        for button, text in self._buttons:
            button.setText(text.format(LETTERS[at]))
        self._buttons[1][0].setEnabled(self.files.rowCount() > 0 and not self._read_only)


def _cell(change: FileChange) -> str:
    letter = "" if change.status == "M" else f"{change.status} "
    numbers = f"+{change.added} −{change.removed}" if change.added or change.removed else "~"
    return letter + numbers
