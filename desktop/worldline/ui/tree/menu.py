"""What can be done with a node: the context menu, the label editor, and the actions behind both."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import QPoint, QRect, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QMenu, QWidget

from worldline.ui import icons
from worldline.ui.session_state import SessionState
from worldline.ui.theme import theme
from worldline.ui.tree.view import TreeView
from worldline.viewmodel import tree_text
from worldline.viewmodel.tree_model import NO_ROW, TreeModel
from worldline.viewmodel.tree_paths import places_on_path

COLOURS = ("accent", "ok", "warn", "bad", "info", "muted")


class LabelEditor(QLineEdit):
    """A label in place: Enter keeps it, and so does going elsewhere; Escape leaves it as it was."""

    done = Signal(str)

    def __init__(self, view: TreeView, place: QRect, text: str, hint: str) -> None:
        super().__init__(text, view.viewport())
        self._view = view
        self.setPlaceholderText(hint)
        self.setAccessibleName(hint)
        self.setMaxLength(200)
        # Over all of the row's words: half a word beside the field would be read as a part of it.
        self.setGeometry(place.left(), place.center().y() - 15, place.width(), 30)
        self.selectAll()
        self.show()
        self.setFocus()
        self._kept = text.strip()
        self.returnPressed.connect(view.setFocus)
        self.editingFinished.connect(self._finish)

    def _finish(self) -> None:
        """Once for Enter and once more for the keyboard that goes."""
        before, self._kept = self._kept, self.text().strip()
        self.deleteLater()
        if self._kept != before:
            self.done.emit(self._kept)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.setText(self._kept)
            self._view.setFocus()
            return
        super().keyPressEvent(event)
        # A line that hears Enter lets it pass on to what is below: there it means "go to this node".
        event.accept()


class NodeMenu:
    """Builds the menu of a row. Entries that need other parts of the window are signals of the state or the view."""

    def __init__(self, view: TreeView, state: SessionState, window: QWidget) -> None:
        self._view = view
        self._state = state
        self._window = window
        view.menu_asked.connect(self.show)
        view.label_asked.connect(lambda row: self.edit(row, "label"))
        view.note_asked.connect(lambda row: self.edit(row, "note"))

    def show(self, row: int, place: QPoint) -> None:
        menu = self.build(row)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(place)

    def build(self, row: int) -> QMenu:
        view, state, tr = self._view, self._state, self._view.tr
        uid = state.tree.uid(row)
        menu = QMenu(view)
        writable = not state.read_only

        def add(
            icon: str,
            text: str,
            call: Callable[[], object],
            *,
            enabled: bool = True,
            keys: str = "",
            target: QMenu = menu,
        ) -> None:
            action = target.addAction(icons.icon(icon), text)
            action.setEnabled(enabled)
            if keys:
                action.setShortcut(keys)
            action.triggered.connect(lambda *_args: call())

        add("go", tr("Go here"), lambda: view.activate(row), enabled=writable, keys="Return")
        add("compare", tr("Compare with where I am"), lambda: state.compare_asked.emit([uid, state.cursor]),
            enabled=uid != state.cursor)  # fmt: skip
        chosen = [one for one in state.selected if one]
        if len(chosen) >= 2:
            add("compare", tr("Compare the {n} chosen nodes").format(n=len(chosen)),
                lambda: state.compare_asked.emit(chosen))  # fmt: skip
        add("changes", tr("Show what changed since here"), lambda: state.changes_since_asked.emit(uid))
        add("tree", tr("Choose for Compare"), lambda: view.choice.toggle(row), keys="Space")
        menu.addSeparator()
        add("label", tr("Label…"), lambda: self.edit(row, "label"), enabled=writable, keys="Shift+L")
        add("note", tr("Note…"), lambda: self.edit(row, "note"), enabled=writable, keys="Shift+N")
        menu.addSeparator()
        add("eye", tr("What the model saw"), lambda: state.as_model_sees_asked.emit(uid))
        add("copy", tr("Copy the text"), lambda: self._copy(row))
        add("copy", tr("Copy the node's id"), lambda: QGuiApplication.clipboard().setText(uid))
        menu.addSeparator()
        here = writable and not state.busy and on_path(state.tree, row, state.cursor_row())
        add("minus", tr("Leave this out for the model"), lambda: state.request("context_edit", {"node": uid}),
            enabled=here and row > 0)  # fmt: skip
        add(
            "edit",
            tr("Tell the model something else instead…"),
            lambda: self._replace(uid),
            enabled=here and row > 0,
        )
        add("unfold", tr("Expand summaries from the originals…"), self._expand, enabled=here)
        menu.addSeparator()
        add("home", tr("Bring to my branch…"), lambda: state.bring_home_asked.emit(uid), enabled=writable)
        add("export", tr("Export this branch…"), lambda: state.export_asked.emit(uid))
        return menu

    def _expand(self) -> None:
        """Asked before: every request after it is larger, and it is not undone by the next compaction alone."""
        from worldline.ui.dialogs.small import ExpandDialog

        dialog = ExpandDialog(self._window)
        dialog.confirmed.connect(lambda: self._state.request("expand", {}))
        dialog.open()

    def edit_note(self, uid: str) -> None:
        row = self._state.tree.row(uid)
        if row != NO_ROW:
            self.edit(row, "note")
        elif not self._state.is_loaded:
            # A window that was made anew is complete before its rows have come.
            once = Qt.ConnectionType.SingleShotConnection
            self._state.loaded.connect(partial(self.edit_note, uid), once)

    def edit(self, row: int, what: str) -> None:
        known = self._state.tree.labels.get(row)
        text = getattr(known, what) if known is not None else ""
        color = (known.color if known is not None else "") or COLOURS[0]
        uid = self._state.tree.uid(row)
        self._view.reveal(row)
        if what == "note":
            from worldline.ui.again import Again
            from worldline.ui.dialogs.small import NoteDialog

            dialog = NoteDialog(
                self._view.tr("Note on “{title}”").format(
                    title=tree_text.short_title(self._state.tree, row, 40)
                ),
                text,
                self._view.tr("What was learnt here? Only you see it."),
                self._window,
            )
            dialog.entered.connect(lambda said: self._state.set_label(uid, "note", said, color))
            Again(dialog, lambda window, _state: window.tree.menu.edit_note(uid), uid)
            dialog.open()
            return
        hint = self._view.tr("Label")
        editor = LabelEditor(self._view, self._view.words_rect(row), text, hint)
        editor.setFont(theme().font_ui())
        editor.done.connect(lambda said: self._state.set_label(uid, what, said, color))

    def _replace(self, uid: str) -> None:
        from worldline.ui.chat.message_menu import ask_replacement

        ask_replacement(self._state, uid, self._window)

    def _copy(self, row: int) -> None:
        """The whole text, not the preview; the preview when the engine cannot be asked."""
        clipboard, title = QGuiApplication.clipboard(), tree_text.title(self._state.tree, row)

        def take(result: dict[str, Any]) -> None:
            for body in result.get("bodies", []):
                clipboard.setText(plain_text(body) or title)

        def refused(error: dict[str, Any]) -> None:
            clipboard.setText(title)
            self._state.failed.emit(error)

        self._state.request("bodies", {"nodes": [self._state.tree.uid(row)]}, take, refused)


def on_path(tree: TreeModel, row: int, cursor: int) -> bool:
    """Whether a row lies on the way from the root to the cursor."""
    return places_on_path(tree, cursor, row) >= 0


def plain_text(body: dict[str, Any]) -> str:
    """The words of a node's body."""
    message = body.get("message") or {}
    content = message.get("content", "")
    if isinstance(content, str):
        return content
    parts = []
    for block in content:
        inner = block.get("text") or block.get("content") or block.get("thinking") or ""
        if isinstance(inner, list):
            inner = "\n".join(str(one.get("text", "")) for one in inner)
        if inner:
            parts.append(str(inner))
    return "\n\n".join(parts)
