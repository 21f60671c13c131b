"""Bring to my branch: the work of a node into the person's own branch, with a preview of what would happen."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QComboBox,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from worldline.protocol.commands import BringHomeResult
from worldline.ui.again import Again
from worldline.ui.chat.row_base import ColorLabel
from worldline.ui.dialogs.base import Dialog, Latest, checked_value, clear_layout, while_open
from worldline.ui.recents import short_path
from worldline.ui.session_state import SessionState
from worldline.ui.theme import theme
from worldline.viewmodel import tree_paths
from worldline.viewmodel.home import brought_words
from worldline.viewmodel.visible import visible
from worldline.viewmodel.words import refusal

_TYPING_MS = 250
LISTED = 5000
"""Files that are listed; the number of all is said."""


class BringHomeDialog(Dialog):
    """`preview_wanted` and `confirmed` carry the params of `bring_home`, with `dry_run` set accordingly."""

    preview_wanted = Signal(dict)
    confirmed = Signal(dict)
    superseded = Signal()
    """What was asked before must not be shown any more."""

    def __init__(self, node: str, branch: str, message: str, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Bring to my branch"), parent, width=620)
        self._node = node
        self._choices: dict[str, QComboBox] = {}
        self.add_text(
            self.tr(
                "Your branch {} gets the work of this node. Until you press the button, nothing changes."
            ).format(branch)
            if branch
            else self.tr(
                "Your folder gets the work of this node. Until you press the button, nothing changes."
            )
        )
        self._how = QButtonGroup(self)
        for at, (value, text) in enumerate(
            (
                ("changes", self.tr("as uncommitted changes in my folder")),
                ("commit", self.tr("as one commit on my branch")),
                ("branch", self.tr("as a branch that I merge myself")),
            )
        ):
            button = QRadioButton(text, self)
            button.setProperty("value", value)
            button.setChecked(at == 0)
            button.toggled.connect(lambda on: self._changed() if on else None)
            self._how.addButton(button)
            self.body.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
        self._message = QLineEdit(message, self)
        self._message.setAccessibleName(self.tr("Commit message"))
        self._message.setPlaceholderText(self.tr("Commit message"))
        self._branch = QLineEdit(self)
        self._branch.setAccessibleName(self.tr("Name of the branch"))
        self._branch.setPlaceholderText(self.tr("Name of the branch"))
        # Whether the name can be one is for the preview to say: without one made for it, nothing can be brought.
        self._named = QTimer(self)
        self._named.setSingleShot(True)
        self._named.setInterval(_TYPING_MS)
        self._named.timeout.connect(self._changed)
        self._branch.textChanged.connect(self._name_typed)
        self.body.addWidget(self._message)
        self.body.addWidget(self._branch)
        self._note = self.add_text("", "muted")
        self._conflicts = QVBoxLayout()
        self._conflicts.setSpacing(6)
        self.body.addLayout(self._conflicts)
        self.list = QListWidget(self)
        self.list.setAccessibleName(self.tr("What would happen"))
        self.list.setMinimumHeight(140)
        self.body.addWidget(self.list, 1)
        self._cancel = self.add_cancel()
        self.go_button = self.add_button(self.tr("Bring it"), self._confirm, role="primary")
        self.go_button.setEnabled(False)
        self._changed()

    def how(self) -> str:
        return checked_value(self._how)

    def params(self, *, dry_run: bool) -> dict[str, Any]:
        return {
            "node": self._node,
            "how": self.how(),
            "message": self._message.text().strip(),
            "branch": self._branch.text().strip(),
            "dry_run": dry_run,
            # A preview lists all conflicts: one that is decided is no longer among them, and could not be decided anew.
            "choices": {} if dry_run else {path: box.currentData() for path, box in self._choices.items()},
        }

    def _confirm(self) -> None:
        # Once: a second commit of the same work helps nobody.
        self.go_button.setEnabled(False)
        self._note.set(self.tr("Bringing it…"), "muted")
        self.confirmed.emit(self.params(dry_run=False))

    def ask_preview(self) -> None:
        self.preview_wanted.emit(self.params(dry_run=True))

    def _changed(self) -> None:
        # What is shown was made for another way: nothing can be brought before its own preview is there.
        self.go_button.setEnabled(False)
        self._message.setVisible(self.how() == "commit")
        self._branch.setVisible(self.how() == "branch")
        # Enter after a name that was typed means it, and a new branch touches nothing; elsewhere it stays harmless.
        (self.go_button if self.how() == "branch" else self._cancel).setDefault(True)
        if self.how() == "branch" and not self._branch.text().strip():
            self.superseded.emit()
            self._note.set(self.tr("Give the branch a name."), "muted")
            return
        self.ask_preview()

    def _name_typed(self) -> None:
        if self.how() != "branch":
            return
        self.go_button.setEnabled(False)
        self._named.start()

    def show_preview(self, result: BringHomeResult, *, tried: bool = False) -> None:
        """`tried`: it is what came of bringing it, which did not happen. What was decided can be decided anew."""
        signs = {"create": "+", "overwrite": "~", "delete": "−", "conflict": "✗"}
        self.list.clear()
        for entry in result.entries[:LISTED]:
            reason = f"   {entry.reason}" if entry.reason else ""
            self.list.addItem(f"{signs.get(entry.action, '=')} {visible(entry.path)}{reason}")
        if len(result.entries) > LISTED:
            self.list.addItem(self.tr("… and %n more", "", len(result.entries) - LISTED))
        if not tried or result.conflicts:
            self._show_conflicts(result.conflicts)
        changing = sum(entry.action in signs for entry in result.entries)
        count = self.tr("%n file(s) would change.", "", changing)
        self._note.set(result.note or count, "warn" if self._choices else "muted")
        self.go_button.setEnabled(bool(result.entries))

    def _show_conflicts(self, paths: list[str]) -> None:
        clear_layout(self._conflicts)
        chosen = {path: box.currentData() for path, box in self._choices.items()}
        self._choices.clear()
        for path in paths:
            box = QComboBox(self)
            box.addItem(self.tr("keep mine"), "ours")
            box.addItem(self.tr("take this one"), "theirs")
            box.setAccessibleName(self.tr("Conflict in {}").format(path))
            box.setCurrentIndex(max(0, box.findData(chosen.get(path))))
            self._choices[path] = box
            line = QHBoxLayout()
            line.setSpacing(12)
            name = ColorLabel("✗ " + self.tr("Conflict in {}").format(path), "warn", self)
            name.setFont(theme().font_ui())
            name.setWordWrap(True)
            line.addWidget(name, 1)
            line.addWidget(box)
            self._conflicts.addLayout(line)

    def show_problem(self, text: str) -> None:
        self._note.set(text, "bad")
        self.go_button.setEnabled(False)


def open_bring_home(state: SessionState, node: str, parent: QWidget) -> BringHomeDialog:
    message = tree_paths.asked_for(state.tree, state.tree.row(node))
    dialog = BringHomeDialog(node, str(state.info.get("base_branch", "")), message[:72], parent)

    Again(dialog, lambda window, state: open_bring_home(state, node, window))

    latest = Latest()

    def problem(error: dict[str, Any]) -> None:
        dialog.show_problem(refusal(error))

    def preview(params: dict[str, Any]) -> None:
        of = latest.ask()
        shown = of(lambda r: dialog.show_preview(BringHomeResult.model_validate(r)))
        refused = of(problem)
        state.request("bring_home", params, while_open(dialog, shown), while_open(dialog, refused))

    def bring(params: dict[str, Any]) -> None:
        def done(result: dict[str, Any]) -> None:
            if result.get("done"):
                # Said also when the dialog was closed meanwhile: it has happened.
                state.brought_home.emit(
                    brought_words(params["how"], result, short_path(str(state.info.get("root", ""))))
                )
                if isValid(dialog):
                    dialog.accept()
            elif isValid(dialog):
                dialog.show_preview(BringHomeResult.model_validate(result), tried=True)
            else:
                state.failed.emit({"message": result.get("note", "")})

        def failed(error: dict[str, Any]) -> None:
            # Nobody looks at a closed dialog, and whoever closed it may believe that it was done.
            if isValid(dialog):
                problem(error)
            else:
                state.failed.emit(error)

        state.request("bring_home", params, done, failed)

    dialog.superseded.connect(latest.forget)
    dialog.preview_wanted.connect(preview)
    dialog.confirmed.connect(bring)
    dialog.ask_preview()
    dialog.open()
    return dialog
