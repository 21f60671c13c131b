"""Storage: what sessions take on disk, and giving room back. What would be lost is named before anything goes."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QDateTime, QLocale, QModelIndex, QPersistentModelIndex, QRect, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QListWidget,
    QPushButton,
    QRadioButton,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from worldline.protocol.commands import Pruned, Storage
from worldline.ui.chat import words
from worldline.ui.chat.row_base import ColorLabel
from worldline.ui.dialogs.base import Dialog
from worldline.ui.plain import as_tip
from worldline.ui.tables import quiet
from worldline.ui.theme import SPACE_S, theme
from worldline.viewmodel.storage import LostGroup, share, taken, this_session, told_apart
from worldline.viewmodel.visible import settled

ROLE = Qt.ItemDataRole.UserRole
AGES = (30, 90, 180, 365)
NAMED = 8
"""Groups that the question before pruning names as lines of its own; more are a list that scrolls."""


class BarDelegate(QStyledItemDelegate):
    """A number with a thin bar under it: its share of the largest, from `ROLE`."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().paint(painter, option, index)
        part = float(index.data(ROLE) or 0)
        room: QRect = option.rect.adjusted(SPACE_S, 0, -SPACE_S, -3)
        width = round(room.width() * part)
        bar = QRect(room.right() - width + 1, room.bottom() - 1, width, 2)
        painter.fillRect(bar, theme().tokens.color("accent"))


class StorageDialog(Dialog):
    """Filled by `show_…`; asks by signals. `plan_wanted` and `prune_wanted` carry the age in days, None = only what no
    node needs; `prune_wanted` also the id of what the person has seen and agreed to lose."""

    plan_wanted = Signal(object)
    prune_wanted = Signal(object, str)
    retention_wanted = Signal(int)
    session_wanted = Signal(str)
    folders_wanted = Signal()

    def __init__(self, parent: QWidget | None = None, *, read_only: bool = False, session: str = "") -> None:
        """`session`: the title of the one that room is given back in."""
        super().__init__(self.tr("Storage"), parent, width=760)
        self._session = session
        self.resize(760, 640)
        self._read_only = read_only
        self._groups: list[tuple[str, LostGroup]] = []
        self._plan: Pruned | None = None
        self._after = ""
        self.total = self.add_text(self.tr("Measuring…"), "muted")
        self.table = self._sessions_table()
        self.body.addWidget(self.table, 3)
        head = QLabel(self.tr("Give room back in this session"), self)
        head.setFont(theme().font_ui(1, bold=True))
        head.setContentsMargins(0, SPACE_S, 0, 0)
        self.body.addWidget(head)
        self._choices()
        said = QHBoxLayout()
        said.setSpacing(12)
        self.what = ColorLabel("", "text", self)
        self.what.setFont(theme().font_ui())
        self.what.setWordWrap(True)
        said.addWidget(self.what, 1)
        self.remove_button = QPushButton(self.tr("Remove…"), self)
        self.remove_button.setProperty("role", "danger")
        self.remove_button.setAutoDefault(False)
        self.remove_button.setEnabled(False)
        self.remove_button.clicked.connect(lambda _=False: self._ask())
        said.addWidget(self.remove_button, 0, Qt.AlignmentFlag.AlignTop)
        self.body.addLayout(said)
        self.lost = QListWidget(self)
        self.lost.setAccessibleName(self.tr("What would lose its files"))
        self.lost.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        # A screen of 720 pixels must hold all of the dialog.
        self.lost.setMinimumHeight(84)
        self.lost.setMaximumHeight(140)
        self.body.addWidget(self.lost, 2)
        self._retention()
        self.open_button = self.add_button(self.tr("Open the chosen session"), self._open_session, left=True)
        self.open_button.setEnabled(False)
        self.folders_button = self.add_button(self.tr("Folders of sessions…"), self._folders, left=True)
        self.add_button(self.tr("Close"), self.reject, default=True)
        self.lost.hide()

    # -- parts

    def _sessions_table(self) -> QTableWidget:
        table = QTableWidget(0, 5, self)
        table.setHorizontalHeaderLabels(
            [
                self.tr("Session"),
                self.tr("Conversation"),
                self.tr("Files"),
                self.tr("Together"),
                self.tr("Last used"),
            ]
        )
        header = table.horizontalHeader()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column in (1, 2, 3):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)
            table.setColumnWidth(column, 112 if column == 1 else 92)
            item = table.horizontalHeaderItem(column)
            if item is not None:
                item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(4, QHeaderView.ResizeMode.ResizeToContents)
        table.setItemDelegateForColumn(3, BarDelegate(table))
        quiet(table, row_height=30)
        table.setSelectionBehavior(QTableWidget.SelectionBehavior.SelectRows)
        table.setSelectionMode(QTableWidget.SelectionMode.SingleSelection)
        table.setAccessibleName(self.tr("What each session takes on disk"))
        table.currentCellChanged.connect(lambda *_: self._refresh())
        table.cellActivated.connect(lambda *_: self._open_session())
        table.setMinimumHeight(120)
        return table

    def _choices(self) -> None:
        self._group = QButtonGroup(self)
        self.unused = QRadioButton(self.tr("Files that no step needs any more"), self)
        self.unused.setChecked(True)
        self.old = QRadioButton(self.tr("Also the files of steps beside the current path, older than"), self)
        self.age = QComboBox(self)
        self.age.setAccessibleName(self.tr("Age from which files are removed"))
        for days in AGES:
            self.age.addItem(self.tr("%n day(s)", "", days), days)
        self.question: Dialog | None = None
        self._group.addButton(self.unused)
        self._group.addButton(self.old)
        self.body.addWidget(self.unused, 0, Qt.AlignmentFlag.AlignLeft)
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(self.old)
        line.addWidget(self.age)
        line.addStretch(1)
        self.body.addLayout(line)
        self._group.buttonClicked.connect(lambda _button: self.ask_plan())
        self.age.activated.connect(lambda _at: self._age_chosen())

    def _age_chosen(self) -> None:
        self.old.setChecked(True)
        self.ask_plan()

    def _retention(self) -> None:
        line = QHBoxLayout()
        line.setSpacing(8)
        label = QLabel(self.tr("Remind me of files older than"), self)
        self.keep = QComboBox(self)
        self.keep.addItem(self.tr("never"), 0)
        for days in AGES:
            self.keep.addItem(self.tr("%n day(s)", "", days), days)
        self.keep.setAccessibleName(label.text())
        label.setBuddy(self.keep)
        self.keep.activated.connect(lambda _at: self.retention_wanted.emit(int(self.keep.currentData())))
        line.addWidget(label)
        line.addWidget(self.keep)
        line.addWidget(
            ColorLabel(self.tr("Nothing is removed by itself: you see the list first."), "muted", self), 1
        )
        self.body.addLayout(line)

    # -- what the engine says

    def show_storage(self, storage: Storage) -> None:
        here = this_session(storage)
        text = self.tr("%n session(s) take {size} on this computer.", "", len(storage.sessions))
        parts = [text.format(size=words.size(storage.total_bytes))]
        if here is not None:
            parts.append(
                self.tr("This one takes {size}: {said} for what was said, {files} for %n kept state(s) of its files.",
                        "", storage.states).format(
                    size=words.size(taken(here)), said=words.size(here.session_bytes), files=words.size(here.states_bytes)
                )
            )  # fmt: skip
        self.total.set(" ".join(parts), "text")
        self.table.setRowCount(0)
        for session in storage.sessions:
            row = self.table.rowCount()
            self.table.insertRow(row)
            name = told_apart(session, storage)
            title = self.tr("{title}  (this one)").format(title=name) if session.here else name
            facts = (
                words.size(session.session_bytes),
                words.size(session.states_bytes),
                words.size(taken(session)),
                words.clock(session.updated),
            )
            for column, cell_text in enumerate((title, *facts)):
                cell = QTableWidgetItem(cell_text)
                cell.setToolTip(
                    as_tip(f"{session.first_prompt}\n{session.path}".strip() if not column else "")
                )
                if column in (1, 2, 3):
                    cell.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                if column == 3:
                    cell.setData(ROLE, share(session, storage))
                elif column == 0:
                    cell.setData(ROLE, "" if session.here else session.path)
                self.table.setItem(row, column, cell)
            if session.here:
                self.table.selectRow(row)
        self._refresh()

    def ask_plan(self, after: str = "") -> None:
        """Ask what would go; until the answer is there nothing can be removed. `after`: why it is asked again, said with the
        answer."""
        self._plan = None
        self._after = after
        self._groups = []
        self.what.set(self.tr("Looking what would go…"), "muted")
        self._refresh()
        self.plan_wanted.emit(self.days())

    def days(self) -> int | None:
        """The age that is chosen; None = only what no node needs."""
        return int(self.age.currentData()) if self.old.isChecked() else None

    def show_plan(self, plan: Pruned, groups: Sequence[tuple[str, LostGroup]]) -> None:
        """What pruning would do: `groups` are the nodes that lose their files, with the title of their prompt."""
        self._plan = plan
        self._groups = list(groups)
        self.lost.clear()
        for title, group in self._groups:
            self.lost.addItem(self._group_words(title, group))
        if not plan.states_removed:
            self.what.set(
                self.tr("Nothing to remove: every kept file belongs to a step that is shown."), "muted"
            )
        elif plan.nodes:
            self.what.set(
                self.tr("%n step(s) would lose their files; what was said stays. About {size} become free.", "",
                        len(plan.nodes)).format(size=words.size(plan.freed_bytes)),
                "warn",
            )  # fmt: skip
        else:
            self.what.set(
                self.tr("%n state(s) can go and no step loses anything. About {size} become free.", "",
                        plan.states_removed).format(size=words.size(plan.freed_bytes)),
                "text",
            )  # fmt: skip
        if self._after:
            self.what.set(f"{self._after} {self.what.text()}", "warn")
            self._after = ""
        self._refresh()

    def show_problem(self, text: str) -> None:
        self._plan = None
        self._groups = []
        self.lost.clear()
        self.what.set(text, "warn")
        self._refresh()

    def show_retention(self, days: int) -> None:
        if self.keep.findData(days) < 0:
            # Written by hand: shown as it is and not replaced.
            self.keep.addItem(self.tr("%n day(s)", "", days), days)
        self.keep.setCurrentIndex(self.keep.findData(days))

    def show_result(self, done: Pruned) -> None:
        self._plan = None
        self._groups = []
        self.lost.clear()
        text = self.tr("{size} are free again: {removed} states removed, {kept} kept.").format(
            size=words.size(done.freed_bytes), removed=done.states_removed, kept=done.states_kept
        )
        self.what.set(text, "ok")
        self._refresh()

    # -- what the person does

    def _group_words(self, title: str, group: LostGroup) -> str:
        steps = self.tr("%n step(s)", "", group.steps)
        day = QLocale().toString(
            QDateTime.fromMSecsSinceEpoch(group.newest).date(), QLocale.FormatType.ShortFormat
        )
        until = self.tr("until {day}").format(day=day)
        place = title or self.tr("Start of the session")
        return f"{place} · {steps} · {until}"

    def _refresh(self) -> None:
        may = self._plan is not None and self._plan.states_removed > 0 and not self._read_only
        self.remove_button.setEnabled(may)
        self.remove_button.setToolTip(
            self.tr("The session is open for reading only.")
            if self._read_only
            else self.tr("There is nothing to remove.")
            if self._plan is not None and not may
            else ""
        )
        self.lost.setVisible(bool(self._groups))
        at = self.table.currentRow()
        item = self.table.item(at, 0) if at >= 0 else None
        self.open_button.setEnabled(item is not None and self.chosen_path() != "")

    def chosen_path(self) -> str:
        """The session that is chosen in the table, when it is another one than this."""
        item = self.table.item(self.table.currentRow(), 0)
        return str(item.data(ROLE)) if item is not None else ""

    def _open_session(self) -> None:
        path = self.chosen_path()
        if path:
            self.session_wanted.emit(path)
            self.accept()

    def _folders(self) -> None:
        self.folders_wanted.emit()
        self.accept()

    def _ask(self) -> None:
        """Names what is lost; Cancel is the default."""
        plan = self._plan
        if plan is None:
            return
        days, lose_id = self.days(), plan.lose_id
        dialog = Dialog(
            self.tr("Remove the files of %n step(s)?", "", len(plan.nodes))
            if plan.nodes
            else self.tr("Remove files that no step needs?"),
            self,
            width=520,
        )
        if self._session:
            dialog.add_text(self.tr("In the session “{title}”").format(title=settled(self._session)), "muted")
        if plan.nodes:
            dialog.add_text(
                self.tr("These steps can still be read, but nobody can go back to them any more:")
            )
            self._name_lost(dialog)
        else:
            dialog.add_text(self.tr("Nothing that is shown is lost."))
        dialog.add_text(
            self.tr("About {size} become free. This cannot be undone.").format(
                size=words.size(plan.freed_bytes)
            ),
            "muted",
        )
        dialog.add_cancel()
        dialog.add_button(self.tr("Remove"), dialog.accept, role="danger")
        dialog.accepted.connect(lambda: self._remove(days, lose_id))
        self.question = dialog
        dialog.open()

    def _name_lost(self, dialog: Dialog) -> None:
        """All of them: what is agreed to is what is seen."""
        lost = [self._group_words(title, group) for title, group in self._groups]
        if len(lost) <= NAMED:
            for words_of_one in lost:
                dialog.add_text("•  " + words_of_one, "warn")
            return
        rows = QListWidget(dialog)
        rows.setAccessibleName(self.lost.accessibleName())
        rows.addItems(lost)
        dialog.body.addWidget(rows, 1)

    def _remove(self, days: int | None, lose_id: str) -> None:
        self._plan = None
        self.what.set(self.tr("Removing…"), "muted")
        self._refresh()
        self.prune_wanted.emit(days, lose_id)

    def begin_with(self, days: int) -> None:
        """Choose what is older than so many days, also when that is not among the choices."""
        if self.age.findData(days) < 0:
            self.age.addItem(self.tr("%n day(s)", "", days), days)
        self.age.setCurrentIndex(self.age.findData(days))
        self.old.setChecked(True)
