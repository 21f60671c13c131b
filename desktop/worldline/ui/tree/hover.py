"""The card beside a node: what it was, when, how long it took, what it changed. Looking costs nothing."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget

from worldline.core.kinds import NodeKind
from worldline.ui.labels import WrapLabel
from worldline.ui.session_state import SessionState
from worldline.ui.theme import SPACE_M, SPACE_S, SPACE_XS, caption, theme
from worldline.ui.tree.view import TreeView
from worldline.viewmodel import tree_text, tree_words

DELAY_MS = 350
NOTE = 600
"""Characters of a note that are shown beside the pointer."""


class HoverCard(QFrame):
    def __init__(self, view: TreeView, state: SessionState, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.ToolTip | Qt.WindowType.FramelessWindowHint)
        self.setProperty("role", "float")
        self._state = state
        self._row = -1
        self._place = QPoint()
        self._title = WrapLabel("", self)
        self._title.setWordWrap(True)
        self._facts = WrapLabel("", self)
        self._facts.setWordWrap(True)
        caption(self._facts)
        self._hint = QLabel(self)
        self._hint.setWordWrap(True)
        caption(self._hint)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SPACE_M, SPACE_S, SPACE_M, SPACE_S)
        layout.setSpacing(SPACE_XS)
        for label in (self._title, self._facts, self._hint):
            layout.addWidget(label)
        self.setFixedWidth(340)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DELAY_MS)
        self._timer.timeout.connect(self._show)
        view.hovered.connect(self._hovered)

    def _hovered(self, row: int, place: QPoint) -> None:
        self._row, self._place = row, place
        if row < 0:
            self._timer.stop()
            self.hide()
        elif self.isVisible():
            self._show()
        else:
            self._timer.start()

    def facts(self, row: int) -> tuple[str, str, str]:
        """Title, facts and what a click does."""
        tree = self._state.tree
        kind = tree.kind_of(row)
        parts = [tree_words.kind_word(kind).capitalize(), tree_words.ago(tree.created[row])]
        outcome = tree_words.outcome_word(tree.outcome_of(row))
        if outcome:
            parts.append(outcome)
        if tree.took[row]:
            parts.append(tree_words.duration(tree.took[row]))
        if tree.model(row):
            parts.append(tree.model(row))
        lines = [" · ".join(parts)]
        if tree.files[row]:
            lines.append(
                self.tr("%n file(s) changed, +{a} −{r}", "", tree.files[row]).format(
                    a=tree.added[row], r=tree.removed[row]
                )
            )
        lines.extend(word[:1].upper() + word[1:] for word in tree_text.marks_of(tree, row))
        label = tree.labels.get(row)
        if label is not None and label.note:
            lines.append(label.note if len(label.note) <= NOTE else label.note[:NOTE] + "…")
        if self._state.tree.uid(row) == self._state.cursor:
            hint = self.tr("You are here.")
        elif kind in (NodeKind.USER, NodeKind.IMPORTED_USER):
            hint = self.tr("Click: go back to before this prompt and change it.")
        else:
            hint = self.tr("Click: put the files back as they were here and go on from here.")
        return tree_text.title(tree, row), "\n".join(lines), hint

    def _show(self) -> None:
        if not 0 <= self._row < len(self._state.tree):
            return
        title, facts, hint = self.facts(self._row)
        self._title.setText(title)
        self._title.setFont(theme().font_ui(bold=True))
        self._facts.setText(facts)
        self._hint.setText(hint)
        self.adjustSize()
        place = self._place + QPoint(18, 18)
        screen = self.screen().availableGeometry()
        place.setX(min(place.x(), screen.right() - self.width() - 8))
        if place.y() + self.height() > screen.bottom() - 8:
            place.setY(self._place.y() - self.height() - 12)
        self.move(place)
        self.show()
