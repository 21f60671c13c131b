"""What a window says on its own: banners, quiet lines after a jump, and notifications when nobody looks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QApplication, QSystemTrayIcon

from worldline.ui import icons
from worldline.ui.notices import Button
from worldline.ui.theme import theme
from worldline.viewmodel import tree_text
from worldline.viewmodel.status import short_branch, stop_words
from worldline.viewmodel.visible import settled
from worldline.viewmodel.words import refusal

if TYPE_CHECKING:
    from worldline.ui.main_window import MainWindow


class WindowNotices(QObject):
    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._tray: QSystemTrayIcon | None = None
        self.notified: list[str] = []
        """Notifications that were sent, newest last (what a screen reader or a test can ask for)."""
        state = window.state
        window.notices.focus_left.connect(self._focus_left)
        state.info_changed.connect(self._banners)
        state.engine_state_changed.connect(self._engine)
        state.hello.connect(self._opened)
        state.refused.connect(self._refused)
        state.failed.connect(self._failed)
        # What was refused before has been tried again, or is of no interest any more.
        state.run_started.connect(self._moved_on)
        state.jumped.connect(self._jumped)
        state.brought_home.connect(self._brought_home)
        state.writer_changed.connect(self._writer_changed)
        state.problems.connect(self._problems)
        state.status_changed.connect(self._sandbox)
        state.approval_asked.connect(
            lambda a: self._notify(self.tr("Waiting for you: {title}").format(title=a.get("title", "")))
        )
        state.question_asked.connect(
            lambda q: self._notify(self.tr("The agent asks: {text}").format(text=q.get("text", "")))
        )
        state.run_ended.connect(self._run_ended)
        state.selected_changed.connect(self._chosen)
        state.progress.connect(self._progress)

    def _banners(self, info: dict[str, Any]) -> None:
        notices = self._window.notices
        if info.get("scripted_model"):
            notices.say(
                "demo",
                self.tr(
                    "The model is scripted: this demo needs no account and no network. Files and commands are real."
                ),
                icon="info",
                buttons=[(self.tr("Fault drill…"), self._window.drills.show_menu)],
                closable=True,
            )
        if info.get("read_only"):
            why = str(info.get("read_only_why") or self.tr("The session is open in another window."))
            notices.say(
                "read_only",
                self.tr("Read only. {why}").format(why=why),
                icon="lock",
                color="warn",
                # Who opens a folder wants to work in it, whoever else does.
                buttons=[self._window.recovering.button() if info.get("damaged") else self._new_session()],
                closable=False,
            )
        else:
            notices.clear("read_only")

    def _writer_changed(self, lives: bool) -> None:
        state = self._window.state
        if lives or not state.read_only or state.info.get("damaged"):
            self._banners(state.info)
            return
        self._window.notices.say(
            "read_only",
            self.tr("Read only. The session is not open elsewhere any more."),
            icon="lock",
            buttons=[(self.tr("Open for writing"), state.open_again)],
            closable=False,
        )

    def _focus_left(self) -> None:
        # To where one writes, not to the search that happens to be next; what is in front stays in front.
        chat = self._window.places.panes["chat"]
        if chat.isVisible():
            chat.setFocus(Qt.FocusReason.OtherFocusReason)

    def _engine(self, engine: str) -> None:
        notices = self._window.notices
        if engine == "restarting":
            notices.say(
                "engine", self.tr("The engine stopped. Nothing saved is lost. Restarting…"), icon="warn", color="warn",
                closable=False,
            )  # fmt: skip
        elif engine == "running":
            notices.clear("engine")

    def _refused(self, error: dict[str, Any]) -> None:
        client = self._window.state.client
        name = Path(self._window.opened_with).stem
        if name and not self._window.state.info:
            self._window.title_label.setText(settled(name))  # nothing is being opened any more
        buttons: list[Button] = [
            (self.tr("Try again"), client.restart),
            (self.tr("Other sessions…"), self._window.start_asked.emit),
        ]
        if error.get("kind") == "workspace_gone":
            buttons.insert(0, (self.tr("Make the folder anew"), lambda: client.restart("--remake-folder")))
        elif error.get("kind") == "damaged":
            buttons.insert(0, self._window.recovering.button())
        elif error.get("kind") in ("leased", "locked"):
            buttons.insert(0, self._new_session())
        self._window.notices.say(
            "engine", refusal(error), icon="warn", color="bad",
            buttons=buttons, closable=False,
        )  # fmt: skip

    def _opened(self, result: dict[str, Any]) -> None:
        if result.get("note"):
            self._window.notices.say("opened", str(result["note"]), icon="folder")

    def _failed(self, error: dict[str, Any]) -> None:
        if error.get("kind") == "engine_gone":
            return  # the line about the engine says it already
        self._window.notices.say("failed", refusal(error), icon="warn", color="bad")

    def _problems(self, sentences: list[str]) -> None:
        """Settings and rules that do not count as written: said where the person looks, not in the log alone."""
        notices = self._window.notices
        if not sentences:
            notices.clear("problems")
            return
        text = "\n".join(sentences[:3])
        if len(sentences) > 3:
            text += "\n" + self.tr("… and {n} more").format(n=len(sentences) - 3)
        notices.say(
            "problems",
            text,
            icon="warn",
            color="warn",
            buttons=[(self.tr("Open settings"), self._open_settings)],
        )

    def _sandbox(self, status: dict[str, Any]) -> None:
        """That no command can run is not left to a click on the status bar."""
        notices, text = self._window.notices, str(status.get("sandbox_problem") or "")
        if not text:
            notices.clear("sandbox")
        elif "sandbox" not in notices.items or notices.items["sandbox"].text.text() != text:
            buttons: list[Button] = [(self.tr("Open settings"), self._open_settings)]
            notices.say("sandbox", text, icon="warn", color="bad", buttons=buttons)

    def _new_session(self) -> Button:
        def ask() -> None:
            from worldline.ui.dialogs.opening import new_session

            new_session(self._window, self._window.state)

        return (self.tr("New session…"), ask)

    def _open_settings(self) -> None:
        from worldline.ui.dialogs.settings import open_settings

        open_settings(self._window.state, self._window)

    def _moved_on(self, _run: dict[str, Any]) -> None:
        for key in ("failed", "jump"):  # where one came to is not where one is any more
            self._window.notices.clear(key)

    def _jumped(self, result: dict[str, Any]) -> None:
        state = self._window.state
        row = state.tree.row(str(result.get("node", "")))
        title = tree_text.short_title(state.tree, row) if row >= 0 else ""
        parts = [self.tr("At “{title}”").format(title=title)]
        if result.get("branch"):
            parts[0] += self.tr(" on {branch}").format(branch=short_branch(str(result["branch"])))
        if result.get("of"):
            parts.append(self.tr("%n file(s) put back and verified", "", int(result["verified"])))
        left = len(result.get("effects_left") or [])
        if left == 1:
            parts.append(self.tr("1 effect remains"))
        elif left:
            parts.append(self.tr("{n} effects remain").format(n=left))
        if result.get("note"):
            parts.append(str(result["note"]))
        self._window.notices.say(
            "jump", " · ".join(parts), icon="go", buttons=[(self.tr("Back"), state.go_back)], seconds=20
        )

    def _brought_home(self, text: str) -> None:
        self._window.notices.say("brought_home", text, icon="home", color="ok", seconds=60)

    def _chosen(self, uids: list[str]) -> None:
        notices, state = self._window.notices, self._window.state
        if not uids:
            notices.clear("chosen")
        elif len(uids) == 1:
            notices.say("chosen", self.tr("1 node chosen. Choose another to compare (Ctrl+click or Space)."),
                        icon="compare", color="muted", closable=False)  # fmt: skip
        else:
            notices.say(
                "chosen",
                self.tr("{n} nodes chosen.").format(n=len(uids)),
                icon="compare",
                buttons=[(self.tr("Compare"), lambda: state.compare_asked.emit(list(uids))),
                         (self.tr("Choose none"), lambda: self._window.tree.view.choice.clear())],
                closable=False,
            )  # fmt: skip

    def _progress(self, progress: dict[str, Any]) -> None:
        key = f"progress-{progress.get('op', '')}"
        done, total = int(progress.get("done", 0)), int(progress.get("total", 0))
        if done < 0:
            self._window.notices.clear(key)
            return
        share = f" {done}/{total}" if total else ""
        text = f"{progress.get('text', '')}{share}"
        known = self._window.notices.items.get(key)
        if known is not None:
            known.text.setText(text)
        else:
            self._window.notices.say(key, text, icon="diagnostics", color="muted", closable=False)

    def _run_ended(self, run: dict[str, Any], _offers: list[str]) -> None:
        reason = str(run.get("stop_reason", ""))
        if reason != "aborted":
            self._notify(
                self.tr("The agent ended: {reason}").format(
                    reason=stop_words(reason, str(run.get("detail", "")))
                )
            )

    def _notify(self, text: str) -> None:
        """Only when the person looks elsewhere: the window itself shows it otherwise."""
        window = self._window
        if (
            window.isActiveWindow()
            and QApplication.applicationState() == Qt.ApplicationState.ApplicationActive
        ):
            return
        self.notified.append(text)
        QApplication.alert(window)
        if not QSystemTrayIcon.isSystemTrayAvailable():
            return
        if self._tray is None:
            self._tray = QSystemTrayIcon(icons.logo(64), self)
            self._tray.messageClicked.connect(self._to_front)
            theme().changed.connect(self._recolour)
        self._tray.show()
        title = str(window.state.info.get("title") or "Worldline")
        self._tray.showMessage(title, text, icons.logo(64))

    def _recolour(self) -> None:
        if self._tray is not None:
            self._tray.setIcon(icons.logo(64))

    def _to_front(self) -> None:
        self._window.showNormal()
        self._window.raise_()
        self._window.activateWindow()
