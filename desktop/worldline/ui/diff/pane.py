"""The changes pane: which files differ between two places of the session, and how."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QSplitter, QVBoxLayout, QWidget

from worldline.protocol.commands import Changes
from worldline.protocol.model import FileDiff
from worldline.ui.chat.row_base import ColorLabel, copy_text, tool_button
from worldline.ui.diff.arriving import take_changes
from worldline.ui.diff.asking import ask_file_diff
from worldline.ui.diff.file_diff_panel import FileDiffPanel
from worldline.ui.diff.file_list import FileList
from worldline.ui.diff.late_lines import LateLines
from worldline.ui.diff.taking import Taking
from worldline.ui.opening_files import open_to_edit, reveal
from worldline.ui.preferences import settings as window_settings
from worldline.ui.session_state import SessionState
from worldline.ui.theme import caption, theme
from worldline.viewmodel.compared import Compared
from worldline.viewmodel.tree_text import short_title
from worldline.viewmodel.words import refusal

FIRST_ROWS = 20_000
CACHED = 64


class ChangesPane(QWidget):
    """Follows the node that is looked at. Answers are kept by (a, b, path); an answer that comes too late for what
    is shown by then is kept, but not shown."""

    def __init__(self, state: SessionState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.state = state
        self._changes: OrderedDict[tuple[str, str], Changes] = OrderedDict()
        self._diffs: OrderedDict[tuple[Any, ...], FileDiff] = OrderedDict()
        self._asked: set[tuple[Any, ...]] = set()
        self._outdated: set[tuple[Any, ...]] = set()
        """Of what was asked: what changed since then, so that the answer is old when it comes."""
        self._listed: tuple[str, str] | None = None
        """The comparison whose files are listed."""
        self._shown: tuple[Any, ...] = ()
        """The difference whose lines are shown."""
        self._lines = LateLines(state, self._counted)
        self.compared = Compared(state.tree)
        self._taking = Taking(state, self.compared, self, lambda: self._refresh(stale=True))
        self._limit = FIRST_ROWS
        title = ColorLabel(self.tr("CHANGES"), "muted", self)
        caption(title)
        self.against = QComboBox(self)
        self.against.setAccessibleName(self.tr("Compared with"))
        for value, text in (
            ("", self.tr("what fits the step")),
            ("parent", self.tr("vs the step before")),
            ("attempt", self.tr("this attempt so far")),
            ("base", self.tr("vs the start of the session")),
            ("disk", self.tr("vs the files on disk")),
        ):
            self.against.addItem(text, value)
        self._choices = self.against.count()
        self.against.setToolTip(
            self.tr("“What fits the step” shows a step that changed files against the one before, and any other "
                    "against where its attempt began.")
        )  # fmt: skip
        self.against.activated.connect(self._on_against)
        self._totals = ColorLabel("", "muted", self)
        self._tree = tool_button(self, self.tr("Show as a tree"), "tree")
        self._tree.setCheckable(True)
        self.files = FileList(self)
        self._tree.toggled.connect(self._on_tree)
        self.files.chosen.connect(self._show_file)
        self.panel = FileDiffPanel(self)
        self.panel.options_changed.connect(self._ask_diff)
        self.panel.more_wanted.connect(self._show_all)
        self.panel.action.connect(self._on_action)
        self.panel.view.hunk_action.connect(self._on_hunk)
        self.panel.view.author_clicked.connect(state.select)
        self.panel.view.author_name = self._author_name
        self._note = ColorLabel("", "muted", self)
        self._note.setFont(theme().font_ui())
        self._note.setWordWrap(True)
        self._note.setContentsMargins(16, 12, 16, 12)
        head = QHBoxLayout()
        head.setContentsMargins(12, 6, 8, 6)
        head.setSpacing(8)
        head.addWidget(title)
        head.addWidget(self.against)
        head.addStretch(1)
        head.addWidget(self._totals)
        head.addWidget(self._tree)
        self._split = QSplitter(Qt.Orientation.Vertical, self)
        self._split.addWidget(self.files)
        self._split.addWidget(self.panel)
        self._split.setStretchFactor(0, 1)
        self._split.setStretchFactor(1, 3)
        self._split.setSizes([170, 400])
        self._split.splitterMoved.connect(self._keep_sizes)
        self._sized = False
        """The person has chosen how high the list is."""
        self._chosen = ""
        """The file to choose in the next list: what was chosen in a window before this one."""
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(head)
        layout.addWidget(self._note)
        layout.addWidget(self._split, 1)
        self._timer = QTimer(self, singleShot=True, interval=30)
        self._timer.timeout.connect(self._ask)
        state.selection_changed.connect(lambda _uid: self._refresh())
        state.cursor_changed.connect(lambda _uid: self._refresh())
        state.node_ended.connect(lambda _seq: self._refresh(stale=True))
        state.files_changed.connect(lambda _node: self._refresh(stale=True))
        state.loaded.connect(self._refresh)
        state.changes_since_asked.connect(self.compare_with)
        self._tree.setChecked(bool(window_settings().value("diff/as_tree", False, bool)))
        self._refresh()

    # -- which

    def _on_against(self, _at: int) -> None:
        self.compared.wanted = str(self.against.currentData())
        self._forget("")
        self._refresh()

    def changeEvent(self, event: QEvent) -> None:
        # Whoever comes back from an editor has changed files, and nobody tells of them.
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow() and self.compared.with_disk:
            self._forget("")
            self._timer.start()
        super().changeEvent(event)

    def compare_with(self, uid: str) -> None:
        """Compare with any node until something else is chosen; it joins the choices, in place of the one before."""
        at = self._choices
        self.against.removeItem(at)
        title = short_title(self.state.tree, self.state.tree.row(uid), 40)
        self.against.addItem(self.tr("vs “{}”").format(title), uid)
        self.against.setCurrentIndex(at)
        self.compared.wanted = uid
        if self.state.looked_at() == uid:
            self.state.select("")
        self._refresh()

    def looks(self) -> tuple[str, str]:
        """What the person has chosen: to compare with, "" = what fits; and the file."""
        return self.compared.wanted, self._chosen or self.files.path

    def look_alike(self, wanted: str, path: str) -> None:
        """Show what `looks` of another pane on this session said, as soon as it is known."""
        self._chosen = path
        if wanted and self.against.findData(wanted) < 0:
            if self.state.tree.row(wanted) >= 0:
                self.compare_with(wanted)
            return
        self.compared.wanted = wanted
        self._refresh()

    def _show_against(self) -> None:
        """The box says what is compared, also when it was not chosen by hand."""
        self.against.setCurrentIndex(max(0, self.against.findData(self.compared.against)))

    def _refresh(self, *_: object, stale: bool = False) -> None:
        node = self.state.looked_at()
        if stale:
            self._forget(node)
        self.compared.node = node
        self._limit = FIRST_ROWS
        self._show_against()
        if not node:
            self._show_changes(None)
            return
        known = self._changes.get(self.compared.pair())
        if known is not None:
            self._show_changes(known)
        else:
            # Walking along the tree with the arrow keys asks for what it stops at, not for every node on the way.
            self._timer.start()

    def _forget(self, node: str) -> None:
        """Ask anew what is known of `node`, and of the disk: that can change at any moment."""
        for pair in [pair for pair in self._changes if node in pair or "disk" in pair]:
            del self._changes[pair]
        for key in [key for key in self._diffs if node in key[:2] or "disk" in key[:2]]:
            del self._diffs[key]
        self._outdated |= {key for key in self._asked if node in key[:2] or "disk" in key[:2]}

    def _ask(self) -> None:
        pair = self.compared.pair()
        if not pair[0] or not pair[1] or pair in self._asked:
            return
        self._asked.add(pair)

        def taken(changes: Changes) -> None:
            if self._is_current(pair):
                _keep(self._changes, pair, changes)
            else:
                self._timer.start()  # it is shown, and asked for again
            if pair == self.compared.pair():
                self._show_changes(changes)

        def refused(error: dict[str, Any]) -> None:
            self._is_current(pair)
            if pair == self.compared.pair():
                self._show_changes(None, refusal(error))

        self.state.request(
            "changes",
            {"a": pair[0], "b": pair[1]},
            lambda result: take_changes(self, result, taken),
            refused,
        )

    def _is_current(self, key: tuple[Any, ...]) -> bool:
        """An answer is there; False when what it tells of has changed since it was asked for."""
        current = key not in self._outdated
        self._asked.discard(key)
        self._outdated.discard(key)
        return current

    def _counted(self, changes: Changes) -> None:
        if self._changes.get(self.compared.pair()) is changes:
            self._show_totals(changes)
            self.files.viewport().update()

    def _show_totals(self, changes: Changes) -> None:
        lines = f"+{changes.added} −{changes.removed}" if changes.counted else self.tr("counting lines…")
        self._totals.setText(self.tr("%n file(s)", "", len(changes.files)) + f"  {lines}")

    def _show_changes(self, changes: Changes | None, note: str = "") -> None:
        files = changes.files if changes is not None else []
        self._listed = self.compared.pair() if changes is not None else None
        text = note or (changes.note if changes is not None else "")
        if not files and not text:
            text = (
                self.tr("The files on disk are as they were at this step.")
                if self.compared.with_disk
                else self.tr(
                    "This is the step that others are compared with. Choose another one in the tree."
                )
                if self.compared.pair()[0] == self.compared.node
                else self.tr(
                    "No files changed in this step. Choose a step with +n −m in the tree, or compare with the start."
                )
                if self.compared.pair()[0] == "parent"
                else self.tr("No file is different here. Steps that change files have +n −m in the tree.")
            )
        self._note.setText(text)
        self._note.setVisible(not files or bool(text))
        self._split.setVisible(bool(files))
        if changes is None or not files:
            self._totals.setText("")
            self.files.set_changes([])
            return
        self._show_totals(changes)
        self._lines.ask(self.compared.pair(), changes)
        self._fit_list(len(files))
        chosen, self._chosen = self._chosen, ""
        self.files.set_changes(files, chosen)

    def _keep_sizes(self, *_: int) -> None:
        self._sized = True

    def _fit_list(self, files: int) -> None:
        """As high as its rows, up to two fifths: the difference needs the room more than an empty list."""
        height = self._split.height()
        if self._sized or height <= 0:
            return
        rows = max(3, files) * max(22, self.files.sizeHintForRow(0)) + 12
        top = min(rows, height * 2 // 5)
        self._split.setSizes([top, height - top])

    # -- the file

    def _key(self, path: str) -> tuple[Any, ...]:
        return (*self.compared.pair(), path, self.panel.context, self.panel.ignore_space, self._limit)

    def _show_file(self, path: str) -> None:
        self._limit = FIRST_ROWS
        self.panel.set_newer_is_disk(self.compared.with_disk)
        if not path:
            self.panel.show_note("")
            return
        self._ask_diff()

    def _ask_diff(self) -> None:
        path = self.files.path
        if not path:
            return
        key = self._key(path)
        known = self._diffs.get(key)
        if known is not None:
            self._show_diff(key, known)
            return
        if key in self._asked:
            return
        self._asked.add(key)

        def wanted() -> bool:
            return bool(self.files.path) and key == self._key(self.files.path)

        def answered(diff: FileDiff) -> None:
            current = self._is_current(key)
            if current:
                _keep(self._diffs, key, diff)
            if wanted():
                self._show_diff(key, diff)
                if not current:
                    self._ask_diff()

        def refused(error: dict[str, Any]) -> None:
            self._is_current(key)
            if wanted():
                self.panel.show_refused(path, refusal(error))

        a, b = self.compared.pair()
        params = {
            "a": a, "b": b, "path": path, "context": self.panel.context, "ignore_space": self.panel.ignore_space,
            "max_rows": self._limit,
        }  # fmt: skip
        ask_file_diff(self.state, self, params, answered, refused, wanted)

    def _show_diff(self, key: tuple[Any, ...], diff: FileDiff) -> None:
        self._shown = key
        self.panel.set_read_only(self._why_read_only())
        self.panel.show_diff(diff)

    def _why_read_only(self) -> str:
        return self.tr("The session is open for reading only.") if self.state.read_only else ""

    def _show_all(self) -> None:
        self._limit = 2_000_000
        self._ask_diff()

    def _on_tree(self, on: bool) -> None:
        self.files.set_as_tree(on)
        window_settings().setValue("diff/as_tree", on)

    # -- actions

    def _on_action(self, name: str) -> None:
        path = self.files.path
        full = Path(str(self.state.info.get("work_path", ""))) / path
        if name == "open":
            self._say(open_to_edit(full))
        elif name == "reveal":
            self._say(reveal(full))
        elif name == "copy_path":
            copy_text(str(full))
        elif name in ("take", "revert") and self._listed == self.compared.pair():
            self._taking.ask_file(path, self.files.change(), revert=name == "revert")

    def _say(self, problem: str) -> None:
        notices = getattr(self.window(), "notices", None)
        if problem and notices is not None:
            notices.say("opening", problem, icon="warn", color="warn")

    def _on_hunk(self, action: str, hunk: int) -> None:
        # What is on screen may be the file before: the number of a hunk means nothing in another one.
        if self._shown[:5] != self._key(self.files.path)[:5]:
            return
        self._taking.ask_hunk(
            self.files.path,
            self.files.change(),
            hunk,
            context=self.panel.context,
            revert=action == "revert",
        )

    def _author_name(self, uid: str) -> str:
        row = self.state.tree.row(uid)
        if row < 0:
            return uid[:8]
        return f"{self.state.tree.tool(row)} {self.state.tree.preview(row)}".strip()[:80]


def _keep(cache: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    cache[key] = value
    cache.move_to_end(key)
    while len(cache) > CACHED:
        cache.popitem(last=False)
