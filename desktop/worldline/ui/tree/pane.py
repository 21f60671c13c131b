"""The tree's place in the window: a quiet bar with filter, search and looks above the tree itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from worldline.ui import first_paint
from worldline.ui.session_state import SessionState
from worldline.ui.theme import ICON, SPACE_S, SPACE_XS, caption, theme
from worldline.ui.tree.view import TreeView
from worldline.viewmodel import run_ends
from worldline.viewmodel.tree_items import FILTERS
from worldline.viewmodel.tree_model import NO_ROW

if TYPE_CHECKING:
    from PySide6.QtCore import QEvent, QObject
    from PySide6.QtGui import QAction
    from PySide6.QtWidgets import QMenu, QToolButton

BAR_EXTRA = 20
"""Pixels of the bar above the tree that are not the words of its filter button (margins, border, padding)."""
SEARCH_MS = 120
MANY_HITS = 2_000
MANY_RUNS = 2_000
"""The ends of so many runs are shown; looking for older ones would be felt."""


def around(snippet: str) -> str:
    """What the engine found, beginning shortly before the words that were looked for: there is little room."""
    at = snippet.find("\x02")
    start = snippet.rfind(" ", 0, max(at - 16, 0)) + 1 if at > 24 else 0
    words = " ".join(snippet[start:].replace("\x02", "").replace("\x03", "").split())
    return f"…{words}" if start else words


class TreePane(QWidget):
    def __init__(self, state: SessionState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.state = state
        self.setMinimumWidth(220)
        self.view = TreeView(state, self)
        self._hits: list[int] = []
        self._hit = -1
        state.loaded.connect(lambda: state.request("runs", {}, self._take_runs))
        state.run_ended.connect(lambda run, _offers: self._take_runs({"runs": [run]}))
        self._icons: dict[QToolButton, str] = {}
        self._bar = QFrame(self)
        self._bar.setProperty("role", "bar")
        # Its buttons come after the first paint and must not move the tree.
        words = QFontMetrics(theme().font_ui()).size(0, self.filter_words()["all"])
        self._bar.setMinimumHeight(max(ICON, words.height()) + BAR_EXTRA)
        self._layout = layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._bar)
        layout.addWidget(self.view, 1)
        self.setFocusProxy(self.view)
        # What the first picture does not show:
        first_paint.after(self, self._add_helpers)
        first_paint.after(self, self._fill_bar)
        first_paint.after(self, self._add_search)

    def _add_helpers(self) -> None:
        from worldline.ui.tree.hover import HoverCard
        from worldline.ui.tree.menu import NodeMenu
        from worldline.ui.tree.minimap import Minimap

        self.minimap = Minimap(self.view)
        self.card = HoverCard(self.view, self.state, self)
        self.menu = NodeMenu(self.view, self.state, self)

    def _fill_bar(self) -> None:
        from PySide6.QtWidgets import QToolButton

        bar = self._bar
        row = QHBoxLayout(bar)
        row.setContentsMargins(SPACE_S + SPACE_XS, SPACE_XS, SPACE_S, SPACE_XS)
        row.setSpacing(2)
        self.filter_button = QToolButton(bar)
        self.filter_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.filter_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.filter_button.setMenu(self._filter_menu())
        self._tool(self.filter_button, "filter", self.tr("Show only…"))
        row.addWidget(self.filter_button)
        row.addStretch(1)
        self.search_button = self._toggle(
            bar, row, "search", self.tr("Search the tree (Ctrl+F)"), self.open_search
        )
        self.fold_button = self._toggle(
            bar, row, "fold", self.tr("Fold runs of steps"), self._fold, checked=True
        )
        self.side_button = self._toggle(
            bar, row, "left-right", self.tr("Draw from left to right"), self._sideways
        )
        self.follow_button = self._toggle(
            bar, row, "follow", self.tr("Follow the live branch"), self._follow, checked=True
        )
        self.fit_button = self._toggle(bar, row, "fit", self.tr("Show the whole tree (Ctrl+9)"), self._fit)
        self.fit_button.setCheckable(False)
        self.view.follow_changed.connect(self.follow_button.setChecked)
        self.view.filter_changed.connect(self._name_filter)
        theme().changed.connect(self._recolour)
        self._name_filter("all")

    def _add_search(self) -> None:
        self.search_why = QLabel(self)
        self.search_why.setTextFormat(Qt.TextFormat.PlainText)
        self.search_why.setWordWrap(True)
        self.search_why.setContentsMargins(SPACE_S + SPACE_XS, SPACE_XS, SPACE_S, SPACE_XS)
        caption(self.search_why)
        self.search_why.hide()
        self.search_bar = self._search_bar()
        self.search_bar.hide()
        self._layout.insertWidget(1, self.search_bar)
        self._layout.insertWidget(2, self.search_why)
        self.view.search_asked.connect(self.open_search)
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(SEARCH_MS)
        self._typing.timeout.connect(self._search)

    def _toggle(
        self,
        bar: QWidget,
        row: QHBoxLayout,
        icon: str,
        text: str,
        call: Callable[[], object],
        *,
        checked: bool = False,
    ) -> QToolButton:
        from PySide6.QtWidgets import QToolButton

        button = QToolButton(bar)
        button.setCheckable(True)
        button.setChecked(checked)
        self._tool(button, icon, text)
        button.clicked.connect(lambda *_args: call())
        row.addWidget(button)
        return button

    def _tool(self, button: QToolButton, icon: str, text: str) -> None:
        button.setToolTip(text)
        button.setAccessibleName(text)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        from worldline.ui import icons

        button.setIcon(icons.icon(icon))
        self._icons[button] = icon

    def _recolour(self) -> None:
        from worldline.ui import icons

        for button, icon in self._icons.items():
            button.setIcon(icons.icon(icon))

    def _take_runs(self, result: dict[str, Any]) -> None:
        for run in result["runs"][-MANY_RUNS:]:
            run_ends.note(self.state.tree, run)
        self.view.viewport().update()

    # Filter ----------------------------------------------------------------------------------------------------
    def filter_words(self) -> dict[str, str]:
        return {
            "all": self.tr("All nodes"),
            "prompts": self.tr("Prompts only"),
            "failures": self.tr("Failures"),
            "files": self.tr("Files changed"),
            "effects": self.tr("Effects outside"),
            "labelled": self.tr("Labelled"),
        }

    def _filter_menu(self) -> QMenu:
        from PySide6.QtGui import QActionGroup
        from PySide6.QtWidgets import QMenu

        menu = QMenu(self)
        menu.aboutToShow.connect(self._count_filters)
        group = QActionGroup(menu)
        for name in FILTERS:
            action = menu.addAction(self.filter_words()[name])
            action.setCheckable(True)
            group.addAction(action)
            action.triggered.connect(lambda _checked=False, name=name: self.choose_filter(name))
        return menu

    def _count_filters(self) -> None:
        """How much each filter would show, said where it is chosen."""
        counts, words = self.view.scene.items.counts(), self.filter_words()
        for name, action in self._filter_actions.items():
            action.setText(f"{words[name]}  ({counts[name]:,})")

    @property
    def _filter_actions(self) -> dict[str, QAction]:
        # Asked for each time: kept wrappers of a menu's actions can be taken for dead by the binding.
        return dict(zip(FILTERS, self.filter_button.menu().actions(), strict=True))

    def _name_filter(self, name: str) -> None:
        self._filter_actions[name].setChecked(True)
        self.filter_button.setText(self.filter_words()[name])

    def choose_filter(self, name: str) -> None:
        self.view.show_only(name, self.view.scene.items.text)

    def cycle_filter(self) -> None:
        self.choose_filter(FILTERS[(FILTERS.index(self.view.scene.items.filter) + 1) % len(FILTERS)])

    def _fold(self) -> None:
        self.view.scene.items.open_runs.clear()
        self.view.show_only(
            self.view.scene.items.filter, self.view.scene.items.text, folding=self.fold_button.isChecked()
        )

    def _sideways(self) -> None:
        self.view.set_sideways(self.side_button.isChecked())

    def _follow(self) -> None:
        self.view.set_follow(self.follow_button.isChecked())

    def _fit(self) -> None:
        self.view.fit()

    # Search ----------------------------------------------------------------------------------------------------
    def _search_bar(self) -> QFrame:
        from PySide6.QtWidgets import QLineEdit

        bar = QFrame(self)
        bar.setProperty("role", "bar")
        row = QHBoxLayout(bar)
        row.setContentsMargins(SPACE_S, SPACE_XS, SPACE_S, SPACE_XS)
        row.setSpacing(SPACE_XS)
        self.search_edit = QLineEdit(bar)
        self.search_edit.setPlaceholderText(self.tr("Search prompts, replies and steps"))
        self.search_edit.setAccessibleName(self.tr("Search the tree"))
        self.search_edit.setClearButtonEnabled(True)
        self.search_edit.textChanged.connect(lambda _text: self._typing.start())
        self.search_edit.returnPressed.connect(self.next_hit)
        self.search_edit.installEventFilter(self)
        self.search_count = QLabel(bar)
        caption(self.search_count)
        row.addWidget(self.search_edit, 1)
        row.addWidget(self.search_count)
        for icon, text, call in (
            ("up", self.tr("Previous (Shift+F3)"), self.previous_hit),
            ("down", self.tr("Next (F3)"), self.next_hit),
            ("close", self.tr("Close the search (Esc)"), self.close_search),
        ):
            button = self._toggle(bar, row, icon, text, call)
            button.setCheckable(False)
        return bar

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        from PySide6.QtCore import QEvent
        from PySide6.QtGui import QKeyEvent

        if (
            watched is self.search_edit
            and isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.KeyPress
        ):
            if event.key() == Qt.Key.Key_Escape:
                self.close_search()
                return True
            if (
                event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
                and event.modifiers() & Qt.KeyboardModifier.ShiftModifier
            ):
                self.previous_hit()
                return True
        return super().eventFilter(watched, event)

    def open_search(self) -> None:
        if self.search_bar.isVisible() and not self.search_button.isChecked():
            self.close_search()
            return
        self.search_button.setChecked(True)
        self.search_bar.show()
        self.search_edit.setFocus()
        self.search_edit.selectAll()

    def close_search(self) -> None:
        self.search_button.setChecked(False)
        self.search_bar.hide()
        self.search_edit.clear()
        self._take_hits([])
        self.view.setFocus()

    def _search(self) -> None:
        text = self.search_edit.text().strip()
        self.view.scene.needle = text.casefold()
        if not text:
            self._take_hits([])
            return
        rows = self.state.tree.rows_with_text(text)
        self.view.scene.snippets = {}
        self._take_hits(rows)
        # The words around each: only for those that can be looked at one after the other.
        tree = self.state.tree
        self.view.scene.snippets = {row: tree.why_found(row, text) for row in rows[:MANY_HITS]}
        # Bodies and outputs are searched by the engine; what it finds is added.
        self.state.request(
            "search", {"text": text, "limit": 500}, lambda result: self._more_hits(text, result)
        )

    def _more_hits(self, text: str, result: dict[str, Any]) -> None:
        if text == self.search_edit.text().strip():
            rows = {int(hit["seq"]) - 1 for hit in result.get("hits", [])}
            for hit in result.get("hits", []):
                self.view.scene.snippets.setdefault(int(hit["seq"]) - 1, around(str(hit.get("snippet", ""))))
            found = sorted({*self._hits, *(row for row in rows if 0 <= row < len(self.state.tree))})
            if found != self._hits:
                at = self._hits[self._hit] if 0 <= self._hit < len(self._hits) else None
                self._take_hits(found)
                self._hit = found.index(at) if at in found else -1
                self._count()

    def _take_hits(self, rows: list[int]) -> None:
        self._hits, self._hit = rows, -1
        self.view.scene.hits = set(rows)
        self.view.viewport().update()
        self._count()

    def _count(self) -> None:
        if not self.search_edit.text().strip():
            self.search_count.setText("")
        elif not self._hits:
            self.search_count.setText(self.tr("nothing found"))
        else:
            self.search_count.setText(f"{self._hit + 1 if self._hit >= 0 else '–'}/{len(self._hits)}")
        row = self._hits[self._hit] if 0 <= self._hit < len(self._hits) else NO_ROW
        why = self.view.scene.snippets.get(row, "")
        self.search_why.setText(self.tr("Found in: {words}").format(words=why) if why else "")
        self.search_why.setVisible(bool(why))

    def next_hit(self) -> None:
        self._step(1)

    def previous_hit(self) -> None:
        self._step(-1)

    def _step(self, by: int) -> None:
        if self._typing.isActive():
            self._typing.stop()
            self._search()
        if self._hits:
            self._hit = (
                (self._hit + by) % len(self._hits)
                if self._hit >= 0
                else (0 if by > 0 else len(self._hits) - 1)
            )
            self.view.reveal(self._hits[self._hit])
            self.view.look_at(self._hits[self._hit])
            self._count()

    def set_minimap(self, on: bool) -> None:
        self.minimap.wanted = on
        self.minimap.refresh()
