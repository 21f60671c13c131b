"""The line above a conversation: which one it is, and the way back where one is only looking."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QWidget

from worldline.core.headers import NodeHeader
from worldline.core.kinds import NodeFlag, NodeKind
from worldline.ui.chat.row_base import ColorLabel, ElidedLabel, tool_button
from worldline.ui.hiding import show_if
from worldline.ui.theme import caption, theme
from worldline.viewmodel.visible import settled


class PaneHead(QFrame):
    """Shows what it is told. `heir` gets the keyboard from a button that goes."""

    back = Signal()
    go = Signal()
    """To the node that is looked at."""
    model_view = Signal()

    def __init__(self, parent: QWidget, *, heir: QWidget) -> None:
        super().__init__(parent)
        self._heir = heir
        self._crumbs = ElidedLabel(self)
        self._crumbs.setFont(theme().font_ui(0, bold=True))
        self._crumbs.setTextFormat(Qt.TextFormat.PlainText)
        self._branch = ElidedLabel("", self)
        # The title gives way first: its words stand above the message as well.
        self._branch.least = 180
        caption(self._branch)
        self._looking = ColorLabel(self.tr("only looking"), "muted", self)
        self._looking.setToolTip(self.tr("The files are still as they were where you are."))
        self._back_to = QPushButton(self.tr("Back"), self)
        self._back_to.setToolTip(self.tr("Back to where you are (Esc)"))
        self._back_to.setAccessibleName(self.tr("Back to where you are"))
        self._back_to.clicked.connect(self.back)
        self._go = QPushButton(self.tr("Go here"), self)
        self._go.clicked.connect(self.go)
        self._as_model = tool_button(self, self.tr("As the model sees it"), "eye")
        self._as_model.clicked.connect(self.model_view)
        head = QHBoxLayout(self)
        head.setContentsMargins(16, 6, 8, 6)
        head.setSpacing(8)
        head.addWidget(self._crumbs)
        head.addWidget(self._branch)
        head.addStretch(1)
        for widget in (self._looking, self._back_to, self._go, self._as_model):
            head.addWidget(widget)
        for widget in (self._looking, self._back_to, self._go):
            widget.hide()

    def show_looking(self, on: bool) -> None:
        """Looking at another node than the one where one is."""
        for widget in (self._back_to, self._looking):
            show_if(on, widget, self._heir)
        self._branch.setVisible(not on)
        role = "looking" if on else ""
        if self.property("role") != role:
            self.setProperty("role", role)
            self.style().polish(self)

    def offer_going(self, on: bool) -> None:
        show_if(on, self._go, self._heir)

    def show_path(self, path: Sequence[NodeHeader], fork: str, untitled: str, *, above: int) -> str:
        """Number and words of the last prompt on the path, and its branch: `fork`, or where the path is. `untitled`: in
        place of the words where there is no prompt yet; `above`: so many prompts come before the path. Returns the words."""
        prompts = [
            header
            for header in path
            if header.kind in (NodeKind.USER, NodeKind.IMPORTED_USER) and not header.flags & NodeFlag.HIDDEN
        ]
        title = prompts[-1].preview if prompts else untitled
        title = settled(title if len(title) <= 60 else title[:59] + "…")
        count = len(prompts) + above
        self._crumbs.setText(f"{count} {title}" if prompts else title)
        branch = fork or next((header.branch for header in reversed(path) if header.branch), "")
        self._branch.setText(f"▸ {branch.removeprefix('refs/heads/')}" if branch else "")
        return title
