"""The demo's menu of failures: one is ordered, the next request of the agent meets it, and the status bar says so."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QLocale, QObject
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QMenu

from worldline.core.drills import DRILLS

if TYPE_CHECKING:
    from worldline.ui.main_window import MainWindow


class Drills(QObject):
    """Lives in every window; does something only when the model of its session is scripted."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        window.state.info_changed.connect(self._session_known)
        # Met with the first request of a run: from then on the sentence about the next one is not true any more.
        window.state.run_started.connect(lambda _run: window.notices.clear("drill"))

    def titles(self) -> dict[str, str]:
        chinese = QLocale().language() == QLocale.Language.Chinese
        return {name: zh if chinese else en for name, en, zh in DRILLS}

    def _session_known(self, info: dict[str, Any]) -> None:
        actions = self._window.actions_list
        if not info.get("scripted_model") or "drills" in actions:
            return
        group = self.tr("Fault drill")
        actions.add("drills", self.tr("Fault drill…"), self.show_menu, icon="warn", group=group)
        for name, title in self.titles().items():
            actions.add(f"drill_{name}", self.tr("Fault drill: {title}").format(title=title),
                        partial(self.order, name), icon="warn", group=group)  # fmt: skip

    def menu(self) -> QMenu:
        menu = QMenu(self._window)
        for name, title in self.titles().items():
            action = menu.addAction(title)
            action.triggered.connect(partial(self._chosen, name))
        return menu

    def _chosen(self, name: str, _checked: bool = False) -> None:
        self.order(name)

    def show_menu(self) -> None:
        menu = self.menu()
        menu.setAccessibleName(self.tr("Fault drill"))
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(QCursor.pos())

    def order(self, name: str) -> None:
        title = self.titles()[name]

        def ordered(_result: Any) -> None:
            self._window.notices.say(
                "drill",
                self.tr("Drill: “{title}”. The next request of the agent meets it; send a message to see what happens.")
                .format(title=title),
                icon="warn",
                color="warn",
            )  # fmt: skip

        self._window.state.request("drill", {"fault": name}, ordered)
