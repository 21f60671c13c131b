"""What can be done in a window of a session, with its keys, and the menu that lists it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QFileDialog, QInputDialog, QMenu, QToolButton, QWidget

from worldline.ui import i18n, icons
from worldline.ui.again import Again
from worldline.ui.i18n import LANGUAGES
from worldline.ui.theme import ThemeName, theme
from worldline.viewmodel.status import CAN_BE_STOPPED

if TYPE_CHECKING:
    from worldline.ui.diff.file_diff_panel import FileDiffPanel
    from worldline.ui.main_window import MainWindow
    from worldline.ui.palette import Palette

_MENU: tuple[tuple[str, ...], ...] = (
    ("new_session", "open_folder", "open_session", "sessions", "rename"),
    (
        "compare",
        "effects",
        "as_model_sees",
        "bring_home",
        "return_home",
        "export",
        "diagnostics",
        "storage",
        "drills",
    ),
    ("toggle_tree", "toggle_changes", "toggle_minimap", "filter_next"),
    ("settings", "shortcuts", "about"),
    ("close", "quit"),
)
"""Entries of the ⋯ menu; those that nobody has added are left out."""


class WindowActions(QObject):
    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._palette: Palette | None = None
        self._add_going()
        self._add_places()
        self._add_running()
        self._add_window()
        state = window.state
        state.history_changed.connect(self._refresh)
        state.status_changed.connect(lambda _status: self._refresh())
        state.run_started.connect(lambda _run: self._refresh())
        state.run_ended.connect(lambda _run, _offers: self._refresh())
        state.selected_changed.connect(lambda _uids: self._refresh())
        state.info_changed.connect(lambda _info: self._refresh())
        self._refresh()

    def _add_going(self) -> None:
        state = self._window.state
        add = partial(self._window.actions_list.add, group=self.tr("Go"))
        add("back", self.tr("Back to where I was"), state.go_back, keys="Alt+Left", icon="back")
        add("forward", self.tr("Forward again"), state.go_forward, keys="Alt+Right", icon="forward")
        add(
            "find_in_tree",
            self.tr("Search the tree"),
            self._find,
            keys="Ctrl+F",
            icon="search",
        )
        add("next_hit", self.tr("Next match"), lambda: self._step(1), keys="F3")
        add("previous_hit", self.tr("Previous match"), lambda: self._step(-1), keys="Shift+F3")
        add("cursor", self.tr("Show where I am"), self._show_cursor, keys="Ctrl+G", icon="follow")
        add("go_here", self.tr("Go to the node I look at"), self._go_here, keys="Ctrl+Shift+G", icon="go")
        add("compare", self.tr("Compare the chosen nodes"), self._compare, keys="Ctrl+Shift+C", icon="compare")  # fmt: skip
        add("label", self.tr("Label this node…"), lambda: self._edit("label"), icon="label")
        add("note", self.tr("Note on this node…"), lambda: self._edit("note"), icon="note")
        add("as_model_sees", self.tr("As the model sees it"),
            lambda: state.as_model_sees_asked.emit(state.looked_at()), keys="Ctrl+Shift+M", icon="eye")  # fmt: skip
        add("bring_home", self.tr("Bring to my branch…"), lambda: state.bring_home_asked.emit(state.looked_at()),
            icon="home")  # fmt: skip
        add("export", self.tr("Export…"), lambda: state.export_asked.emit(state.looked_at()), icon="export")

    def _add_places(self) -> None:
        window = self._window
        add = partial(self._window.actions_list.add, group=self.tr("View"))
        for number, (place, words) in enumerate(
            (("tree", self.tr("Go to the tree")), ("chat", self.tr("Go to the chat")),
             ("changes", self.tr("Go to the changes"))), 1
        ):  # fmt: skip
            add(f"show_{place}", words, partial(window.places.show_pane, place), keys=f"Ctrl+{number}", icon=place)  # fmt: skip
        add("toggle_tree", self.tr("Show or hide the tree"), lambda: window.places.toggle_pane("tree"),
            keys="Ctrl+B", icon="tree")  # fmt: skip
        add("toggle_changes", self.tr("Show or hide the changes"), lambda: window.places.toggle_pane("changes"),
            keys="Ctrl+Shift+B", icon="changes")  # fmt: skip
        tree = window.tree
        add("fit", self.tr("Show the whole tree"), lambda: tree.view.fit(), keys="Ctrl+9", icon="fit")
        add("zoom_in", self.tr("Zoom in"), lambda: tree.view.zoom(1.25), keys=["Ctrl++", "Ctrl+="], icon="zoom-in")  # fmt: skip
        add("zoom_out", self.tr("Zoom out"), lambda: tree.view.zoom(0.8), keys="Ctrl+-", icon="zoom-out")
        add("zoom_reset", self.tr("Normal size"), lambda: tree.view.reset_zoom(), keys="Ctrl+0")
        add("filter_next", self.tr("Next filter of the tree"), lambda: tree.cycle_filter(), keys="Ctrl+O",
            icon="filter")  # fmt: skip
        add("fold", self.tr("Fold or unfold runs of steps"), lambda: tree.fold_button.click(), icon="fold")
        add("sideways", self.tr("Tree from left to right"), lambda: tree.side_button.click(), icon="left-right")  # fmt: skip
        minimap = add("toggle_minimap", self.tr("Overview in the corner"), self._minimap, icon="minimap",
            checkable=True)  # fmt: skip
        minimap.setChecked(True)

    def _add_running(self) -> None:
        state = self._window.state
        add = partial(self._window.actions_list.add, group=self.tr("Agent"))
        add("stop", self.tr("Stop the agent"), lambda: state.request("stop"), keys="Ctrl+.", icon="stop")
        add("retry_now", self.tr("Retry now"), lambda: state.request("retry_now"), icon="retry")
        add("compact", self.tr("Summarise the history now"), lambda: state.request("compact", {}), icon="compact")  # fmt: skip

    def _add_window(self) -> None:
        window = self._window
        add = partial(self._window.actions_list.add, group=self.tr("Window"))
        add("palette", self.tr("All commands"), self.open_palette, keys=["Ctrl+Shift+P", "Ctrl+K"], icon="palette")  # fmt: skip
        add("open_folder", self.tr("Open a folder…"), self._open_folder, keys="Ctrl+Shift+O", icon="folder")
        add("open_session", self.tr("Open a session file…"), self._open_session, icon="file")
        add("sessions", self.tr("Recent sessions"), window.start_asked.emit, keys="Ctrl+R", icon="session")
        add("rename", self.tr("Rename this session…"), self._rename, keys="F2", icon="edit")
        add("shortcuts", self.tr("Keyboard shortcuts"), self.shortcuts, keys="F1", icon="keyboard")
        for name, words in self.theme_words().items():
            add(f"theme_{name}", words, partial(self._theme, name), group=self.tr("Theme"),
                icon="moon" if name == "dark" else "sun", checkable=True)  # fmt: skip
        for code, language in LANGUAGES.items():
            add(f"language_{code}", self.tr("Language: {}").format(language), partial(self._language, code),
                icon="chat", group=self.tr("Language"))  # fmt: skip
        add("close", self.tr("Close the window"), window.ask_to_close, keys="Ctrl+W", icon="close")
        add("quit", self.tr("Quit Worldline"), self._quit, keys="Ctrl+Q", icon="close")

    def _quit(self) -> None:
        if (windows := self._window.windows) is not None:
            windows.quit_asked(self._window)
        else:
            self._window.ask_to_close()

    def theme_words(self) -> dict[ThemeName, str]:
        return {
            "system": self.tr("Theme: as the system"),
            "light": self.tr("Theme: light"),
            "dark": self.tr("Theme: dark"),
            "contrast": self.tr("Theme: high contrast"),
        }

    # Menu ------------------------------------------------------------------------------------------------------
    def menu_button(self, parent: QWidget) -> QToolButton:
        button = QToolButton(parent)
        button.setIcon(icons.icon("more"))
        self._menu_button = button
        theme().changed.connect(self._recolour)
        button.setToolTip(self.tr("Menu"))
        button.setAccessibleName(self.tr("Menu"))
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        menu = QMenu(button)
        menu.aboutToShow.connect(lambda: self.fill(menu))
        button.setMenu(menu)
        return button

    def _recolour(self) -> None:
        self._menu_button.setIcon(icons.icon("more"))

    def fill(self, menu: QMenu) -> None:
        menu.clear()
        actions = self._window.actions_list
        for block in _MENU:
            for name in block:
                if name in actions:
                    menu.addAction(actions[name])
            menu.addSeparator()
            if "settings" in block:
                self._submenus(menu)

    def _submenus(self, menu: QMenu) -> None:
        actions = self._window.actions_list
        themes = menu.addMenu(self.tr("Theme"))
        group = QActionGroup(themes)
        for name in self.theme_words():
            action = actions[f"theme_{name}"]
            group.addAction(action)
            action.setChecked(theme().name == name)
            action.setIconVisibleInMenu(False)  # it would stand where the tick of the one in use belongs
            themes.addAction(action)
        languages = menu.addMenu(self.tr("Language"))
        for code, language in LANGUAGES.items():
            action = languages.addAction(language)
            action.setCheckable(True)
            action.setChecked(code == i18n.in_use)
            action.triggered.connect(lambda _checked=False, code=code: self._language(code))
        menu.addSeparator()

    # What they do ----------------------------------------------------------------------------------------------
    def _refresh(self) -> None:
        state, actions = self._window.state, self._window.actions_list
        writable = bool(state.info) and not state.read_only
        locked = (
            self.tr("the session is open for reading only") if state.info else self.tr("no session is open")
        )
        for name, on, why_not in (
            ("back", state.can_back(), self.tr("nothing to go back to yet")),
            ("forward", state.can_forward(), self.tr("nothing to go forward to")),
            ("compare", len(state.selected) >= 2, self.tr("first choose two nodes (Space, Ctrl+click)")),
            ("stop", state.busy or state.status.get("state") in CAN_BE_STOPPED, self.tr("nothing is running")),
            ("retry_now", state.status.get("state") == "retrying", self.tr("nothing waits to be tried again")),
            ("rename", writable, locked),
            ("bring_home", writable, locked),
        ):  # fmt: skip
            actions.enable(name, on, why_not)

    def _diff(self) -> FileDiffPanel | None:
        """The lines of a file, when the keyboard is in the changes: there one looks for words in them."""
        from worldline.ui.diff.pane import ChangesPane

        pane, focus = self._window.panes["changes"], self._window.focusWidget()
        if not isinstance(pane, ChangesPane) or focus is None or not pane.isAncestorOf(focus):
            return None
        return pane.panel if pane.panel.isVisible() else None

    def _step(self, by: int) -> None:
        diff, tree = self._diff(), self._window.tree
        if diff is not None and diff.finding.isVisible():
            diff.finding.step(by)
        elif by > 0:
            tree.next_hit()
        else:
            tree.previous_hit()

    def _find(self) -> None:
        diff = self._diff()
        if diff is not None and diff.open_search():
            return
        if self._window.places.layout_name == "small":
            self._window.places.open_drawer()
        self._window.tree.open_search()

    def _show_cursor(self) -> None:
        self._window.state.select("")
        view = self._window.tree.view
        view.reveal(view.scene.cursor)

    def _go_here(self) -> None:
        self._window.state.go(self._window.state.looked_at())

    def _compare(self) -> None:
        self._window.state.compare_asked.emit(list(self._window.state.selected))

    def _edit(self, what: str) -> None:
        pane = self._window.tree
        if pane.view.scene.focus_row() >= 0:
            pane.menu.edit(pane.view.scene.focus_row(), what)

    def _minimap(self) -> None:
        self._window.tree.set_minimap(self._window.actions_list["toggle_minimap"].isChecked())

    def open_palette(self) -> Palette:
        from worldline.ui.palette import Palette

        self._palette = Palette(self._window, list(self._window.actions_list))
        self._palette.open_over(self._window)
        return self._palette

    def shortcuts(self) -> None:
        from worldline.ui.shortcuts import ShortcutList

        dialog = ShortcutList(self._window, list(self._window.actions_list))
        Again(dialog, lambda window, _state: window.commands.shortcuts())
        dialog.open()

    def _rename(self) -> None:
        window = self._window
        dialog = QInputDialog(window)
        dialog.setWindowTitle(self.tr("Rename this session"))
        dialog.setLabelText(self.tr("Title"))
        dialog.resize(480, dialog.height())
        dialog.setTextValue(str(window.state.info.get("title", "")))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        Again(dialog, lambda window, _state: window.commands._rename())
        dialog.textValueSelected.connect(
            lambda text: window.state.request("set_title", {"title": text.strip()}) if text.strip() else None
        )
        dialog.open()

    def _open_folder(self) -> None:
        self._choose(QFileDialog.FileMode.Directory, self.tr("Open a folder"), "")

    def _open_session(self) -> None:
        self._choose(
            QFileDialog.FileMode.ExistingFile,
            self.tr("Open a session"),
            self.tr("Sessions (*.worldline *.jsonl *.zip)"),
        )

    def _choose(self, mode: QFileDialog.FileMode, title: str, names: str) -> None:
        dialog = QFileDialog(self._window, title, str(self._window.state.info.get("root", "")), names)
        dialog.setFileMode(mode)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self._window.open_asked.emit)
        dialog.open()

    def _theme(self, name: ThemeName) -> None:
        self._window.settings.setValue("theme", name)
        theme().set_name(name)

    def _language(self, code: str) -> None:
        self._window.settings.setValue("language", code)
        i18n.change(code)
