"""A session whose file is damaged: what is readable of it is saved into a new one, beside the window."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from PySide6.QtCore import QObject

from worldline.ui.notices import Button
from worldline.ui.recents import short_path
from worldline.viewmodel import engine_words
from worldline.viewmodel.visible import settled
from worldline.viewmodel.words import refusal

# Processes are loaded for the few who need one: every window has this.
if TYPE_CHECKING:
    from worldline.client.recovering import RecoverJob
    from worldline.ui.main_window import MainWindow

KEY = "recover"
JOB = "recovering"
"""Name of the job, a child of the client."""
NAMED = 3
"""Losses that the line names; a button shows all of them."""
TRIES = 3
"""Names that are tried when another program is faster."""


class Recovering(QObject):
    """The damaged file is only read and nothing is written over. The job goes on when the window is made anew, and takes
    back what it has done by half when it closes."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._tries = 0
        client = window.state.client
        client.state_changed.connect(self._on_engine)
        if (job := self._job()) is not None:
            self._join(job)

    def _job(self) -> RecoverJob | None:
        """The one that goes on."""
        return cast("RecoverJob | None", self._window.state.client.findChild(QObject, JOB))

    def button(self) -> Button:
        return (self.tr("Save what is readable…"), self.start)

    def start(self) -> None:
        """Begin, unless it goes on already."""
        if self._job() is None:
            self._tries = 0
            self._begin()

    def _begin(self) -> None:
        from worldline.client.recovering import RecoverJob, new_name

        window = self._window
        source = Path(str(window.state.info.get("path") or window.opened_with))
        self._tries += 1
        # A child of the client, which stays when the window is made anew in another language.
        job = RecoverJob(source, new_name(source), window.state.client)
        job.setObjectName(JOB)
        self._join(job)
        job.start()

    def _join(self, job: RecoverJob) -> None:
        job.done.connect(self._done)
        job.failed.connect(self._failed)
        self._window.notices.say(
            KEY,
            self.tr("Saving what is readable into a new session. The damaged file is only read."),
            icon="repair",
            color="muted",
            buttons=[(self.tr("Cancel"), self._cancel)],
            closable=False,
        )

    def _end(self) -> None:
        job = self._job()
        if job is not None:
            # At once: a new one is looked for in the same way.
            job.setParent(None)
            job.deleteLater()

    def _cancel(self) -> None:
        job = self._job()
        if job is not None:
            job.stop(gently=True)
        self._end()
        self._window.notices.clear(KEY)

    def _on_engine(self, _state: str) -> None:
        if self._window.closing:
            self._cancel()

    def _failed(self, error: dict[str, Any]) -> None:
        self._end()
        if error.get("kind") == "exists" and self._tries < TRIES:
            self._begin()
            return
        text = refusal(engine_words.error(error))
        self._window.notices.say(KEY, text, icon="warn", color="bad", buttons=[self.button()])

    def _done(self, answer: dict[str, Any]) -> None:
        self._end()
        out, nodes = str(answer["out"]), int(answer["nodes"])
        losses = [engine_words.say(str(one)) for one in answer.get("losses") or []]
        saved = self.tr("%n step(s) are saved in {path}.", "", nodes).format(path=settled(short_path(out)))
        if not losses:
            said = [saved, self.tr("Nothing is lost.")]
        else:
            said = [saved, *losses[:NAMED]]
        if len(losses) > NAMED:
            said.append(self.tr("… and %n more", "", len(losses) - NAMED))
        buttons: list[Button] = []
        if nodes:
            # This one holds the folder that both work in, and can do nothing with it any more.
            buttons.append((self.tr("Open it in place of this one"), lambda: self._window.replace_by(out)))
        if len(losses) > NAMED:
            buttons.append((self.tr("All that is lost"), lambda: self._show(losses)))
        self._window.notices.say(
            KEY, " ".join(said), icon="repair", color="warn" if losses else "ok", buttons=buttons
        )

    def _show(self, losses: list[str]) -> None:
        from worldline.ui.dialogs.text_viewer import TextViewer

        viewer = TextViewer(self.tr("All that is lost"), self._window)
        viewer.append("\n".join(losses))
        viewer.open()
