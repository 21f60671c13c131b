"""The question before a session with a folder of its own is deleted: the folder goes only when that is chosen."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QCheckBox, QVBoxLayout, QWidget

from worldline.client.folders import FolderJob
from worldline.protocol.folders import SessionFolder
from worldline.ui.dialogs.base import Dialog, clear_layout
from worldline.ui.dialogs.folder_jobs import folder_of
from worldline.ui.dialogs.folders import add_loss
from worldline.ui.dialogs.session_files import SessionFile, trash_dir
from worldline.ui.recents import short_path
from worldline.viewmodel import engine_words
from worldline.viewmodel.words import refusal


class SessionDeleteDialog(Dialog):
    """Accepted: the session goes to the trash, and its folder too if `lose_id` is not None."""

    def __init__(self, session: SessionFile, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Move “{}” to the trash folder?").format(session.title), parent, width=600)
        self.session = session
        self._folder: SessionFolder | None = None
        self.add_text(
            self.tr("%n node(s) with all that was said go with it.", "", session.nodes)
            + " "
            + self.tr(
                "Your folder {root} and its files stay as they are. The session can be had back from {trash}."
            ).format(
                root=short_path(session.root) if session.root else "—", trash=short_path(str(trash_dir()))
            )
        )
        self.also = QCheckBox(self.tr("Remove the session's own folder as well"), self)
        self.also.setEnabled(False)
        self.also.toggled.connect(lambda _on: self._tell())
        self.body.addWidget(self.also)
        self.add_text(session.folder, "muted")
        self._loss = QVBoxLayout()
        self.body.addLayout(self._loss)
        self.state = self.add_text(
            self.tr("Looking what would be lost with the folder…"), "muted", self._loss
        )
        self.add_cancel()
        self.delete_button = self.add_button(self.tr("Move to the trash"), self.accept, role="danger")

    def look(self) -> None:
        """Ask what is in the folder; until that is known it cannot be chosen."""
        job = FolderJob.of_list(self.session.folder, self)
        job.seen.connect(lambda raw: self.show_folder(folder_of(raw)))
        job.failed.connect(self._refused)
        self.finished.connect(lambda _code: job.stop())
        job.start()

    def show_folder(self, folder: SessionFolder) -> None:
        if not folder.looked:
            return
        self._folder = folder
        reason = folder.in_use or folder.problem
        self.also.setEnabled(not reason)
        clear_layout(self._loss)
        if reason:
            self.add_text(reason, "muted", self._loss)
        else:
            add_loss(self, folder, self._loss)
        self._tell()

    def _refused(self, error: dict[str, Any]) -> None:
        clear_layout(self._loss)
        self.add_text(refusal(engine_words.error(error)), "muted", self._loss)

    def _tell(self) -> None:
        both = self.also.isChecked()
        self.delete_button.setText(
            self.tr("Move to the trash, remove the folder") if both else self.tr("Move to the trash")
        )

    @property
    def lose_id(self) -> str | None:
        """What was confirmed to be lost with the folder; None = the folder stays."""
        return self._folder.lose_id if self._folder is not None and self.also.isChecked() else None
